/* The lock service of plugins/lock for SPIN, as far as nothing is lost: its states, messages and handlers.
 *
 *   -DCLIENTS=n       1 or 2 (default)
 *   -DLOCKED=x        what the server does with a request while it is locked: DROP, DENY (with retry=timer) or QUEUE
 *   -DACTIONS         one process for each action, in place of one for each node
 *
 * The promise is that client 0 does not wait for ever. SPIN's fairness (-f) is that of processes: one that can always take a step takes one
 * some time. A node that always takes another of its steps is fair in its eyes; with -DACTIONS fairness is that of host.
 *
 * A message is in flight at most once, so a bit tells whether it is. */

#define DROP  0
#define DENY  1
#define QUEUE 2

#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef LOCKED
#define LOCKED DROP
#endif

#define IDLE      0
#define WAITING   1
#define DENIED    2     /* waiting, and will ask again */
#define HOLDING   3
#define RELEASING 4     /* until the server has answered; with DENY only */

byte client[CLIENTS];
byte holder;            /* a client, from 1 */
byte queue[2];
bit request[CLIENTS], release[CLIENTS], grant[CLIENTS], denied[CLIENTS], released[CLIENTS];

#define ASK(i)    :: d_step { client[i] == IDLE -> client[i] = WAITING; request[i] = 1 }
#define RETRY(i)  :: d_step { client[i] == DENIED -> client[i] = WAITING; request[i] = 1 }
#define FINISH(i) :: d_step { client[i] == HOLDING -> release[i] = 1; client[i] = (LOCKED == DENY -> RELEASING : IDLE) }

#define ON_REQUEST(i) \
    :: d_step { request[i] -> \
        request[i] = 0; \
        if \
        :: holder == 0 -> holder = (i) + 1; grant[i] = 1 \
        :: else -> \
            if \
            :: LOCKED == DENY -> denied[i] = 1 \
            :: LOCKED == QUEUE && queue[0] == 0 -> queue[0] = (i) + 1 \
            :: LOCKED == QUEUE && queue[0] != 0 -> queue[1] = (i) + 1 \
            :: LOCKED == DROP \
            fi \
        fi }

#define ON_RELEASE(i) \
    :: d_step { release[i] -> \
        release[i] = 0; \
        if :: LOCKED == DENY -> released[i] = 1 :: else fi; \
        holder = queue[0]; queue[0] = queue[1]; queue[1] = 0; \
        if :: holder -> grant[holder - 1] = 1 :: else fi }

#define ON_GRANT(i)    :: d_step { grant[i] -> grant[i] = 0; client[i] = HOLDING }
#define ON_DENIED(i)   :: d_step { denied[i] -> denied[i] = 0; client[i] = DENIED }
#define ON_RELEASED(i) :: d_step { released[i] -> released[i] = 0; client[i] = IDLE }

#ifdef ACTIONS
#define ACTION(name, step) active proctype name() { end: do step od }
#define ALL_OF(i) \
    ACTION(ask_##i, ASK(i)) ACTION(retry_##i, RETRY(i)) ACTION(finish_##i, FINISH(i)) \
    ACTION(request_##i, ON_REQUEST(i)) ACTION(release_##i, ON_RELEASE(i)) \
    ACTION(grant_##i, ON_GRANT(i)) ACTION(denied_##i, ON_DENIED(i)) ACTION(released_##i, ON_RELEASED(i))
ALL_OF(0)
#if CLIENTS > 1
ALL_OF(1)
#endif
#else
active [CLIENTS] proctype clients() {
end: do ASK(_pid) RETRY(_pid) FINISH(_pid) ON_GRANT(_pid) ON_DENIED(_pid) ON_RELEASED(_pid) od
}
active proctype server() {
end:
    do
    ON_REQUEST(0) ON_RELEASE(0)
#if CLIENTS > 1
    ON_REQUEST(1) ON_RELEASE(1)
#endif
    od
}
#endif

ltl served { []<> (client[0] != WAITING && client[0] != DENIED) }
