"""Every node greets the next one, once."""

from dataclasses import dataclass
from typing import Any

Sent = list[tuple[int, Any]]


@dataclass
class Greeting:
    """One node. The state is everything that `state` returns."""

    me: int
    nodes: int
    heard: int = 0

    def state(self) -> dict[str, Any]:
        return {"heard": self.heard}

    def begin(self) -> Sent:
        return [((self.me + 1) % self.nodes, "hello")]

    def receive(self, source: int, message: Any) -> Sent:
        self.heard += 1
        return []
