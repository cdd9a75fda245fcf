"""An authority, and certificates for etcd's members and for whoever asks them: files that `openssl` makes."""
import os
import shutil
import subprocess

from . import machine

FOLDER = "/etc/lockstep/etcd"  # of each host that has some
AUTHORITY, SERVER, CLIENT = f"{FOLDER}/authority.pem", f"{FOLDER}/server", f"{FOLDER}/client"
SCRIPT = """
set -e
new() { openssl req "$@" -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes; }
sign() {
    printf '%s\\n' "$2" >"$1.ext"
    new -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"
    openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -CAcreateserial -out "$1.pem" -days 30 \\
        -extfile "$1.ext"
}
new -x509 -keyout authority.key -out authority.pem -subj /CN=authority -days 30
sign server "subjectAltName=$1
extendedKeyUsage=serverAuth,clientAuth"
sign client extendedKeyUsage=clientAuth
"""


def make(folder, addresses):
    """Makes the files; they were valid yesterday, since a fault may set a host's clock back."""
    os.makedirs(folder)
    library = machine.faketime()
    environment = dict(os.environ, LD_PRELOAD=library, FAKETIME="-1d") if library else None
    names = ",".join(f"IP:{address}" for address in ["127.0.0.1", *addresses])
    done = subprocess.run(
        ["sh", "-c", SCRIPT, "sh", names], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl made no certificates: {done.stderr[-300:]}")


def give(folder, host, name, owner=(0, 0)):
    """Puts the authority's certificate and one with its key onto a host."""
    os.makedirs(host.path(FOLDER), exist_ok=True)
    for file in ("authority.pem", f"{name}.pem", f"{name}.key"):
        shutil.copy(f"{folder}/{file}", host.path(f"{FOLDER}/{file}"))
        os.chmod(host.path(f"{FOLDER}/{file}"), 0o600 if file.endswith(".key") else 0o644)
        os.chown(host.path(f"{FOLDER}/{file}"), *owner)
