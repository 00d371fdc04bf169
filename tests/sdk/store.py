"""A store that clients ask: node 0 gives a value to all nodes, and answers when a majority has it."""

from typing import Any

from host.running import Live, Response, Span, ask, milliseconds

Message = dict[str, Any]
# What a message goes to, and the message.
Sent = list[tuple[int, Message]]


class Store:
    """One node. `live` stands for the host."""

    def __init__(self, me: int, nodes: int, requests: int, patience: int, live: Live) -> None:
        self.me, self.nodes, self.requests, self.patience, self.live = me, nodes, requests, patience, live
        # How many writes have begun: the number of the last one.
        self.asked = 0
        self.copies: dict[str, dict[str, Any]] = {}
        # The latest write of each key that a client was told of.
        self.told: dict[str, int] = {}
        self.waiting: list[dict[str, Any]] = []

    def state(self) -> dict[str, Any]:
        return {"asked": self.asked, "copies": self.copies, "told": self.told, "waiting": self.waiting}

    def accept(self, number: int, method: str, path: str, body: bytes) -> dict[str, Any] | Response:
        """The argument of the write that a request becomes, or an answer at once."""
        key = path.lstrip("/")
        if self.me != 0:
            return ask(0)
        if method == "GET":
            copy = self.copies.get(key)
            return Response(200, copy["value"].encode()) if copy else Response(404, b"there is nothing here\n")
        if method != "PUT":
            return Response(405, b"there are GET and PUT\n")
        try:
            return {"key": key, "number": number, "value": body.decode()}
        except UnicodeDecodeError:
            return Response(400, b"a value is text\n")

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """What clients can ask in a search, and what ends the patience of those that wait."""
        puts = []
        if self.me == 0 and self.asked < self.requests:
            puts = [("put", {"key": "k", "number": self.asked, "value": f"v{self.asked}"})]
        return puts + [("give-up", {"version": write["version"]}) for write in self.waiting]

    def duration(self, name: str) -> Span | None:
        return milliseconds(self.patience, 2 * self.patience) if name == "give-up" else None

    def neighbours(self) -> list[int] | None:
        """Who has not acknowledged some write, or the leader; everybody where the next write goes to everybody."""
        if self.me != 0:
            return [0]
        if not self.waiting:
            return None
        return [node for node in range(self.nodes) if any(node not in write["acks"] for write in self.waiting)]

    def put(self, key: str, number: int, value: str) -> Sent:
        self.asked += 1
        self.waiting.append({"acks": [], "key": key, "number": number, "version": self.asked})
        message = {"key": key, "kind": "store", "value": value, "version": self.asked}
        return [(node, message) for node in range(self.nodes)]

    def give_up(self, version: int) -> None:
        write = self.taken(version)
        self.live.answer(write["number"], Response(503, b"too few nodes have it so far\n"))

    def receive(self, source: int, message: Message) -> Sent:
        version = message["version"]
        if message["kind"] == "store":
            copy = self.copies.get(message["key"])
            if copy is None or copy["version"] < version:
                self.copies[message["key"]] = {"value": message["value"], "version": version}
            return [(source, {"kind": "stored", "version": version})]
        for write in self.waiting:
            if write["version"] == version:
                write["acks"] = sorted({*write["acks"], source})
                if len(write["acks"]) <= self.nodes // 2:
                    # There is news, so patience begins anew.
                    self.live.restart("give-up")
                else:
                    self.taken(version)
                    self.told[write["key"]] = max(self.told.get(write["key"], 0), version)
                    self.live.answer(write["number"], Response(204))
                break
        return []

    def taken(self, version: int) -> dict[str, Any]:
        """Waits for a write no more."""
        write = next(write for write in self.waiting if write["version"] == version)
        self.waiting.remove(write)
        return write

    def view(self) -> dict[str, Any] | None:
        versions = {key: copy["version"] for key, copy in self.copies.items()}
        return {"copies": versions, "told": self.told} if versions or self.told else None


def wrong(views: list[dict[str, Any] | None]) -> str | None:
    """What is wrong with the nodes: a client was told of a write, and a majority does not have it."""
    known = [view or {"copies": {}, "told": {}} for view in views]
    for view in known:
        for key, version in view["told"].items():
            holders = sum(other["copies"].get(key, 0) >= version for other in known)
            if holders <= len(views) // 2:
                return f"write {version} was acknowledged, and {holders} of {len(views)} nodes have it"
    return None
