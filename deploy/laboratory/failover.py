"""What can happen to data nodes and their etcd, and to nothing else."""
from namespaces import wait_until

from .network import both, rule
from .registry import a_primary, any_node, followers, nemesis

DATA = ("data-nodes",)
OPERATED = ("data-nodes", "rebind")


# MARK: processes

@nemesis("SIGTERM to the primary, which gives its posts away; it starts again at the end", seconds=(1, 3), needs=DATA)
def stop_primary(lab, fault):
    letter = a_primary(lab, fault)
    fault.note(target=letter)
    fault.event()
    if not lab.nodes[letter].stop():
        lab.problems.append(f"the node on {letter} did not stop when it was told to (fault {fault.name})")
    fault.fire(1)
    yield
    lab.nodes[letter].start()


@nemesis("SIGKILL to the member of etcd that leads, which stays down for a while", needs=DATA)
def kill_etcd(lab, fault):
    leader = lab.etcd.leader()
    fault.note(target=leader)
    fault.fire(int(lab.etcd.kill(leader)))
    yield
    lab.etcd.start()


@nemesis("SIGSTOP to the member of etcd that leads, then SIGCONT", seconds=(3, 8), needs=DATA)
def pause_etcd(lab, fault):
    leader = lab.etcd.leader()
    fault.note(target=leader)
    fault.fire(int(lab.etcd.signal(leader, "STOP")))
    yield
    lab.etcd.signal(leader, "CONT")


@nemesis("a data node loses its disk while it is down, and comes back under its name", seconds=(2, 4), needs=DATA)
def wipe(lab, fault):
    node = any_node(lab, fault)
    fault.fire(int(node.kill(hold=True)))
    yield
    lab.renew(node).start()


# MARK: cuts

@nemesis("the primary is cut off from etcd, and from nothing else", seconds=(3, 6), needs=DATA)
def cut_etcd(lab, fault):
    yield from rule(lab, fault, both(([a_primary(lab, fault)], lab.keepers)), cut=True)


@nemesis("the primary is cut off from the other nodes, and from nothing else", seconds=(3, 6), needs=DATA)
def cut_standbys(lab, fault):
    primary = a_primary(lab, fault)
    yield from rule(lab, fault, both(([primary], followers(lab, primary))), cut=True)


@nemesis("what the primary sends to etcd or the other nodes is lost, or what they send to it", seconds=(3, 6),
         needs=DATA)
def cut_one_way(lab, fault):
    primary = a_primary(lab, fault)
    others = fault.random.choice([lab.keepers, followers(lab, primary), lab.keepers + followers(lab, primary)])
    away = fault.random.random() < 0.5
    pairs = [(primary, other) if away else (other, primary) for other in others]
    yield from rule(lab, fault, pairs, cut=True)


@nemesis("etcd is cut off from all data nodes, and one of these is killed", seconds=(3, 6), needs=DATA)
def cut_etcd_kill(lab, fault):
    node = any_node(lab, fault)
    steps = rule(lab, fault, both((lab.data, lab.keepers)), cut=True)
    next(steps)
    fault.fire(int(node.kill()))
    yield
    for _ in steps:
        pass


# MARK: records

@nemesis("the record of a store is deleted; an operator makes it anew", seconds=(2, 5), needs=OPERATED)
def delete_record(lab, fault):
    store = fault.random.choice(lab.written)
    fault.note(store=store)
    fault.fire(lab.etcd.delete(lab.cluster, store))
    yield
    lab.rebind()


@nemesis("etcd comes back as it was before a failover; an operator says that it holds", seconds=(2, 5), needs=OPERATED)
def restore_etcd(lab, fault):
    lab.etcd.save()
    letter = a_primary(lab, fault)
    epoch = lab.epoch(fault.record["store"])
    lab.nodes[letter].kill(hold=True)
    # Without another reign the copy would be as good as what it replaces.
    if wait_until(lambda: lab.epoch(fault.record["store"]) > epoch, 15, 0.1):
        fault.fire(1)
    lab.nodes[letter].start()
    lab.etcd.restore()
    yield
    lab.rebind()
