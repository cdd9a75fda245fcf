package import LockstepCore
package import ZeroMQ

/// Who gets which store's broadcast (PROTOCOL, R-39).
///
/// It is bounded by construction: a connection has one place, an address has a share of the places, and a place that is
/// not asked for again is lost. So a peer that subscribes to ten thousand things has one place, and what it sent is read
/// and forgotten, as on every port.
package struct SubscriberTable {
    /// How much of everything there is.
    package struct Bounds: Hashable, Sendable {
        package var all = Limits.subscriptions
        package var ofAddress = Limits.subscriptionsOfAddress
        /// A subscription that was not renewed for so long ends.
        package var lease = Tick.milliseconds(10_000)
        /// How often one peer may say its wish within a second.
        package var renewalsPerSecond = 100

        package init() {}
    }

    /// What became of a peer's wish.
    package enum Outcome: Hashable, Sendable {
        case added
        case renewed
        /// There is no room, or the address has its share: the peer asks again in a second.
        case refused
        /// It was said too often: the place is lost, and the connection is to end.
        case tooOften
    }

    private struct Place {
        var channel: Channel
        let address: String
        var lastHeard: Tick
        /// How often it was said since then.
        var renewals = 0
        var countedSince: Tick
        /// Where the peer stands in the list of its channel.
        var index: Int
    }

    private var places: [RoutingID: Place] = [:]
    private var lists: [Channel: [RoutingID]] = [:]
    private var counts: [String: Int] = [:]
    private var lastSweep = Tick.zero
    private let bounds: Bounds

    package init(bounds: Bounds = Bounds()) {
        self.bounds = bounds
    }

    package var count: Int { places.count }

    /// Those who want a channel, in no particular order.
    package func subscribers(of channel: Channel) -> [RoutingID] { lists[channel] ?? [] }

    /// A peer asks for a channel; on one connection the last one counts.
    ///
    /// `address` is asked for only when the peer is new.
    package mutating func subscribe(
        _ peer: RoutingID, to channel: Channel, from address: () -> String, now: Tick
    ) -> Outcome {
        if var place = places[peer] {
            if now - place.countedSince >= Tick.milliseconds(1_000) { (place.renewals, place.countedSince) = (0, now) }
            place.renewals += 1
            guard place.renewals <= bounds.renewalsPerSecond else {
                remove(peer)
                return .tooOften
            }
            if place.channel != channel {
                leaveList(place)
                place.index = enterList(peer, channel)
                place.channel = channel
            }
            place.lastHeard = now
            places[peer] = place
            return .renewed
        }
        let address = address()
        guard places.count < bounds.all, counts[address, default: 0] < bounds.ofAddress else { return .refused }
        counts[address, default: 0] += 1
        places[peer] = Place(
            channel: channel, address: address, lastHeard: now, countedSince: now, index: enterList(peer, channel))
        return .added
    }

    /// The peer's connection is gone.
    package mutating func remove(_ peer: RoutingID) {
        guard let place = places.removeValue(forKey: peer) else { return }
        leaveList(place)
        let left = counts[place.address, default: 1] - 1
        counts[place.address] = left > 0 ? left : nil
    }

    /// Ends what was not renewed in time; looks once a second.
    ///
    /// Time in which the process itself did not run is nobody's silence: what was sent meanwhile is still to be read.
    package mutating func expire(now: Tick) {
        let pause = now - lastSweep
        guard pause >= Tick.milliseconds(1_000) else { return }
        lastSweep = now
        guard pause < Tick.milliseconds(3_000) else {
            for peer in places.keys { places[peer]?.lastHeard = now }
            return
        }
        for peer in places.filter({ now - $0.value.lastHeard > bounds.lease }).keys { remove(peer) }
    }

    private mutating func enterList(_ peer: RoutingID, _ channel: Channel) -> Int {
        lists[channel, default: []].append(peer)
        return lists[channel, default: []].count - 1
    }

    /// The last of the list takes the place that is free.
    private mutating func leaveList(_ place: Place) {
        guard var list = lists.removeValue(forKey: place.channel), let last = list.popLast() else { return }
        if place.index < list.count {
            list[place.index] = last
            places[last]?.index = place.index
        }
        if !list.isEmpty { lists[place.channel] = list }
    }
}
