"""What of a machine nemeses need, and whether it is there."""
import glob
import os
import shutil


def available(nemeses, names, capacity=None, data_nodes=True, rebind=True):
    """Those of the nemeses for which this machine has what they need, and what the others lack.

    `capacity` is what the cluster can take, in operations a second, if it was measured; `data_nodes` whether the cluster
    is one of data nodes, `rebind` whether the program can make their records anew.
    """
    have = {
        "strace": bool(shutil.which("strace")),
        "faketime": bool(faketime()),
        "small-disk": bool(shutil.which("mkfs.ext4")) and os.path.exists("/dev/loop-control"),
        "cgroup-cpu": os.path.isdir("/sys/fs/cgroup/cpu"),
        "cgroup-memory": os.path.isdir("/sys/fs/cgroup/memory"),
        "capacity": bool(capacity),
        "data-nodes": data_nodes,
        "rebind": rebind,
    }
    missing = {name: [need for need in entry.needs if not have[need]] for name, entry in nemeses.items()}
    return [name for name in names if not missing[name]], {name: missing[name] for name in names if missing[name]}


def faketime():
    """The library that gives a process another clock."""
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None
