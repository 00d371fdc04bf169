"""The configuration of a protocol: the fields of a dataclass are its parameters, declared once.

    @dataclass
    class Settings:
        retries: int = parameter(3, "how often a request is sent again")
        mode: str = parameter("safe", "what to prefer", one_of=("safe", "fast"))

    settings = read(Settings, config)

A field is a bool, an int from 0 to 2**32 - 1, or a str. An underscore in its name is a hyphen in that of the parameter.
"""

import json
from collections.abc import Sequence
from dataclasses import Field, field, fields
from typing import Any, NamedTuple, TypeVar

Settings = TypeVar("Settings")

INT_MAX = 2**32 - 1


class ParameterError(ValueError):
    """Why a configuration cannot be used; the text names the key."""


class Parameter(NamedTuple):
    """One key of the configuration, for people."""

    name: str
    default_value: str
    meaning: str


def parameter(default: Any, meaning: str, one_of: Sequence[str] = ()) -> Any:
    """A field of the dataclass. `one_of` lists the words that it takes, if they are few."""
    if one_of and default not in one_of:
        raise ValueError(f"the default {default!r} is none of {', '.join(one_of)}")
    return field(default=default, metadata={"meaning": meaning, "one_of": tuple(one_of)})


def listed(kind: type[Any]) -> list[Parameter]:
    """The parameters in the order of the fields, for `Defaults.about`."""

    def meaning(one: Field[Any]) -> str:
        words = one.metadata["one_of"]
        return one.metadata["meaning"] + (f" (one of {', '.join(words)})" if words else "")

    return [Parameter(name_of(one), text_of(one.default), meaning(one)) for one in fields(kind)]


def read(kind: type[Settings], config: str) -> Settings:
    """The values that were given, one `key=value` a line, and the defaults of the others.

    Raises ParameterError: a line is malformed, a key is unknown or comes twice, a value does not fit.
    """
    given: dict[str, str] = {}
    for line in config.split("\n") if config else []:
        key, equals, value = line.partition("=")
        if not line:
            continue
        if not equals:
            raise ParameterError(f"configuration line {json.dumps(line, ensure_ascii=False)} is not key=value")
        if key in given:
            raise ParameterError(f"parameter {key} is given twice")
        given[key] = value
    known = {name_of(one): one for one in fields(kind)}  # type: ignore[arg-type]
    values = {one.name: parsed(one, given[name]) for name, one in known.items() if name in given}
    for key in given:
        if key not in known:
            raise ParameterError(f"there is no parameter {key}; known are: {', '.join(known) or 'none'}")
    return kind(**values)


def reject(name: str, value: Any, reason: str) -> ParameterError:
    """An error for a value that is well-formed but does not fit, such as more proposers than nodes; to be raised."""
    return ParameterError(f"parameter {name} cannot be {json.dumps(text_of(value), ensure_ascii=False)}: {reason}")


def parsed(one: "Field[Any]", text: str) -> Any:
    """The value of a field."""
    words = one.metadata["one_of"]
    if words and text not in words:
        raise reject(name_of(one), text, f"it is one of {', '.join(words)}")
    if isinstance(one.default, bool):
        if text not in ("true", "false"):
            raise reject(name_of(one), text, "it is true or false")
        return text == "true"
    if isinstance(one.default, int):
        # `isdecimal` alone would take the digits of other scripts.
        if not (text.isascii() and text.isdecimal() and int(text) <= INT_MAX):
            raise reject(name_of(one), text, f"it is a whole number from 0 to {INT_MAX}")
        return int(text)
    return text


def name_of(one: "Field[Any]") -> str:
    return one.name.replace("_", "-")


def text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
