"""What a plugin finds of a system that is none: it stands before the modules of the plugin, and after them."""

import builtins
import sys
import time

from wit_world.imports import environment


class Platform(BaseException):
    """What no plugin has was asked for. No library takes it for an error of its own."""


def absent(what, name):
    """A function that no plugin has."""

    def function(*given, **named):
        raise Platform(f"{what}: {name}")

    return function


def sleep(seconds):
    if seconds > 0:
        raise Platform(f"a wait: time.sleep({seconds})")


time.sleep = sleep
builtins.input = absent("input", "input")
for stream in (sys.stdout, sys.stderr):
    # Each line goes to `log` when it is written, and nothing is left over for a later call.
    stream.reconfigure(line_buffering=True, write_through=False, errors="backslashreplace")


def run_without_waiting():
    """An event loop for coroutines that wait for each other alone."""
    from asyncio import base_events, events

    class Selector:
        def select(self, timeout=None):
            if timeout is None or timeout > 0:
                raise Platform("a wait: asyncio")
            return []

        def get_map(self):
            return {}

        def close(self):
            pass

    class Loop(base_events.BaseEventLoop):
        def __init__(self):
            super().__init__()
            self._selector = Selector()
            self._clock_resolution = 1e-9

        def _process_events(self, events):
            pass

        def _write_to_self(self):
            pass

    class Policy(events._BaseDefaultEventLoopPolicy):
        _loop_factory = Loop

    events._set_event_loop_policy(Policy())


def settle():
    """After the modules of the plugin: what they have imported, and what that would import later, when there are no files."""
    later = {
        "datetime": ["_strptime"],
        "logging": ["traceback", "linecache", "tokenize"],
        "socket": ["encodings.idna"],
        "uuid": ["random"],
    }
    for name, modules in later.items():
        if name in sys.modules:
            for module in modules:
                __import__(module)
    if "random" in sys.modules:
        sys.modules["random"].seed(0)
    if "asyncio" in sys.modules:
        run_without_waiting()
