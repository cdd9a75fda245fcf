#!/usr/bin/env python3
"""Opens connections to a node of ours on this host and says wrong things in ZMTP, ZeroMQ's wire protocol.

Each connection begins as a valid peer of some version would, goes on with one of a dozen kinds of traffic, has a few of
its bytes changed, and is sent in two pieces; one in twenty is left open for a while. It ends by itself.
"""
import argparse
import random
import socket
import struct
import time

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--ports", required=True, help="ports on 127.0.0.1, with commas")
arguments.add_argument("--seconds", type=float, default=60)
arguments.add_argument("--seed", type=int, default=1)
options = arguments.parse_args()
ports = [int(port) for port in options.ports.split(",")]
rng = random.Random(options.seed)

SIGNATURE = b"\xff" + bytes(7) + b"\x01\x7f"
LENGTHS = [0, 1, 255, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


def noise(limit):
    return rng.randbytes(rng.randrange(limit))


def greeting():
    mechanism = rng.choice([b"NULL", b"PLAIN", b"CURVE", b"GSSAPI", b"????"]).ljust(20, b"\0")
    return SIGNATURE + bytes([3, rng.choice([0, 1, 1, 7])]) + mechanism + bytes([rng.randrange(2)]) + bytes(31)


def command(name, body):
    content = bytes([len(name)]) + name + body
    if len(content) > 255 or rng.random() < 0.1:
        return b"\x06" + struct.pack(">Q", len(content)) + content
    return b"\x04" + bytes([len(content)]) + content


def message(body, more=False):
    flags = 1 if more else 0
    if len(body) > 255:
        return bytes([flags | 2]) + struct.pack(">Q", len(body)) + body
    return bytes([flags, len(body)]) + body


def ready():
    kind = rng.choice([b"DEALER", b"SUB", b"XSUB", b"REQ", b"ROUTER", b"PAIR", b""])
    properties = b""
    for name, value in [(b"Socket-Type", kind), (b"Identity", noise(64))]:
        properties += bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
    return command(b"READY", properties)


def lockstep_frame():
    """A header as a node writes it, with wrong fields after it."""
    body = noise(400)
    head = struct.pack("<HHBBHQQ", 0x534C, rng.choice([0, 1, 0xFFFF]), rng.choice([1, 1, 2]), rng.randrange(80), 0,
                       rng.getrandbits(64), rng.getrandbits(64))
    return message(head + struct.pack("<II", rng.choice([len(body), 0, 2**32 - 1]), rng.getrandbits(32)) + body)


def script():
    opening = greeting() + ready()
    kinds = [
        lambda: noise(500),
        lambda: b"\x01\x00" + noise(200),
        lambda: SIGNATURE + b"\x01\x05" + noise(200),
        lambda: opening + b"".join(message(noise(500), rng.random() < 0.5) for _ in range(rng.randrange(8))),
        lambda: opening + b"".join(lockstep_frame() for _ in range(rng.randrange(1, 20))),
        lambda: opening + b"\x02" + struct.pack(">Q", rng.choice(LENGTHS)) + noise(300),
        lambda: opening + b"".join(message(bytes([rng.randrange(3)]) + noise(3000)) for _ in range(3)),
        lambda: opening + b"".join(command(rng.choice([b"PING", b"PONG", b"SUBSCRIBE", b"CANCEL", b"ERROR", b"X" * 90]),
                                           noise(300)) for _ in range(rng.randrange(1, 40))),
        lambda: greeting() + command(b"HELLO", noise(300)) + command(b"INITIATE", noise(400)),
        lambda: greeting() + command(b"READY", b"".join(
            bytes([rng.randrange(256)]) + noise(30) + struct.pack(">I", rng.choice([0, 9, 2**31, 2**32 - 1])) + noise(30)
            for _ in range(4))),
    ]
    return rng.choice(kinds)()


def change(content):
    content = bytearray(content)
    for _ in range(rng.choice([0, 0, 0, 1, 2, 6])):
        if not content:
            break
        at = rng.randrange(len(content))
        what = rng.randrange(3)
        if what == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            del content[at:at + rng.randrange(1, 6)]
        else:
            content[at:at] = noise(6)
    return bytes(content)


count = refused = 0
left_open = []
end = time.monotonic() + options.seconds
while time.monotonic() < end:
    count += 1
    try:
        peer = socket.create_connection(("127.0.0.1", rng.choice(ports)), timeout=2)
        content = change(script())
        cut = rng.randrange(len(content) + 1)
        peer.sendall(content[:cut])
        peer.sendall(content[cut:])
        if rng.random() < 0.05:
            left_open.append(peer)
        else:
            peer.close()
        if len(left_open) > 50:
            left_open.pop(0).close()
    except OSError:
        refused += 1
print(f"connections {count}, refused or reset {refused}")
