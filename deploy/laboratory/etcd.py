"""The etcd that keeps the records of the laboratory's data nodes: Debian's, each member on a host of its own."""
import json
import os
import shutil
import subprocess

from namespaces import CannotRun, wait_until

from .hosts import HERE

UNIT = f"{HERE}/etcd.service"
FOLDER, DATA, COPY = "/var/lib/etcd", "/var/lib/etcd/default", "/var/lib/etcd/copy.db"
PREFIX = "/lockstep"  # of all keys of Lockstep
PLACE = "http://127.0.0.1:2379"  # of a member, for its own host


def check_data_nodes(program):
    """Refuses with one line what keeps data nodes from being run here."""
    for needed, package in (("etcd", "etcd-server"), ("etcdctl", "etcd-client")):
        if not shutil.which(needed):
            raise CannotRun(f"data nodes need {needed}: install {package} (deploy/setup --lab)")
    if not knows(program, "cluster"):
        raise CannotRun(f"data nodes need {program} to be built with --traits Etcd")


def knows(program, *command):
    """Whether the operator's program has a command."""
    return subprocess.run([program, *command, "--help"], capture_output=True).returncode == 0


class Etcd:
    """One member or three, by the letters of their hosts."""

    def __init__(self, members):
        self.members = members  # letter -> Host

    @property
    def endpoints(self):
        """Where data nodes ask."""
        return ",".join(f"http://{host.address}:2379" for host in self.members.values())

    # MARK: up

    def configure(self):
        """Writes the environment file that the unit reads, on each host."""
        for letter, host in self.members.items():
            settings = {
                "NAME": letter, "DATA_DIR": DATA, "LISTEN_CLIENT_URLS": f"{PLACE},http://{host.address}:2379",
                "ADVERTISE_CLIENT_URLS": f"http://{host.address}:2379", "LISTEN_PEER_URLS": self.peer(host),
                "INITIAL_ADVERTISE_PEER_URLS": self.peer(host), "INITIAL_CLUSTER": self.cluster,
                "INITIAL_CLUSTER_STATE": "new", "LOG_LEVEL": "warn"}
            os.makedirs(host.path("/etc/default"), exist_ok=True)
            with open(host.path("/etc/default/etcd"), "w", encoding="ascii") as file:
                file.writelines(f"ETCD_{name}={value}\n" for name, value in settings.items())

    @staticmethod
    def peer(host):
        return f"http://{host.address}:2380"

    @property
    def cluster(self):
        return ",".join(f"{letter}={self.peer(host)}" for letter, host in self.members.items())

    def start(self):
        """Starts the members that do not run."""
        for host in self.members.values():
            host.ask("start", name="etcd", unit=UNIT)

    def await_well(self, limit=20):
        """Waits until every member answers."""
        if not wait_until(self.is_well, limit, 0.2):
            raise RuntimeError(f"etcd does not answer after {limit} s; see etcd.log on {', '.join(self.members)}")

    def is_well(self):
        try:
            return self.ctl("--endpoints", self.endpoints, "endpoint", "health") is not None
        except RuntimeError:
            return False

    # MARK: faults

    def signal(self, letter, name):
        return self.members[letter].ask("signal", name="etcd", signal=name)["hit"]

    def kill(self, letter):
        """Ends a member, which stays down until `start`."""
        return self.members[letter].ask("kill", name="etcd", hold=True)["hit"]

    def ctl(self, *words):
        """What etcdctl says, asked at the first member's host."""
        return next(iter(self.members.values())).call("etcdctl", *words)

    def leader(self):
        """The letter of the member that leads; all must answer."""
        said = self.ctl("--endpoints", self.endpoints, "endpoint", "status", "-w", "json")
        members = json.loads(next(line for line in said.splitlines() if line.startswith("[")))
        for letter, member in zip(self.members, members):
            if member["Status"]["header"]["member_id"] == member["Status"]["leader"]:
                return letter
        raise RuntimeError(f"no member of etcd leads: {members}")

    def delete(self, cluster, store):
        """Deletes the record of a store; how many there were."""
        return int(self.ctl("--endpoints", self.endpoints, "del", f"{PREFIX}/{cluster}/stores/{store}").split()[-1])

    def save(self):
        """Makes a copy of all that is in etcd."""
        first = next(iter(self.members.values()))
        first.call("etcdctl", "--endpoints", PLACE, "snapshot", "save", COPY)
        for host in self.members.values():
            if host is not first:
                shutil.copy(first.path(COPY), host.path(COPY))

    def restore(self):
        """Begins all members anew with the copy, as an operator does who puts a backup back."""
        for host in self.members.values():
            host.ask("stop", name="etcd")
        for letter, host in self.members.items():
            shutil.rmtree(host.path(DATA))
            host.call("etcdctl", "snapshot", "restore", COPY, "--name", letter, "--data-dir", DATA, "--initial-cluster",
                      self.cluster, "--initial-advertise-peer-urls", self.peer(host))
            owner = os.stat(host.path(FOLDER))
            host.call("chown", "-R", f"{owner.st_uid}:{owner.st_gid}", DATA)
        self.start()
        self.await_well()
