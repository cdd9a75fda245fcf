import LockstepServer

@main struct Shop: LockstepServer {
    static let about = "Keeps a stock of goods."
    static var stores: Stores { HostedStore("stock", Stock()); HostedStore("flags", Flags()) }
}
