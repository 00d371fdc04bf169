"""A register kept by a majority of the nodes: one node writes, another reads.

Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995.
"""

from dataclasses import dataclass, field
from typing import Any

from host.parameters import parameter

Message = dict[str, Any]
Sent = list[tuple[int, Message]]


@dataclass
class Settings:
    """The parameters: the same for all nodes."""

    writes: int = parameter(1, "how often node 0 writes")
    reads: int = parameter(2, "how often the last node reads")
    bug: str = parameter("none", "what is wrong on purpose", one_of=("none", "no-write-back", "one-ack"))


def nothing() -> dict[str, int]:
    """The copy before all writes."""
    return {"value": 0, "version": 0}


@dataclass
class Register:
    """One node. The state is everything that `state` returns; the rest never changes."""

    me: int
    nodes: int
    settings: Settings = field(default_factory=Settings)
    acks: set[int] = field(default_factory=set)
    best: dict[str, int] = field(default_factory=nothing)
    copy: dict[str, int] = field(default_factory=nothing)
    op: int = 0
    phase: str = "idle"
    returned: list[int] = field(default_factory=list)

    @property
    def role(self) -> str:
        if self.me == 0:
            return "writer"
        return "reader" if self.me + 1 == self.nodes else "replica"

    @property
    def quorum(self) -> int:
        return 1 if self.settings.bug == "one-ack" else self.nodes // 2 + 1

    def state(self) -> dict[str, Any]:
        return {
            "acks": sorted(self.acks),
            "best": self.best,
            "copy": self.copy,
            "op": self.op,
            "phase": self.phase,
            "returned": self.returned,
            "role": self.role,
        }

    def receive(self, source: int, message: Message) -> Sent:
        op = message["op"]
        match message["kind"]:
            case "query":
                return [(source, {"kind": "reply", "op": op, **self.copy})]
            case "store":
                if message["version"] > self.copy["version"]:
                    self.copy = copy_of(message)
                return [(source, {"kind": "stored", "op": op})]
            case "reply" if self.phase == "query" and op == self.op:
                self.acks.add(source)
                if message["version"] > self.best["version"]:
                    self.best = copy_of(message)
                if len(self.acks) >= self.quorum:
                    if self.settings.bug != "no-write-back":
                        return self.store()
                    self.finish()
            case "stored" if self.phase == "store" and op == self.op:
                self.acks.add(source)
                if len(self.acks) >= self.quorum:
                    self.finish()
        return []

    def possible(self) -> str | None:
        """What the application can ask for in this state."""
        if self.phase == "idle" and self.role == "writer" and self.op < self.settings.writes:
            return "write"
        if self.phase == "idle" and self.role == "reader" and self.op < self.settings.reads:
            return "read"
        return None

    def begin(self, event: str) -> Sent:
        self.op += 1
        if event == "write":
            self.best = {"value": 100 + self.op, "version": self.op}
            return self.store()
        self.phase = "query"
        return self.to_all({"kind": "query", "op": self.op})

    def store(self) -> Sent:
        """Gives the best copy to everyone."""
        self.acks = set()
        self.phase = "store"
        return self.to_all({"kind": "store", "op": self.op, **self.best})

    def finish(self) -> None:
        """Ends the operation."""
        if self.role == "reader":
            self.returned = [*self.returned, self.best["version"]]
        self.acks = set()
        self.best = nothing()
        self.phase = "idle"

    def to_all(self, message: Message) -> Sent:
        return [(node, message) for node in range(self.nodes)]


def copy_of(message: Message) -> dict[str, int]:
    return {"value": message["value"], "version": message["version"]}
