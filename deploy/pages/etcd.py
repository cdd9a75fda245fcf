"""etcd on the hosts: Debian's, by its unit and its file of settings, in plain text or with certificates."""
import json
import re

from namespaces import wait_until

from .hosts import LETTERS
from .operating import unit_log

SETTINGS, KEYS = "/etc/default/etcd", "/etc/etcd"
STORED, COPY = "/var/lib/etcd/default", "/tmp/etcd.copy"
TLS = "${ETCD_CERT_FILE:+--cacert $ETCD_TRUSTED_CA_FILE --cert $ETCD_CERT_FILE --key $ETCD_KEY_FILE}"


def number(host):
    return LETTERS[host.letter]


def configure(host, members, more=""):
    """Writes the settings of a member; `more` holds instead of what is above it."""
    own, client = f"http://{host.address}:2380", f"http://{host.address}:2379"
    all_of_them = ",".join(f"etcd-{number(one)}=http://{one.address}:2380" for one in members)
    settings = {"NAME": f"etcd-{number(host)}", "LISTEN_PEER_URLS": own, "INITIAL_ADVERTISE_PEER_URLS": own,
                "INITIAL_CLUSTER": all_of_them, "LISTEN_CLIENT_URLS": client, "ADVERTISE_CLIENT_URLS": client}
    lines = "".join(f"ETCD_{name}={text}\n" for name, text in settings.items())
    host.must(f"printf '%s' '{lines}{more}' >{SETTINGS}")


def control(host, words):
    """Asks the member of a host."""
    return host.root(f". {SETTINGS} && ETCDCTL_API=3 etcdctl --endpoints $ETCD_ADVERTISE_CLIENT_URLS {TLS} {words}")


def start(members):
    """Starts the members, and waits until each answers with what a majority has."""
    for host in members:
        # The unit is active only when a majority is there.
        host.must("systemctl reset-failed etcd; systemctl start --no-block etcd")
    for host in members:
        if not wait_until(lambda host=host: control(host, "endpoint health").status == 0, 30, 0.2):
            raise RuntimeError(f"etcd does not answer on {host.letter}: {unit_log(host, 'etcd', 5)}")


def stop(members):
    for host in members:
        host.must("systemctl stop etcd")


def status(host):
    """What the member of a host says of itself; nothing if it does not answer."""
    done = control(host, "endpoint status -w json")
    return json.loads(done.output)[0]["Status"] if done.status == 0 else None


def lead_elsewhere(host, members):
    """Has another member than that of a host lead the others."""
    other = next(one for one in members if one is not host)

    def is_elsewhere():
        own, next_one = status(host), status(other)
        if not own or not next_one:
            return False
        if own.get("leader") == own["header"]["member_id"]:
            control(host, f"move-leader {next_one['header']['member_id']:x}")
            return False
        return "leader" in own

    if not wait_until(is_elsewhere, 20, 0.2):
        raise RuntimeError(f"no member but that of {host.letter} leads etcd: {status(host)}")


def keep(host):
    """Makes a copy of what etcd has."""
    done = control(host, f"snapshot save {COPY} && chmod 644 {COPY}")
    if done.status != 0:
        raise RuntimeError(f"etcd makes no copy: {done.text}")


def set_back(members):
    """Begins all members anew with the copy that the first one has, as an operator does who puts a backup back."""
    stop(members)
    first, *others = members
    for host in others:
        first.pipe(f"cat {COPY}", host, f"cat >{COPY}")
    for host in members:
        host.must(f". {SETTINGS} && rm -rf {STORED} && ETCDCTL_API=3 etcdctl snapshot restore {COPY} "
                  f"--data-dir {STORED} --name $ETCD_NAME --initial-cluster $ETCD_INITIAL_CLUSTER "
                  "--initial-advertise-peer-urls $ETCD_INITIAL_ADVERTISE_PEER_URLS && "
                  f"chown -R etcd: {STORED} && rm -f {COPY}")
    start(members)


def certify(book, section, authority, members):
    """Makes the certificates of a section on the host of the authority, and starts the members with theirs."""
    script = section.command("mkdir").text
    member = re.search(r"sign etcd-1 '[^']*'", script)[0]
    each = "\n".join(member.replace("etcd-1", f"etcd-{number(host)}").replace("10.0.0.1", host.address)
                     for host in members)
    book.run(authority, section, "mkdir", **{member: each})
    path, content = section.files[0]
    book.check(section, "the settings are Debian's", path == SETTINGS, path)
    for host in members:
        own = f"etcd-{number(host)}"
        host.must(f"systemctl stop etcd; install -d -o etcd -m 700 {KEYS}")
        authority.pipe(f"tar -C etcd-keys -c authority.pem {own}.pem {own}.key", host, f"sudo tar -C {KEYS} -x")
        host.must(f"chown etcd: {KEYS}/*")
        configure(host, members, content.replace("10.0.0.1", host.address).replace("etcd-1", own))
    start(members)
