"""A monotone clock of one node, as part of its state.

A model has no time, so a reading has no value: it has a name, and whether it is so much later than another one is a choice that
the checker explores both ways, as long as both are possible. What has been found once restricts what can be found later.
docs/time-and-chance.md says more; the answers are those of the Rust SDK.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

Choose = Callable[[int], int]


class Clock:
    """Readings that are not forgotten, and what is known of the time between them.

    Names can be compared with each other: strings, say. Time is an integer, in units of the protocol's own. Where a clock is
    compared, `choose` is `environment.choose`, or answers in a test.
    """

    def __init__(self) -> None:
        self.readings: list[Any] = []
        # Row by row, for all pairs of moments: the largest difference between the first and the second; none if it has no
        # bound. Moment 0 is the last time at which the clock was looked at, moment i + 1 is reading i. Closed: no bound
        # follows from others that is smaller.
        self.bounds: list[int | None] = [0]

    def state(self) -> dict[str, Any]:
        return {"bounds": self.bounds, "readings": self.readings}

    def copy(self) -> "Clock":
        other = Clock()
        other.readings, other.bounds = list(self.readings), list(self.bounds)
        return other

    def read(self, name: Any) -> None:
        """Reads the clock and keeps the reading under a name; one of the same name is forgotten before."""
        self.forget(name)
        place = bisect_left(self.readings, name)
        self.readings.insert(place, name)
        # The new reading is now, so its bounds are those of now.
        old, moments = self.bounds, len(self.readings) + 1
        before = [*range(place + 1), 0, *range(place + 1, moments - 1)]
        self.bounds = [old[a * (moments - 1) + b] for a in before for b in before]
        self._let_time_pass()

    def forget(self, name: Any) -> bool:
        """Forgets a reading, with what is known of it; whether there was one."""
        if name not in self.readings:
            return False
        place, moments = self.readings.index(name), len(self.readings) + 1
        left = [moment for moment in range(moments) if moment != place + 1]
        self.bounds = [self.bounds[a * moments + b] for a in left for b in left]
        self.readings.remove(name)
        return True

    def has_passed(self, choose: Choose, since: Any, duration: int) -> bool:
        """Whether so much time or more has passed since a reading. The clock is looked at again, so a later call may say yes
        where this one says no."""
        return self._decide(choose, 0, self._moment(since), duration)

    def is_later(self, choose: Choose, reading: Any, than: Any, by: int = 0) -> bool:
        """Whether one reading is so much later than another, or more; with 0, whether it is not before the other."""
        return self._decide(choose, self._moment(reading), self._moment(than), by)

    def assume(self, later: Any | None, earlier: Any | None, by: int) -> bool:
        """Notes that the first moment is at least so much later than the second, if it is possible; none is now. Whether it
        is."""
        a, b = (0 if name is None else self._moment(name) for name in (later, earlier))
        possible = self._is_possible(a, b, by)
        if possible:
            self._restrict(a, b, by)
            self._let_time_pass()
        return possible

    def _decide(self, choose: Choose, a: int, b: int, by: int) -> bool:
        # At least `by`, or at most `by - 1`.
        yes, no = self._is_possible(a, b, by), self._is_possible(b, a, 1 - by)
        answer = choose(2) == 1 if yes and no else yes
        if answer:
            self._restrict(a, b, by)
        else:
            self._restrict(b, a, 1 - by)
        self._let_time_pass()
        return answer

    def _is_possible(self, a: int, b: int, by: int) -> bool:
        most = self._bound(a, b)
        return most is None or most >= by

    def _restrict(self, a: int, b: int, by: int) -> None:
        most = self._bound(b, a)
        if most is not None and most <= -by:
            return
        # The only new way between two moments is over the new bound: b - a <= -by.
        old, moments = self.bounds, len(self.readings) + 1
        self.bounds = list(old)
        for start in range(moments):
            for end in range(moments):
                first, last, now = old[start * moments + b], old[a * moments + end], old[start * moments + end]
                if first is not None and last is not None and (now is None or first - by + last < now):
                    self.bounds[start * moments + end] = first - by + last

    def _let_time_pass(self) -> None:
        # The clock may be looked at any time later.
        self.bounds[1 : len(self.readings) + 1] = [None] * len(self.readings)

    def _moment(self, name: Any) -> int:
        if name not in self.readings:
            raise ValueError(f"the clock has no such reading: {name}")
        return self.readings.index(name) + 1

    def _bound(self, a: int, b: int) -> int | None:
        return self.bounds[a * (len(self.readings) + 1) + b]
