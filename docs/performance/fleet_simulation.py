"""The simulation behind fleet.py: what its formulas say in one line happens here event by event.

Nothing is shared with the formulas but the constants, which come as `c`. Times are seconds, sizes bytes.
"""
import heapq
import math


def poisson(rng, mean):
    """How many of something that comes `mean` times came."""
    if mean > 200:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    count, left, end = 0, rng.random(), math.exp(-mean)
    while left > end:
        count, left = count + 1, left * rng.random()
    return count


def stream(c, rng, rate, fanout, seconds):
    """Times and sizes of the broadcast's frames, beacons among them.

    Mutations come at random. A commit takes all that wait; the primary hands its frames to each subscriber and only
    then begins the next commit.
    """
    frames, now, beacon, waiting = [], 0.0, 0.0, 0
    while now < seconds:
        if not waiting:
            now, waiting = now + rng.expovariate(rate), 1
        size = waiting * c.mutation + c.heads
        count = math.ceil(size / c.batch)
        took = c.commit + size * c.commit_byte + fanout * count * c.hand
        waiting = poisson(rng, rate * took)
        now += took
        while beacon < now:
            frames.append((beacon, c.beacon_bytes))
            beacon += 1 / c.beacons
        frames += [(now, size / count)] * count
    return frames


def sender(c, rng, fanout, frames):
    """One of a node's I/O threads with its part of the subscribers: when each has each frame, writes, time at work.

    The thread goes round its subscribers. It writes together what waits for one, as far as libzmq does that, and
    waits if nothing does: all subscribers get the same, so nothing waits for those behind either.
    """
    own = max(1, int(fanout / c.threads))
    handed, free = [], 0.0
    for time, _ in frames:
        free = max(free, time)
        handed.append(free)
        free += fanout * c.hand
    clock = link = busy = writes = 0.0
    have, isOver = [[] for _ in range(own)], False
    while not isOver:
        isOver = True
        for index in range(own):
            first, late = len(have[index]), (c.threads * index + 1) * c.hand
            if first == len(frames):
                continue
            isOver = False
            clock = max(clock, handed[first] + late)
            end, size = first + 1, frames[first][1]
            while end < len(frames) and handed[end] + late <= clock and size + frames[end][1] <= c.merged:
                size, end = size + frames[end][1], end + 1
            took = c.write + (end - first) * c.more + size * c.send
            clock, busy, writes = clock + took, busy + took, writes + 1
            link = max(link, clock) + size * c.threads / c.link
            there = link + c.rtt / 2 + c.wake * rng.uniform(0.5, 1.5) + c.take + size * c.hash
            have[index] += [max(there, have[index][-1] if have[index] else 0)] * (end - first)
    return have, writes / own, busy


def levels(c, rng, rate, fanout, depth, seconds):
    """Of each level, on one way through the tree whose relays are chosen at random: batches a second, share of the
    I/O threads' time, writes a second to one subscriber, and mean delay behind the commit."""
    source = stream(c, rng, rate, fanout, seconds)
    batches = [index for index, frame in enumerate(source) if frame[1] != c.beacon_bytes]
    frames, rows = source, []
    for _ in range(depth):
        have, writes, busy = sender(c, rng, fanout, frames)
        span = max(frames[-1][0], have[-1][-1]) - frames[0][0]
        delay = sum(times[index] - source[index][0] for times in have for index in batches)
        rows.append(dict(
            frames=len(batches) / source[-1][0], io=busy / span, writes=writes / span,
            mean=delay / len(batches) / len(have)))
        frames = [(time, frame[1]) for time, frame in zip(rng.choice(have), frames)]
    return rows


class Events:
    """What is to come, in the order of time."""

    def __init__(self):
        self.heap, self.count = [], 0

    def add(self, time, kind, who):
        self.count += 1
        heapq.heappush(self.heap, (time, self.count, kind, who))

    def take(self):
        time, _, kind, who = heapq.heappop(self.heap)
        return time, kind, who


def applied(c, rate, behind, now):
    """When a replica that lacks `behind` mutations at `now` has them, and those that came meanwhile."""
    while behind > 1:
        now, behind = now + behind * c.apply, rate * behind * c.apply
    return now


