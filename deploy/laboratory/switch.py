"""The switch between the laboratory's hosts, in user space: every frame passes through here, and may meet a fault.

Each host has a TAP device `eth0` whose other end this process holds, so the devices go when it ends. Faults are rules
with a name, for ordered pairs of hosts; they are set and cleared by datagrams of JSON on a Unix socket, and each counts
what it did:

    {"do": "set", "name": "cut-1", "pairs": [["a", "b"]], "ports": [7401], "cut": true}
    {"do": "clear", "name": "cut-1"}
    {"do": "statistics"}

A rule has one or more of: `cut`, `hold` (kept until the rule is cleared, then delivered in order), `loss` and
`duplicate` and `corrupt` and `forge` (probabilities), `delay` and `jitter` (seconds), `rate` (bytes a second).
`corrupt` flips a bit anywhere, which the receiver's checksum of TCP finds; `forge` flips one in the payload and fixes
that checksum, so that only the receiving program can find it.
"""
import collections
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
BATCH = 64  # frames taken from one host before the next one has its turn
LONGEST_QUEUE = 0.5  # seconds of traffic that wait in front of a slow link; what comes on top is dropped


def open_tap(namespace, number, address):
    """Makes `eth0` in a host's namespace and returns the end of it that carries the frames."""
    libc = ctypes.CDLL(None, use_errno=True)
    home, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, 0) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", b"eth0", IFF_TAP | IFF_NO_PI))
    finally:
        libc.setns(home, 0)
        os.close(home)
        os.close(there)
    for command in (
        ["link", "set", "eth0", "address", f"02:00:00:00:00:{number:02x}"],
        ["addr", "add", f"{address}/24", "dev", "eth0"],
        ["link", "set", "eth0", "up"],
        ["link", "set", "lo", "up"],
    ):
        subprocess.check_call(["ip", "-n", namespace] + command)
    return tap


