"""The etcd that keeps the records of the laboratory's data nodes: Debian's, each member on a host of its own."""
import json
import os
import shutil
import subprocess

from namespaces import CannotRun, wait_until

from . import certificates, hosts
from .hosts import HERE

UNIT = f"{HERE}/etcd.service"
FOLDER, DATA, COPY = "/var/lib/etcd", "/var/lib/etcd/default", "/var/lib/etcd/copy.db"
PREFIX = "/lockstep"  # of all keys of Lockstep


def check_data_nodes(program, tls=False):
    """Refuses with one line what keeps data nodes from being run here."""
    for needed, package in [("etcd", "etcd-server"), ("etcdctl", "etcd-client")] + [("openssl", "openssl")] * tls:
        if not shutil.which(needed):
            raise CannotRun(f"data nodes need {needed}: install {package} (deploy/setup --lab)")
    if not knows(program, "cluster"):
        raise CannotRun(f"data nodes need {program} to be built with --traits Etcd")


def knows(program, *command):
    """Whether the operator's program has a command."""
    return subprocess.run([program, *command, "--help"], capture_output=True).returncode == 0


class Etcd:
    """One member or three, by the letters of their hosts."""

    def __init__(self, members, tls=False):
        self.members = members  # letter -> Host
        self.tls, self.scheme = tls, "https" if tls else "http"
        self.place = f"{self.scheme}://127.0.0.1:2379"  # of a member, for its own host

    @property
    def endpoints(self):
        """Where data nodes ask."""
        return ",".join(f"{self.scheme}://{host.address}:2379" for host in self.members.values())

    @property
    def folder(self):
        """Where the certificates are made."""
        return f"{hosts.folder()}/certificates"

    def options(self, host):
        """What `lockstep init` is told on the host of a data node."""
        if not self.tls:
            return ["--etcd", self.endpoints, "--etcd-plaintext"]
        certificates.give(self.folder, host, "client")
        return ["--etcd", self.endpoints, "--etcd-authority", certificates.AUTHORITY, "--etcd-certificate",
                f"{certificates.CLIENT}.pem", "--etcd-key", f"{certificates.CLIENT}.key"]

    # MARK: up

    def configure(self):
        """Writes the environment file that the unit reads, on each host."""
        if self.tls:
            certificates.make(self.folder, [host.address for host in self.members.values()])
        for letter, host in self.members.items():
            address = f"{self.scheme}://{host.address}:2379"
            settings = {
                "NAME": letter, "DATA_DIR": DATA, "LISTEN_CLIENT_URLS": f"{self.place},{address}",
                "ADVERTISE_CLIENT_URLS": address, "LISTEN_PEER_URLS": self.peer(host),
                "INITIAL_ADVERTISE_PEER_URLS": self.peer(host), "INITIAL_CLUSTER": self.cluster,
                "INITIAL_CLUSTER_STATE": "new", "LOG_LEVEL": "warn"}
            if self.tls:
                owner = os.stat(host.path(FOLDER))
                for name in ("server", "client"):
                    certificates.give(self.folder, host, name, (owner.st_uid, owner.st_gid))
                for kind in ("", "PEER_"):
                    settings.update({
                        f"{kind}CERT_FILE": f"{certificates.SERVER}.pem",
                        f"{kind}KEY_FILE": f"{certificates.SERVER}.key",
                        f"{kind}TRUSTED_CA_FILE": certificates.AUTHORITY, f"{kind}CLIENT_CERT_AUTH": "true"})
            os.makedirs(host.path("/etc/default"), exist_ok=True)
            with open(host.path("/etc/default/etcd"), "w", encoding="ascii") as file:
                file.writelines(f"ETCD_{name}={value}\n" for name, value in settings.items())

    def peer(self, host):
        return f"{self.scheme}://{host.address}:2380"

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
        shown = ["--cacert", certificates.AUTHORITY, "--cert", f"{certificates.CLIENT}.pem", "--key",
                 f"{certificates.CLIENT}.key"] if self.tls else []
        return next(iter(self.members.values())).call("etcdctl", *shown, *words)

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
        key = f"{PREFIX}/{cluster}/stores/{store}"
        return int(self.ctl("--endpoints", self.endpoints, "del", key).split()[-1])

    def save(self):
        """Makes a copy of all that is in etcd."""
        first = next(iter(self.members.values()))
        self.ctl("--endpoints", self.place, "snapshot", "save", COPY)
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
