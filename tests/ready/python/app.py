"""A leader writes one value to all nodes; `bug` breaks one of the ready-made properties each. `tests/ready.rs` runs it."""

import sys

from componentize_py_types import Err
from host import ready_made as ready
from host.encoding import decode, encode
from wit_world.exports import defaults as about_types
from stand_ins import ssl
from wit_world.imports.types import Envelope, LocalEvent, LocalKind, Property, PropertyKind, PropertyScope

# What stands in for absent modules, as docs/libraries.md has it; numpy.py is found by its name.
sys.modules["ssl"] = ssl

import library  # noqa: E402

BUGS = ["none", "two-leaders", "own-value", "early-answer", "early-commit", "deaf-replica"]
PROPERTIES = ["one-leader", "logs-agree", "durable", "majority", "converge"]

me = 0
nodes = 0
bug = "none"
state: dict = {}


class Node:
    def init(self, own: int, cluster_size: int, config: str, durable: bytes | None) -> list[Envelope]:
        global me, nodes, bug, state
        me, nodes = own, cluster_size
        for line in config.splitlines():
            key, _, value = line.partition("=")
            if key != "bug" or value not in BUGS:
                raise Err(f"no such parameter: {line}")
            bug = value
        leads = me == 0 or bug == "two-leaders" and me == 1
        state = {
            "acknowledged": [], "acks": 0, "begun": False, "committed": [], "log": [],
            "role": "Leader" if leads else "Follower", "term": 1, "value": 0,
        }
        return []

    def handle_message(self, src: int, message: bytes) -> list[Envelope]:
        value = decode(message)["value"]
        if value == 0:
            state["acks"] += 1
            state["committed"] = state["log"][:1]
            state["acknowledged"] = state["log"][:1]
            return []
        if bug == "deaf-replica" and me + 1 == nodes:
            return []
        store(me + 1 if bug == "own-value" else value)
        return [Envelope(src, encode({"value": 0}))]

    def local_events(self) -> list[LocalEvent]:
        may_begin = state["role"] == "Leader" and not state["begun"]
        return [LocalEvent(name="begin", kind=LocalKind.INTERNAL, payload=b"")] if may_begin else []

    def handle_local(self, event: LocalEvent) -> list[Envelope]:
        assert library.read() == "stand-in 3"
        state["begun"] = True
        store(7)
        if bug == "early-answer":
            state["acknowledged"] = [7]
        if bug == "early-commit":
            state["committed"] = [7]
        return [Envelope(node, encode({"value": 7})) for node in range(nodes) if node != me]

    def serialize(self) -> bytes:
        return encode(state)


def store(value: int) -> None:
    state["log"].append(value)
    state["value"] = value


class Specification:
    def properties(self) -> list[Property]:
        kinds = [PropertyKind.ALWAYS] * 4 + [PropertyKind.EVENTUALLY]
        return [Property(name, kind, PropertyScope.SYSTEM) for name, kind in zip(PROPERTIES, kinds, strict=True)]

    def view(self, property: int) -> bytes | None:
        leads = state["role"] == "Leader"
        views = [
            state["term"] if leads else None,
            state["log"],
            [state["acknowledged"], state["log"]],
            [state["log"], len(state["committed"])],
            state["log"],
        ]
        return None if views[property] is None else encode(views[property])

    def invariant(self, property: int, views: list[bytes | None]) -> None:
        judges = [
            ready.one_leader_per_term,
            ready.logs_agree,
            ready.acknowledged_is_durable,
            ready.committed_is_on_a_majority,
            ready.replicas_converge,
        ]
        why = judges[property]([None if view is None else decode(view) for view in views])
        if why:
            raise Err(why)


class Names:
    def node_name(self) -> str | None:
        return "leader" if me == 0 else "replica"


class Defaults:
    def about(self) -> about_types.Plugin:
        return about_types.Plugin(
            name="ready-in-python",
            version="0.1.0",
            summary="Breaks one of the ready-made properties each.",
            nodes=3,
            network=about_types.Network.UNORDERED,
            identity=about_types.Identity.SERIALIZED,
            parameters=[about_types.Parameter("bug", "none", "what is wrong on purpose")],
        )
