//! The kinds of violations: what variants by node and by number have in common.

use std::fmt::Write;

use host_model::contract::{FaultKind, Judgement};
use host_model::trace::BreachClass;

/// The kind of a violation: the property or the fault, how a promise is broken, and the words with `#` in place of each number. The node is left out.
///
/// Coarser than the shape of a trace, which takes a minimised trace to know: two violations of one kind may come about in
/// different ways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViolationKind {
    property: Option<u32>,
    fault: Option<FaultKind>,
    breach: Option<BreachClass>,
    words: String,
}

impl ViolationKind {
    /// The kind of a judgement.
    pub fn of(judgement: &Judgement) -> Self {
        let (property, fault, words) = match judgement {
            Judgement::Violated { property, message } => (Some(*property), None, message.as_str()),
            Judgement::Witnessed { property } => (Some(*property), None, ""),
            Judgement::Broken { property, fault } => (Some(*property), Some(fault.kind), fault.message.as_str()),
            Judgement::Fault(fault) => (None, Some(fault.kind), fault.message.as_str()),
            Judgement::Deadlock { message } => (None, None, message.as_str()),
        };
        Self { property, fault, breach: None, words: without_numbers(words) }
    }

    /// The same of a promise of progress that is broken in this way.
    #[must_use]
    pub fn broken(self, class: BreachClass) -> Self {
        Self { breach: Some(class), ..self }
    }
}

/// A text with `#` in place of each run of digits.
fn without_numbers(text: &str) -> String {
    let mut without = String::with_capacity(text.len());
    for part in text.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let sign = if rest.len() < part.len() { "#" } else { "" };
        let _ = write!(without, "{sign}{rest}");
    }
    without
}

#[cfg(test)]
mod tests {
    use host_model::contract::Fault;

    use super::*;

    fn violated(property: u32, message: &str) -> ViolationKind {
        ViolationKind::of(&Judgement::Violated { property, message: message.to_owned() })
    }

    #[test]
    fn variants_by_number_are_of_one_kind() {
        assert_eq!(violated(0, "node 1 has 17, node 20 has 3"), violated(0, "node 0 has 2, node 1 has 444"));
        assert_ne!(violated(0, "node 1 waits"), violated(1, "node 1 waits"));
        assert_ne!(violated(0, "node 1 waits"), violated(0, "node 1 sleeps"));
        assert_ne!(violated(0, "nodes 1, 2"), violated(0, "nodes 1, 2, 3"));
        assert_ne!(violated(0, "1"), violated(0, "#1"));
        assert_eq!(without_numbers("12a3 b"), "#a# b");
        assert_eq!((without_numbers(""), without_numbers("7")), (String::new(), "#".to_owned()));
    }

    #[test]
    fn faults_differ_by_what_they_are() {
        let fault = |kind, message: &str| Fault { kind, message: message.to_owned() };
        let trap = |message| ViolationKind::of(&Judgement::Fault(fault(FaultKind::Trap, message)));
        assert_eq!(trap("at line 7"), trap("at line 8"));
        let loops = Judgement::Fault(fault(FaultKind::Divergence, "at line 7"));
        assert_ne!(trap("at line 7"), ViolationKind::of(&loops));
        let broken = Judgement::Broken { property: 0, fault: fault(FaultKind::Trap, "at line 7") };
        assert_ne!(trap("at line 7"), ViolationKind::of(&broken));
        assert_ne!(violated(0, "x"), ViolationKind::of(&Judgement::Deadlock { message: "x".to_owned() }));
    }
}
