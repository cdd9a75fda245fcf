internal import CZeroMQ

/// The bytes of one received frame, in the memory that libzmq received them into.
///
/// A value: copies share the bytes, which never change. Keeping a copy and receiving into the same variable again gives
/// the variable new memory; receiving without having kept one reuses it, and allocates nothing.
///
/// A frame of more than 33 bytes may keep a whole receive buffer of libzmq alive (8 KiB, or the frame if it is larger).
/// So keep few small messages for long, or keep ``bytes``. May be handed to another thread.
@safe public struct Message: @unchecked Sendable {
    // Safe: all access to the storage goes through the functions below, none of which lets a pointer out.
    // Sendable: the storage is written only while `prepareForReceiving` has found this to be its one reference, and
    // libzmq counts references to what messages share atomically.
    private var storage: MessageStorage

    /// Makes an empty message, to receive into.
    public init() {
        storage = MessageStorage.make()
    }

    /// The number of bytes.
    public var count: Int {
        unsafe storage.withFrame { unsafe zmq_msg_size($0) }
    }

    /// Whether there are no bytes.
    public var isEmpty: Bool { count == 0 }

    /// A copy of the bytes, which keeps none of libzmq's memory alive.
    public var bytes: [UInt8] {
        unsafe storage.withContents { unsafe [UInt8]($0) }
    }

    /// Lends the bytes to `body` without copying them.
    ///
    /// - Parameter body: Runs at once, on the calling thread; the span ends with it.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe storage.withContents { contents throws(Failure) in try body(unsafe contents.bytes) }
    }

    /// What the connection that brought the message says about its peer, for example who it has proved to be.
    ///
    /// The text is copied at each call. Of a router's message this must be the payload, as it always is here: in libzmq
    /// 4.3.4 the frame with the routing id loses its properties after a poll (`zmq_msg_gets`).
    ///
    /// - Returns: `nil` if the connection has no such property, as `inproc://` connections never have.
    public func property(_ property: MessageProperty) -> String? {
        unsafe storage.withFrame { frame in
            unsafe zmq_msg_gets(frame, property.name).map { unsafe String(cString: $0) }
        }
    }

    /// The TCP connection that brought the message; `nil` of a message that came another way (`ZMQ_SRCFD`).
    ///
    /// Of a router's message this must be the payload, as for ``property(_:)``.
    public var connection: TCPConnection? {
        unsafe storage.withFrame { TCPConnection(descriptor: unsafe zmq_msg_get($0, ZMQ_SRCFD)) }
    }

    /// The storage to receive into: this message's own, or new if somebody kept a copy of the message.
    mutating func prepareForReceiving() -> MessageStorage {
        if !isKnownUniquelyReferenced(&storage) { storage = MessageStorage.make() }
        return storage
    }
}

/// Bytes for many peers of a router: they are copied once, and each send shares them.
///
/// For the thread that made it: the first send marks the bytes as shared, without a lock. It may go when the last send
/// has returned; libzmq holds the bytes until they have left.
public struct SharedMessage: ~Copyable {
    let storage: MessageStorage

    /// Copies bytes, any number, also none.
    ///
    /// - Throws: ``ZMQError`` if there is no memory for them.
    public init(_ bytes: [UInt8]) throws(ZMQError) {
        storage = MessageStorage.make()
        try storage.fill(unsafe bytes.span.bytes)
    }
}

@available(*, unavailable)
extension SharedMessage: Sendable {}

/// A property that libzmq attaches to each message of a connection.
public struct MessageProperty: Sendable {
    let name: String

    /// What the ZAP handler answered as the peer's identity.
    public static let userID = MessageProperty(name: "User-Id")

    /// The key whose secret the peer has proved to hold, as 40 characters; set by ``ZapHandler``.
    ///
    /// libzmq lets no peer set a property that the handler has set.
    public static let peerKey = MessageProperty(name: "Peer-Key")

    /// The peer's network address, without port.
    public static let peerAddress = MessageProperty(name: "Peer-Address")

    /// The type of the peer's socket, such as `DEALER`.
    public static let socketType = MessageProperty(name: "Socket-Type")
}

/// One `zmq_msg_t` at an address of its own.
///
/// libzmq keeps frames of up to 33 bytes inside the `zmq_msg_t`, so a pointer into one that Swift has moved would point
/// at the wrong bytes. A buffer object holds it in place, in one allocation.
@safe final class MessageStorage: ManagedBuffer<Void, zmq_msg_t> {
    // Safe: the one element is initialised by `make` and closed by `deinit`, and pointers to it are only lent.

    static func make() -> MessageStorage {
        let storage = unsafe unsafeDowncast(create(minimumCapacity: 1) { _ in }, to: MessageStorage.self)
        unsafe storage.withFrame { _ = unsafe zmq_msg_init($0) }
        return storage
    }

    /// Whether the message that this frame belongs to goes on after it.
    var hasMore: Bool {
        unsafe withFrame { unsafe zmq_msg_more($0) != 0 }
    }

    /// Lets go of the contents; a frame of zero bytes remains.
    func clear() {
        unsafe withFrame { frame in
            _ = unsafe zmq_msg_close(frame)
            _ = unsafe zmq_msg_init(frame)
        }
    }

    /// Replaces the contents by a copy of `bytes`.
    func fill(_ bytes: RawSpan) throws(ZMQError) {
        _ = unsafe withFrame { unsafe zmq_msg_close($0) }
        let outcome = unsafe withFrame { unsafe zmq_msg_init_size($0, bytes.byteCount) }
        guard outcome == 0 else {
            let error = ZMQError.last(operation: "make message")
            _ = unsafe withFrame { unsafe zmq_msg_init($0) }
            throw error
        }
        unsafe withFrame { frame in
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(start: zmq_msg_data(frame), count: source.count)
                    .copyMemory(from: source)
            }
        }
    }

    @unsafe func withFrame<Result>(_ body: (UnsafeMutablePointer<zmq_msg_t>) -> Result) -> Result {
        unsafe withUnsafeMutablePointerToElements { unsafe body($0) }
    }

    @unsafe func withContents<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeMutablePointerToElements { frame throws(Failure) in
            try unsafe body(UnsafeRawBufferPointer(start: zmq_msg_data(frame), count: zmq_msg_size(frame)))
        }
    }

    deinit {
        unsafe withFrame { _ = unsafe zmq_msg_close($0) }
    }
}
