"""What can happen to the frames between hosts: rules of the switch, and connections that are reset."""
from .registry import a_primary, another_node, any_node, followers, nemesis


def rule(lab, fault, pairs, **what):
    """Sets a rule of the switch for the time of the fault, and counts what it did."""
    fault.note(pairs=[f"{source}>{to}" for source, to in pairs], **what)
    lab.switch.ask("set", name=fault.name, pairs=pairs, **what)
    yield
    counts = lab.switch.ask("clear", name=fault.name)["rules"].get(fault.name, {})
    fault.note(frames=counts)
    fault.fire(sum(counts.values()))


def both(groups):
    """The ordered pairs between two groups of hosts."""
    left, right = groups
    return [pair for a in left for b in right for pair in ((a, b), (b, a))]


def others(lab, letters):
    return [letter for letter in lab.hosts if letter not in letters]


@nemesis("one host is cut off from all others")
def cut(lab, fault):
    primary = a_primary(lab, fault)
    letter = fault.random.choice([primary] * 2 + followers(lab, primary))
    yield from rule(lab, fault, both(([letter], others(lab, [letter]))), cut=True)


@nemesis("the hosts fall into two halves; the clients are with either")
def cut_halves(lab, fault):
    letters = sorted(lab.hosts)
    fault.random.shuffle(letters)
    half = letters[:len(letters) // 2]
    yield from rule(lab, fault, both((half, others(lab, half))), cut=True)


@nemesis("the frames of one direction between the primary and another host are lost")
def cut_direction(lab, fault):
    primary = a_primary(lab, fault)
    other = fault.random.choice(followers(lab, primary) + ["k"])
    pair = [primary, other] if fault.random.random() < 0.5 else [other, primary]
    yield from rule(lab, fault, [pair], cut=True)


@nemesis("one port of the primary cannot be reached: ingress, broadcast, bulk or that for data nodes")
def cut_port(lab, fault):
    primary = a_primary(lab, fault)
    port = fault.random.choice([7400, 7401, 7402] + [7403] * bool(lab.data))
    yield from rule(lab, fault, both(([primary], others(lab, [primary]))), cut=True, ports=[port])


def everywhere(lab):
    return [(source, to) for source in lab.hosts for to in lab.hosts if source != to]


@nemesis("5 to 30 % of all frames are lost")
def loss(lab, fault):
    yield from rule(lab, fault, everywhere(lab), loss=round(fault.random.uniform(0.05, 0.3), 2))


@nemesis("10 to 50 % of all frames come twice")
def duplication(lab, fault):
    yield from rule(lab, fault, everywhere(lab), duplicate=round(fault.random.uniform(0.1, 0.5), 2))


@nemesis("frames are late by up to 400 ms, each by another time, so that they overtake each other")
def delay(lab, fault):
    yield from rule(lab, fault, everywhere(lab), delay=round(fault.random.uniform(0, 0.1), 3),
                    jitter=round(fault.random.uniform(0.01, 0.3), 3))


@nemesis("bits of 1 to 10 % of the frames flip; the checksums of TCP find it")
def corruption(lab, fault):
    yield from rule(lab, fault, everywhere(lab), corrupt=round(fault.random.uniform(0.01, 0.1), 3))


@nemesis("a bit of 0.2 to 2 % of the payloads flips under a right checksum, so that only the programs can find it")
def forgery(lab, fault):
    # What etcd is told has no check of its own without TLS.
    spared = {"x"} | (set() if lab.etcd and lab.etcd.tls else set(lab.keepers))
    nodes = [letter for letter in lab.hosts if letter not in spared]
    pairs = [(source, to) for source in nodes for to in nodes if source != to]
    yield from rule(lab, fault, pairs, forge=round(fault.random.uniform(0.002, 0.02), 4))


@nemesis("the frames of a host are kept back and then come all at once", seconds=(3, 8))
def hold(lab, fault):
    node = any_node(lab, fault)
    letter = node.host.name
    pairs = both(([letter], others(lab, [letter])))
    yield from rule(lab, fault, pairs if fault.random.random() < 0.5 else [p for p in pairs if p[0] == letter],
                    hold=True)


@nemesis("the link from the primary to another node carries 64 kbit/s", seconds=(4, 8))
def slow_link(lab, fault):
    other = another_node(lab, fault).host.name
    yield from rule(lab, fault, [(fault.record.get("primary", "a"), other)], rate=8_000)


@nemesis("connections of a host are reset, again and again")
def reset(lab, fault):
    host = any_node(lab, fault).host
    while not fault.is_over():
        closed = host.ask("call", command=["ss", "-K", "-H", "-t", "state", "established"])["output"] or ""
        fault.fire(sum(1 for line in closed.splitlines() if ":74" in line))
        fault.sleep(0.2)
    yield
