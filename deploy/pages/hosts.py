"""Hosts of their own on this machine: namespaces with systemd as the first process, on one bridge.

Everything that outlives this process is named `lspages-` and a host or the switch, or lies in the folder below, so that
`remove` finds the rest of a run that was killed as well, and nothing else. The hosts have the addresses of the pages:
no address leaves its namespace.
"""
import fcntl
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from namespaces import CannotRun, end, pids, try_rmdir, wait_until

PREFIX = "lspages-"
FOLDER = "/var/tmp/lockstep-pages"
LOCK = "/var/tmp/lockstep-pages.lock"
HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
GROUP_ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
DISK = "320M"
LETTERS = {"a": 1, "b": 2, "c": 3, "d": 4}
SWIFT = """#!/bin/sh
# The program is built; the pages ask where.
[ "$*" = "build -c release --show-bin-path" ] && echo /home/op/lockstep/.build/release && exit 0
[ "$1" = build ] && [ -x /home/op/lockstep/.build/release/lockstep ] && exit 0
echo "swift: not on this host: $*" >&2
exit 69
"""


class Result:
    """What a command printed, and how and when it ended."""

    def __init__(self, status, output, error, seconds):
        self.status, self.output, self.error, self.seconds = status, output, error, seconds

    @property
    def text(self):
        return (self.output + self.error).strip()


def group_root():
    """Where control groups of the second version are mounted; None if they are not."""
    for root in GROUP_ROOTS:
        if os.path.exists(f"{root}/cgroup.procs") and os.path.exists(f"{root}/cgroup.controllers"):
            return root
    return None


