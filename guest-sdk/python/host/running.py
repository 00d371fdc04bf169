"""What matters only where a protocol runs, with clients and in time: durations, requests, answers and neighbours. A search ignores it.

A plugin has it by three classes in its main file, all optional:

    class Timing:
        def duration(self, event: LocalEvent) -> Span | None:
            return milliseconds(150, 300) if event.name == "timeout" else None

    class Clients:
        def accept(self, number: int, content: Request) -> LocalEvent:
            raise Err(Response(404))

    class Neighbourhood:
        def neighbours(self) -> list[int] | None:
            return [leader]

`duration` is asked of events that `Node.local_events` lists; none is as long as the host says for its kind. `accept` returns the
local event that a request becomes, or raises an answer at once. Handlers call the module `live` of the host, a `Live`.

`neighbours` are the nodes whose states matter to what this node does next, such as those that it may soon send to or hear from; none is
all nodes. A checker beside the node looks ahead from the states of these alone: further, and past what takes another node. A property
of all nodes then has no view of the others.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Span:
    """A range of durations from which a node draws, in microseconds."""

    shortest: int
    longest: int


def milliseconds(shortest: float, longest: float | None = None) -> Span:
    """A range of durations; of one number, exactly that long."""
    return Span(round(shortest * 1000), round((shortest if longest is None else longest) * 1000))


@dataclass(frozen=True)
class Request:
    """What a client asks, in the terms of HTTP. The path begins with `/`; what follows a `?` is part of it."""

    method: str
    path: str
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    """What a client gets: a status of HTTP from 200 to 599, and a content."""

    status: int
    body: bytes = b""
    # The node that the client should ask instead. The host says where that is.
    ask: int | None = None


def ask(node: int) -> Response:
    """Sends a client to another node, by the status 307: it asks the same there."""
    return Response(307, ask=node)


class Live(Protocol):
    """The module `live` of the host, or what stands for it in a test. Handlers call it; it has no influence on anything."""

    def answer(self, number: int, content: Response) -> None:
        """Answers the request of this number, at any time; dropped where nobody waits for it, as in a search."""

    def restart(self, name: str) -> None:
        """The local events of this name wait anew: their durations are drawn again in the state that the handler leads to."""
