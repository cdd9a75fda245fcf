"""The nemeses by name, and how they choose whom they hit."""

NEMESES = {}


class Nemesis:
    """How a fault is made, how long it takes, and what the cluster needs for it."""

    def __init__(self, make, summary, seconds, needs=()):
        self.make, self.summary, self.seconds, self.needs = make, summary, seconds, needs
        self.name = make.__name__.replace("_", "-")


def nemesis(summary, seconds=(2, 6), needs=()):
    """Enters a function under its name."""
    def enter(make):
        entry = Nemesis(make, summary, seconds, needs)
        NEMESES[entry.name] = entry
        return make
    return enter


def a_primary(lab, fault):
    """The host of the primary of a store that the clients write."""
    if not lab.data:
        return "a"
    store = fault.random.choice(lab.written)
    letter = lab.primary(store)
    fault.note(store=store, primary=letter)
    return letter


def followers(lab, primary):
    """The hosts of the other nodes."""
    return sorted(letter for letter in lab.nodes if letter not in (primary, "x"))


def any_node(lab, fault):
    """The primary in half of the cases, else another node."""
    primary = a_primary(lab, fault)
    letter = primary if fault.random.random() < 0.5 else fault.random.choice(followers(lab, primary))
    fault.note(target=letter)
    return lab.nodes[letter]


def another_node(lab, fault):
    """One of the nodes that are not the primary."""
    letter = fault.random.choice(followers(lab, a_primary(lab, fault)))
    fault.note(target=letter)
    return lab.nodes[letter]
