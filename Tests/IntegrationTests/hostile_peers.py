#!/usr/bin/env python3
"""Attacks a node of ours on this host: one kind of hostile peer, bounded in count and time. It ends by itself.

    hostile_peers.py KIND --port PORT [--seconds S] [--offsets N,...]

PORT is the node's first port. Each kind prints what it did. The test of the pages takes its frames from here too.
"""
import argparse
import os
import resource
import selectors
import signal
import socket
import struct
import sys
import time

HOST = "127.0.0.1"
SIGNATURE = b"\xff" + bytes(7) + b"\x01\x7f"
GREETING = SIGNATURE + bytes([3, 0]) + b"NULL".ljust(20, b"\0") + bytes(32)


def command(name, body):
    content = bytes([len(name)]) + name + body
    return b"\x04" + bytes([len(content)]) + content


def ready(kind):
    properties = b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    return command(b"READY", properties + b"\x08Identity" + bytes(4))


def message(body, more=False):
    flags = 1 if more else 0
    if len(body) > 255:
        return bytes([flags | 2]) + struct.pack(">Q", len(body)) + body
    return bytes([flags, len(body)]) + body


def read(peer, count):
    content = b""
    while len(content) < count:
        part = peer.recv(count - len(content))
        if not part:
            raise ConnectionResetError("the node ended the handshake")
        content += part
    return content


def connect(port, kind=b"DEALER", host=HOST):
    """Shakes hands; libzmq takes messages only from a peer that waited for its part."""
    peer = socket.create_connection((host, port), timeout=5)
    peer.sendall(GREETING + ready(kind))
    read(peer, 64)
    read(peer, read(peer, 2)[1])
    return peer


def crc32c(content):
    value = 0xFFFFFFFF
    for byte in content:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def frame(kind, body, channel=0xFFFF, cluster=0, epoch=0):
    head = struct.pack("<HHBBHQQI", 0x534C, channel, 1, kind, 0, cluster, epoch, len(body))
    return head + struct.pack("<I", crc32c(head + body)) + body


def hello(role, node, boot, store=b"counters"):
    body = struct.pack("<QB", boot, role) + bytes([len(node)]) + node + bytes(16) + boot.to_bytes(16, "big")
    return frame(1, body + bytes([len(store)]) + store + bytes(49))


def receive(peer):
    """The node's next message; commands are passed over."""
    while True:
        flags = read(peer, 1)[0]
        size = struct.unpack(">Q", read(peer, 8))[0] if flags & 2 else read(peer, 1)[0]
        content = read(peer, size)
        if not flags & 4:
            return content


def enter(port, node, boot, host=HOST):
    """A client's connection that was welcomed, and what frames must name: channel, cluster, and the store's ID."""
    peer = connect(port, host=host)
    peer.sendall(message(hello(1, node, boot)))
    welcome = receive(peer)
    while welcome[5] != 2:
        welcome = receive(peer)
    body = welcome[32:]
    at = 27 + body[26] + 32  # After nonce, cluster, role, volatile; after the name; after incarnation and boot.
    peer.settimeout(None)
    return peer, struct.unpack_from("<H", body, at)[0], int.from_bytes(body[8:16], "big"), body[at + 2:at + 18]


class Report:
    """Counts what was sent, and how often the node ended the connection."""

    def __init__(self):
        self.sent = self.ended = 0

    def __str__(self):
        return f"sent {self.sent}, ended {self.ended}"


