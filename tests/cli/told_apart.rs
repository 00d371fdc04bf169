//! A way to tell states apart says the same of a protocol that nothing was written again for.

use host_tests::told_apart::{HISTORY, SERIALIZE, component, searched};

/// All executions end, so there are finitely many histories. They tell all apart that `serialize` does, and more: the same votes lead to the
/// same state in any order. The component takes seconds to compile, so the other identities and protocols are left to `--bin told-apart`.
#[test]
fn the_history_has_the_verdict_of_serialize() {
    let [serialized, history] = [SERIALIZE, HISTORY].map(|way| {
        let component = component("two-phase-commit", way).expect("it is built");
        let result = searched(&component, 60, &[]).expect("it is searched");
        assert_eq!((&result.stopped_by, &*result.result), (&None, "ok"), "{}: {result:?}", way.name);
        result
    });
    assert_eq!(history.said, serialized.said);
    assert!(
        history.states.iter().zip(&serialized.states).all(|(more, less)| more > less),
        "{history:?} {serialized:?}"
    );
}
