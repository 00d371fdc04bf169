"""One node of PySyncObj: the library's object on a clock that stands still, a network of envelopes and a journal in memory."""

import stand_ins  # isort: skip

from dataclasses import dataclass
from typing import Any

import pysyncobj.journal
import pysyncobj.syncobj
from pysyncobj import SyncObj, SyncObjConf, replicated
from pysyncobj.journal import FIRST_RECORD_OFFSET, LAST_RECORD_OFFSET_OFFSET
from pysyncobj.node import Node
from pysyncobj.poller import Poller
from pysyncobj.transport import Transport

from host.parameters import parameter

NOW = 1000.0
PAST = 0.0
FOLLOWER, CANDIDATE, LEADER = range(3)


@dataclass
class Settings:
    """The parameters: the same for all nodes."""

    timeouts: int = parameter(1, "how often the election timeout of each node expires")
    ticks: int = parameter(1, "how often each node sends entries and heartbeats because of its clock")
    commands: int = parameter(1, "how often a client gives each node a command while it leads")
    journal: bool = parameter(False, "whether a node has a journal file, which a reset keeps")


class Disk:
    """The files of a node: the journal up to its last record, and the values beside it."""

    def __init__(self) -> None:
        self.journal = bytearray()
        self.meta: dict[str, Any] = {}


# That of the node that starts.
disk: Disk


class JournalFile:
    """Stands in for the library's file in a memory map."""

    def __init__(self, name: str, defaultContent: bytes = b"") -> None:
        self.disk = disk
        if not disk.journal:
            disk.journal += defaultContent

    def write(self, offset: int, content: bytes) -> None:
        end = offset + len(content)
        journal = self.disk.journal
        journal += bytes(max(0, end - len(journal)))
        journal[offset:end] = content
        if offset == LAST_RECORD_OFFSET_OFFSET:
            # The rest is never read.
            del journal[max(int.from_bytes(content, "little"), FIRST_RECORD_OFFSET) :]

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self.disk.journal[offset : offset + size])

    def flush(self) -> None:
        pass


class MetaFile:
    """Stands in for the library's file that is replaced as a whole."""

    def __init__(self, path: str) -> None:
        self.disk = disk

    def getMeta(self) -> dict[str, Any]:
        return dict(self.disk.meta)

    def storeMeta(self, meta: dict[str, Any]) -> None:
        self.disk.meta = dict(meta)


class Envelopes(Transport):
    """Keeps what is sent, for the end of the handler. All nodes are connected."""

    def __init__(self) -> None:
        super().__init__(None, None, [])
        self.sent: list[tuple[int, dict[str, Any]]] = []

    def send(self, node: Node, message: dict[str, Any]) -> bool:
        self.sent.append((node.id, message))
        return True

    def receive(self, node: int, message: dict[str, Any]) -> None:
        self._onMessageReceived(Node(node), message)

    def connect(self, node: int) -> None:
        self._onNodeConnected(Node(node))

    def reconnect(self, node: int) -> None:
        self._onNodeDisconnected(Node(node))
        self.connect(node)


class NoSockets(Poller):
    """Messages come from the host."""

    def poll(self, timeout: float) -> None:
        pass


pysyncobj.journal.ResizableFile = JournalFile
pysyncobj.journal.MetaStorer = MetaFile
pysyncobj.syncobj.createPoller = lambda kind: NoSockets()
pysyncobj.syncobj.monotonicTime = lambda: NOW


class Log(SyncObj):
    """The replicated object: the commands in the order in which they were applied."""

    def __init__(self, me: int, cluster_size: int, journal: bool) -> None:
        self.applied: list[int] = []
        self.transport = Envelopes()
        others = [Node(node) for node in range(cluster_size) if node != me]
        conf = SyncObjConf(autoTick=False, journalFile="journal" if journal else None)
        super().__init__(Node(me), others, conf, nodeClass=Node, transport=self.transport)
        for node in others:
            self.transport.connect(node.id)

    @replicated
    def add(self, command: int) -> None:
        self.applied.append(command)


def private(name: str) -> str:
    """The name by which Python has a private attribute of the library's class."""
    return f"_SyncObj__{name}"


