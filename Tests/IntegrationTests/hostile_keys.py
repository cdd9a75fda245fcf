#!/usr/bin/env python3
"""Attacks a node with keys, on this host or in a laboratory: without a key, with a wrong one, or beyond its role.

    hostile_keys.py KIND --nodes FILE [--keys FILE] [--host HOST] --port PORT [--seconds S] [--count N] [--rate N]

PORT is the node's first port, and FILE of --nodes is what `lockstep keys export` writes. Each kind ends by itself or by
SIGTERM, and prints a line of JSON: `tried`, how many connections or messages there were; `delivered`, how often the
node told more than it should, which must be 0; and what else the kind counts. The kinds `replayed`, `mutated`, `roles`
and `names` need --keys, of a reader that the node knows.
"""
import argparse
import json
import os
import random
import signal
import struct
import sys
import time

sys.dont_write_bytecode = True
from curve_peer import GREETING, HANDSHAKE, Dealer, Keys, Pool, Recording, zmq  # noqa: E402
from hostile_peers import SIGNATURE, command, frame, hello, message, ready  # noqa: E402

LENGTHS = [0, 1, 199, 201, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
WELCOME, REFUSED, READ_RESULT, RESYNC, ADMIN_RESPONSE = 2, 3, 19, 22, 65
REQUESTS = [4, 6, 9, 15, 16, 20, 23]  # what only a writer or a replica may ask
NEVER = [2, 3, 5, 7, 8, 10, 11, 12, 13, 14, 17, 19, 21, 22, 24, 25, 27, 33, 35, 37, 48, 49, 65]  # what nobody may say
BULK = [32, 34, 36]


# MARK: kinds without keys

def plain(options):
    """Mechanisms without keys, and versions of ZMTP that have none, at each port."""
    def greeting(mechanism, minor=1):
        return SIGNATURE + bytes([3, minor]) + mechanism.ljust(20, b"\0") + bytes(32)

    said = message(hello(1, b"plain", 1)) + message(b"\x01LS\0\0")
    peers = [
        [greeting(b"NULL"), ready(b"DEALER") + said],
        [greeting(b"NULL", 0), ready(b"SUB") + said],
        [greeting(b"PLAIN"), command(b"HELLO", b"\x05admin\x05admin"), command(b"INITIATE", b"") + said],
        [greeting(b"GSSAPI"), command(b"INITIATE", bytes(20)) + said],
        [greeting(b"CURVE"), ready(b"DEALER") + said],
        [b"\x01\x00" + message(hello(1, b"one", 1)), said],  # ZMTP 1.0
        [SIGNATURE + b"\x00\x05" + b"\x00\x00" + said],  # ZMTP 2.0, a DEALER
        [SIGNATURE + b"\x01\x05" + b"\x00\x00" + said],
        [SIGNATURE + b"\x01\x02" + b"\x00\x00" + message(b"\x01LS\0\0")],  # as a SUB
    ]
    pool = Pool(options, GREETING)
    pool.run(lambda n: (options.port + n % 3, peers[n // 3 % len(peers)], n // 27 % 2 == 0), options.count)
    return pool.counts()


def strangers(options):
    """Whole handshakes by keys that nobody knows, and by a wrong key of the node, at each port."""
    tried = delivered = 0
    wrong, end = Keys.new().public, time.monotonic() + options.seconds
    while time.monotonic() < end:
        peers = []
        for number in range(24):
            server = wrong if number % 4 == 3 else options.server
            peer = Dealer(f"tcp://{options.host}:{options.port + number % 3}", Keys.new(), server)
            peer.send(b"\x01LS\0\0" if number % 3 == 1 else hello(1, b"stranger", number + 1))
            peers.append(peer)
            tried += 1
        time.sleep(max(0.2, 24 / options.rate))
        for peer in peers:
            delivered += sum(1 for _ in peer.all(0.001))
            peer.__exit__()
    return {"tried": tried, "delivered": delivered}


# MARK: kinds with a recording

def replayed(options):
    """A recorded connection as it was, once more: the node has other keys for each, so it proves nothing."""
    recordings = [Recording(options, options.port), Recording(options, options.port + 2)]
    pool = Pool(options, HANDSHAKE)
    pool.run(lambda n: (options.port + n % 3, recordings[n % 2].pieces, n % 4 > 0), options.count)
    return pool.counts()


def mutate(pieces, rng):
    """The recorded pieces with one or some of them changed, moved, or with a length that is none."""
    pieces = list(pieces)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(pieces))
        piece = bytearray(pieces[at])
        what = rng.randrange(9)
        if what < 3 and piece:
            for _ in range(rng.choice([1, 1, 8])):
                piece[rng.randrange(len(piece))] ^= 1 << rng.randrange(8)
        elif what == 3:
            cut = rng.randrange(len(piece) + 1)
            piece[cut:cut + rng.randrange(40)] = rng.randbytes(rng.randrange(40))
        elif what == 4 and at > 0:
            body = piece[9:] if piece[:1] and piece[0] & 2 else piece[2:]
            flags = rng.choice([2, 3, 6, 7, 0xFF, 0x22])
            piece = bytearray(bytes([flags]) + struct.pack(">Q", rng.choice(LENGTHS)) + body)
        elif what == 5 and piece:
            piece[rng.randrange(min(len(piece), 12))] = rng.randrange(256)
        elif what == 6:
            pieces.insert(at, bytes(piece))
        elif what == 7:
            pieces[rng.randrange(len(pieces))], piece = bytes(piece), bytearray(pieces[rng.randrange(len(pieces))])
        else:
            names = [b"HELLO", b"WELCOME", b"INITIATE", b"READY", b"ERROR", b"MESSAGE", b"PING", b"SUBSCRIBE"]
            piece = bytearray(command(rng.choice(names), rng.randbytes(rng.randrange(200))))
        pieces[min(at, len(pieces) - 1)] = bytes(piece)
    return pieces


def mutated(options):
    """A recorded connection with changes, at each port: no such connection comes to its end."""
    rng = random.Random(options.seed)
    recording = Recording(options, options.port)
    pool = Pool(options, HANDSHAKE)
    pool.run(lambda n: (options.port + n % 3, mutate(recording.pieces, rng), rng.random() < 0.7), options.count)
    return pool.counts()


# MARK: kinds with keys that are known

def kind_of(content):
    return content[5] if len(content) >= 32 else None


def roles(options):
    """What a reader may not say, all that it may ask, and epochs that there are not."""
    counts = {"tried": 0, "delivered": 0, "refused": 0, "answered": 0}
    rng, end = random.Random(options.seed), time.monotonic() + options.seconds
    endpoint = f"tcp://{options.host}:{options.port}"

    def judge(peer, allowed):
        for content in peer.all(0.05):
            kind = kind_of(content)
            counts["refused"] += kind == REFUSED
            counts["answered"] += kind in allowed
            counts["delivered"] += kind not in allowed + [REFUSED]

    while time.monotonic() < end:
        with Dealer(endpoint, options.keys, options.server) as peer:
            peer.send(hello(1, options.keys.name.encode(), rng.getrandbits(63) + 1))
            welcome = next((one for one in peer.all(1) if kind_of(one) == WELCOME), None)
            channel, cluster = 0xFFFF, 0
            if welcome:
                body = welcome[32:]
                channel = struct.unpack_from("<H", body, 27 + body[26] + 32)[0]
                cluster = int.from_bytes(body[8:16], "big")
            for kind in REQUESTS + NEVER + BULK:
                body = rng.randbytes(rng.choice([8, 40, 200]))
                if kind == 4:
                    body = rng.randbytes(24) + struct.pack("<qII", 10**9, 64, 4_096)
                if kind in (48, 49):  # A batch and a beacon, of an epoch far beyond any.
                    body = struct.pack("<Q", 10**9) + body
                counts["tried"] += peer.send(frame(kind, body, channel, cluster))
            for role, name in ((2, options.keys.name.encode()), (2, b"n\n\x1b[31mforged line")):
                counts["tried"] += peer.send(hello(role, name, rng.getrandbits(63) + 1))
            # All that it may ask, as fast as it goes.
            for _ in range(64):
                counts["tried"] += peer.send(frame(64, b'{"command":"status","digests":true}', channel, cluster))
                counts["tried"] += peer.send(frame(18, rng.randbytes(60), channel, cluster))
            judge(peer, [WELCOME, READ_RESULT, RESYNC, ADMIN_RESPONSE])
        with Dealer(f"tcp://{options.host}:{options.port + 2}", options.keys, options.server) as peer:
            for kind in BULK + NEVER:
                counts["tried"] += peer.send(frame(kind, rng.randbytes(80), channel, cluster))
            judge(peer, [ADMIN_RESPONSE])
        with Dealer(f"tcp://{options.host}:{options.port + 1}", options.keys, options.server) as peer:
            counts["tried"] += peer.send(b"\x01LS" + struct.pack("<H", channel))
            judge(peer, [])
    return counts


def names(options):
    """HELLOs under the names of others, as a client and as a replica."""
    counts = {"tried": 0, "delivered": 0, "refused": 0}
    end, number = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        with Dealer(f"tcp://{options.host}:{options.port}", options.keys, options.server) as peer:
            for name in options.others:
                for role in (1, 2):
                    number += 1
                    counts["tried"] += peer.send(hello(role, name.encode(), number))
            for content in peer.all(0.2):
                counts["refused"] += kind_of(content) == REFUSED
                counts["delivered"] += kind_of(content) != REFUSED
    return counts


def series(options):
    """All kinds, one after the other, until the time has passed."""
    options.count, total, end = 60, {}, time.monotonic() + options.seconds
    options.seconds = 1
    while time.monotonic() < end:
        for kind in (plain, strangers, replayed, mutated, roles, names):
            try:
                counts = kind(options)
            except (SystemExit, OSError):  # The node is away: there is nothing to record.
                counts = {"failed": 1}
            options.seed += 1
            for name, count in counts.items():
                total.setdefault(kind.__name__, {}).setdefault(name, 0)
                total[kind.__name__][name] += count
            options.tell(total)
    return total


KINDS = {kind.__name__: kind for kind in (plain, strangers, replayed, mutated, roles, names, series)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kind", choices=sorted(KINDS))
    arguments.add_argument("--nodes", required=True)
    arguments.add_argument("--keys")
    arguments.add_argument("--host", default="127.0.0.1")
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--seconds", type=float, default=4)
    arguments.add_argument("--count", type=int, default=500)
    arguments.add_argument("--rate", type=float, default=300, help="connections a second")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--report", help="a file for the counts, instead of the output")
    options = arguments.parse_args()
    with open(options.nodes, encoding="utf-8") as file:
        entries = json.load(file)["entries"]
    address = f"tcp://{options.host}:{options.port}"
    options.server = next(entry["keys"][0] for entry in entries if entry.get("address") == address).encode()
    options.others = [entry["name"] for entry in entries]
    options.keys = Keys.read(options.keys) if options.keys else None

    def tell(counts):
        if options.report:
            with open(options.report + ".new", "w", encoding="utf-8") as file:
                json.dump(counts, file)
            os.replace(options.report + ".new", options.report)

    options.tell = tell
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # libzmq's own threads need no farewell.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # A thread that starts processes may have blocked it.
    zmq()
    counts = KINDS[options.kind](options)
    tell(counts)
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
