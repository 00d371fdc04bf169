"""What many protocols promise, for `invariant`: each function says why it does not hold, or nothing.

Each is handed a value for each node, in their order; None where the node cannot matter. The Rust SDK has the same properties.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any


def one_leader_per_term(terms: Sequence[Any]) -> str | None:
    """No two nodes lead in the same term; the terms are those in which nodes lead."""
    return _of_pairs(
        terms, lambda one, term, other, same: f"nodes {one} and {other} both lead in term {term}" if term == same else None
    )


def logs_agree(logs: Sequence[Sequence[Any] | None]) -> str | None:
    """One log is the beginning of the other, for all two nodes; a log is what counts of it, such as what is committed."""

    def differ(one: int, log: Sequence[Any], other: int, its: Sequence[Any]) -> str | None:
        for place, (entry, same) in enumerate(zip(log, its, strict=False), 1):
            if entry != same:
                return f"nodes {one} and {other} have different entries at {place}"
        return None

    return _of_pairs(logs, differ)


def acknowledged_is_durable(kept: Sequence[tuple[Sequence[Any], Sequence[Any]] | None]) -> str | None:
    """What a node has acknowledged, its first list, is stored by more than half of the nodes: in their second lists."""
    for acknowledged, _ in filter(None, kept):
        for value in acknowledged:
            holders = sum(value in stored for _, stored in filter(None, kept))
            if holders * 2 <= len(kept):
                return f"{value!r} was acknowledged, and {holders} of {len(kept)} nodes have it"
    return None


def committed_is_on_a_majority(logs: Sequence[tuple[Sequence[Any], int] | None]) -> str | None:
    """The entries that a node has committed, as many as its number says, are in the logs of more than half of the nodes."""
    for node, replica in enumerate(logs):
        entries, committed = replica or ((), 0)
        for place in range(committed):
            holders = sum(len(its) > place and its[place] == entries[place] for its, _ in filter(None, logs))
            if holders * 2 <= len(logs):
                return f"node {node} has committed entry {place + 1}, and {holders} of {len(logs)} nodes have it"
    return None


def replicas_converge(values: Sequence[Any]) -> str | None:
    """All nodes have the same value; most often of the kind `eventually`. A node without one is left out."""
    return _of_pairs(
        values, lambda one, value, other, its: None if value == its else f"nodes {one} and {other} have different values"
    )


def _of_pairs(views: Sequence[Any], check: Callable[[int, Any, int, Any], str | None]) -> str | None:
    there = [(node, view) for node, view in enumerate(views) if view is not None]
    for (one, view), (other, its) in combinations(there, 2):
        if (why := check(one, view, other, its)) is not None:
            return why
    return None
