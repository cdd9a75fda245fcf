#!/usr/bin/env python3
"""A fleet of replicas behind relays, on paper: closed formulas, and a check of them by simulation.

  fleet.py                            the tables of FLEET.md
  fleet.py --check                    compares formulas and simulation (fleet_simulation.py); status 1 if they differ
  fleet.py --check --plant lease      the same with a wrong formula, which the check must find
  fleet.py --svg fleet.svg            time until the last replica is live, against fan-out
Relays are not built; FLEET.md says what this is and is not. Plain Python 3. Every constant is an option.
"""
import argparse
import math
import random
import sys

import fleet_simulation as simulation
from fleet_output import data, plot, table, words

KiB, MiB, us, ns = 1 << 10, 1 << 20, 1e-6, 1e-9
# Option, default, unit, what it is. FLEET.md says where each comes from.
CONSTANTS = [
    ("commit", 800, us, "us of a commit, without its bytes"),
    ("commit-byte", 1.5, ns, "ns more for each byte of a commit"),
    ("decide", 0.6, us, "us of the primary's thread for a mutation"),
    ("apply", 0.556, us, "us of a node's thread to apply a mutation: 1,000,000 / (p3, mutations/s)"),
    ("hand", 0.35, us, "us of a node's thread to hand one frame to one subscriber (p7)"),
    ("write", 6, us, "us of an I/O thread to write to one subscriber (p7)"),
    ("more", 0.1, us, "us of an I/O thread for each frame in a write (p7)"),
    ("send", 0.3, ns, "ns of an I/O thread for each byte to each subscriber (p7)"),
    ("take", 6, us, "us to receive one frame, all of it counted to the node's thread (p7)"),
    ("hash", 0.63, ns, "ns of a node's thread to hash a received byte"),
    ("wake", 100, us, "us from a frame's arrival until the node's thread has it: three wake-ups"),
    ("connect", 113, us, "us of an I/O thread for a new connection; a replica has three"),
    ("encode", 32, ns, "ns to encode and hash a byte of a snapshot (p4)"),
    ("decode", 61, ns, "ns to hash and decode a byte of a snapshot (p4)"),
    ("link", 1250, 1e6, "MB/s of a node's link, outward"),
    ("rtt", 500, us, "us there and back between two nodes"),
    ("threads", 2, 1, "I/O threads of a node"),
    ("mutation", 24, 1, "bytes of a mutation in a batch"),
    ("heads", 110, 1, "bytes of frame, batch and run in front of the mutations"),
    ("start", 1, 1, "s within which the children of one node come"),
    ("down", 10, 1, "s that replicas with a journal were down"),
    ("slots", 4, 1, "joins that a server serves at a time (R-32)"),
    ("lease", 3, 1, "s that a place stays taken after the last chunk, unless a REPAIR_REQ comes (R-32)"),
    ("throttle", 400, 1e6, "MB/s of chunks that a server sends (JoinServer)"),
    ("in-flight", 4, MiB, "MiB of chunks that a joiner has in flight (R-32)"),
    ("repair", 256, KiB, "KiB that a replica asks for by one REPAIR_REQ"),
    ("window", 64, MiB, "MiB of batches that a server holds, and of the stream that a joiner does (R-31, R-34)"),
    ("fresh", 1, MiB, "MiB of tail below which no new snapshot is made (JoinServer)"),
    ("making", 0.05, 1, "s until a joiner asks again while a snapshot is made (JoinServer)"),
    ("full", 1, 1, "s until a joiner asks again if all places are taken (JoinServer)"),
    ("jitter", 0.25, 1, "of these two, at most so much longer (ReplicaStateMachine)"),
    ("batch", 48, KiB, "KiB at which a batch is full (R-11)"),
    ("merged", 8, KiB, "KiB of small frames that libzmq writes at once"),
    ("beacons", 10, 1, "beacons a second (R-30)"),
    ("beacon-bytes", 128, 1, "bytes of a beacon's frame"),
    ("sessions", 16_384, 1, "sessions of a store (R-24)"),
    ("descriptors", 65_536, 1, "open files of a node; a replica takes three (NodeConfiguration)"),
    ("queue-frames", 1024, 1, "frames that libzmq keeps for a subscriber (section 10)"),
    ("queue-seconds", 5, 1, "s until TCP gives up a subscriber that takes nothing (section 10)"),
]
PLANTS = {"frames": "a commit never waits for an action", "fanout": "all subscribers get a frame at once",
          "lease": "a place is free when its last chunk is sent"}
