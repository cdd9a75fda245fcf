"""Builds the laboratory and takes it down: namespaces, the switch, and the first process of each host.

Everything that outlives this process is named `lslab-` and a host or the switch, or lies in the laboratory's folder, so
that `remove` finds the rest of a run that was killed as well, and nothing else. With another prefix and folder (`LOCKSTEP_LAB_PREFIX` and
`LOCKSTEP_LAB`) a second laboratory runs beside the first: no address leaves its namespaces.
"""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

from namespaces import CannotRun, end, pids, try_rmdir, wait_until

PREFIX = os.environ.get("LOCKSTEP_LAB_PREFIX", "lslab-")
NETWORK = "10.77.0"
HERE = os.path.dirname(os.path.abspath(__file__))
UNITS = os.path.join(os.path.dirname(HERE), "systemd")
GROUPS = {kind: f"/sys/fs/cgroup/{kind}" for kind in ("cpu", "memory")}
MARK = ".lockstep-lab"  # in a folder that a laboratory has made, and may remove


def folder():
    """Where the laboratory's hosts have their disks and sockets."""
    return os.environ.get("LOCKSTEP_LAB", "/var/tmp/lockstep-lab")


def check_machine():
    """Refuses with one line what this machine cannot do."""
    if os.geteuid() != 0:
        raise CannotRun("the laboratory needs root, for namespaces and mounts: run it with sudo")
    for program, package in (("ip", "iproute2"), ("unshare", "util-linux"), ("mount", "mount")):
        if not shutil.which(program):
            raise CannotRun(f"{program} is missing: install {package} (deploy/setup --lab)")
    if not os.path.exists("/dev/net/tun"):
        raise CannotRun("there is no /dev/net/tun on this machine, so the hosts cannot be connected")
    try:
        probe = subprocess.run(["unshare", "--mount", "--net", "--pid", "--uts", "--fork", "true"], capture_output=True)
    except OSError as error:
        raise CannotRun(f"unshare cannot be run: {error}") from error
    if probe.returncode != 0:
        raise CannotRun(f"namespaces are not available here: {probe.stderr.decode().strip()}")


def claim():
    """Makes the folder; refuses what this machine cannot do, and a second laboratory beside one that is there."""
    check_machine()
    if own("/run/netns"):
        raise CannotRun("a laboratory is there already: take it down with deploy/lab down")
    if not is_own_folder():
        raise CannotRun(f"{folder()} has files that no laboratory has made: name another LOCKSTEP_LAB")
    os.makedirs(folder(), exist_ok=True)
    os.chmod(folder(), 0o755)
    with open(f"{folder()}/{MARK}", "w", encoding="ascii"):
        pass


def is_own_folder():
    """Whether the folder may be used and removed: it is not there, has nothing in it, or a laboratory has made it."""
    return not os.path.isdir(folder()) or MARK in os.listdir(folder()) or not os.listdir(folder())


def own(place):
    """What this laboratory has made there: names of hosts and of the switch after its prefix, and no longer ones."""
    found = (os.path.basename(path) for path in glob.glob(f"{place}/{glob.escape(PREFIX)}*"))
    return sorted(name for name in found if re.fullmatch("switch|[a-z][0-9]?", name[len(PREFIX):]))


def remove():
    """Takes down whatever is there of a laboratory; what was found."""
    found = own("/run/netns")
    end(found)
    for group in GROUPS.values():
        for name in own(group):
            wait_until(lambda path=f"{group}/{name}": try_rmdir(path), 5)
    if os.path.isdir(folder()) and is_own_folder():
        shutil.rmtree(folder())
        found.append(folder())
    return found