def snapshot_joins(c, rng, size, rate, starts, ready, encode, decode, lease, patience=math.inf):
    """When each of the joiners that start at `starts` is live; the server is ready at `ready`.

    Joiners ask; the server answers as JoinServer does (R-32): it makes a snapshot when none is of use, serves a few
    joiners at a time and sends the others away for a second. Its throttle is a queue. A join fails if the log after
    its snapshot is no longer held when the state is decoded.
    """
    flow, speed, piece = rate * c.mutation, min(c.throttle, c.link), max(c.in_flight, size / 32)
    places, left, fetched, since, live, events = {}, {}, {}, {}, [], Events()
    snapshot, isMaking, link, connecting = None, False, 0.0, 0.0

    def make(now):
        nonlocal isMaking
        if not isMaking:
            isMaking = True
            events.add(now + encode, "made", now)

    for who, start in enumerate(starts):
        # Whom the server refused, because it was not live itself, asks again within a second.
        events.add(start if start >= ready else ready + rng.uniform(0, c.start), "connect", who)
    while events.heap:
        now, kind, who = events.take()
        if now > patience:
            break
        if kind == "connect":
            connecting = max(connecting, now) + 3 * c.connect / c.threads
            events.add(connecting + rng.uniform(0, 1 / c.beacons), "sync", who)
        elif kind == "made":
            snapshot, isMaking = who, False
        elif kind == "sync":
            since.setdefault(who, now)
            for peer in [peer for peer, until in places.items() if until <= now or peer == who]:
                del places[peer]
            if snapshot is None or (now - snapshot) * flow > c.window:
                make(now)
                events.add(now + c.making * rng.uniform(1, 1 + c.jitter), "sync", who)
            elif len(places) >= c.slots:
                events.add(now + c.full * rng.uniform(1, 1 + c.jitter), "sync", who)
            else:
                places[who], left[who], fetched[who] = math.inf, size, snapshot
                if (now - snapshot) * flow > max(c.fresh, size):
                    make(now)
                events.add(now, "fetch", who)
        elif kind == "fetch":
            part = min(piece, left[who])
            left[who] -= part
            link = max(link, now) + part / speed
            if not left[who]:
                places[who] = link + lease
            events.add(link + c.rtt, "fetch" if left[who] else "decode", who)
        elif kind == "decode":
            events.add(now + decode * rng.uniform(0.9, 1.1), "decoded", who)
        elif (now - fetched[who]) * flow > c.window:
            events.add(now, "sync", who)
        else:
            # What lies between its snapshot and its first frame it asks for by REPAIR_REQ, which ends its place.
            if fetched[who] < since[who] and who in places:
                places[who] = min(places[who], now)
            caught = applied(c, rate, rate * (now - fetched[who]), now)
            live.append(caught + rng.uniform(0, 1 / c.beacons))
    return live + [math.inf] * (len(starts) - len(live))


def tail_joins(c, rng, rate, starts, ready):
    """When each of the joiners is live that lack only what was committed while they were down.

    Each has one REPAIR under way and applies it before it asks for the next; the server's link is a queue.
    """
    flow, live, events, link, have = rate * c.mutation, [], Events(), 0.0, {}
    for who, start in enumerate(starts):
        have[who] = -c.down
        events.add(max(start, ready + rng.uniform(0, c.start) if start < ready else start), "ask", who)
    while events.heap:
        now, kind, who = events.take()
        lacks = flow * (now - have[who])
        if kind == "ask" and lacks < flow / c.beacons:
            live.append(now + rng.uniform(0, 1 / c.beacons))
        elif kind == "ask":
            part = min(c.repair, lacks)
            link = max(link, now) + part / c.link
            have[who] += part / flow
            events.add(link + c.rtt + part / c.mutation * c.apply, "ask", who)
    return live


def tree(c, rng, fanout, depth, join):
    """First, middle and last leaf of a tree whose nodes, but the primary, start within `c.start`.

    `join(starts, ready, level)` says when the children of one node are live; a child serves when it is live.
    """
    parents = [0.0]
    for level in range(depth):
        children = []
        for ready in parents:
            children += join([rng.uniform(0, c.start) for _ in range(fanout)], ready, level)
        parents = children
    parents.sort()
    return [parents[0], parents[len(parents) // 2], parents[-1]]
