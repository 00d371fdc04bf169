"""The journal of `../rust/src/lib.rs`, in Python; `tests/cli/journals.rs` compares them."""

from componentize_py_types import Err
from host.encoding import decode, encode
from host.storage import Table
from wit_world.exports import defaults as about_types
from wit_world.imports import durability, storage
from wit_world.imports.types import Envelope, LocalEvent, LocalKind, Property, PropertyKind, PropertyScope

BUGS = ["none", "forget-sync", "delete-one-more"]

ENTRIES = Table(storage, "entries", int)
NUMBERS = Table(storage, "numbers", int)

me = 0
nodes = 0
entries = 2
bug = "none"
acknowledged: list[int] = []


def number() -> int:
    """The first entry of a follower that is not deleted, and the number of entries of the leader."""
    return NUMBERS.get(0, 0)


def send(to: int, kind: str, index: int, value: int = 0) -> Envelope:
    return Envelope(to, encode({"index": index, "kind": kind, "value": value}))


def to_others(kind: str, index: int, value: int = 0) -> list[Envelope]:
    return [send(to, kind, index, value) for to in range(1, nodes)]


class Node:
    def init(self, own: int, cluster_size: int, config: str, durable: bytes | None) -> list[Envelope]:
        global me, nodes, entries, bug, acknowledged
        me, nodes, acknowledged = own, cluster_size, [0] * cluster_size
        for line in config.splitlines():
            key, _, value = line.partition("=")
            if key == "entries":
                entries = int(value)
            elif key == "bug" and value in BUGS:
                bug = value
            else:
                raise Err(f"no such parameter: {line}")
        if me > 0:
            return []
        return [envelope for index, value in ENTRIES.range() for envelope in to_others("append", index, value)]

    def handle_message(self, src: int, message: bytes) -> list[Envelope]:
        got = decode(message)
        kind, index = got["kind"], got["index"]
        if kind == "append":
            if index >= number() and index not in ENTRIES:
                ENTRIES.put(index, got["value"])
                if bug != "forget-sync":
                    durability.sync()
            # All entries before this one are there.
            end = number()
            for key, _ in ENTRIES.range(first=end):
                end += key == end
            return [send(src, "acknowledge", end)]
        if kind == "acknowledge":
            acknowledged[src] = max(acknowledged[src], index)
            everywhere = min(acknowledged[1:])
            old = [key for key, _ in ENTRIES.range(last=everywhere - 1)] if everywhere > 0 else []
            for key in old:
                ENTRIES.delete(key)
            return to_others("compact", everywhere) if old else []
        ENTRIES.delete_range(last=index if bug == "delete-one-more" else index - 1)
        if index > number():
            NUMBERS.put(0, index)
        return []

    def local_events(self) -> list[LocalEvent]:
        may_append = me == 0 and number() < entries
        return [LocalEvent(name="append", kind=LocalKind.APPLICATION, payload=b"")] if may_append else []

    def handle_local(self, event: LocalEvent) -> list[Envelope]:
        index = number()
        ENTRIES.put(index, 100 + index)
        NUMBERS.put(0, index + 1)
        durability.sync()
        return to_others("append", index, 100 + index)

    def serialize(self) -> bytes:
        return encode({"acknowledged": acknowledged, "me": me})


class Specification:
    def properties(self) -> list[Property]:
        return [
            Property("acknowledged-is-kept", PropertyKind.ALWAYS, PropertyScope.SYSTEM),
            Property("more-after-deleted", PropertyKind.SOMETIMES, PropertyScope.NODE),
        ]

    def view(self, property: int) -> bytes | None:
        if property == 0:
            kept = [key for key, _ in ENTRIES.range()]
            return encode({"acknowledged": acknowledged, "base": number(), "kept": kept})
        last = ENTRIES.last()
        return None if me == 0 else encode([number(), 0 if last is None else last[0]])

    def invariant(self, property: int, views: list[bytes | None]) -> None:
        seen = [None if view is None else decode(view) for view in views]
        if property == 1:
            base, last = seen[0]
            if base == 0 or last < base:
                raise Err("none yet")
            return
        if seen[0] is None:
            return
        for node, view in enumerate(seen[1:], 1):
            if view is None:
                continue
            for index in range(view["base"], seen[0]["acknowledged"][node]):
                if index not in view["kept"]:
                    raise Err(f"node {node} has acknowledged entry {index} and lost it")


class Defaults:
    def about(self) -> about_types.Plugin:
        return about_types.Plugin(
            name="journal-in-python",
            version="0.1.0",
            summary="A journal in the durable map.",
            nodes=2,
            network=about_types.Network.UNORDERED,
            identity=about_types.Identity.SERIALIZED,
            parameters=[
                about_types.Parameter("entries", "2", "the number of entries"),
                about_types.Parameter("bug", "none", "what is wrong on purpose"),
            ],
        )