def tcp_offset(frame):
    """Where the TCP header of a frame begins; None for anything else."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return None
    offset = 14 + (frame[14] & 15) * 4
    return offset if len(frame) >= offset + 20 else None


def forged(frame, generator):
    """The frame with one bit of its TCP payload flipped and a right checksum; None if it has no payload."""
    tcp = tcp_offset(frame)
    if tcp is None:
        return None
    payload = tcp + (frame[tcp + 12] >> 4) * 4
    end = 14 + int.from_bytes(frame[16:18], "big")
    if payload >= end or end > len(frame):
        return None
    place = generator.randrange(payload, end)
    changed = bytearray(frame)
    changed[place] ^= 1 << generator.randrange(8)
    even = place - (place - tcp) % 2
    old, new = (int.from_bytes(bytes(b[even:even + 2]).ljust(2, b"\0"), "big") for b in (frame[:end], changed[:end]))
    total = (~int.from_bytes(frame[tcp + 16:tcp + 18], "big") & 0xFFFF) + (~old & 0xFFFF) + new
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    changed[tcp + 16:tcp + 18] = (~total & 0xFFFF).to_bytes(2, "big")
    return bytes(changed)


class Switch:
    """Forwards frames between taps under the rules that are set."""

    def __init__(self, taps, seed):
        self.taps = taps  # host -> descriptor
        self.hosts = {f"02:00:00:00:00:{n:02x}": h for n, h in enumerate(taps, start=1)}
        self.byAddress = {bytes.fromhex(mac.replace(":", "")): host for mac, host in self.hosts.items()}
        self.random = random.Random(seed)
        self.rules = {}  # name -> rule
        self.byPair = {}  # (from, to) -> rules
        self.queue, self.order = [], 0
        self.held = collections.defaultdict(list)  # name of a rule -> frames
        self.counts = collections.defaultdict(collections.Counter)
        self.total = collections.Counter()

    def control(self, request):
        """Carries out one request; what is answered."""
        if request["do"] == "set":
            self.rules[request["name"]] = dict(request, busy=collections.defaultdict(float))
        elif request["do"] == "clear":
            self.rules.pop(request["name"], None)
        self.byPair = {}
        for rule in self.rules.values():
            for pair in rule["pairs"]:
                self.byPair.setdefault(tuple(pair), []).append(rule)
        for name in [name for name in self.held if name not in self.rules]:
            for to, frame in self.held.pop(name):
                self.deliver(to, frame)
        return {"rules": {name: dict(count) for name, count in self.counts.items()}, "total": dict(self.total)}

    def deliver(self, to, frame):
        try:
            os.write(self.taps[to], frame)
            self.total["forwarded"] += 1
        except (BlockingIOError, OSError):
            self.total["refused"] += 1  # As a real switch would: the host's queue is full, or its device is down.

    def take(self, source, frame):
        """A frame came from a host: to whom it goes, and through which faults."""
        if frame[0] & 1:
            targets = [host for host in self.taps if host != source]
        else:
            target = self.byAddress.get(frame[:6])
            targets = [target] if target else []
        for to in targets:
            rules = self.byPair.get((source, to))
            if rules:
                self.suffer(source, to, frame, rules)
            else:
                self.deliver(to, frame)

    def suffer(self, source, to, frame, rules):
        wait, copies, chance = 0.0, 1, self.random.random
        for rule in rules:
            if rule.get("ports") and not self.concerns(rule["ports"], frame):
                continue
            count = self.counts[rule["name"]]
            if rule.get("cut") or chance() < rule.get("loss", 0):
                count["dropped"] += 1
                return
            if rule.get("hold"):
                count["held"] += 1
                self.held[rule["name"]].append((to, frame))
                return
            if chance() < rule.get("duplicate", 0):
                count["duplicated"] += 1
                copies += 1
            if len(frame) > 14 and chance() < rule.get("corrupt", 0):
                changed = bytearray(frame)
                changed[self.random.randrange(14, len(frame))] ^= 1 << self.random.randrange(8)
                frame = bytes(changed)
                count["corrupted"] += 1
            if chance() < rule.get("forge", 0):
                changed = forged(frame, self.random)
                if changed:
                    frame = changed
                    count["forged"] += 1
            if rule.get("delay") or rule.get("jitter"):
                wait += rule.get("delay", 0) + chance() * rule.get("jitter", 0)
                count["delayed"] += 1
            if rule.get("rate"):
                now = time.monotonic()
                free = max(now, rule["busy"][to]) + len(frame) / rule["rate"]
                if free - now > LONGEST_QUEUE:
                    count["dropped"] += 1
                    return
                rule["busy"][to] = free
                wait += free - now
                count["slowed"] += 1
        for _ in range(copies):
            if wait <= 0:
                self.deliver(to, frame)
            else:
                self.order += 1
                heapq.heappush(self.queue, (time.monotonic() + wait, self.order, to, frame))

    @staticmethod
    def concerns(ports, frame):
        tcp = tcp_offset(frame)
        if tcp is None:
            return False
        return any(int.from_bytes(frame[tcp + at:tcp + at + 2], "big") in ports for at in (0, 2))

    def run(self, control):
        poller = select.epoll()
        sources = {tap: host for host, tap in self.taps.items()}
        for tap in sources:
            poller.register(tap, select.EPOLLIN)
        poller.register(control.fileno(), select.EPOLLIN)
        while True:
            wait = max(0.0, self.queue[0][0] - time.monotonic()) if self.queue else 1.0
            for descriptor, _ in poller.poll(wait):
                if descriptor == control.fileno():
                    data, sender = control.recvfrom(1 << 16)
                    answer = json.dumps(self.control(json.loads(data))).encode()
                    if sender:
                        control.sendto(answer, sender)
                    continue
                for _ in range(BATCH):
                    try:
                        frame = os.read(descriptor, 65536)
                    except OSError:
                        break
                    self.take(sources[descriptor], frame)
            now = time.monotonic()
            while self.queue and self.queue[0][0] <= now:
                _, _, to, frame = heapq.heappop(self.queue)
                self.deliver(to, frame)


def main():
    """`switch.py SOCKET SEED HOST=NAMESPACE=ADDRESS …`: runs until it is killed."""
    path, seed, hosts = sys.argv[1], int(sys.argv[2]), [text.split("=") for text in sys.argv[3:]]
    taps = {host: open_tap(space, n, address) for n, (host, space, address) in enumerate(hosts, start=1)}
    control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    control.bind(path)
    Switch(taps, seed).run(control)


if __name__ == "__main__":
    main()
