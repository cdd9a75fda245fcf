"""A client that opens sessions without need, or writes much: run on a host, with the frames of hostile_peers.py.

    flood.py HOST PORT sessions NAME COUNT     opens so many sessions for a minute each, and keeps its connection
    flood.py HOST PORT writes NAME MIB         adds to counters with long names until the log has grown by so much

It says `done`, and stays until it is ended.
"""
import os
import random
import signal
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Tests", "IntegrationTests"))
from hostile_peers import enter, frame, message, receive  # noqa: E402

OPEN, OPENED, SUBMIT, RESULT = 4, 5, 9, 10


def varint(value):
    content = b""
    while value > 0x7F:
        content += bytes([value & 0x7F | 0x80])
        value >>= 7
    return content + bytes([value])


def end_of(content, at, count):
    """Where so many varints end."""
    for _ in range(count):
        while content[at] & 0x80:
            at += 1
        at += 1
    return at


def open_sessions(peer, channel, cluster, count):
    """Opens so many, one connection's worth at a time; the last one's ID."""
    client = random.randbytes(16)
    opened = b""
    for first in range(1, count + 1, 64):
        nonces = range(first, min(first + 64, count + 1))
        peer.sendall(b"".join(message(frame(OPEN, client + struct.pack("<QqII", nonce, 60_000_000, 4_096, 1 << 20), channel,
                                            cluster)) for nonce in nonces))
        answers = 0
        while answers < len(nonces):
            answer = receive(peer)
            if answer[5] == OPENED:
                opened = answer[40:end_of(answer, 40, 2)]  # After the head and the nonce.
                answers += 1
    return opened


def write(peer, channel, cluster, mebibytes):
    """Adds one to so many counters that the log grows by this much."""
    session = open_sessions(peer, channel, cluster, 1)
    number, name = 1, 256
    while number * name < mebibytes << 20:
        actions = b""
        for one in range(number, number + 128):
            action = b"\1" + varint(name) + str(one).encode().rjust(name, b"w") + varint(2)
            actions += varint(len(action)) + action
        body = session + varint(number) + varint(number - 1) + b"\0" + varint(128) + actions
        peer.sendall(message(frame(SUBMIT, body, channel, cluster)))
        answered = 0
        while answered < 128:
            answer = receive(peer)
            if answer[5] == RESULT:
                at = end_of(answer, 32, 3)  # After the session and the first number: how many, 128 at most.
                answered += answer[at] & 0x7F | (answer[at + 1] << 7 if answer[at] & 0x80 else 0)
        number += 128


def main():
    host, port, kind, name, amount = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4].encode(), int(sys.argv[5])
    peer, channel, cluster, _ = enter(port, name, random.getrandbits(64) | 1, host)
    {"sessions": open_sessions, "writes": write}[kind](peer, channel, cluster, amount)
    print("done", flush=True)
    signal.pause()


main()