def pour(port, content, count, seconds, report, kind=b"DEALER"):
    """Sends content, which is so many messages, without reading; on a new connection when the last one was ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with connect(port, kind) as peer:
                peer.settimeout(0.5)
                while time.monotonic() < end:
                    peer.sendall(content)
                    report.sent += count
        except OSError:
            report.ended += 1
            time.sleep(0.02)


def repeated(body, more=False):
    one = message(body, more)
    count = max(1, (256 << 10) // len(one))
    return one * count, count


def subscriptions(options, report):
    """Prefixes of 4,000 bytes, many short ones, and the same one again and again, as a SUB and as a DEALER."""
    long = b"".join(message(b"\x01" + struct.pack(">I", n) + os.urandom(3_996)) for n in range(4_000))
    short = b"".join(message(b"\x01" + struct.pack(">I", n)) for n in range(50_000))
    valid = b"".join(message(b"\x01LS" + struct.pack("<H", n % 65_536)) for n in range(50_000))
    loop = (message(b"\x01LS\0\0") + message(b"\x00LS\0\0")) * 25_000
    for kind in (b"SUB", b"DEALER"):
        for content, count in ((long, 4_000), (short, 50_000), (valid, 50_000), (loop, 50_000)):
            pour(options.port + 1, content, count, options.seconds / 8, report, kind)


def tiny(options, report):
    """Empty messages, as fast as they go, at each port."""
    for port in options.offsets:
        pour(options.port + port, *repeated(b""), options.seconds / len(options.offsets), report)


def frames(options, report):
    """Frames of 200 bytes and of 64 KiB that cannot be read, at each port."""
    for port in options.offsets:
        for size in (200, 65_536):
            pour(options.port + port, *repeated(os.urandom(size)), options.seconds / 2 / len(options.offsets), report)


def endless(options, report):
    """One message of parts without end, at each port."""
    for port in options.offsets:
        size = 900 if port == 1 else 100_000
        pour(options.port + port, *repeated(bytes(size), more=True), options.seconds / len(options.offsets), report)


def by_a_hundred(port, some, report):
    """70,000 messages on a hundred connections that read nothing; each says one of these, again and again."""
    peers = [connect(port) for _ in range(100)]
    for _ in range(70):
        for number, peer in enumerate(peers):
            try:
                peer.sendall(some[number % len(some)] * 10)
                report.sent += 10
            except OSError:
                report.ended += 1
    time.sleep(1)


def hellos(options, report):
    """70,000 HELLOs of clients, on a hundred connections that read nothing."""
    by_a_hundred(options.port, [message(hello(1, b"c%d" % n, n + 1)) for n in range(100)], report)


FORGED = b"\x06forged" + bytes([9] * 16) + bytes([8] * 16)  # A member that there is not, and its boot.


def log(epoch=0, end=0):
    """What a data node says of its log: it is empty, or has this end; nothing of it is committed."""
    ends = b"\x01" + struct.pack("<Q16xQ16x", epoch, end) if end else b"\0"
    return struct.pack("<QQ", epoch, end) + bytes(24) + ends


def links(options, report):
    """70,000 frames of data nodes that are none: what standbys and primaries say, of streams that there are not."""
    channel, cluster, store = enter(options.port, b"looker", 1)[1:]
    nonce = struct.pack("<Q", 1)
    bodies = [
        (80, nonce + bytes(16) + FORGED + bytes(8) + log()),  # FETCH of a store that there is not.
        (83, nonce + FORGED + bytes(64)), (86, nonce * 2), (87, nonce),  # ACK, CONFIRM, RECORD_REQ
        (81, nonce + bytes(24) + b"\x02" + bytes(32)), (82, nonce + bytes(9)), (84, FORGED[:23] + bytes(9)),
        (85, nonce * 2), (90, nonce + bytes(33)), (80, store[:7]),
    ]
    by_a_hundred(options.port + 3, [message(frame(*one, channel, cluster, 1)) for one in bodies], report)


def reigns(options, report):
    """70,000 words of later reigns that there are not: FETCH that has promised more, or has more, and STEP_DOWN."""
    channel, cluster, store = enter(options.port, b"looker", 1)[1:]
    later, nonce = 2**61, struct.pack("<Q", 1)
    bodies = [
        (80, nonce + store + FORGED + struct.pack("<Q", later) + log()),
        (80, nonce + store + FORGED + bytes(8) + log(later, 2**60)),
        (89, nonce + struct.pack("<Q", later) + log(later, 2**60) + struct.pack("<qQQ", 1, 1, later) + bytes(18)),
    ]
    by_a_hundred(options.port + 3, [message(frame(*one, channel, cluster, later)) for one in bodies], report)


def idle(options, report):
    """Connections that say nothing, and half a handshake, at each port; they stay as long as they may."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    waiting = selectors.DefaultSelector()
    for port in options.offsets:
        for number in range(options.connections):
            try:
                peer = socket.create_connection(
                    (HOST, options.port + port), timeout=5, source_address=(options.source, 0))
                part = (b"", GREETING[:11], GREETING, GREETING + ready(b"DEALER")[:9], GREETING + ready(b"DEALER"))
                peer.sendall(part[number % 5])
                waiting.register(peer, selectors.EVENT_READ)
                report.sent += 1
            except OSError:
                report.ended += 1
    end = time.monotonic() + options.seconds
    while time.monotonic() < end and waiting.get_map():
        for key, _ in waiting.select(0.2):
            try:
                if key.fileobj.recv(4_096):
                    continue
            except OSError:
                pass
            report.ended += 1
            waiting.unregister(key.fileobj)
            key.fileobj.close()


