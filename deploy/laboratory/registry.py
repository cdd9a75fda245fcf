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


def any_node(lab, fault):
    """The primary in half of the cases, else a replica."""
    replicas = sorted(letter for letter in lab.nodes if letter not in ("a", "x"))
    letter = "a" if fault.random.random() < 0.5 else fault.random.choice(replicas)
    fault.note(target=letter)
    return lab.nodes[letter]


def a_replica(lab, fault):
    """One of the replicas."""
    letter = fault.random.choice(sorted(letter for letter in lab.nodes if letter not in ("a", "x")))
    fault.note(target=letter)
    return lab.nodes[letter]
