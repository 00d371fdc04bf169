"""Asks for what a plugin has no system for, one thing per parameter; `tests/requests.rs` runs it."""

import asyncio
import datetime
import hashlib
import json
import logging
import os
import random
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from componentize_py_types import Err
from wit_world.exports import defaults as about_types
from wit_world.imports.types import Envelope, LocalEvent, LocalKind, Property, PropertyKind, PropertyScope


def logged():
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("library").info("logged")
    try:
        raise ValueError("caught")
    except ValueError:
        logging.exception("with a traceback")
    return "logged"


def printed():
    print("one", 2)
    print("three\nfour", file=sys.stderr)
    return "printed"


async def awaited():
    first = asyncio.create_task(asyncio.sleep(0, "first"))
    queue = asyncio.Queue()
    await queue.put("second")
    return await first + await queue.get()


async def timed_out():
    await asyncio.sleep(1)


def imported():
    import wave

    return wave.__name__


def threads():
    with ThreadPoolExecutor() as pool:
        return pool.submit(str, 1).result()


ASKS = {
    "print": printed,
    "logging": logged,
    "time.time": lambda: str(time.time()),
    "time.monotonic": lambda: str(time.monotonic()),
    "datetime.now": lambda: datetime.datetime.now(datetime.UTC).isoformat(),
    "datetime.strptime": lambda: str(datetime.datetime.strptime("2001-02-03", "%Y-%m-%d")),
    "os.urandom": lambda: os.urandom(4).hex(),
    "secrets": lambda: secrets.token_hex(4),
    "uuid.uuid4": lambda: str(uuid.uuid4()),
    "uuid.uuid1": lambda: str(uuid.uuid1()),
    "random": lambda: str(random.random()),
    "hash": lambda: hashlib.sha256(str(hash("a")).encode()).hexdigest(),
    "os.environ": lambda: json.dumps(dict(os.environ)),
    "os.path.exists": lambda: str(os.path.exists("/etc/hostname")),
    "asyncio": lambda: asyncio.run(awaited()),
    "threading.Lock": lambda: str(threading.Lock().acquire()),
    "time.sleep": lambda: time.sleep(1),
    "asyncio.sleep": lambda: asyncio.run(timed_out()),
    "threading.Thread": lambda: threading.Thread(target=print).start(),
    "threads": threads,
    "Event.wait": lambda: threading.Event().wait(1),
    "open": lambda: open("/etc/hostname").read(),
    "open for writing": lambda: open("/tmp/written", "w").write("x"),
    "tempfile": lambda: tempfile.TemporaryFile().name,
    "socket": lambda: socket.create_connection(("127.0.0.1", 1)),
    "subprocess": lambda: subprocess.run(["true"]),
    "input": lambda: input(),
    "sys.exit": lambda: sys.exit(1),
    "import": imported,
}

what = "print"
answers: list[str] = []


class Node:
    def init(self, me: int, cluster_size: int, config: str, durable: bytes | None) -> list[Envelope]:
        global what
        for line in config.splitlines():
            key, _, value = line.partition("=")
            if key != "for" or value not in ASKS:
                raise Err(f"no such request: {line}")
            what = value
        return []

    def handle_message(self, src: int, message: bytes) -> list[Envelope]:
        return []

    def local_events(self) -> list[LocalEvent]:
        return [LocalEvent(name="ask", kind=LocalKind.APPLICATION, payload=b"")] if len(answers) < 2 else []

    def handle_local(self, event: LocalEvent) -> list[Envelope]:
        answers.append(str(ASKS[what]()))
        return []

    def serialize(self) -> bytes:
        return json.dumps(answers).encode()


class Specification:
    def properties(self) -> list[Property]:
        return [Property(name="answered", kind=PropertyKind.SOMETIMES, scope=PropertyScope.NODE)]

    def view(self, property: int) -> bytes | None:
        return b"answered" if len(answers) == 2 else None

    def invariant(self, property: int, views: list[bytes | None]) -> None:
        pass


class Describe:
    def state(self) -> str:
        return json.dumps(answers)

    def message(self, message: bytes) -> str:
        return json.dumps(message.hex())


class Defaults:
    def about(self) -> about_types.Plugin:
        return about_types.Plugin(
            name="asks-the-system-in-python",
            version="0.1.0",
            summary="Asks for what a plugin has no system for.",
            nodes=2,
            network=about_types.Network.UNORDERED,
            identity=about_types.Identity.SERIALIZED,
            parameters=[about_types.Parameter("for", "print", "what is asked for")],
        )
