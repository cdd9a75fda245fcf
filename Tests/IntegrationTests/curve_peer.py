"""A peer with keys, by the system's libzmq; a recording of its connection; many connections that say what they like."""
import ctypes
import ctypes.util
import selectors
import socket
import struct
import threading
import time

from hostile_peers import hello

GREETING = 64  # bytes that a node says to anybody
HANDSHAKE = GREETING + 170  # and to who has said HELLO by CURVE: WELCOME; READY comes only for a key that was proved


# MARK: libzmq

class Keys:
    """A public key and its secret, as Z85."""

    def __init__(self, public, secret, name=""):
        self.public, self.secret, self.name = public, secret, name

    @classmethod
    def read(cls, path):
        with open(path, encoding="ascii") as file:
            lines = dict(line.rstrip("\n").split(" ", 1) for line in file)
        return cls(lines["public"].encode(), lines["secret"].encode(), lines["name"])

    @classmethod
    def new(cls):
        public, secret = ctypes.create_string_buffer(41), ctypes.create_string_buffer(41)
        if zmq().zmq_curve_keypair(public, secret) != 0:
            raise OSError("libzmq has no CURVE")
        return cls(public.value, secret.value)


def zmq():
    if not hasattr(zmq, "library"):
        zmq.library = ctypes.CDLL(ctypes.util.find_library("zmq") or "libzmq.so.5", use_errno=True)
        for name in ("zmq_ctx_new", "zmq_socket"):
            getattr(zmq.library, name).restype = ctypes.c_void_p
        zmq.context = ctypes.c_void_p(zmq.library.zmq_ctx_new())
        zmq.library.zmq_ctx_set(zmq.context, 2, 4_096)  # ZMQ_MAX_SOCKETS
    return zmq.library


class Dealer:
    """A DEALER with keys, as a node of ours connects by it."""

    def __init__(self, endpoint, keys, server):
        self.socket = ctypes.c_void_p(zmq().zmq_socket(zmq.context, 5))
        # CURVE_PUBLICKEY, CURVE_SECRETKEY, CURVE_SERVERKEY
        for option, value in ((48, keys.public), (49, keys.secret), (50, server)):
            if zmq().zmq_setsockopt(self.socket, option, value + b"\0", 41) != 0:
                raise OSError(ctypes.get_errno(), f"option {option}")
        for option, value in ((17, 0), (28, 0)):  # LINGER, SNDTIMEO
            number = ctypes.c_int(value)
            zmq().zmq_setsockopt(self.socket, option, ctypes.byref(number), 4)
        zmq().zmq_connect(self.socket, endpoint.encode())

    def send(self, content):
        return zmq().zmq_send(self.socket, content, ctypes.c_size_t(len(content)), 1) >= 0  # DONTWAIT

    def receive(self, seconds):
        """The next message; None if there is none in time."""
        number = ctypes.c_int(max(1, int(seconds * 1_000)))
        zmq().zmq_setsockopt(self.socket, 27, ctypes.byref(number), 4)  # RCVTIMEO
        buffer = ctypes.create_string_buffer(1 << 20)
        size = zmq().zmq_recv(self.socket, buffer, ctypes.c_size_t(len(buffer)), 0)
        return buffer.raw[:min(size, len(buffer))] if size >= 0 else None

    def all(self, seconds):
        """All messages that come until none has for so long."""
        while (content := self.receive(seconds)) is not None:
            yield content

    def __enter__(self):
        return self

    def __exit__(self, *_):
        zmq().zmq_close(self.socket)


# MARK: a recorded connection

class Recording:
    """What a peer with good keys sent, in commands, and how much the node said."""

    def __init__(self, options, port):
        self.sent, self.heard = b"", 0
        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=self.forward, args=[server, options.host, port], daemon=True)
            thread.start()
            with Dealer(f"tcp://127.0.0.1:{server.getsockname()[1]}", options.keys, options.server) as peer:
                for _ in range(3):
                    peer.send(hello(1, b"recorded", 7))
                    time.sleep(0.3)
            thread.join(5)
        self.pieces = self.cut(self.sent)
        if len(self.pieces) < 4 or self.heard <= HANDSHAKE:
            raise SystemExit(f"nothing good was recorded: {len(self.pieces)} pieces, {self.heard} bytes heard")

    def forward(self, server, host, port):
        peer, _ = server.accept()
        with peer, socket.create_connection((host, port)) as node, selectors.DefaultSelector() as waiting:
            for end in (peer, node):
                waiting.register(end, selectors.EVENT_READ)
            while True:
                for key, _ in waiting.select(5):
                    content = key.fileobj.recv(1 << 16)
                    if not content:
                        return
                    if key.fileobj is peer:
                        self.sent += content
                        node.sendall(content)
                    else:
                        self.heard += len(content)
                        peer.sendall(content)

    @staticmethod
    def cut(content):
        """The greeting, and each command or message."""
        pieces, at = [content[:GREETING]], GREETING
        while at + 2 <= len(content):
            long = content[at] & 2
            size = struct.unpack_from(">Q", content, at + 1)[0] + 9 if long else content[at + 1] + 2
            pieces.append(content[at:at + size])
            at += size
        return pieces




class Pool:
    """Connections that say pieces, a new one so many times a second, and how much the node says on each."""

    def __init__(self, options, limit):
        self.options, self.limit = options, limit
        self.tried = self.delivered = self.ended = self.refused = 0
        self.waiting = selectors.DefaultSelector()

    def run(self, make, count):
        """`make` has the port, the pieces, and whether each waits for what the node says of the one before."""
        began = time.monotonic()
        while self.tried < count or self.waiting.get_map():
            due = (time.monotonic() - began) * self.options.rate
            while self.tried < min(count, due) and len(self.waiting.get_map()) < 256:
                self.open(*make(self.tried))
            for key, _ in self.waiting.select(0.005):
                self.hear(key.fileobj, key.data)
            now = time.monotonic()
            for key in [key for key in self.waiting.get_map().values() if key.data["until"] < now]:
                self.close(key.fileobj, key.data)

    def open(self, port, pieces, waits):
        self.tried += 1
        try:
            peer = socket.create_connection((self.options.host, port), timeout=5)
        except OSError:
            self.refused += 1
            return
        state = {"left": list(pieces), "waits": waits, "heard": 0, "until": time.monotonic() + 0.4}
        self.waiting.register(peer, selectors.EVENT_READ, state)
        self.say(peer, state)

    def say(self, peer, state):
        try:
            while state["left"]:
                peer.sendall(state["left"].pop(0))
                if state["waits"]:
                    break
        except OSError:
            state["left"] = []

    def hear(self, peer, state):
        try:
            content = peer.recv(1 << 16)
        except OSError:
            content = b""
        if not content:
            self.ended += 1
            return self.close(peer, state)
        state["heard"] += len(content)
        # The greeting comes in two parts, and only a whole one is answered.
        if state["heard"] >= GREETING:
            self.say(peer, state)

    def close(self, peer, state):
        self.delivered += state["heard"] > self.limit
        self.waiting.unregister(peer)
        peer.close()

    def counts(self):
        return {"tried": self.tried, "delivered": self.delivered, "ended": self.ended, "refused": self.refused}
