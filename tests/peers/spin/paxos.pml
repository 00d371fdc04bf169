/* Single-decree Paxos for SPIN: the states, messages and handlers of plugins/paxos.
 *
 *   -DPROPOSERS=n     how many of the three nodes propose, 1 (default) or 2
 *   -DINIT_BY_EVENT   nodes come to life by an event of their own; messages that come before are lost
 *
 * A step is one d_step: the delivery of a message, or a local event. A bag of messages in which each can be at most once
 * needs no channel: there is a cell for each message that can exist, 0 if it is not in flight, otherwise its content.
 * In a channel, sorted or not, `??` takes the first message that matches, so a free choice needs one option a message
 * as well, and equal bags would have to be sorted to be one state. */

#ifndef PROPOSERS
#define PROPOSERS 1
#endif
#define N 3

/* A proposal in a byte: ballot p+1 of proposer p and the value of proposer v. Higher ballots are higher; 0 is none. */
#define PROPOSAL(p, v)  (1 + (p) * PROPOSERS + (v))
#define PROPOSER(code)  (((code) - 1) / PROPOSERS)
#define VALUE(code)     (((code) - 1) % PROPOSERS)

/* Messages in flight, by who sent them or to whom they go. */
bit  prepare[PROPOSERS * N];        /* proposer, acceptor */
byte response[N * PROPOSERS];       /* acceptor, proposer: 1 + the accepted proposal */
byte accept[PROPOSERS * N];         /* proposer, acceptor: the proposal */
byte learn[N * N * PROPOSERS];      /* acceptor, learner, ballot: the proposal */

#define READY      0
#define COLLECTING 1
#define DONE       2

byte stage[PROPOSERS];
byte responders[PROPOSERS];         /* as bits */
byte highest[PROPOSERS];            /* a proposal */
byte promised[N];                   /* a ballot, p+1 */
byte accepted[N];                   /* a proposal */
byte voted[N * PROPOSERS];          /* learner, ballot: the proposal */
byte votes[N * PROPOSERS];          /* learner, ballot: by whom, as bits */
byte chosen[N];                     /* values, as bits */

/* No part of the state: written before it is read in each step. */
hidden byte code;
hidden byte all;

#ifdef INIT_BY_EVENT
bit alive[N];
#define ALIVE alive[_pid]
#else
#define ALIVE true
#endif

#define MAJORITY(set) ((set) == 3 || (set) >= 5)

#define PROPOSE(p) \
    :: d_step { _pid == (p) && ALIVE && stage[p] == READY -> \
        stage[p] = COLLECTING; \
        prepare[(p) * N] = 1; prepare[(p) * N + 1] = 1; prepare[(p) * N + 2] = 1 }

#define ON_PREPARE(p) \
    :: d_step { prepare[(p) * N + _pid] -> \
        prepare[(p) * N + _pid] = 0; \
        if \
        :: ALIVE && (p) + 1 >= promised[_pid] -> \
            promised[_pid] = (p) + 1; \
            response[_pid * PROPOSERS + (p)] = 1 + accepted[_pid] \
        :: else \
        fi }

#define ON_RESPONSE(p, from) \
    :: d_step { _pid == (p) && response[(from) * PROPOSERS + (p)] -> \
        code = response[(from) * PROPOSERS + (p)] - 1; \
        response[(from) * PROPOSERS + (p)] = 0; \
        if \
        :: stage[p] == COLLECTING -> \
            responders[p] = responders[p] | (1 << (from)); \
            if :: code > highest[p] -> highest[p] = code :: else fi; \
            if \
            :: MAJORITY(responders[p]) -> \
                if :: highest[p] -> code = PROPOSAL(p, VALUE(highest[p])) :: else -> code = PROPOSAL(p, p) fi; \
                stage[p] = DONE; responders[p] = 0; highest[p] = 0; \
                accept[(p) * N] = code; accept[(p) * N + 1] = code; accept[(p) * N + 2] = code \
            :: else \
            fi \
        :: else \
        fi }

#define ON_ACCEPT(p) \
    :: d_step { accept[(p) * N + _pid] -> \
        code = accept[(p) * N + _pid]; \
        accept[(p) * N + _pid] = 0; \
        if \
        :: ALIVE && (p) + 1 >= promised[_pid] -> \
            promised[_pid] = (p) + 1; \
            accepted[_pid] = code; \
            learn[(_pid * N) * PROPOSERS + (p)] = code; \
            learn[(_pid * N + 1) * PROPOSERS + (p)] = code; \
            learn[(_pid * N + 2) * PROPOSERS + (p)] = code; \
            assert(PROPOSER(accepted[_pid]) + 1 <= promised[_pid]) \
        :: else \
        fi }

#define ON_LEARN(p, from) \
    :: d_step { learn[((from) * N + _pid) * PROPOSERS + (p)] -> \
        code = learn[((from) * N + _pid) * PROPOSERS + (p)]; \
        learn[((from) * N + _pid) * PROPOSERS + (p)] = 0; \
        if \
        :: ALIVE -> \
            voted[_pid * PROPOSERS + (p)] = code; \
            votes[_pid * PROPOSERS + (p)] = votes[_pid * PROPOSERS + (p)] | (1 << (from)); \
            if \
            :: MAJORITY(votes[_pid * PROPOSERS + (p)]) -> \
                chosen[_pid] = chosen[_pid] | (1 << VALUE(code)); \
                all = chosen[0] | chosen[1] | chosen[2]; \
                /* At most one bit: agreement. */ \
                assert((all & (all - 1)) == 0) \
            :: else \
            fi \
        :: else \
        fi }

#define ALL_OF(p) \
    PROPOSE(p) \
    ON_PREPARE(p) \
    ON_RESPONSE(p, 0) ON_RESPONSE(p, 1) ON_RESPONSE(p, 2) \
    ON_ACCEPT(p) \
    ON_LEARN(p, 0) ON_LEARN(p, 1) ON_LEARN(p, 2)

active [N] proctype node() {
end:
    do
#ifdef INIT_BY_EVENT
    :: d_step { !alive[_pid] -> alive[_pid] = 1 }
#endif
    ALL_OF(0)
#if PROPOSERS > 1
    ALL_OF(1)
#endif
    od
}
