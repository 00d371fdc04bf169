"""Timers that are set and cancelled, as part of a node's state. Each has a name, which a local event of kind timer can have."""

from typing import Any

from host.clock import Clock


class Timers:
    """Timers without durations: each is due at any moment, in any order, since there is no time in a model."""

    def __init__(self) -> None:
        self._set: set[str] = set()

    def state(self) -> list[str]:
        return sorted(self._set)

    def set(self, timer: str) -> None:
        """Sets a timer. To set it again changes nothing."""
        self._set.add(timer)

    def cancel(self, timer: str) -> bool:
        """Cancels a timer: it fires no more. Whether it was set."""
        was_set = timer in self._set
        self._set.discard(timer)
        return was_set

    def is_set(self, timer: str) -> bool:
        return timer in self._set

    def due(self) -> list[str]:
        """The timers that can fire, in their order, for `Node.local_events`."""
        return sorted(self._set)

    def fired(self, timer: str) -> None:
        """A timer fires: it is not set any more. For `Node.handle_local`."""
        if not self.cancel(timer):
            raise ValueError(f"a timer fires that is not set: {timer}")


class TimedTimers:
    """Timers with durations on a monotone clock: they fire in the order of their deadlines, late perhaps, and never early.

    A timer of 10 fires before one of 30 that is set after it; one of 10 that is set after one of 30 fires before it or after it,
    since any time can pass between the two. An implementation must serve one queue of timers in the order of deadlines.
    """

    def __init__(self) -> None:
        # A reading for each timer, when it was set, with its duration.
        self._clock = Clock()

    def state(self) -> dict[str, Any]:
        return {"clock": self._clock}

    def set(self, timer: str, duration: int) -> None:
        """Sets a timer, from now on; one that is set already is set anew."""
        self.cancel(timer)
        self._clock.read((timer, duration))

    def cancel(self, timer: str) -> bool:
        """Cancels a timer: it fires no more. Whether it was set."""
        return any(self._clock.forget(entry) for entry in self._entries(timer))

    def is_set(self, timer: str) -> bool:
        return bool(self._entries(timer))

    def due(self) -> list[str]:
        """The timers that can be the next to fire, in their order, for `Node.local_events`."""
        return [entry[0] for entry in self._clock.readings if fire(self._clock.copy(), entry)]

    def fired(self, timer: str) -> None:
        """A timer fires: it is not set any more, and time has come to its deadline. For `Node.handle_local`."""
        if not any(fire(self._clock, entry) for entry in self._entries(timer)):
            raise ValueError(f"a timer fires that is not set, or that is not the next: {timer}")
        self.cancel(timer)

    def _entries(self, timer: str) -> list[tuple[str, int]]:
        return [entry for entry in self._clock.readings if entry[0] == timer]


def fire(clock: Clock, entry: tuple[str, int]) -> bool:
    """Notes that a timer is the next to fire; whether it can be."""
    # other + its duration >= entry + duration
    others = [other for other in clock.readings if other != entry]
    return all(clock.assume(other, entry, entry[1] - other[1]) for other in others) and clock.assume(None, entry, entry[1])
