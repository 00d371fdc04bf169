"""The plugin: what the host calls, on top of the protocol in register.py.

`host build` generates the package `wit_world` from the contract; for an editor,
`componentize-py -d ../../wit -w protocol bindings .` writes it into this folder.
"""

from componentize_py_types import Err
from wit_world.exports import defaults as about_types
from wit_world.imports.types import (
    Envelope,
    LocalEvent,
    LocalKind,
    Property,
    PropertyKind,
    PropertyScope,
)

from host.encoding import decode, encode
from host.parameters import ParameterError, listed, read
from register import Register, Sent, Settings

register: Register


def envelopes(sent: Sent) -> list[Envelope]:
    return [Envelope(to=node, message=encode(message)) for node, message in sent]


class Node:
    def init(self, me: int, cluster_size: int, config: str, durable: bytes | None) -> list[Envelope]:
        global register
        try:
            register = Register(me, cluster_size, read(Settings, config))
        except ParameterError as error:
            raise Err(str(error)) from error
        return []

    def handle_message(self, src: int, message: bytes) -> list[Envelope]:
        return envelopes(register.receive(src, decode(message)))

    def local_events(self) -> list[LocalEvent]:
        name = register.possible()
        return [LocalEvent(name=name, kind=LocalKind.APPLICATION, payload=encode(name))] if name else []

    def handle_local(self, event: LocalEvent) -> list[Envelope]:
        return envelopes(register.begin(event.name))

    def serialize(self) -> bytes:
        return encode(register.state())


class Specification:
    def properties(self) -> list[Property]:
        return [
            Property(name="monotone", kind=PropertyKind.ALWAYS, scope=PropertyScope.NODE),
            Property(name="stored-by-majority", kind=PropertyKind.ALWAYS, scope=PropertyScope.SYSTEM),
            Property(name="write-is-read", kind=PropertyKind.SOMETIMES, scope=PropertyScope.NODE),
        ]

    def view(self, property: int) -> bytes | None:
        r = register
        if property == 0:
            return encode(r.returned) if len(r.returned) > 1 else None
        if property == 1:
            complete = 0 if r.role != "writer" else r.op if r.phase == "idle" else r.op - 1
            version = r.copy["version"]
            return encode({"complete": complete, "version": version}) if complete or version else None
        newest = max(r.returned, default=0)
        return encode(newest) if newest else None

    def invariant(self, property: int, views: list[bytes | None]) -> None:
        if property == 0:
            returned = decode(views[0])
            for before, after in zip(returned, returned[1:]):
                if after < before:
                    raise Err(f"a read returned version {after} after {before}")
        if property == 1:
            known = [decode(view) if view else {"complete": 0, "version": 0} for view in views]
            complete = max(view["complete"] for view in known)
            holders = sum(view["version"] >= complete for view in known)
            if holders <= len(known) // 2:
                raise Err(f"write {complete} is complete, and {holders} of {len(known)} nodes have it")


class Defaults:
    def about(self) -> about_types.Plugin:
        return about_types.Plugin(
            name="register-python",
            version="0.1.0",
            summary="A register kept by a majority, in Python.",
            nodes=3,
            network=about_types.Network.UNORDERED,
            identity=about_types.Identity.SERIALIZED,
            parameters=[about_types.Parameter(*one) for one in listed(Settings)],
        )
