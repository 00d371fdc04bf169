//! The durable map in a native cluster: tables against a naive map, and a protocol whose log is in it.

use std::collections::BTreeMap;

use guest_sdk::storage::Table;
use guest_sdk::test::Cluster;
use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol};

const LOG: Table<u64, String> = Table::new("log");
/// Its name begins like that of the log.
const LOGS: Table<(u8, String), ()> = Table::new("logs");

/// Node 0 appends to its log and tells node 1, which keeps a copy. Nothing is in the state.
struct Journal;

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
enum Local {
    Append,
    Cut,
}

impl Protocol for Journal {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = ();
    type Message = (u64, String);
    type Local = Local;
    type Durable = Never;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self)
    }

    fn init(&self, _: &mut Context<Self::Message>, _: Option<Never>) {}

    fn handle_message(&self, ctx: &mut Context<Self::Message>, (): &mut (), _: NodeId, (index, entry): (u64, String)) {
        LOG.put(ctx, &index, &entry);
    }

    fn local_events(&self, (): &(), events: &mut LocalEvents<Local>) {
        if events.me() == 0 && LOG.last().is_none_or(|(last, _)| last < 1) {
            events.internal("append", Local::Append);
        }
        if events.me() == 1 && LOG.first().is_some() {
            events.internal("cut", Local::Cut);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Self::Message>, (): &mut (), event: Local) {
        match event {
            Local::Append => {
                let next = LOG.last().map_or(0, |(last, _)| last + 1);
                LOG.put(ctx, &next, &format!("entry {next}"));
                ctx.send(1, (next, format!("entry {next}")));
            }
            Local::Cut => LOG.delete_range(ctx, ..),
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("at-most-one").node(
            |_, ()| Some(LOG.range(..).count() as u64),
            |entries| if *entries < 2 { Ok(()) } else { Err(format!("{entries} entries")) },
        );
    }
}

#[test]
fn a_log_in_the_map_survives_resets() {
    let mut cluster = Cluster::<Journal>::new(2, &[]).expect("there is no parameter");
    cluster.happen(0, "append");
    cluster.settle();
    assert_eq!(cluster.check(), Ok(()));
    cluster.reset(0);
    cluster.happen(0, "append");
    assert_eq!(cluster.check(), Err("at-most-one: node 0: 2 entries".to_owned()));
    assert!(cluster.local_events(0).is_empty());
    cluster.happen(1, "cut");
    assert!(cluster.local_events(1).is_empty(), "the map of node 0 is another one");
}

/// Nodes differ in their maps alone. Node 0 has appended nothing, one entry or two. At node 1, each of the two messages is not sent, in
/// flight or taken, and the copy was cut in between or not.
///
/// With no entry at node 0 there is 1 state; with one, the message is in flight, or taken, or taken and cut: 3. With two, the copy is
/// any set of what was taken: none taken 1, one of the two taken 2 each, and both taken 4: none, either one, both. That is 9.
#[test]
fn states_that_differ_in_the_map_are_different() {
    // The property breaks with the second entry, so it must not stop the search.
    struct Unjudged;
    impl Protocol for Unjudged {
        const ABOUT: About = Journal::ABOUT;
        type State = ();
        type Message = (u64, String);
        type Local = Local;
        type Durable = Never;
        fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
            Ok(Self)
        }
        fn init(&self, ctx: &mut Context<Self::Message>, durable: Option<Never>) {
            Journal.init(ctx, durable);
        }
        fn handle_message(&self, ctx: &mut Context<Self::Message>, state: &mut (), from: NodeId, it: (u64, String)) {
            Journal.handle_message(ctx, state, from, it);
        }
        fn local_events(&self, state: &(), events: &mut LocalEvents<Local>) {
            Journal.local_events(state, events);
        }
        fn handle_local(&self, ctx: &mut Context<Self::Message>, state: &mut (), event: Local) {
            Journal.handle_local(ctx, state, event);
        }
        fn properties(_: &mut Properties<Self>) {}
    }
    let cluster = Cluster::<Unjudged>::new(2, &[]).expect("there is no parameter");
    assert_eq!(cluster.explore(100).global_states, 1 + 3 + 9);
    // A reset keeps the map, so there is nothing that it changes.
    assert_eq!(cluster.with_resets(2).explore(100).global_states, 1 + 3 + 9);
    assert_eq!(Cluster::<Journal>::new(2, &[]).expect("there is no parameter").explore(100).depth, 2);
}

/// A table has the entries of a naive map, in its order, and no others.
#[test]
fn tables_are_maps() {
    struct Alone;
    impl Protocol for Alone {
        const ABOUT: About = guest_sdk::about!().nodes(1);
        type State = ();
        type Message = ();
        type Local = Never;
        type Durable = Never;
        fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
            Ok(Self)
        }
        fn init(&self, ctx: &mut Context<()>, _: Option<Never>) {
            let mut naive = BTreeMap::new();
            LOGS.put(ctx, &(0, "of the other table".to_owned()), &());
            let mut number = 1_u64;
            for _ in 0..300 {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (key, kind) = ((number >> 33) % 40, (number >> 60) % 4);
                match kind {
                    0 => {
                        LOG.delete(ctx, &key);
                        naive.remove(&key);
                    }
                    1 => {
                        LOG.delete_range(ctx, key..key + 3);
                        naive.retain(|at, _| !(key..key + 3).contains(at));
                    }
                    _ => {
                        LOG.put(ctx, &key, &number.to_string());
                        naive.insert(key, number.to_string());
                    }
                }
                assert_eq!(LOG.get(&key), naive.get(&key).cloned());
                let all = naive.clone().into_iter().collect::<Vec<_>>();
                assert_eq!(LOG.range(..).collect::<Vec<_>>(), all);
                let from: Vec<_> = naive.range(key..).map(|(key, value)| (*key, value.clone())).collect();
                assert_eq!(LOG.range(key..).collect::<Vec<_>>(), from);
                let to: Vec<_> = naive.range(..=key).map(|(key, value)| (*key, value.clone())).collect();
                assert_eq!(LOG.range(..=key).collect::<Vec<_>>(), to);
                assert_eq!((LOG.first(), LOG.last()), (all.first().cloned(), all.last().cloned()));
                assert_eq!(LOG.last_in(..=key), to.last().cloned());
            }
            assert_eq!(LOGS.range(..).count(), 1);
        }
        fn handle_message(&self, _: &mut Context<()>, (): &mut (), _: NodeId, (): ()) {}
        fn properties(_: &mut Properties<Self>) {}
    }
    Cluster::<Alone>::new(1, &[]).expect("there is no parameter");
}
