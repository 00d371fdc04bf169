"""Canonical JSON, as docs/encoding.md defines it: sorted keys, no white space, integers only.

Objects of other classes are encoded as what their method `state` returns.
"""

import json
from typing import Any


def encode(value: Any) -> bytes:
    """The one text of a value."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=lambda one: one.state()
    )
    return text.encode()


def decode(data: bytes) -> Any:
    """The value of a text."""
    return json.loads(data)
