"""The first process of a host: mounts its folders, runs its services as systemd would, and does what it is told.

It is process 1 of a PID namespace of its own; when it is killed, the kernel kills all that ran on the host. It listens
on a Unix socket and takes one request of JSON a connection:

    start, stop, kill, resume   a unit of deploy/systemd, with its environment file; see `Service`
    run, wait, signal           any other program, by a name
    environment, call, state    variables for the next start of a unit, a short program, what runs

Of a unit's settings those are honoured that concern the process: ExecStart, Environment, EnvironmentFile, User (where
it exists), UMask, LimitNOFILE, Restart, RestartPreventExitStatus, RestartSec, TimeoutStopSec. Sandboxing is systemd's.
"""
import grp
import json
import os
import pwd
import re
import resource
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time


def seconds(text):
    """A time span as systemd writes it: 200ms, 30, 1min."""
    number, unit = re.fullmatch(r"([0-9.]+)\s*(ms|s|min)?", text).groups()
    return float(number) * {"ms": 0.001, "min": 60}.get(unit, 1)


def read_assignments(path):
    """The lines NAME=VALUE of an environment file."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


class Unit:
    """What a unit file says about its process."""

    def __init__(self, path, program=None):
        self.settings, self.program = {}, program
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, mark, value = line.strip().partition("=")
                if mark and not name.startswith("#"):
                    self.settings.setdefault(name, []).append(value)

    def get(self, name, default=""):
        return self.settings.get(name, [default])[-1]

    def environment(self):
        variables = dict(os.environ)
        variables.update(text.split("=", 1) for text in self.settings.get("Environment", []))
        for path in self.settings.get("EnvironmentFile", []):
            variables.update(read_assignments(path))
        return variables

    def command(self, variables):
        """The words of ExecStart: ${NAME} is one word, $NAME as many as it has; another program, if one was named."""
        words = []
        for word in shlex.split(self.get("ExecStart")):
            if re.fullmatch(r"\$[A-Za-z_]+", word):
                words += shlex.split(variables.get(word[1:], ""))
            else:
                words.append(re.sub(r"\$\{([A-Za-z_]+)\}", lambda match: variables.get(match[1], ""), word))
        return [self.program or words[0]] + words[1:]

    def prepare(self, group):
        """What the new process does to itself before it becomes the program.

        A node has a memory group without the host's first process, which a lack of memory must not end.
        """
        # A container may forbid to raise its own limit.
        limit = min(int(self.get("LimitNOFILE", "1024")), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        mask = int(self.get("UMask", "0022"), 8)
        user = next((entry for entry in pwd.getpwall() if entry.pw_name == self.get("User")), None)
        groups = [entry.gr_gid for entry in grp.getgrall() if entry.gr_name == self.get("Group")]

        def prepare():
            os.setsid()
            if group >= 0:
                os.write(group, b"0")
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            os.umask(mask)
            if user:
                os.setgid(groups[0] if groups else user.pw_gid)
                os.setuid(user.pw_uid)

        return prepare


class Host:
    """All processes of the host, and how each of them is to be kept."""

    def __init__(self, folder, group):
        self.folder, self.group = folder, group
        self.changed = threading.Condition()
        self.processes = {}  # name -> number of the running process
        self.ends = {}  # name -> statuses of those that ended
        self.units = {}  # name -> Unit
        self.wanted = set()
        self.extra = {}  # name -> variables for the next start
        self.through = {}  # name -> words in front of the command at the next start

    # MARK: processes

    def spawn(self, name, command, variables=None, prepare=os.setsid):
        with open(f"{self.folder}/{name}.log", "ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=variables, preexec_fn=prepare)
        # `reap` collects every end of this process; the object must not try to.
        process.returncode = 0
        self.processes[name] = process.pid
        self.changed.notify_all()

    def reap(self):
        """Collects ended processes, those that lost their parent too, and starts wanted units again."""
        while True:
            try:
                number, status = os.waitpid(-1, 0)
            except ChildProcessError:
                with self.changed:
                    self.changed.wait(1)
                continue
            with self.changed:
                for name in [name for name, running in self.processes.items() if running == number]:
                    del self.processes[name]
                    code = os.waitstatus_to_exitcode(status)
                    self.ends.setdefault(name, []).append({"at": time.monotonic(), "status": code})
                    unit = self.units.get(name)
                    if name in self.wanted and unit.get("Restart") == "on-failure":
                        stays = ["0"] + unit.get("RestartPreventExitStatus", "").split()
                        if str(code) not in stays:
                            threading.Timer(seconds(unit.get("RestartSec", "100ms")), self.restart, [name]).start()
                self.changed.notify_all()

    def restart(self, name):
        with self.changed:
            if name in self.wanted and name not in self.processes:
                self.launch(name)

    def launch(self, name):
        unit = self.units[name]
        variables = unit.environment()
        variables.update(self.extra.get(name, {}))
        self.spawn(name, self.through.get(name, []) + unit.command(variables), variables, unit.prepare(self.group))

    def await_end(self, name, limit):
        """Whether a process ended in time; the lock is held."""
        deadline = time.monotonic() + limit
        while name in self.processes:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.changed.wait(left)
        return True

    # MARK: requests

    def start(self, request):
        name = request["name"]
        if "unit" in request:
            self.units[name] = Unit(request["unit"], request.get("program"))
        self.wanted.add(name)
        if name not in self.processes:
            self.launch(name)

    def stop(self, request):
        name = request["name"]
        self.wanted.discard(name)
        if name in self.processes:
            os.kill(self.processes[name], signal.SIGTERM)
            if not self.await_end(name, seconds(self.units[name].get("TimeoutStopSec", "30"))):
                os.kill(self.processes[name], signal.SIGKILL)
                self.await_end(name, 10)
                return {"killed": True}
        return {"killed": False}

    def kill(self, request):
        """Ends a unit's process; with `hold` it stays down until `start`."""
        name = request["name"]
        if request.get("hold"):
            self.wanted.discard(name)
        if name not in self.processes:
            return {"hit": False}
        number = self.processes[name]
        os.kill(number, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while self.processes.get(name) == number and time.monotonic() < deadline:
            self.changed.wait(0.1)
        return {"hit": True}

    def run(self, request):
        variables = dict(os.environ, **request.get("environment", {}))
        self.ends.pop(request["name"], None)
        self.spawn(request["name"], request["command"], variables)

    def wait(self, request):
        if not self.await_end(request["name"], request["seconds"]):
            return {"ended": False}
        return {"ended": True, "status": self.ends.get(request["name"], [{"status": None}])[-1]["status"]}

    def signal(self, request):
        number = self.processes.get(request["name"])
        if number is None:
            return {"hit": False}
        os.kill(number, getattr(signal, "SIG" + request["signal"]))
        return {"hit": True}

    def environment(self, request):
        self.extra[request["name"]] = request["variables"]
        self.through[request["name"]] = request.get("through", [])

    def call(self, request):
        """Runs a short program to its end, without the reaper: for mounts and the like."""
        self.ends.pop("call", None)
        with open(f"{self.folder}/call.log", "wb"):
            pass
        self.spawn("call", request["command"])
        if not self.await_end("call", request.get("seconds", 30)):
            os.kill(self.processes["call"], signal.SIGKILL)
            return {"status": None}
        with open(f"{self.folder}/call.log", encoding="utf-8", errors="replace") as file:
            return {"status": self.ends["call"][-1]["status"], "output": file.read()}

    def state(self, request):
        units = {}
        for name in self.units:
            number = self.processes.get(name)
            units[name] = {"process": number, "wanted": name in self.wanted, "ends": self.ends.get(name, []),
                           "parts": self.parts(number)}
        return {"units": units, "running": sorted(self.processes)}

    @staticmethod
    def parts(number):
        """Resident bytes and open files of a process."""
        try:
            with open(f"/proc/{number}/statm", encoding="ascii") as file:
                pages = int(file.read().split()[1])
            return {"resident": pages * resource.getpagesize(), "files": len(os.listdir(f"/proc/{number}/fd"))}
        except (OSError, ValueError, IndexError):
            return None

    def answer(self, connection):
        with connection, connection.makefile("rw", encoding="utf-8") as stream:
            try:
                request = json.loads(stream.readline())
                if request["do"] not in ("start", "stop", "kill", "run", "wait", "signal", "environment", "call",
                                         "state"):
                    raise ValueError(f"unknown request {request['do']}")
                with self.changed:
                    answer = getattr(self, request["do"])(request) or {}
            except Exception as error:  # The host goes on; who asked is told.
                answer = {"error": f"{type(error).__name__}: {error}"}
            try:
                stream.write(json.dumps(answer) + "\n")
                stream.flush()
            except OSError:
                pass  # Whoever asked has gone.


def mount(*arguments):
    subprocess.check_call(["mount", *arguments])


def make_folders(folder):
    """`/etc/lockstep`, `/var/lib/lockstep` and `/usr/local/bin` of this host alone."""
    mount("--make-rprivate", "/")
    for place, name in (("/etc", "etc"), ("/var/lib", "lib"), ("/usr/local/bin", "bin")):
        for part in (name, name + "-work"):
            os.makedirs(f"{folder}/{part}", exist_ok=True)
        mount("-t", "overlay", "overlay", "-o",
              f"lowerdir={place},upperdir={folder}/{name},workdir={folder}/{name}-work", place)
    mount("-t", "tmpfs", "tmpfs", "/dev/shm")
    for place in ("/etc/lockstep", "/var/lib/lockstep"):
        os.makedirs(place, exist_ok=True)
    if os.path.exists(f"{folder}/disk.img"):
        mount("-o", "loop", f"{folder}/disk.img", "/var/lib/lockstep")
    else:
        os.makedirs(f"{folder}/disk", exist_ok=True)
        mount("--bind", f"{folder}/disk", "/var/lib/lockstep")


def main():
    """`agent.py NAME FOLDER GROUP`: a host, until it is killed.

    GROUP is the open file `cgroup.procs` of the memory group of its nodes, whose folder is not seen from here; or -1.
    """
    name, folder, group = sys.argv[1:]
    socket.sethostname(name)
    make_folders(folder)
    host = Host(folder, int(group))
    threading.Thread(target=host.reap, daemon=True).start()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.unlink(f"{folder}/agent.sock")
    except FileNotFoundError:
        pass
    server.bind(f"{folder}/agent.sock")
    server.listen(64)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=host.answer, args=[connection], daemon=True).start()


if __name__ == "__main__":
    main()
