//! An unchanged protocol has the same verdict with every way to distinguish its states.

use host_tests::identities::{HISTORY, SERIALIZE, component, searched};

/// All executions end, so there are finitely many histories. Histories distinguish more states than `serialize`: the same votes lead to the
/// same state in any order. The component takes seconds to compile, so `--bin identities` covers the other identities and protocols.
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
