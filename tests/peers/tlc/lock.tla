------------------------------- MODULE lock -------------------------------
(* The lock service of plugins/lock for TLC, as far as nothing is lost: its states, messages and handlers.

   Clients, Locked: as -DCLIENTS and -DLOCKED in ../spin/lock.pml.

   A message is in flight at most once, so a set holds all of them. *)

EXTENDS Naturals, Sequences

CONSTANTS
    Clients,    \* 0..0, or 0..1
    Locked      \* what the server does with a request while it is locked: "drop", "deny" or "queue"

VARIABLES
    client,     \* of each client: "idle", "waiting", "denied" (will ask again), "holding", "releasing" (until it is answered)
    holder,     \* {}, or the set of the client that has the lock
    queue,      \* the clients that wait for it
    flight      \* messages, as pairs of a kind and a client

vars == <<client, holder, queue, flight>>

Init ==
    /\ client = [c \in Clients |-> "idle"]
    /\ holder = {}
    /\ queue = <<>>
    /\ flight = {}

(* Local events of a client. *)

Ask(c) ==
    /\ client[c] = "idle"
    /\ client' = [client EXCEPT ![c] = "waiting"]
    /\ flight' = flight \union {<<"request", c>>}
    /\ UNCHANGED <<holder, queue>>

Retry(c) ==
    /\ client[c] = "denied"
    /\ client' = [client EXCEPT ![c] = "waiting"]
    /\ flight' = flight \union {<<"request", c>>}
    /\ UNCHANGED <<holder, queue>>

Finish(c) ==
    /\ client[c] = "holding"
    /\ client' = [client EXCEPT ![c] = IF Locked = "deny" THEN "releasing" ELSE "idle"]
    /\ flight' = flight \union {<<"release", c>>}
    /\ UNCHANGED <<holder, queue>>

(* Messages at a client. *)

Hear(c, kind, next) ==
    /\ <<kind, c>> \in flight
    /\ flight' = flight \ {<<kind, c>>}
    /\ client' = [client EXCEPT ![c] = next]
    /\ UNCHANGED <<holder, queue>>

Granted(c) == Hear(c, "grant", "holding")
Denied(c) == Hear(c, "denied", "denied")
Released(c) == Hear(c, "released", "idle")

(* Messages at the server. *)

Request(c) ==
    /\ <<"request", c>> \in flight
    /\ UNCHANGED client
    /\ LET rest == flight \ {<<"request", c>>} IN
        IF holder = {} THEN
            /\ holder' = {c}
            /\ flight' = rest \union {<<"grant", c>>}
            /\ UNCHANGED queue
        ELSE
            /\ UNCHANGED holder
            /\ flight' = IF Locked = "deny" THEN rest \union {<<"denied", c>>} ELSE rest
            /\ queue' = IF Locked = "queue" THEN Append(queue, c) ELSE queue

Release(c) ==
    /\ <<"release", c>> \in flight
    /\ UNCHANGED client
    /\ LET rest == flight \ {<<"release", c>>}
           heard == IF Locked = "deny" THEN rest \union {<<"released", c>>} ELSE rest IN
        IF queue = <<>> THEN
            /\ holder' = {}
            /\ flight' = heard
            /\ UNCHANGED queue
        ELSE
            /\ holder' = {Head(queue)}
            /\ flight' = heard \union {<<"grant", Head(queue)>>}
            /\ queue' = Tail(queue)

AtClient(c) == Retry(c) \/ Finish(c) \/ Granted(c) \/ Denied(c) \/ Released(c)
AtServer == \E c \in Clients : Request(c) \/ Release(c)

Next == AtServer \/ \E c \in Clients : Ask(c) \/ AtClient(c)

(* Nothing but an application may stay idle. That each node that always can do something does something, and that each action does. *)

Safe == Init /\ [][Next]_vars

ByNode == Safe /\ WF_vars(AtServer) /\ \A c \in Clients : WF_vars(AtClient(c))

ByAction ==
    /\ Safe
    /\ \A c \in Clients :
        /\ WF_vars(Retry(c)) /\ WF_vars(Finish(c))
        /\ WF_vars(Granted(c)) /\ WF_vars(Denied(c)) /\ WF_vars(Released(c))
        /\ WF_vars(Request(c)) /\ WF_vars(Release(c))

(* Client 0 does not wait for ever. *)
Served == []<>(client[0] \notin {"waiting", "denied"})
===========================================================================
