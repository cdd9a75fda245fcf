#!/usr/bin/env python3
"""Clients of an HTTP address, good and bad: http_client.py CASE HOST:PORT. Exits with 1 and a line if the answer is wrong."""
import functools
import http.client
import http.server
import resource
import socket
import sys
import threading
import time

HOST, PORT = "", 0


def connect(timeout=8.0):
    return socket.create_connection((HOST, PORT), timeout=timeout)


def read_all(connection):
    """What comes until the connection ends; None in place of the end if it was reset."""
    data = b""
    while True:
        try:
            more = connection.recv(65536)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


def exchange(request):
    with connect() as connection:
        try:
            connection.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return read_all(connection)


def status(answer):
    assert answer.startswith(b"HTTP/1.1 "), f"no answer but {answer[:80]!r}"
    return int(answer[9:12])


def get(path="/hello", more=""):
    return exchange(f"GET {path} HTTP/1.1\r\nHost: localhost:{PORT}\r\nConnection: close\r\n{more}\r\n".encode())


def must_answer():
    answer = get()
    assert status(answer) == 200 and answer.endswith(b"\r\n\r\nhello\n"), answer


def long_line():
    answer = exchange(b"GET /" + b"x" * (10 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer == b"" or status(answer) == 431, answer[:200]
    # A client that stops before it sent too much for the sockets' buffers gets the answer for certain.
    assert status(exchange(b"GET /" + b"x" * 20000)) == 431
    must_answer()


def long_fields():
    assert status(get(more="X-Long: " + "x" * 17000 + "\r\n")) == 431
    assert status(get(more="".join(f"X-{n}: y\r\n" for n in range(101)))) == 431
    assert status(get(more="".join(f"X-{n}: y\r\n" for n in range(90)))) == 200
    must_answer()


def bodies():
    post = f"POST /hello HTTP/1.1\r\nHost: localhost:{PORT}\r\n"
    assert status(exchange(post.encode() + b"Content-Length: 5\r\n\r\nhello")) == 413
    assert status(exchange(post.encode() + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")) == 413
    assert status(exchange(post.encode() + b"Content-Length: 999999999999999999999\r\n\r\n")) == 413
    answer = exchange(post.encode() + b"Content-Length: 0\r\n\r\n")
    assert status(answer) == 405 and b"\r\nAllow: GET, HEAD\r\n" in answer, answer
    assert status(get(more="Content-Length: 0\r\n")) == 200
    must_answer()


def malformed():
    for request, expected in [
        (b"\x16\x03\x01\x02\x00\x01\x00\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /hello\r\n\r\n", 400),
        (b"GET /hello HTTP/1.1\r\n\r\n", 400),
        (b"GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /hello HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
        (b"GET /hello HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400),
        (b"GET /hello HTTP/1.1\r\nHost: local\x00host\r\n\r\n", 400),
        (b"GET hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /hello?a=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /hello?a=%ff HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /h\xe9llo HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /hello HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
        (b"get /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"DELETE /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET /hello HTTP/1.0\n\n", 200),
        (b"\r\n\r\nGET /hello HTTP/1.0\r\n\r\n", 200),
    ]:
        answer = exchange(request)
        assert status(answer) == expected, f"{request!r} got {answer[:80]!r}"
    must_answer()


def hosts():
    def asked(host):
        return status(exchange(f"GET /hello HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()))
    for host in ["localhost", f"localhost:{PORT}", f"127.0.0.1:{PORT}", f"[::1]:{PORT}", "[::1]", "LOCALHOST"]:
        assert asked(host) == 200, host
    for host in ["evil.example", f"evil.example:{PORT}", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1",
                 "localhost:80:80", ""]:
        assert asked(host) == 421, host


def silence():
    began = time.monotonic()
    with connect() as connection:
        assert read_all(connection) == b""
    assert 0.5 < time.monotonic() - began < 15, "a silent client is ended after the idle time"
    began = time.monotonic()
    with connect() as connection:
        assert drip(connection, b"GET /hello HTTP/1.1\r\nX: " + b"y" * 1000), "a slow head is ended"
    assert time.monotonic() - began < 15, "each byte begins the time anew"
    must_answer()


def drip(connection, data):
    """Sends a byte each 0.1 s; whether the other side ended the connection."""
    for byte in data:
        try:
            connection.sendall(bytes([byte]))
            connection.settimeout(0.1)
            if connection.recv(100) == b"":
                return True
        except socket.timeout:
            continue
        except (BrokenPipeError, ConnectionResetError):
            return True
    return False


def pipelining():
    request = f"GET /hello HTTP/1.1\r\nHost: localhost:{PORT}\r\n\r\n".encode()
    last = f"HEAD /hello HTTP/1.1\r\nHost: localhost:{PORT}\r\nConnection: close\r\n\r\n".encode()
    answer = exchange(request * 50 + last)
    assert answer.count(b"HTTP/1.1 200 OK") == 51 and answer.count(b"hello\n") == 50, answer[-300:]
    assert answer.endswith(b"\r\n\r\n") and b"Content-Length: 6\r\n" in answer.split(b"hello\n")[-1]
    # One connection, several requests.
    client = http.client.HTTPConnection(HOST, PORT, timeout=5)
    for path, expected in [("/hello", 200), ("/nothing", 404), ("/hello", 200)]:
        client.request("GET", path)
        answer = client.getresponse()
        assert answer.status == expected and answer.read(), path
    client.close()


def fields():
    answer = get("/echo?a=1&b=x%20y+z&a=2&c", "Last-Event-ID: 17\r\n")
    assert answer.endswith(b"a=2 b=x y z c= last=17\n"), answer
    for line in [b"Cache-Control: no-store", b"X-Content-Type-Options: nosniff",
                 b"Content-Security-Policy: default-src 'self'", b"Connection: close"]:
        assert b"\r\n" + line in answer, line


def wait_for_a_place(promise):
    """Who has none is told so, or is ended at once if too many are being told."""
    deadline = time.monotonic() + 20
    while not get().startswith(b"HTTP/1.1 200 "):
        assert time.monotonic() < deadline, promise
        time.sleep(0.05)


def idle_connections():
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    idle = []
    for _ in range(64):
        idle.append(connect(30))
    time.sleep(0.3)
    assert status(get()) == 503, "one too many is told so"
    idle.pop().close()
    wait_for_a_place("a place that is free is given again")
    for _ in range(2000):
        idle.append(connect(30))
    ended = 0
    for connection in idle[100:]:
        connection.settimeout(30)
        ended += read_all(connection) == b""
    assert ended >= 1950, f"only {ended} of those without a place were ended"
    for connection in idle:
        connection.close()
    wait_for_a_place("it answers when they have gone")
    must_answer()


def events(count=1):
    streams = []
    for _ in range(count):
        stream = connect()
        stream.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{PORT}\r\n\r\n".encode())
        streams.append(stream)
    return streams


def event_streams():
    streams = events(16)
    for stream in streams:
        data = b""
        while b"event: hello\ndata: 1\n\n" not in data:
            data += stream.recv(4096)
        assert status(data) == 200 and b"\r\nContent-Type: text/event-stream" in data, data
        assert b"\r\nCache-Control: no-store\r\n" in data and b"Content-Length" not in data, data
    answer = exchange(f"GET /events HTTP/1.1\r\nHost: localhost:{PORT}\r\nConnection: close\r\n\r\n".encode())
    assert status(answer) == 503 and b"16 event streams" in answer, answer
    data = b""
    while b": alive\n\n" not in data:
        data += streams[0].recv(4096)
    for stream in streams:
        stream.close()
    deadline = time.monotonic() + 20
    while True:
        stream = events()[0]
        data = stream.recv(4096)
        stream.close()
        if status(data) == 200:
            break
        assert time.monotonic() < deadline, "a stream whose reader has gone gives its place back"
        time.sleep(0.05)
    must_answer()


def slow_reader():
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.connect((HOST, PORT))
    stream.sendall(f"GET /flood HTTP/1.1\r\nHost: localhost:{PORT}\r\n\r\n".encode())
    # It does not read; meanwhile others are served.
    deadline = time.monotonic() + 10
    while b" ended=1" not in get("/flooded"):
        assert time.monotonic() < deadline, "a reader that reads nothing is ended"
        time.sleep(0.1)
    stream.close()
    # One that reads slowly, but reads, goes on.
    stream = connect()
    stream.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{PORT}\r\n\r\n".encode())
    began = time.monotonic()
    while time.monotonic() - began < 3:
        assert stream.recv(64), "a stream that is read goes on"
    stream.close()


def hold():
    """Keeps connections of every kind until the server ends them."""
    connections = [connect(30) for _ in range(3)] + events(2)
    print("held", flush=True)
    for connection in connections:
        connection.settimeout(30)
        read_all(connection)


def serve_folder(folder):
    """Python's own server, which has none of the bounds: the control of this program."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    http.server.SimpleHTTPRequestHandler.log_message = lambda *arguments: None
    http.server.SimpleHTTPRequestHandler.protocol_version = "HTTP/1.1"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"127.0.0.1:{server.server_port}"


if __name__ == "__main__":
    case, address = sys.argv[1:3]
    if address.startswith("folder:"):
        address = serve_folder(address.removeprefix("folder:"))
    HOST, PORT = address.rsplit(":", 1)[0].strip("[]"), int(address.rsplit(":", 1)[1])
    try:
        globals()[case]()
    except (AssertionError, OSError) as error:
        sys.exit(f"{case}: {error!r}")