def check_machine():
    """Refuses with one line what this machine cannot do."""
    if os.geteuid() != 0:
        raise CannotRun("the pages' test needs root, for namespaces and mounts: run it with sudo")
    needed = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "runuser": "util-linux",
              "mount": "mount", "mkfs.ext4": "e2fsprogs", "sudo": "sudo", "systemctl": "systemd",
              "nft": "nftables", "nc": "netcat-openbsd", "arping": "iputils-arping",
              "etcd": "etcd-server", "etcdctl": "etcd-client", "openssl": "openssl"}
    for program, package in needed.items():
        if not shutil.which(program):
            raise CannotRun(f"{program} is missing: install {package} (deploy/setup --pages)")
    if not os.path.exists("/lib/systemd/systemd"):
        raise CannotRun("systemd is missing: install it (deploy/setup --pages)")
    if not os.path.exists("/dev/loop-control"):
        raise CannotRun("there are no loop devices on this machine, so the hosts have no disks")
    if not group_root():
        raise CannotRun("control groups of version 2 are not mounted, which systemd needs")
    probe = subprocess.run(["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "true"],
                           capture_output=True)
    if probe.returncode != 0:
        raise CannotRun(f"namespaces are not available here: {probe.stderr.decode().strip()}")


def claim():
    """Takes the lock that one run of this machine holds, and clears what a killed one has left.

    From here on SIGTERM ends the process as an error does, so that the caller takes its hosts down.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    check_machine()
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise CannotRun("another run of the pages' test is under way on this machine") from error
    remove()
    os.makedirs(FOLDER)
    return lock


def remove():
    """Takes down whatever is there of a run."""
    names = [os.path.basename(path) for path in glob.glob(f"/run/netns/{PREFIX}*")]
    names = [name for name in names if re.fullmatch("switch|[a-z]", name[len(PREFIX):])]
    end(names)
    for path in glob.glob(f"{group_root()}/{PREFIX}?"):
        for folder, _, _ in os.walk(path, topdown=False):
            wait_until(lambda folder=folder: try_rmdir(folder), 5)
    shutil.rmtree(FOLDER, ignore_errors=True)


def prepare_home(program, lab=None):
    """What the operator of each host has: a clone of the repository, as far as the pages use it, and the program.

    The laboratory's program, if there is one, is for one host, and lies beside.
    """
    home = f"{FOLDER}/home"
    os.makedirs(f"{home}/.build/release")
    shutil.copytree(f"{REPOSITORY}/deploy", f"{home}/deploy", ignore=shutil.ignore_patterns("__pycache__"))
    os.makedirs(f"{home}/Tests/IntegrationTests")
    shutil.copy(f"{REPOSITORY}/Tests/IntegrationTests/hostile_peers.py", f"{home}/Tests/IntegrationTests/")
    shutil.copy(program, f"{home}/.build/release/lockstep")
    with open(f"{home}/swift", "w", encoding="ascii") as file:
        file.write(SWIFT)
    os.chmod(f"{home}/swift", 0o755)
    programs = [program] + ([lab] if lab else [])
    if lab:
        shutil.copy(lab, f"{FOLDER}/lockstep-lab")
    # Libraries of a toolchain that lies in somebody's home are hidden from the units.
    listed = subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout
    for path in re.findall(r"=> (/(?:home|root)/\S+)", listed):
        os.makedirs(f"{home}/libraries", exist_ok=True)
        shutil.copy(path, f"{home}/libraries/")
    return home


def switch(*command):
    subprocess.run(["ip", "-n", PREFIX + "switch", *command], check=True)


def connect():
    """Makes the switch."""
    subprocess.run(["ip", "netns", "add", PREFIX + "switch"], check=True)
    switch("link", "add", "bridge", "type", "bridge")
    switch("link", "set", "bridge", "up")


class Host:
    """A host with systemd, an operator `op` who may use sudo, and a disk of its own at /var/lib/lockstep."""

    typed = []  # the lines that any host has run to a good end, or has begun to run

    def __init__(self, letter):
        self.letter = letter
        self.namespace = PREFIX + letter
        self.address = f"10.0.0.{LETTERS[letter]}"
        self.folder = f"{FOLDER}/{letter}"
        self.first = None

    def boot(self):
        """Connects the host and starts it; its disk is empty."""
        os.makedirs(self.folder)
        os.rename(f"{FOLDER}/home-{self.letter}", f"{self.folder}/home")
        subprocess.run(["truncate", "-s", DISK, f"{self.folder}/disk.img"], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-b", "4096", f"{self.folder}/disk.img"], check=True)
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        switch("link", "add", "name", f"port-{self.letter}", "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        switch("link", "set", f"port-{self.letter}", "master", "bridge", "up")
        self.ip("link", "set", "lo", "up")
        self.ip("link", "set", "eth0", "up")
        self.ip("address", "add", f"{self.address}/24", "dev", "eth0")
        group = f"{group_root()}/{self.namespace}"
        os.makedirs(group, exist_ok=True)
        start = f'echo $$ >"{group}/cgroup.procs" && exec "$@"'
        with open(f"{self.folder}/console.log", "wb") as log:
            subprocess.Popen(
                ["sh", "-c", start, "sh", "ip", "netns", "exec", self.namespace, "unshare", "--mount", "--pid", "--uts",
                 "--ipc", "--cgroup", "--fork", "--kill-child", f"{HERE}/boot", self.folder, f"host-{self.letter}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def await_boot(self):
        if not wait_until(self.find, 90):
            raise CannotRun(f"host {self.letter} did not start: {self.console()}")
        command = self.enter() + ["systemctl", "is-system-running"]
        if not wait_until(lambda: subprocess.run(command, capture_output=True, text=True).stdout.strip()
                          in ("running", "degraded"), 90):
            raise CannotRun(f"systemd of host {self.letter} did not start: {self.console()}")

    def console(self):
        with open(f"{self.folder}/console.log", encoding="utf-8", errors="replace") as file:
            return file.read()[-600:].strip()

    def ip(self, *command):
        """Sets the host's network."""
        subprocess.run(["ip", "-n", self.namespace, *command], check=True)

    def find(self):
        """Looks for systemd as the first process of the host."""
        for number in pids(self.namespace):
            try:
                with open(f"/proc/{number}/status", encoding="utf-8") as file:
                    status = file.read()
            except OSError:
                continue
            space = re.search(r"^NSpid:\s+\d+\s+1$", status, re.MULTILINE)
            if space and status.startswith("Name:\tsystemd\n"):
                self.first = number
                return True
        return False

    def enter(self):
        return ["nsenter", "--target", str(self.first), "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--"]

    def run(self, command, seconds=60, user="op"):
        """Runs a line of shell as the operator, in the clone of the repository."""
        shell = ["runuser", "-u", user, "--", "timeout", "--kill-after=2", str(seconds), "bash", "-c",
                 "cd /home/op/lockstep && export HOME=/home/op && " + command]
        began = time.monotonic()
        done = subprocess.run(self.enter() + shell, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace")
        if done.returncode == 0:
            self.typed.append(command)
        return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - began)

    def start(self, command, log="/tmp/started.log"):
        """Starts a line of shell as the operator and leaves it running; what it prints goes to a file."""
        self.typed.append(command)
        subprocess.Popen(
            self.enter() + ["runuser", "-u", "op", "--", "bash", "-c", "cd /home/op/lockstep && export HOME=/home/op && "
                            f"exec >{log} 2>&1; {command}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def pipe(self, left, target, right):
        """Runs `left | ssh TARGET right`: the hosts have no ssh, so the right side is begun on the other host from here."""
        began = time.monotonic()
        sides = [host.enter() + ["runuser", "-u", "op", "--", "timeout", "60", "bash", "-c",
                                 "cd /home/op/lockstep && export HOME=/home/op && " + command]
                 for host, command in ((self, left), (target, right))]
        first = subprocess.Popen(sides[0], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        second = subprocess.run(sides[1], stdin=first.stdout, capture_output=True, text=True, errors="replace")
        first.stdout.close()
        error = first.stderr.read().decode(errors="replace")
        return Result(first.wait() or second.returncode, second.stdout, error + second.stderr, time.monotonic() - began)

    def root(self, command, seconds=60):
        """Runs a line of shell that is no page's, as root: it makes a situation, or looks at it."""
        return self.run(command, seconds, user="root")

    def must(self, command, seconds=60):
        done = self.root(command, seconds)
        if done.status != 0:
            raise RuntimeError(f"{self.letter}: {command}: {done.status}: {done.text[-400:]}")
        return done.output

    def die(self):
        """The power goes, for ever: nobody answers at the host's address again."""
        switch("link", "delete", f"port-{self.letter}")
        os.kill(self.first, signal.SIGKILL)
        wait_until(lambda: not pids(self.namespace), 10)
