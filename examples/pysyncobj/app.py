"""The plugin: what the host calls, on top of the library's object in replica.py."""

import replica as library
from componentize_py_types import Err
from replica import Replica, Settings, decoded, encoded
from wit_world.exports import defaults as about_types
from wit_world.imports.types import Envelope, LocalEvent, LocalKind, Property, PropertyKind, PropertyScope

from host.encoding import decode, encode
from host.parameters import ParameterError, listed, read
from host.ready_made import committed_is_on_a_majority, logs_agree, one_leader_per_term

replica: Replica

PROPERTIES = [
    ("election-safety", PropertyScope.SYSTEM),
    ("state-machine-safety", PropertyScope.SYSTEM),
    ("committed-on-a-majority", PropertyScope.SYSTEM),
    ("matched-is-stored", PropertyScope.SYSTEM),
    ("commit-rises", PropertyScope.NODE),
    ("match-rises", PropertyScope.NODE),
    ("commits-own-term", PropertyScope.NODE),
]


def envelopes(sent: list) -> list[Envelope]:
    return [Envelope(to=node, message=encode(encoded(message))) for node, message in sent]


def matched_is_stored(nodes: list[dict]) -> str | None:
    """A follower has the entries that its leader takes it to have, unless it is in a later term already."""
    for leader, one in enumerate(nodes):
        for node, index in one["match"].items() if one["leads"] else ():
            other = nodes[int(node)]
            if other["term"] <= one["term"] and other["entries"][:index] != one["entries"][:index]:
                return f"node {leader} leads in term {one['term']} and takes node {node} to have its entries up to {index}"
    return None


class Node:
    def init(self, me: int, cluster_size: int, config: str, durable: bytes | None) -> list[Envelope]:
        global replica
        try:
            settings = read(Settings, config)
        except ParameterError as error:
            raise Err(str(error)) from error
        replica = Replica(me, cluster_size, settings, None if durable is None else decode(durable))
        return []

    def handle_message(self, src: int, message: bytes) -> list[Envelope]:
        return envelopes(replica.receive(src, decoded(decode(message))))

    def local_events(self) -> list[LocalEvent]:
        return [
            LocalEvent(name=name, kind=LocalKind.APPLICATION if name == "command" else LocalKind.TIMER, payload=encode(name))
            for name in replica.possible()
        ]

    def handle_local(self, event: LocalEvent) -> list[Envelope]:
        return envelopes(replica.begin(event.name))

    def serialize(self) -> bytes:
        return encode(replica.state())


class Specification:
    def properties(self) -> list[Property]:
        return [Property(name=name, kind=PropertyKind.ALWAYS, scope=scope) for name, scope in PROPERTIES]

    def view(self, property: int) -> bytes | None:
        if property == 0:
            return encode(replica.of("raftCurrentTerm")) if replica.of("raftState") == library.LEADER else None
        if property == 1:
            return encode(replica.log.applied) if replica.log.applied else None
        if property == 2:
            return encode([replica.entries(), replica.of("raftCommitIndex")])
        if property == 3:
            return encode({**replica.judged(), "entries": replica.entries()})
        wrong = replica.wrong.get(("commit", "match", "older")[property - 4])
        return encode(wrong) if wrong else None

    def invariant(self, property: int, views: list[bytes | None]) -> None:
        values = [None if view is None else decode(view) for view in views]
        if property == 0:
            why = one_leader_per_term(values)
        elif property == 1:
            why = logs_agree(values)
        elif property == 2:
            why = committed_is_on_a_majority(values)
        elif property == 3:
            why = matched_is_stored(values)
        else:
            before, now = values[0]
            why = (
                f"the commit index fell from {before} to {now}",
                f"the match index of a follower fell from {before} to {now}",
                f"a leader of term {now} committed an entry of term {before}",
            )[property - 4]
        if why is not None:
            raise Err(why)


class Transport:
    def handle_transport_error(self, peer: int) -> list[Envelope]:
        return envelopes(replica.reconnect(peer))


class Durable:
    def persist(self) -> bytes | None:
        stored = replica.stored()
        return None if stored is None else encode(stored)


class Describe:
    def state(self) -> str:
        return encode(replica.state()).decode()

    def message(self, message: bytes) -> str:
        return message.decode()


class Defaults:
    def about(self) -> about_types.Plugin:
        return about_types.Plugin(
            name="pysyncobj",
            version="0.1.0",
            summary="PySyncObj, a replicated object by Raft, in Python.",
            nodes=3,
            network=about_types.Network.ORDERED,
            identity=about_types.Identity.SERIALIZED,
            parameters=[about_types.Parameter(*one) for one in listed(Settings)],
        )
