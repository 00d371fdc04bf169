"""Linearizability of the operations of clients.

Source: Herlihy and Wing, "Linearizability: A Correctness Condition for Concurrent Objects", TOPLAS 12(3), 1990. The search is that
of Wing and Gong, "Testing and Verifying Concurrent Objects", JPDC 17, 1993, with the memory of Lowe, "Testing for
Linearizability", CCPE 29(4), 2017.

    history = History()
    history.call(0, write(7))
    history.call(1, READ)
    history.returned(1, value(7))       # The write has not returned, but it can have taken effect.
    history.linearize(Register(0))

"Before" is about time, which no node sees. Either one node stands for all clients and keeps one `History`, or every node is a
`Client` and tells the others when an operation is complete. docs/time-and-chance.md says why that is exact.

Calls and results are JSON values, such as those of `Register` and `Log` below, and a result is not None.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from host.encoding import encode

# The client, and the number of the operation among those of the client, from 1.
OperationId = tuple[int, int]


class SequentialObject(Protocol):
    """The behaviour of an object when nothing is concurrent. Deterministic."""

    def start(self) -> Any:
        """The object before all operations, a JSON value."""

    def apply(self, state: Any, call: Any) -> tuple[Any, Any]:
        """The next state and the result of an operation. The state that is given must not change."""


class NotLinearizable(Exception):
    """No order of the operations explains what they returned. `longest` is the longest beginning of one that explains its
    part; of several the first."""

    def __init__(self, operations: list[str], longest: list[OperationId]) -> None:
        names = ", ".join(f"{client}.{number}" for client, number in longest)
        end = f"nothing fits after {names}" if longest else "none can be the first"
        super().__init__(f"no order of the operations explains what they returned: {'; '.join(operations)}; {end}")
        self.longest = longest


@dataclass
class Operation:
    """An operation of a client."""

    # What had returned before the call: of each client the number of its first operations.
    after: dict[int, int]
    call: Any
    # None if it did not return yet.
    returned: Any = None

    def state(self) -> dict[str, Any]:
        return {"after": keyed(self.after), "call": self.call, "returned": self.returned}

    def show(self, client: int, number: int) -> str:
        end = "(pending)" if self.returned is None else f"-> {encode(self.returned).decode()}"
        after = [f"{other}.{count}" for other, count in sorted(self.after.items()) if other != client]
        return f"{client}.{number} {encode(self.call).decode()} {end}" + (f" after {', '.join(after)}" if after else "")


class History:
    """The operations of some clients: of each client, in the order in which it called them.

    Canonical: histories with the same operations and the same order between them have the same encoding.
    """

    def __init__(self) -> None:
        self.clients: dict[int, list[Operation]] = {}

    @classmethod
    def decode(cls, state: dict[str, Any]) -> "History":
        """The history with this encoding, such as a decoded view."""
        return cls.of((int(client), operations_of(all_)) for client, all_ in state["clients"].items())

    @classmethod
    def of(cls, clients: Iterable[tuple[int, list[Operation]]]) -> "History":
        """The history of clients that keep their operations by themselves; see `operations_of` for views of them."""
        history = cls()
        history.clients = {client: operations for client, operations in clients if operations}
        return history

    def state(self) -> dict[str, Any]:
        return {"clients": keyed(self.clients)}

    def call(self, client: int, call: Any) -> None:
        """A client calls an operation, after all that have returned."""
        check_free(client, self.operations(client))
        after = {other: completed(operations) for other, operations in self.clients.items() if completed(operations)}
        self.clients.setdefault(client, []).append(Operation(after, call))

    def returned(self, client: int, result: Any) -> None:
        """The operation that a client has called last returns."""
        complete(client, self.operations(client), result)

    def is_pending(self, client: int) -> bool:
        """Whether a client waits for the return of an operation."""
        return is_pending(self.operations(client))

    def operations(self, client: int) -> list[Operation]:
        """The operations of a client, in the order in which it called them."""
        return self.clients.get(client, [])

    def linearize(self, sequential: SequentialObject) -> list[OperationId]:
        """An order that explains the history, without those pending operations that need not have taken effect.

        Raises NotLinearizable: there is none.
        """
        names = sorted(self.clients)
        clients = [self.clients[name] for name in names]
        goal = [completed(operations) for operations in clients]

        def is_minimal(done: list[int], client: int) -> bool:
            """Whether a client has an operation left that comes after nothing else that is left."""
            if done[client] == len(clients[client]):
                return False
            after = clients[client][done[client]].after
            index = names.index
            return all(
                done[index(other)] >= min(count, len(self.clients[other]))
                for other, count in after.items()
                if other in self.clients
            )

        # How many operations of each client the order has, the object after it, the client that is tried next.
        start = sequential.start()
        path: list[tuple[list[int], Any, int]] = [([0] * len(names), start, 0)]
        seen = {(tuple(path[0][0]), encode(start))}
        order: list[OperationId] = []
        longest: list[OperationId] = []
        while path:
            done, state, first = path[-1]
            if all(one >= least for one, least in zip(done, goal)):
                return order
            client = next((client for client in range(first, len(names)) if is_minimal(done, client)), None)
            if client is None:
                path.pop()
                if order:
                    order.pop()
                continue
            path[-1] = (done, state, client + 1)
            operation = clients[client][done[client]]
            after, result = sequential.apply(state, operation.call)
            if operation.returned is not None and encode(operation.returned) != encode(result):
                continue
            done = [*done[:client], done[client] + 1, *done[client + 1 :]]
            key = (tuple(done), encode(after))
            if key in seen:
                continue
            seen.add(key)
            order.append((names[client], done[client]))
            if len(order) > len(longest):
                longest = list(order)
            path.append((done, after, 0))
        shown = [one.show(name, number) for name, all_ in zip(names, clients) for number, one in enumerate(all_, 1)]
        raise NotLinearizable(shown, longest)


@dataclass
class Client:
    """The operations of one client that keeps them by itself, and what it has heard of the others."""

    id: int
    known: dict[int, int] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        return {"id": self.id, "known": keyed(self.known), "operations": self.operations}

    def call(self, call: Any) -> None:
        """Calls an operation, after all that this client knows to have returned."""
        check_free(self.id, self.operations)
        self.operations.append(Operation(dict(self.known), call))

    def returned(self, result: Any) -> int:
        """The last operation returns. The answer is how many have returned by now: tell it to all other clients, for `learn`."""
        complete(self.id, self.operations, result)
        self.known[self.id] = len(self.operations)
        return len(self.operations)

    def learn(self, client: int, completed: int) -> None:
        """The first so many operations of another client have returned. News may arrive late, and twice."""
        self.known[client] = max(completed, self.known.get(client, 0))

    def is_pending(self) -> bool:
        """Whether an operation did not return yet."""
        return is_pending(self.operations)


def operations_of(decoded: list[dict[str, Any]]) -> list[Operation]:
    """The operations with these encodings, such as a decoded view."""
    return [Operation({int(k): n for k, n in one["after"].items()}, one["call"], one["returned"]) for one in decoded]


def completed(operations: list[Operation]) -> int:
    """How many operations of a client have returned: all, or all but the last."""
    return len(operations) - is_pending(operations)


def is_pending(operations: list[Operation]) -> bool:
    return bool(operations) and operations[-1].returned is None


def check_free(client: int, operations: list[Operation]) -> None:
    if is_pending(operations):
        raise ValueError(f"client {client} calls before its last operation has returned")


def complete(client: int, operations: list[Operation], result: Any) -> None:
    if result is None:
        raise ValueError("the result of an operation is not None")
    if not is_pending(operations):
        raise ValueError(f"client {client} has no operation that could return")
    operations[-1].returned = result


def keyed(numbers: dict[int, Any]) -> dict[str, Any]:
    """Keys as JSON has them."""
    return {str(key): value for key, value in numbers.items()}


# Calls and results of a register.
READ = "read"
WRITTEN = "written"


def write(value: Any) -> dict[str, Any]:
    return {"kind": "write", "value": value}


def value(value: Any) -> dict[str, Any]:
    """The value that was read."""
    return {"kind": "value", "value": value}


@dataclass
class Register:
    """A register that holds this value at the start. Calls are `READ` and `write(v)`, results `value(v)` and `WRITTEN`."""

    first: Any

    def start(self) -> Any:
        return self.first

    def apply(self, state: Any, call: Any) -> tuple[Any, Any]:
        return (state, value(state)) if call == READ else (call["value"], WRITTEN)


def append(entry: Any) -> dict[str, Any]:
    return {"entry": entry, "kind": "append"}


def appended(place: int) -> dict[str, Any]:
    """The place of the entry, from 0."""
    return {"kind": "appended", "place": place}


def entries(all_: list[Any]) -> dict[str, Any]:
    """The entries from the first to the last."""
    return {"entries": all_, "kind": "entries"}


class Log:
    """A log that is empty at the start and only grows. Calls are `READ` and `append(e)`, results `entries(l)` and
    `appended(n)`."""

    def start(self) -> Any:
        return []

    def apply(self, state: Any, call: Any) -> tuple[Any, Any]:
        return (state, entries(state)) if call == READ else ([*state, call["entry"]], appended(len(state)))
