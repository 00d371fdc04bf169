"""The durable map of a node as tables: entries in the order of their keys.

A write costs as much as the change, and `Node.init` finds the entries after a reset; they need not be in what `serialize` returns. Tables
with other names share nothing. Handlers write; other methods of a node can read. `ENTRIES = Table(storage, "entries", int)` is a table of
the host's module `storage`, or of a `Stored` in a test.

`sync` of the host's `durability` makes all writes so far durable before the messages of a handler leave. A plugin that calls it anywhere
decides itself what is durable: a power outage can lose the writes after the last call, those of whole handlers, the latest first. Where a
plugin never calls it, each handler is durable as a whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar, cast

from .encoding import decode, encode

K = TypeVar("K", int, str)

# Entries that one call of the host returns.
_PAGE = 8


class Table(Generic[K]):
    """A part of the durable map with keys of one type: text, or numbers below 2^64. A range includes both of its ends; none is open."""

    def __init__(self, storage: Any, name: str, key: type[K]) -> None:
        assert "\0" not in name, "the name of a table has no zero byte"
        self._storage, self._key = storage, key
        # The name, which a byte below all others separates from the key; and the least key behind those of the table.
        self._prefix, self._end = name.encode() + b"\0", name.encode() + b"\1"

    def get(self, key: K, default: Any = None) -> Any:
        """The value of a key, or the default."""
        value = self._storage.get(self._bytes(key))
        return default if value is None else decode(value)

    def __contains__(self, key: K) -> bool:
        return self._storage.get(self._bytes(key)) is not None

    def put(self, key: K, value: Any) -> None:
        """Sets the value of a key, written as JSON."""
        self._storage.put(self._bytes(key), encode(value))

    def delete(self, key: K) -> None:
        """Removes a key, if it is there."""
        self._storage.delete(self._bytes(key))

    def delete_range(self, first: K | None = None, last: K | None = None) -> None:
        """Removes the keys in a range."""
        self._storage.delete_range(*self._bounds(first, last))

    def range(self, first: K | None = None, last: K | None = None) -> Iterator[tuple[K, Any]]:
        """The entries in a range, read some at a time, so a write in between shows in later reads only."""
        start, end = self._bounds(first, last)
        while True:
            page = self._storage.range(start, end, self._storage.Order.ASCENDING, _PAGE)
            for entry in page:
                yield self._read(entry.key), decode(entry.value)
            if len(page) < _PAGE:
                return
            start = page[-1].key + b"\0"

    def first(self) -> tuple[K, Any] | None:
        """The entry with the least key."""
        return self._end_of(self._storage.Order.ASCENDING)

    def last(self) -> tuple[K, Any] | None:
        """The entry with the greatest key."""
        return self._end_of(self._storage.Order.DESCENDING)

    def _end_of(self, order: Any) -> tuple[K, Any] | None:
        entries = self._storage.range(self._prefix, self._end, order, 1)
        return (self._read(entries[0].key), decode(entries[0].value)) if entries else None

    def _bounds(self, first: K | None, last: K | None) -> tuple[bytes, bytes]:
        start = self._prefix if first is None else self._bytes(first)
        return start, self._end if last is None else self._bytes(last) + b"\0"

    # The bytes have the order of the keys, and none is the beginning of others: they are those of the other SDKs.
    def _bytes(self, key: K) -> bytes:
        if isinstance(key, int):
            return self._prefix + key.to_bytes(8, "big")
        return self._prefix + key.encode().replace(b"\0", b"\0\xff") + b"\0\0"

    def _read(self, key: bytes) -> K:
        rest = key[len(self._prefix) :]
        if self._key is int:
            assert len(rest) == 8, "the table has keys of another type"
            return cast(K, int.from_bytes(rest, "big"))
        assert rest.endswith(b"\0\0"), "the table has keys of another type"
        return cast(K, rest[:-2].replace(b"\0\xff", b"\0").decode())


@dataclass
class Entry:
    """An entry of a `Stored`."""

    key: bytes
    value: bytes


class Order(Enum):
    """The order of a result."""

    ASCENDING = 0
    DESCENDING = 1


@dataclass
class Stored:
    """A durable map in a test, of one node."""

    entries: dict[bytes, bytes] = field(default_factory=dict)
    Order = Order

    def get(self, key: bytes) -> bytes | None:
        return self.entries.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self.entries[key] = value

    def delete(self, key: bytes) -> None:
        self.entries.pop(key, None)

    def delete_range(self, start: bytes, end: bytes | None) -> None:
        self.entries = {
            key: value for key, value in self.entries.items() if key < start or (end is not None and key >= end)
        }

    def range(self, start: bytes, end: bytes | None, order: Order, limit: int) -> list[Entry]:
        keys = sorted(key for key in self.entries if key >= start and (end is None or key < end))
        keys = keys[::-1] if order is Order.DESCENDING else keys
        return [Entry(key, self.entries[key]) for key in keys[:limit]]
