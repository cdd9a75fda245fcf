"""A network that loses the answer: run on a host, it stands between a command and its node.

    silence.py PORT HOST PORT TEXT     listens at 127.0.0.1:PORT and forwards to HOST:PORT; as soon as a caller has sent
                                       TEXT, no caller hears anything more
"""
import socket
import sys
import threading

SILENT = threading.Event()


def forward(source, target, text=None):
    """Moves bytes one way until an end closes; `text` ends the other way for all."""
    try:
        while data := source.recv(65536):
            if text and text in data:
                SILENT.set()
            if text or not SILENT.is_set():
                target.sendall(data)
    except OSError:
        pass


def main():
    port, host, host_port, text = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4].encode()
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        caller, _ = listener.accept()
        node = socket.create_connection((host, host_port))
        threading.Thread(target=forward, args=(caller, node, text), daemon=True).start()
        threading.Thread(target=forward, args=(node, caller), daemon=True).start()


main()
