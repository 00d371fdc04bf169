"""python3 -m unittest discover tests, in the folder above."""

import sys
import unittest
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from random import Random
from threading import Lock

sys.path.insert(0, str(Path(__file__).parent.parent))

from host.reachable import reachable  # noqa: E402


@dataclass
class Kept:
    numbers: list[int] = field(default_factory=list)
    names: dict = field(default_factory=dict)
    any: object = None
    left: int = 0

    def run(self):
        pass

    def stop(self):
        pass


class Slots:
    __slots__ = ("__own", "shown")

    def __init__(self, own, shown):
        self.__own = own
        self.shown = shown


class Colour(Enum):
    RED = 1
    BLUE = 2


class Named(dict):
    pass


def closing(over):
    return lambda: over


def named(name, **of):
    made = Named(of)
    made.name = name
    return made


shared = Kept()
circle = Kept()
circle.any = circle

# What differs in each pair.
APART = {
    "numbers": (Kept([1]), Kept([2])),
    "lengths": ([[1], []], [[], [1]]),
    "none and empty": (Kept(any=None), Kept(any=[])),
    "types": ([1, 1.0], [True, 1]),
    "signs of zero": (0.0, -0.0),
    "texts and bytes": ("a", b"a"),
    "borders": (["a", "bc"], ["ab", "c"]),
    "orders of a dictionary": ({1: 2, 3: 4}, {3: 4, 1: 2}),
    "functions": (Kept().run, Kept().stop),
    "what a function has captured": (closing([1]), closing([2])),
    "one and two of the same": ([shared, shared], [shared, Kept()]),
    "the first and the second of two": ([shared, circle.names, shared], [shared, circle.names, circle.names]),
    "a circle and its unrolled start": (circle, Kept(any=circle)),
    "slots": (Slots(1, 2), Slots(2, 2)),
    "members": (Colour.RED, Colour.BLUE),
    "attributes of a dictionary": (named("a", x=1), named("b", x=1)),
    "queues": (deque([1, 2], 5), deque([1, 2], 6)),
    "objects of C": (Decimal("1.0"), Decimal("1.00")),
    "dates": (datetime(2001, 9, 9, 1), datetime(2001, 9, 9, 2)),
    "generators": (Random(1), Random(2)),
    "partial calls": (partial(print, 1), partial(print, 2)),
    "sets": ({1, 2}, {1, 3}),
}


class Reachable(unittest.TestCase):
    def test_different_values_have_different_encodings(self):
        for what, (one, other) in APART.items():
            self.assertNotEqual(reachable(one), reachable(other), what)

    def test_what_is_the_same_is_not_told_apart(self):
        def made(*names):
            kept = Kept(any={*names}, names={"x": OrderedDict(a=1)})
            kept.numbers = [deque(names[:0]), Decimal(3), closing(kept), Slots(kept, kept.run), Random(3)]
            return kept

        self.assertEqual(reachable(made("a", "bb", "ccc")), reachable(made("ccc", "bb", "a")))
        for one, other in APART.values():
            self.assertEqual(reachable(one), reachable(one))
            self.assertEqual(reachable(other), reachable(other))
        name = f"{__name__}.Kept.left"
        self.assertEqual(reachable(Kept(left=1), without=(name,)), reachable(Kept(left=2), without=(name,)))

    def test_what_has_no_encoding_is_refused(self):
        for value in [(one for one in [1]), Lock(), {(1, Kept.run): 2}.keys(), {partial(print)}]:
            with self.assertRaises(TypeError):
                reachable(value)


if __name__ == "__main__":
    unittest.main()
