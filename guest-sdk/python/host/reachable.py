"""All that can be reached from a value, as bytes: `serialize` for a library whose state has no encoding."""

import enum
import struct
import types
from typing import Any

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)
# What is the same wherever it is equal, so that it does not count how often it is there.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, enum.Enum, type, types.ModuleType)


def reachable(*values: Any, without: tuple[str, ...] = ()) -> bytes:
    """Encodes what can be reached from the values: attributes, slots, containers, what functions have captured.

    Attributes named in `without`, such as `raft.node.Node.logger`, are left out; one whose value has no effect can be named there.
    Dictionaries are in their order, since a program sees it; sets are sorted, since no order of theirs is promised. Not seen are the
    variables of modules: if a handler reads one, an audit finds it. A generator, a coroutine or a lock is a TypeError.
    """
    walk = _Walk(frozenset(without))
    for value in values:
        walk.value(value)
    return bytes(walk.encoded)


class _Walk:
    def __init__(self, without: frozenset[str]):
        self.without = without
        self.numbers: dict[int, int] = {}
        # What was numbered stays, so that no other object gets its id.
        self.kept: list[Any] = []
        self.encoded = bytearray()

    def text(self, text: str) -> None:
        self.bytes(text.encode("utf-8", "surrogatepass"))

    def bytes(self, content: bytes) -> None:
        self.encoded += len(content).to_bytes(8, "big") + content

    def value(self, value: Any) -> None:
        self.text(_name(type(value)))
        if isinstance(value, _PLAIN):
            self.plain(value)
            return
        if isinstance(value, tuple | frozenset) and type(value) in (tuple, frozenset):
            self.content(value)
            return
        number = self.numbers.get(id(value))
        self.bytes(b"" if number is None else str(number).encode())
        if number is None:
            self.numbers[id(value)] = len(self.numbers)
            self.kept.append(value)
            self.referred(value)

    def plain(self, value: Any) -> None:
        if isinstance(value, enum.Enum):
            self.text(value.name)
        elif isinstance(value, type):
            self.text(_name(value))
        elif isinstance(value, types.ModuleType):
            self.text(value.__name__)
        elif isinstance(value, float):
            self.encoded += struct.pack(">d", value)
        elif isinstance(value, complex):
            self.encoded += struct.pack(">dd", value.real, value.imag)
        elif isinstance(value, bytes):
            self.bytes(value)
        else:
            self.text(str(value))
        if type(value) not in _PLAIN and not isinstance(value, enum.Enum | type | types.ModuleType):
            self.attributes(value)

    def content(self, value: Any) -> None:
        """The elements of a container."""
        self.bytes(str(len(value)).encode())
        if isinstance(value, dict):
            for key, of in value.items():
                self.value(key)
                self.value(of)
        elif isinstance(value, set | frozenset):
            # A walk of its own for each, so that the encoding does not depend on the order in which they come.
            walks = [_Walk(self.without) for _ in value]
            for walk, element in zip(walks, value, strict=True):
                walk.value(element)
                if walk.numbers:
                    raise TypeError(f"elements of a set of {_name(type(element))} have no order")
            for encoded in sorted(walk.encoded for walk in walks):
                self.encoded += encoded
        else:
            for element in value:
                self.value(element)

    def referred(self, value: Any) -> None:
        if isinstance(value, _FUNCTIONS):
            self.function(value)
        elif isinstance(value, types.MethodType):
            self.value(value.__func__)
            self.value(value.__self__)
        elif isinstance(value, types.CellType):
            self.value(value.cell_contents)
        elif isinstance(value, bytearray | memoryview):
            self.bytes(bytes(value))
        elif isinstance(value, list | dict | set | tuple | frozenset):
            self.content(value)
            self.attributes(value)
        elif type(value).__reduce_ex__ is object.__reduce_ex__ and type(value).__reduce__ is object.__reduce__:
            if not hasattr(value, "__dict__") and not _slots(value) and type(value) is not object:
                # Of C, and without a way to say what is in it.
                raise TypeError(f"a {_name(type(value))} has no encoding")
            self.attributes(value)
        else:
            self.reduced(value)

    def attributes(self, value: Any) -> None:
        found = dict(getattr(value, "__dict__", {}))
        found.update((name, getattr(value, name)) for name in _slots(value) if hasattr(value, name))
        for name in sorted(found):
            if f"{_name(type(value))}.{name}" not in self.without:
                self.text(name)
                self.value(found[name])
        self.text("")

    def function(self, function: Any) -> None:
        self.text(f"{getattr(function, '__module__', None)}.{function.__qualname__}")
        for captured in ("__closure__", "__defaults__", "__kwdefaults__"):
            self.value(getattr(function, captured, None))
        owner = getattr(function, "__self__", None)
        if not isinstance(owner, types.ModuleType):
            self.value(owner)

    def reduced(self, value: Any) -> None:
        """What the object says of itself to be copied."""
        said = value.__reduce_ex__(2)
        if isinstance(said, str):
            self.text(said)
            return
        made, given, state, *parts = (*said, None, None, None)[:5]
        self.text(_name(made) if isinstance(made, type) else f"{made.__module__}.{made.__qualname__}")
        self.value(tuple(one for one in given if one is not type(value)))
        if isinstance(state, dict):
            self.attributes(value)
        else:
            self.value(state)
        for part in parts:
            self.value(None if part is None else tuple(part))


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _slots(value: Any) -> list[str]:
    slots: list[str] = []
    for kind in type(value).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                slots.append(f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name)
    return slots
