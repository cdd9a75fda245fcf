"""Namespaces of a test's hosts on this machine: what the laboratory and the pages' test share."""
import os
import signal
import subprocess
import time


class CannotRun(Exception):
    """The machine lacks what the test needs; nothing was judged."""


def pids(namespace):
    """The processes in a network namespace."""
    listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True)
    return [int(number) for number in listed.stdout.split()]


def end(namespaces):
    """Kills whatever runs in these network namespaces, and deletes them."""
    for name in namespaces:
        for number in pids(name):
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
    for name in namespaces:
        wait_until(lambda name=name: not pids(name), 10)
        subprocess.run(["ip", "netns", "delete", name], check=False)


def try_rmdir(path):
    """Whether a control group is gone; it cannot go before its last process has."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def wait_until(condition, limit, pause=0.02):
    """Whether a condition came true in time; both times in seconds."""
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