class Replica:
    """The library's object, the budgets of its events, and what its properties remember."""

    def __init__(self, me: int, cluster_size: int, settings: Settings, stored: dict[str, Any] | None) -> None:
        global disk
        self.disk = disk = Disk()
        self.left = {"timeout": settings.timeouts, "tick": settings.ticks, "command": settings.commands}
        if stored is not None:
            disk.journal, disk.meta = bytearray(stored["journal"].encode("latin-1")), stored["meta"]
            self.left = stored["left"]
        self.me = me
        self.is_stored = settings.journal
        self.log = Log(me, cluster_size, settings.journal)
        self.wrong: dict[str, list[int]] = {}

    def of(self, name: str) -> Any:
        return getattr(self.log, private(name))

    def put(self, name: str, value: Any) -> None:
        setattr(self.log, private(name), value)

    def possible(self) -> list[str]:
        """The names of the local events."""
        leads = self.of("raftState") == LEADER
        return [name for name, left in self.left.items() if left and leads == (name != "timeout")]

    def begin(self, name: str) -> list[tuple[int, dict[str, Any]]]:
        self.left[name] -= 1
        if name == "timeout":
            self.put("raftElectionDeadline", PAST)
        elif name == "tick":
            self.put("newAppendEntriesTime", PAST)
        else:
            self.log.add(self.me * 100 + self.left["command"])
        return self.step(lambda: None)

    def receive(self, node: int, message: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        return self.step(lambda: self.log.transport.receive(node, message))

    def reconnect(self, node: int) -> list[tuple[int, dict[str, Any]]]:
        """The connection was lost with all that was under way, and there is another one at once."""
        return self.step(lambda: self.log.transport.reconnect(node))

    def step(self, event: Any) -> list[tuple[int, dict[str, Any]]]:
        """One event, and the tick with which the library acts on it."""
        before = self.judged()
        event()
        self.log.doTick()
        self.judge(before, self.judged())
        sent, self.log.transport.sent = self.log.transport.sent, []
        return sent

    def judged(self) -> dict[str, Any]:
        return {
            "term": self.of("raftCurrentTerm"),
            "leads": self.of("raftState") == LEADER,
            "commit": self.of("raftCommitIndex"),
            "match": self.match(),
        }

    def judge(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        """Keeps what fell that only rises, and the entry that a leader committed although it is of an earlier term."""
        if now["commit"] < before["commit"]:
            self.wrong["commit"] = [before["commit"], now["commit"]]
        if before["leads"] and now["leads"] and before["term"] == now["term"]:
            for node, index in now["match"].items():
                if index < before["match"][node]:
                    self.wrong["match"] = [before["match"][node], index]
        if now["leads"] and now["commit"] > before["commit"]:
            term = self.term_at(now["commit"])
            if term not in (None, now["term"]):
                self.wrong["older"] = [term, now["term"]]

    def term_at(self, index: int) -> int | None:
        return next((term for _, at, term in self.of("raftLog")[:] if at == index), None)

    def entries(self) -> list[list[Any]]:
        """The log: what was given, and in which term."""
        return [[command.decode("latin-1"), term] for command, _, term in self.of("raftLog")[:]]

    def match(self) -> dict[str, int]:
        return {str(node.id): index for node, index in self.of("raftMatchIndex").items()}

    def state(self) -> dict[str, Any]:
        """All that a handler reads."""
        leader = self.of("raftLeader")
        log = self.of("raftLog")
        return {
            "role": ("follower", "candidate", "leader")[self.of("raftState")],
            "term": self.of("raftCurrentTerm"),
            "vote": self.of("votedForNodeId"),
            "votes": self.of("votesCount"),
            "leader": None if leader is None else leader.id,
            "log": [entry(*one) for one in log[:]],
            "commit": self.of("raftCommitIndex"),
            "last": self.of("raftLastApplied"),
            "next": {str(node.id): index for node, index in self.of("raftNextIndex").items()},
            "match": self.match(),
            "leader-commit": self.of("leaderCommitIndex"),
            "applied": self.log.applied,
            "left": self.left,
            "wrong": self.wrong,
            "meta": self.disk.meta,
        }

    def stored(self) -> dict[str, Any] | None:
        """What a reset keeps."""
        if not self.is_stored:
            return None
        return {"journal": self.disk.journal.decode("latin-1"), "meta": self.disk.meta, "left": self.left}


def entry(command: bytes, index: int, term: int) -> list[Any]:
    return [command.decode("latin-1"), index, term]


def encoded(message: dict[str, Any]) -> dict[str, Any]:
    """The message without bytes and tuples."""
    return {**message, "entries": [entry(*one) for one in message["entries"]]} if "entries" in message else message


def decoded(message: dict[str, Any]) -> dict[str, Any]:
    if "entries" not in message:
        return message
    return {**message, "entries": [(command.encode("latin-1"), index, term) for command, index, term in message["entries"]]}
