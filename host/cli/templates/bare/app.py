"""The plugin: what the host calls."""

from bare_protocol import Greeting, Sent
from componentize_py_types import Err
from host.encoding import decode, encode
from wit_world.exports import defaults as about_types
from wit_world.imports.types import Envelope, LocalEvent, Property, PropertyKind, PropertyScope

node: Greeting


def envelopes(sent: Sent) -> list[Envelope]:
    return [Envelope(to=to, message=encode(message)) for to, message in sent]


class Node:
    def init(self, me: int, cluster_size: int, config: str, durable: bytes | None) -> list[Envelope]:
        global node
        node = Greeting(me, cluster_size)
        return envelopes(node.begin())

    def handle_message(self, src: int, message: bytes) -> list[Envelope]:
        return envelopes(node.receive(src, decode(message)))

    def local_events(self) -> list[LocalEvent]:
        return []

    def handle_local(self, event: LocalEvent) -> list[Envelope]:
        return []

    def serialize(self) -> bytes:
        return encode(node)


class Specification:
    def properties(self) -> list[Property]:
        return [Property(name="heard-once", kind=PropertyKind.ALWAYS, scope=PropertyScope.NODE)]

    def view(self, property: int) -> bytes | None:
        return encode(node.heard)

    def invariant(self, property: int, views: list[bytes | None]) -> None:
        heard = decode(views[0] or b"0")
        if heard > 1:
            raise Err(f"heard {heard} greetings")


class Defaults:
    def about(self) -> about_types.Plugin:
        return about_types.Plugin(
            name="bare-protocol",
            version="0.1.0",
            summary="Every node greets the next one.",
            nodes=3,
            network=about_types.Network.UNORDERED,
            identity=about_types.Identity.SERIALIZED,
            parameters=[],
        )
