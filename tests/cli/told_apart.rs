//! The ways to tell states apart say the same of a protocol that nothing was written again for.

use host_tests::told_apart::{HISTORY, MEMORY_WITH_ARENA, SERIALIZE, component, searched};

/// All executions end, so there are finitely many histories. Each way tells all apart that `serialize` does, and the history tells more:
/// in another order the same votes lead to the same state. The components take seconds to compile, so the other ways, which are as
/// `serialize` to the host, and the other protocols are left to `--bin told-apart`.
#[test]
fn memory_and_history_have_the_verdict_of_serialize() {
    let [serialized, memory, history] = [SERIALIZE, MEMORY_WITH_ARENA, HISTORY].map(|way| {
        let component = component("two-phase-commit", way).expect("it is built");
        let result = searched(&component, 60, &[]).expect("it is searched");
        assert_eq!((result.has_ended, &*result.result), (true, "ok"), "{}: {result:?}", way.name);
        result
    });
    for other in [&memory, &history] {
        assert_eq!(other.said, serialized.said);
    }
    for (less, more) in [(&serialized, &memory), (&memory, &history)] {
        assert!(less.states.iter().zip(&more.states).all(|(less, more)| less <= more), "{less:?} {more:?}");
    }
    assert!(serialized.states[1] < history.states[1], "{serialized:?} {history:?}");
}
