"""Carries out what the parameter `script` lists, by the SDK, and has the results in its state, beside a store that clients ask; see
../sdk.rs."""

import json
from dataclasses import dataclass
from typing import Any

from componentize_py_types import Err
from wit_world.exports import defaults as about_types
from wit_world.imports import environment, live, odds
from wit_world.imports.types import (
    Envelope,
    LocalEvent,
    LocalKind,
    Property,
    PropertyKind,
    PropertyScope,
    Request,
)

from host import linearizability as lin
from host.clock import Clock
from host.encoding import decode, encode
from host.parameters import ParameterError, listed, parameter, read
from host.running import Response, Span
from host.timers import TimedTimers, Timers
from store import Sent, Store, wrong


@dataclass
class Settings:
    script: str = parameter("[]", "the operations to execute")
    retries: int = parameter(3, "how often")
    mode: str = parameter("safe", "what to prefer", one_of=("safe", "fast"))
    give_up: bool = parameter(False, "whether to give up")
    requests: int = parameter(1, "how often clients write in a search")
    patience: int = parameter(500, "milliseconds without news after which a client may be asked to retry")


found: dict[str, Any] = {}
store: Store

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
            case "weigh":
                said.append(odds.choose_weighted(rest))
            case "can-send":
                said.append(environment.can_send(*rest))
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


def envelopes(sent: Sent) -> list[Envelope]:
    return [Envelope(to=node, message=encode(message)) for node, message in sent]


class Node:
    def init(self, me: int, cluster_size: int, config: str, durable: bytes | None) -> list[Envelope]:
        global found, store
        try:
            settings = read(Settings, config)
        except ParameterError as error:
            raise Err(str(error)) from error
        found = carried_out(json.loads(settings.script))
        store = Store(me, cluster_size, settings.requests, settings.patience, live)
        return []

    def handle_message(self, src: int, message: bytes) -> list[Envelope]:
        return envelopes(store.receive(src, decode(message)))

    def local_events(self) -> list[LocalEvent]:
        kinds = {"put": LocalKind.APPLICATION, "give-up": LocalKind.TIMER}
        return [LocalEvent(name=name, kind=kinds[name], payload=encode(argument)) for name, argument in store.events()]

    def handle_local(self, event: LocalEvent) -> list[Envelope]:
        argument = decode(event.payload)
        if event.name == "put":
            return envelopes(store.put(**argument))
        store.give_up(**argument)
        return []

    def serialize(self) -> bytes:
        return encode({"found": found, "store": store})


class Events:
    def describe_local(self, event: LocalEvent) -> str:
        try:
            about = json.loads(event.payload)
        except ValueError:
            about = None
        return json.dumps({"about": about, "name": event.name})


class Timing:
    def duration(self, event: LocalEvent) -> Span | None:
        return store.duration(event.name)


class Neighbourhood:
    def neighbours(self) -> list[int] | None:
        return store.neighbours()


class Clients:
    def accept(self, number: int, content: Request) -> LocalEvent:
        accepted = store.accept(number, content.method, content.path, content.body)
        if isinstance(accepted, Response):
            raise Err(accepted)
        return LocalEvent(name="put", kind=LocalKind.APPLICATION, payload=encode(accepted))


class Specification:
    def properties(self) -> list[Property]:
        return [Property(name="told-is-stored", kind=PropertyKind.ALWAYS, scope=PropertyScope.SYSTEM)]

    def view(self, property: int) -> bytes | None:
        view = store.view()
        return encode(view) if view else None

    def invariant(self, property: int, views: list[bytes | None]) -> None:
        why = wrong([decode(view) if view else None for view in views])
        if why:
            raise Err(why)


class Defaults:
    def about(self) -> about_types.Plugin:
        return about_types.Plugin(
            name="probe",
            version="0.1.0",
            summary="What the SDK makes of a script, and a store.",
            nodes=3,
            network=about_types.Network.UNORDERED,
            identity=about_types.Identity.SERIALIZED,
            parameters=[about_types.Parameter(*one) for one in listed(Settings)],
        )
