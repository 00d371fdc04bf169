------------------------------ MODULE synod ------------------------------
(* Two proposers that try again until they know a decision: plugins/synod for TLC, its states, messages and handlers.

   Of a proposer and an acceptor at most one message is in flight, so a function from such pairs holds all of them. *)

EXTENDS Naturals, TLC

CONSTANT Acceptors      \* a set

Proposers == {0, 1}
None == 99              \* no ballot, no value, no message: nothing else is it

(* Ballots: four attempts of each proposer, counted round a circle; see src/ballot.rs of the plugin. *)

Size == 8
Distance(from, to) == (to + Size - from) % Size
Above(one, other) == LET ahead == Distance(other, one) IN
    IF ahead \in 3..5 THEN Assert(FALSE, <<"ballots are too far apart", one, other>>) ELSE ahead \in 1..2
NextOf(p, by) == CHOOSE b \in 0..Size - 1 : b % 2 = p /\ Distance(by, b) \in 1..2

VARIABLES
    proposer,   \* of each: a record, see Ready
    promised,   \* of each acceptor: a ballot or None
    accepted,   \* of each acceptor: a value or None
    flight      \* of each proposer and acceptor: a message or None

vars == <<proposer, promised, accepted, flight>>

Ready == [is |-> "ready", ballot |-> None, proposal |-> None, missing |-> {}, found |-> None, by |-> None]
Decided(value) == [Ready EXCEPT !.is = "decided", !.proposal = value]
Overtaken(by) == [Ready EXCEPT !.is = "overtaken", !.by = by]
Asking(ballot, proposal) ==
    [is |-> "asking", ballot |-> ballot, proposal |-> proposal, missing |-> Acceptors, found |-> None, by |-> None]

Question(ballot, proposal) ==
    IF proposal = None THEN [is |-> "prepare", ballot |-> ballot]
    ELSE [is |-> "accept", ballot |-> ballot, value |-> proposal]
Ask(p, others, ballot, proposal) ==
    [pair \in DOMAIN others |-> IF pair[1] = p THEN Question(ballot, proposal) ELSE others[pair]]

Init ==
    /\ proposer = [p \in Proposers |-> Ready]
    /\ promised = [a \in Acceptors |-> None]
    /\ accepted = [a \in Acceptors |-> None]
    /\ flight = [pair \in Proposers \X Acceptors |-> [is |-> "none"]]

Begin(p, ballot) ==
    /\ proposer' = [proposer EXCEPT ![p] = Asking(ballot, None)]
    /\ flight' = Ask(p, flight, ballot, None)
    /\ UNCHANGED <<promised, accepted>>

Propose(p) == proposer[p].is = "ready" /\ Begin(p, p)
Retry(p) == proposer[p].is = "overtaken" /\ Begin(p, NextOf(p, proposer[p].by))

Answer(p, a) == LET question == flight[p, a] IN
    /\ question.is \in {"prepare", "accept"}
    /\ UNCHANGED proposer
    /\ IF promised[a] # None /\ Above(promised[a], question.ballot) THEN
            /\ flight' = [flight EXCEPT ![p, a] = [is |-> "refused", ballot |-> promised[a]]]
            /\ UNCHANGED <<promised, accepted>>
       ELSE
            /\ promised' = [promised EXCEPT ![a] = question.ballot]
            /\ IF question.is = "accept" THEN
                    /\ accepted' = [accepted EXCEPT ![a] = question.value]
                    /\ flight' = [flight EXCEPT ![p, a] = [is |-> "accepted"]]
               ELSE
                    /\ UNCHANGED accepted
                    /\ flight' = [flight EXCEPT ![p, a] = [is |-> "promised", value |-> accepted[a]]]

Hear(p, a) == LET
        answer == flight[p, a]
        before == proposer[p]
        rest == [flight EXCEPT ![p, a] = [is |-> "none"]]
        missing == before.missing \ {a}
        found == IF answer.is = "promised" /\ answer.value # None THEN answer.value ELSE before.found
        by == IF answer.is # "refused" THEN before.by
              ELSE IF before.by # None /\ Above(before.by, answer.ballot) THEN before.by ELSE answer.ballot
        value == IF found = None THEN 100 + p ELSE found
    IN
    /\ answer.is \in {"promised", "accepted", "refused"}
    /\ UNCHANGED <<promised, accepted>>
    /\ IF missing # {} THEN
            /\ proposer' = [proposer EXCEPT ![p].missing = missing, ![p].found = found, ![p].by = by]
            /\ flight' = rest
       ELSE IF by # None THEN proposer' = [proposer EXCEPT ![p] = Overtaken(by)] /\ flight' = rest
       ELSE IF before.proposal # None THEN
            proposer' = [proposer EXCEPT ![p] = Decided(before.proposal)] /\ flight' = rest
       ELSE
            /\ proposer' = [proposer EXCEPT ![p] = Asking(before.ballot, value)]
            /\ flight' = Ask(p, rest, before.ballot, value)

Next == \E p \in Proposers :
    Propose(p) \/ Retry(p) \/ \E a \in Acceptors : Answer(p, a) \/ Hear(p, a)

(* Each action goes on but for the first, which is the application's. *)
Fair ==
    /\ Init /\ [][Next]_vars
    /\ \A p \in Proposers : WF_vars(Retry(p)) /\ \A a \in Acceptors : WF_vars(Answer(p, a)) /\ WF_vars(Hear(p, a))

(* From some time on, timers fire only where nothing can be delivered. *)
InTime == \A p \in Proposers : Retry(p) => \A pair \in DOMAIN flight : flight[pair].is = "none"

Agreement == \A p, q \in Proposers :
    proposer[p].is = "decided" /\ proposer[q].is = "decided" => proposer[p].proposal = proposer[q].proposal

Served == \A p \in Proposers : []<>(proposer[p].is \notin {"asking", "overtaken"})
ServedLate == <>[][InTime]_vars => Served
==========================================================================
