"""What the library imports of a system, for a plugin that has none: to be imported before it.

None of it is used, since the clock, the transport, the poller and the disk are replaced (replica.py).
"""

import importlib
import sys
import types


def stand_in(name: str) -> None:
    """An empty module, where there is no such module."""
    try:
        importlib.import_module(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)


for name in ("ctypes", "ctypes.util", "fcntl", "mmap"):
    stand_in(name)
# It asks for parts of `ctypes`, for Windows alone.
sys.modules["pysyncobj.win_inet_pton"] = types.ModuleType("win_inet_pton")