def read_all(peer):
    """Reads what has come, and forgets it; who does not read is disconnected after 5 s."""
    try:
        while peer.recv(1 << 20, socket.MSG_DONTWAIT):
            pass
    except BlockingIOError:
        pass


def replicas(options, report):
    """Two replicas that are none, under one name: they say HELLO twice a second, and ask for the broadcast."""
    peers = [connect(options.port) for _ in range(2)]
    listeners = [connect(options.port + 1) for _ in range(2)]
    for peer in peers + listeners:
        peer.settimeout(None)
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        for number, peer in enumerate(peers):
            peer.sendall(message(hello(2, b"forged", number + 1)))
            listeners[number].sendall(message(b"\x01LS\0\0"))
            report.sent += 1
        for _ in range(5):
            for peer in peers + listeners:
                read_all(peer)
            time.sleep(0.1)


def sessions(options, report):
    """Sixteen clients that open 1,024 sessions each, for seven days, as fast as they are answered; then others."""
    week = 7 * 86_400 * 1_000_000
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        first = report.sent + 1
        peers = [enter(options.port, b"flood-%d" % n, first + n) for n in range(16)]
        for nonce in range(0, 1_024, 32):
            for number, (peer, channel, cluster, _) in enumerate(peers):
                client = (first + number).to_bytes(16, "big")
                bodies = [client + struct.pack("<QqII", nonce + n + 1, week, 16_384, 16_384) for n in range(32)]
                peer.sendall(b"".join(message(frame(4, body, channel, cluster)) for body in bodies))
                report.sent += 32
            for peer, _, _, _ in peers:
                answers = 0
                while answers < 32:
                    answers += receive(peer)[5] in (3, 5)
        for peer, _, _, _ in peers:
            peer.close()


def joins(options, report):
    """Twenty that ask for a snapshot ten times a second, and fetch nothing.

    Half of them keep their name and connection, the others come every three seconds under another name.
    """
    channel, cluster, store = enter(options.port, b"looker", 1)[1:]
    peers = [None] * 20
    end = time.monotonic() + options.seconds
    turn = 0
    while time.monotonic() < end:
        for number in range(20):
            if peers[number] and number % 2 and (turn + 3 * number) % 30 == 0:
                peers[number].close()
                peers[number] = None
            name = b"looper-%d-%d" % (number, (turn + 3 * number) // 30 if number % 2 else 0)
            sync = struct.pack("<Q", turn + 1) + store + bytes([len(name)]) + name
            sync += bytes(48) + struct.pack("<QB", 1, 1)
            try:
                if not peers[number]:
                    peers[number] = connect(options.port + 2)
                    peers[number].settimeout(None)
                peers[number].sendall(message(frame(32, sync, channel, cluster)))
                report.sent += 1
                read_all(peers[number])
            except OSError:
                report.ended += 1
                peers[number] = None
        turn += 1
        time.sleep(0.1)


KINDS = {
    kind.__name__: kind
    for kind in (subscriptions, tiny, frames, endless, hellos, links, reigns, idle, replicas, sessions, joins)
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kind", choices=sorted(KINDS))
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--seconds", type=float, default=6)
    arguments.add_argument("--offsets", default="0,1,2", help="the ports after the first, of a kind for any port")
    arguments.add_argument("--connections", type=int, default=400, help="of the kind idle, at each port")
    arguments.add_argument("--source", default=HOST, help="the address that the kind idle comes from")
    options = arguments.parse_args()
    options.offsets = [int(offset) for offset in options.offsets.split(",")]
    report = Report()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # A thread that starts processes may have blocked it.
    try:
        KINDS[options.kind](options, report)
    finally:
        print(report)


if __name__ == "__main__":
    main()