REPLICAS = 10_000
TREES = [(100, 2), (22, 3)]


def stream(c, rate, fanout):
    """Frames a second, bytes of a frame, bytes a second, and seconds of a commit, of the primary's broadcast.

    A commit begins at once if an action waits, and else with the next: a cycle is T + e^(-rT) / r.
    """
    if not rate:
        return 0, c.heads, 0, c.commit
    commit = cycle = c.commit
    for _ in range(100):
        size = rate * c.mutation * cycle + c.heads
        frames = max(1, size / c.batch)
        commit = c.commit + size * c.commit_byte + fanout * frames * c.hand
        cycle = commit + (0 if c.plant == "frames" else math.exp(-rate * commit) / rate)
    return frames / cycle, size / frames, size / cycle, commit


def level(c, rate, fanout, index):
    """What a node of a level costs (0: the primary), as a dictionary; shares are of one node's resources.

    An I/O thread with more to do than time writes a subscriber's waiting frames together: `io` is its share if it
    writes each by itself, `least` if it writes as few times as it can, `writes` what it does, a second and subscriber.
    """
    batches, batch, flow, commit = stream(c, rate, fanout)
    frames, flow = batches + c.beacons, flow + c.beacons * c.beacon_bytes
    size = flow / frames
    busy = rate * c.decide if index == 0 else frames * c.take + flow * c.hash + rate * c.apply
    each = frames * c.more + flow * c.send
    floor = frames / max(1, c.merged // size)
    io = fanout * (each + frames * c.write) / c.threads
    least = fanout * (each + floor * c.write) / c.threads
    writes = frames if io <= 1 else max(floor, (c.threads - fanout * each) / (fanout * c.write))
    link, node = fanout * flow / c.link, busy + fanout * frames * c.hand
    # A frame passes three stages in a row of subscribers: handed over, written, on the link.
    stages = [c.hand, (c.write + c.more + batch * c.send) / c.threads, batch / c.link]

    def delay(part):
        if c.plant == "fanout":
            row = 0
        elif io > 1:
            row = fanout * part * c.hand + part / writes
        else:
            row = max(0, fanout * part - 1) * max(stages)
        hop = sum(stages) + row + c.rtt / 2 + c.wake + c.take + batch * c.hash
        return (index + 1) * hop if max(least, link, node) < 1 else math.inf
    return dict(
        nodes=fanout ** index, frames=batches, size=batch, flow=flow, commit=commit, out=fanout * flow, io=io,
        least=least, node=node, link=link, writes=writes, mean=delay(0.5), last=delay(1),
        queue=min(c.queue_frames, c.queue_seconds * frames) * size)


def largest(c, rate, holds):
    """The most subscribers of a primary for which `holds`, a question about its costs, is true."""
    low, high = 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(level(c, rate, middle, 0)) else (low, middle)
    return low


class Rule:
    """How joins are served: `freed`, a place is free when its last chunk is sent, and else with the first repair or
    the lease; `forwards`, a relay serves the chunks that it fetched, and decodes them beside that."""

    def __init__(self, name, freed=False, forwards=False):
        self.name, self.freed, self.forwards = name, freed, forwards

    def costs(self, c, size, depth, index):
        """Seconds until a server of the level has a snapshot, seconds until a joiner has it decoded, and the lease."""
        encode = 0 if self.forwards and index > 0 else size * c.encode
        decode = 0 if self.forwards and index < depth - 1 else size * c.decode
        return encode, decode, 0 if self.freed else c.lease


RULES = [Rule("as today"), Rule("freed at once", True), Rule("freed, and forwarded", True, True)]


def joins(c, rule, size, rate, count, depth=1, index=0):
    """Seconds until the first, the mean and the last of `count` joiners of one server are live; inf: never."""
    encode, decode, lease = rule.costs(c, size, depth, index)
    speed, behind = min(c.throttle, c.link), rate * c.apply
    together = min(c.slots, count)
    fetch = together * size / speed
    # With a lease the places drift apart until each fetches alone: at once if it is long, else in some 25 rounds. A
    # joiner ends it by a repair when it has decoded, if it subscribed after the snapshot. Those that wait did so
    # before every snapshot but the first.
    hold = early = fetch
    if lease and c.plant != "lease":
        early, hold = (max(fetch, size / speed + kept) for kept in (min(lease, decode), lease))
    held = c.window / (rate * c.mutation) if rate else math.inf
    need = encode + fetch + decode
    if need >= held or behind >= 1:
        return [math.inf] * 3
    fresh = min(max(size, c.fresh), c.window) / (rate * c.mutation) if rate else math.inf
    if fresh + need > held and count / c.slots * hold > held - need:
        lost = need / held  # so many joins begin too late in a snapshot's life
        early, hold = early / (1 - lost), hold / (1 - lost)
    age = need + min(fresh, held - need, count / c.slots * hold) / 2
    live = (c.start / (count + 1) + 3 * c.connect / c.threads + (encode + c.making / 2 if encode else 0) + fetch
            + decode + behind * age / (1 - behind) + 0.5 / c.beacons)
    pause, gaps, times = c.full * (1 + c.jitter / 2) / c.slots, 0.0, []
    first = 1 + fresh / early  # so many rounds are served from the first snapshot; who had it made misses nothing
    for rank in range(count):
        if rank >= c.slots:
            gaps += pause / (count - rank)  # of the joiners that wait one asks so much later
        rounds = rank // c.slots
        late = max(0, rounds - first) + (1 / c.slots if rounds else 0)
        drift = min(rounds, 25) * min(fetch - size / speed, hold - early)
        times.append(live + rounds * early + late * (hold - early) + drift + gaps)
    return [times[0], sum(times) / count, times[-1]]


def restart(c, rule, size, rate, fanout, depth):
    """First, mean and last leaf when all nodes but the primary start with nothing: level by level."""
    parts = [joins(c, rule, size, rate, fanout, depth, index) for index in range(depth)]
    return [sum(times) for times in zip(*parts)]


def resumed(c, size, rate, fanout, depth):
    """The last leaf when every node has a journal: it decodes its state, and fetches by REPAIR what it missed."""
    now, flow = size * c.decode, rate * c.mutation
    for _ in range(depth):
        tail, alone = flow * (c.down + now + c.start), c.rtt / c.repair + c.apply / c.mutation + 1 / c.link
        if tail > c.window or flow * max(alone, fanout / c.link) >= 1:
            return math.inf
        # The last one to start is bound by itself, or all together by their server's link.
        took = [tail * share / (1 - flow * share) for share in (alone, fanout / c.link)]
        now += max(c.start + took[0], took[1]) + 1 / c.beacons
    return now


def check(c, say):
    """Compares formulas and simulation; how often they differ by more than the tolerance."""
    wrong = 0

    def compare(what, formula, found, part, seconds=0.0):
        nonlocal wrong
        isEqual = formula == found or abs(formula - found) <= part * found + seconds
        wrong += not isEqual
        say(f"{'ok     ' if isEqual else 'DIFFERS'} {what}: formula {formula:.4g}, simulated {found:.4g}")

    trees = [(rate, fanout, depth) for rate in (1e3, 1e5, 1e6) for fanout, depth in TREES if rate * fanout < 1e8]
    for rate, fanout, depth in trees + [(1e3, fanout, 1) for fanout in (1_000, 3_000, REPLICAS)]:
        runs = [simulation.levels(c, random.Random(c.seed + run), rate, fanout, depth, 0.5) for run in range(4)]
        for index in range(depth):
            formula = level(c, rate, fanout, index)
            formula["io"] = min(1, formula["io"])
            for name in ("frames", "io", "writes", "mean"):
                found = sum(run[index][name] for run in runs) / len(runs)
                compare(f"{name} of level {index}, {fanout}^{depth}, {rate:g}/s", formula[name], found, 0.1)
    for rule in RULES:
        for size, rate in ((1e7, 1e3), (1e7, 1e5), (1e8, 1e3), (1e8, 1e5), (1e9, 1e3), (1e9, 1e5)):
            for fanout, depth in TREES + [(c.star, 1)]:
                def join(starts, ready, index):
                    encode, decode, lease = rule.costs(c, size, depth, index)
                    patience = ready + 500 if formula[2] == math.inf else math.inf
                    return simulation.snapshot_joins(
                        c, rng, size, rate, starts, ready, encode, decode, lease, patience)
                rng, formula = random.Random(c.seed), restart(c, rule, size, rate, fanout, depth)
                if formula[2] == math.inf:
                    found = [min(join([0.0] * fanout, 0.0, depth - 1))] * 3
                else:
                    found = simulation.tree(c, rng, fanout, depth, join)
                for name, one, other in zip(("first", "middle", "last"), formula, found):
                    what = f"{name} live, {size / 1e6:g} MB, {rule.name}, {fanout}^{depth}, {rate:g}/s"
                    # A joiner that is told BUSY comes again a second or a quarter more later.
                    compare(what, one, other, 0.1, depth * c.full * (1 + c.jitter))
    for fanout, depth in TREES:
        for rate in (1e3, 1e5):
            def join(starts, ready, _):
                return simulation.tail_joins(c, rng, rate, [start + 1e7 * c.decode for start in starts], ready)
            rng, formula = random.Random(c.seed), resumed(c, 1e7, rate, fanout, depth)
            found = simulation.tree(c, rng, fanout, depth, join)[2]
            compare(f"last live with a journal, 10 MB, {fanout}^{depth}, {rate:g}/s", formula, found, 0.1, 0.5)
    return wrong


def tables(c):
    """All tables of FLEET.md."""
    rates, sizes, percent = (1_000, 100_000, 1_000_000), (1e7, 1e8, 1e9), "{:.0%}".format
    rows = []
    for rate in (0,) + rates:
        alone = largest(c, rate, lambda cost: max(cost["io"], cost["node"], cost["link"]) <= 1)
        resources = (("I/O threads", "least"), ("node's thread", "node"), ("link", "link"))
        limits = {name: largest(c, rate, lambda cost: cost[key] <= 1) for name, key in resources}
        limits |= {"descriptors": int(c.descriptors / 3), "sessions": int(c.sessions)}
        name = min(limits, key=limits.get)
        one, cost = level(c, rate, 1, 0), level(c, rate, REPLICAS, 0)
        rows.append([f"{rate:,}", f"{one['frames']:,.0f}", data(one["flow"]) + "/s",
                     f"{min(alone, limits['descriptors'], limits['sessions']):,}", f"{limits[name]:,} ({name})"])
        rows[-1] += ["no"] * 4 if cost["last"] == math.inf else [
            data(cost["out"]) + "/s", f"{min(c.threads, cost['io'] * c.threads):.2g}", words(cost["commit"]),
            words(cost["last"])]
    table(["mutations/s", "frames/s", "bytes/s to one", "each frame by itself, up to", "most replicas",
           "10,000: bytes out", "I/O threads at work", "one commit", "last one has it after"], rows)
    rows = []
    for rate in rates:
        for fanout, depth in TREES:
            for index in range(depth):
                cost = level(c, rate, fanout, index)
                rows.append((
                    f"{rate:,}", f"{fanout}, {depth} levels", "primary" if index == 0 else f"{cost['nodes']} relays",
                    data(cost["out"]) + "/s", percent(cost["link"]), percent(cost["io"]), percent(cost["node"]),
                    f"{words(cost['mean'])}, {words(cost['last'])}" if cost["mean"] < math.inf else "link too slow",
                    data(cost["queue"]), data(cost["queue"] * fanout)))
    table(["mutations/s", "fan-out", "node", "bytes out", "of its link", "of its I/O threads", "of its node's thread",
           "its children have a batch after (mean, last)", "queue of a stalled child", "if all stall"], rows)
    rows = [(f"{rate:,}", words(c.window / (rate * c.mutation)), data(
        c.window / (rate * c.mutation) / (c.encode + c.slots / min(c.throttle, c.link) + c.decode))) for rate in rates]
    table(["mutations/s", "the window holds", "largest state that can be joined"], rows)
    shapes = [(REPLICAS, 1)] + TREES
    rows = []
    for rule in RULES:
        for size in sizes:
            for rate in rates:
                times = [restart(c, rule, size, rate, *shape) for shape in shapes]
                if times[0][2] < math.inf:
                    rows.append([rule.name, data(size), f"{rate:,}"] + [", ".join(map(words, t)) for t in times])
    table(["places", "state", "mutations/s", "star", "fan-out 100, 2 levels", "fan-out 22, 3 levels"], rows)
    rows = []
    for size, rate in [(size, rate) for size in sizes for rate in rates]:
        lost = rate * c.mutation * (c.down + size * c.decode + c.start) > c.window
        times = [resumed(c, size, rate, *shape) for shape in shapes]
        rows.append([data(size), f"{rate:,}"] + [
            words(time) if time < math.inf else "by snapshot" if lost else "no" for time in times])
    table(["state", "mutations/s", "star", "fan-out 100, 2 levels", "fan-out 22, 3 levels"], rows)


def picture(c):
    """Time until the last of 10,000 replicas is live, against fan-out."""
    shapes = [(2, 14), (3, 9), (4, 7), (5, 6), (7, 5), (10, 4)] + TREES[::-1] + [(REPLICAS, 1)]
    lines = [(f"{data(size)}, {rule.name}", number, dash,
              [(shape[0], restart(c, rule, size, 1e3, *shape)[2]) for shape in shapes])
             for rule, dash in zip(RULES[:2], ("", "6 4")) for number, size in enumerate((1e7, 1e8, 1e9))]
    ticks = [(10, "10 s"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h")]
    labels = [(fanout, "star" if depth == 1 else str(fanout), str(depth)) for fanout, depth in shapes]
    return plot("Mass restart of 10,000 replicas: when the last one is live",
                "No local snapshots, 1,000 mutations/s. Places of joins: as today, or freed with the last chunk.",
                "fan-out of each node, and levels below the primary", labels, ticks, lines, (2, REPLICAS), (4, 50_000))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare formulas and simulation; a minute or two")
    parser.add_argument("--star", type=int, default=1_000, help="joiners of the checked star; 10,000 take hours; 1000")
    parser.add_argument("--seed", type=int, default=1, help="of the simulation; 1")
    parser.add_argument("--plant", choices=PLANTS, default="", help="; ".join(f"{k}: {v}" for k, v in PLANTS.items()))
    parser.add_argument("--svg", metavar="FILE", help="write the picture")
    for name, default, unit, what in CONSTANTS:
        parser.add_argument("--" + name, type=float, default=default, metavar="N", help=f"{what}; {default}")
    c = parser.parse_args()
    for name, _, unit, _ in CONSTANTS:
        name = name.replace("-", "_")
        setattr(c, name, getattr(c, name) * unit)
    if c.svg:
        with open(c.svg, "w", encoding="utf-8") as file:
            file.write(picture(c))
    if c.check:
        wrong = check(c, print)
        print(f"{wrong} differ" if wrong else "formulas and simulation agree")
        sys.exit(1 if wrong else 0)
    if not c.svg:
        tables(c)


if __name__ == "__main__":
    main()