class Host:
    """A host as the laboratory's commands see it: its address, and its first process, which does what it is asked."""

    def __init__(self, name, number):
        self.name = name
        self.namespace = PREFIX + name
        self.address = f"{NETWORK}.{number}"
        self.folder = f"{folder()}/{name}"
        self.agent = None  # the number of its first process

    def boot(self):
        """Starts the first process, with the disk that the host had before."""
        os.makedirs(self.folder, exist_ok=True)
        for kind, group in GROUPS.items():
            if os.path.isdir(group):
                os.makedirs(self.group(kind), exist_ok=True)
        try:
            os.unlink(f"{self.folder}/agent.sock")
        except FileNotFoundError:
            pass
        try:
            group = os.open(f"{self.group('memory')}/cgroup.procs", os.O_WRONLY)
        except OSError:
            group = -1  # No control groups: the squeeze says that it cannot be done.
        with open(f"{self.folder}/agent.log", "ab") as log:
            starter = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, "unshare", "--mount", "--pid", "--uts", "--fork",
                 "--mount-proc", "--kill-child", sys.executable, f"{HERE}/agent.py", self.name, self.folder,
                 str(group)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                pass_fds=[group] if group >= 0 else [])
        if group >= 0:
            os.close(group)
        if not wait_until(lambda: os.path.exists(f"{self.folder}/agent.sock") or starter.poll() is not None, 30):
            raise CannotRun(f"host {self.name} did not start; see {self.folder}/agent.log")
        if starter.poll() is not None:
            with open(f"{self.folder}/agent.log", encoding="utf-8") as file:
                raise CannotRun(f"host {self.name} did not start: {file.read().strip().splitlines()[-1:]}")
        self.find()
        try:
            with open(f"{self.group('cpu')}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(self.agent))
        except OSError:
            pass  # As above.

    def group(self, kind):
        """The control group of this host's processor, or of its nodes' memory."""
        return f"{GROUPS[kind]}/{self.namespace}"

    def find(self):
        """Looks for the first process: process 1 of the PID namespace."""
        self.agent = None
        for number in pids(self.namespace):
            try:
                with open(f"/proc/{number}/status", encoding="utf-8") as file:
                    line = next(line for line in file if line.startswith("NSpid:"))
            except (OSError, StopIteration):
                continue
            if len(line.split()) == 3 and line.split()[2] == "1":
                self.agent = number
        return self.agent

    def die(self):
        """The power goes: everything on the host ends at once; the disk stays."""
        os.kill(self.agent, signal.SIGKILL)
        wait_until(lambda: not pids(self.namespace), 10)

    def ask(self, do, **request):
        """Has the host's first process do something; its answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(request.get("seconds", 30) + 15)
            connection.connect(f"{self.folder}/agent.sock")
            connection.sendall((json.dumps(dict(request, do=do)) + "\n").encode())
            with connection.makefile(encoding="utf-8") as stream:
                answer = json.loads(stream.readline() or '{"error": "the host is gone"}')
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {do}: {answer['error']}")
        return answer

    def call(self, *command, seconds=30):
        """Runs a short program on the host; raises if it fails."""
        answer = self.ask("call", command=list(command), seconds=seconds)
        if answer["status"] != 0:
            raise RuntimeError(f"{self.name}: {' '.join(command)}: {answer}")
        return answer["output"]

    def path(self, path):
        """A path of the host, as seen from outside."""
        return f"/proc/{self.agent}/root{path}"


class Switch:
    """The switch process of this laboratory."""

    def __init__(self):
        self.path = f"{folder()}/switch.sock"
        self.number = 0

    def start(self, hosts, seed):
        """Connects the hosts."""
        arguments = [f"{host.name}={host.namespace}={host.address}" for host in hosts]
        with open(f"{folder()}/switch.log", "ab") as log:
            subprocess.Popen(
                ["ip", "netns", "exec", PREFIX + "switch", sys.executable, f"{HERE}/switch.py", self.path, str(seed)]
                + arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        if not wait_until(lambda: os.path.exists(self.path), 30):
            with open(f"{folder()}/switch.log", encoding="utf-8") as file:
                raise CannotRun(f"the switch did not start: {file.read().strip().splitlines()[-1:]}")

    def ask(self, do, **request):
        """Sets or clears a rule; what the rules have done so far."""
        self.number += 1
        own = f"{folder()}/ask-{os.getpid()}-{self.number}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.bind(own)
            try:
                end.settimeout(10)
                end.sendto(json.dumps(dict(request, do=do)).encode(), self.path)
                return json.loads(end.recv(1 << 16))
            finally:
                os.unlink(own)
