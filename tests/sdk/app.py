"""Carries out what the parameter `script` lists, by the SDK, and has the results as its state; see ../sdk.rs."""

import json
from dataclasses import dataclass
from typing import Any

from componentize_py_types import Err
from wit_world.exports import defaults as about_types
from wit_world.imports import environment

from host import linearizability as lin
from host.clock import Clock
from host.encoding import decode, encode
from host.parameters import ParameterError, listed, parameter, read
from host.timers import TimedTimers, Timers


@dataclass
class Settings:
    script: str = parameter("[]", "what to carry out")
    retries: int = parameter(3, "how often")
    mode: str = parameter("safe", "what to prefer", one_of=("safe", "fast"))
    give_up: bool = parameter(False, "whether to give up")


state: dict[str, Any] = {}

CALLS = {
    "call-read": lambda _: lin.READ,
    "call-write": lin.write,
    "return-value": lin.value,
    "return-written": lambda _: lin.WRITTEN,
    "call-list": lambda _: lin.READ,
    "call-append": lin.append,
    "return-entries": lin.entries,
    "return-appended": lin.appended,
}


def after(state: Any) -> Any:
    clients = decode(encode(state))["clients"]
    return {client: [one["after"] for one in operations] for client, operations in clients.items()}


def verdict(history: lin.History, sequential: lin.SequentialObject) -> Any:
    try:
        return {"order": lin.History.decode(decode(encode(history))).linearize(sequential)}
    except lin.NotLinearizable as error:
        return {"longest": error.longest, "why": str(error)}


def carried_out(script: list[Any]) -> dict[str, Any]:
    clock, timers, timed, said = Clock(), Timers(), TimedTimers(), []
    register, log = lin.History(), lin.History()
    clients = [lin.Client(client) for client in range(3)]
    choose = environment.choose
    for name, *rest in script:
        match name:
            case "read":
                clock.read(*rest)
            case "forget":
                said.append(clock.forget(*rest))
            case "passed":
                said.append(clock.has_passed(choose, *rest))
            case "later":
                said.append(clock.is_later(choose, *rest))
            case "arm":
                timed.set(*rest)
            case "disarm":
                said.append(timed.cancel(*rest))
            case "fire":
                due = timed.due()
                said.append(due)
                if due:
                    timed.fired(due[rest[0] % len(due)])
            case "set":
                timers.set(*rest)
            case "cancel":
                said.append(timers.cancel(*rest))
            case "fired":
                timers.fired(*rest)
            case "call-list" | "call-append":
                log.call(rest[0], CALLS[name](rest[1]))
            case "return-entries" | "return-appended":
                log.returned(rest[0], CALLS[name](rest[1]))
            case "call-read" | "call-write":
                register.call(rest[0], CALLS[name](rest[1]))
                clients[rest[0]].call(CALLS[name](rest[1]))
            case "return-value" | "return-written":
                register.returned(rest[0], CALLS[name](rest[1]))
                completed = clients[rest[0]].returned(CALLS[name](rest[1]))
                for client in clients:
                    client.learn(rest[0], completed)
    views = [lin.operations_of(decode(encode(client))["operations"]) for client in clients]
    together = lin.History.of(enumerate(views))
    return {
        "after": after(register),
        "after-together": after(together),
        "clock": clock,
        "log": verdict(log, lin.Log()),
        "register": verdict(register, lin.Register(0)),
        "said": said,
        "timed": timed,
        "timers": timers,
        "together": verdict(together, lin.Register(0)),
    }


class Node:
    def init(self, me: int, cluster_size: int, config: str, durable: bytes | None) -> list[Any]:
        global state
        try:
            state = carried_out(json.loads(read(Settings, config).script))
        except ParameterError as error:
            raise Err(str(error)) from error
        return []

    def handle_message(self, src: int, message: bytes) -> list[Any]:
        return []

    def local_events(self) -> list[Any]:
        return []

    def handle_local(self, event: Any) -> list[Any]:
        return []

    def serialize(self) -> bytes:
        return encode(state)


class Specification:
    def properties(self) -> list[Any]:
        return []

    def view(self, property: int) -> bytes | None:
        return None

    def invariant(self, property: int, views: list[bytes | None]) -> None:
        pass


class Defaults:
    def about(self) -> about_types.Plugin:
        return about_types.Plugin(
            name="probe",
            version="0.1.0",
            summary="What the SDK makes of a script.",
            nodes=1,
            network=about_types.Network.UNORDERED,
            identity=about_types.Identity.SERIALIZED,
            parameters=[about_types.Parameter(*one) for one in listed(Settings)],
        )
