//! The kinds of violations: the common part of variants by node and by value.

use host_model::contract::{FaultKind, Judgement};
use host_model::trace::BreachClass;

/// The kind of a violation: the property or the fault, the class of a broken promise, and the words without values: `#` replaces each
/// number, and braces and quotes, in which an expression shows states, are emptied. The node is left out.
///
/// Coarser than the shape of a trace, which needs a minimised trace: two violations of one kind may come about in
/// different ways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViolationKind {
    property: Option<u32>,
    fault: Option<FaultKind>,
    breach: Option<BreachClass>,
    words: String,
}

/// The placeholder of a number; the character itself is doubled.
const NUMBER: char = '#';

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
        Self { property, fault, breach: None, words: without_values(words) }
    }

    /// The same for a promise of progress that is broken in this way.
    #[must_use]
    pub fn broken(self, class: BreachClass) -> Self {
        Self { breach: Some(class), ..self }
    }
}

/// A text with `#` in place of each run of digits, and with nothing between braces or between quotes.
fn without_values(text: &str) -> String {
    let mut without = String::with_capacity(text.len());
    let (mut depth, mut is_quoted, mut is_escaped) = (0_u32, false, false);
    for letter in text.chars() {
        let is_value = depth > 0 || is_quoted;
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_value && (depth > 0 || is_quoted) {
            continue;
        }
        match letter {
            '0'..='9' if without.ends_with(NUMBER) => {}
            '0'..='9' => without.push(NUMBER),
            NUMBER => without.push_str("##"),
            letter => without.push(letter),
        }
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
        assert_eq!(without_values("12a3 b"), "#a# b");
        assert_eq!((without_values(""), without_values("7")), (String::new(), "#".to_owned()));
    }

    #[test]
    fn variants_by_value_are_of_one_kind() {
        let words = |node: &str, other: &str| violated(0, &format!("node 0 is {node}, node 1 is {other}"));
        assert_eq!(words(r#"{"a":{"b":"}"}}"#, "\"x\""), words("{}", r#""\"{""#));
        assert_ne!(words("{}", "x"), words("{}", "y"));
        assert_ne!(words("{}", "1"), words("1", "{}"));
        assert_eq!(without_values(r#"{"a":1} is "b" in {c{d}} of [2, "3"]}"#), r#"{} is "" in {} of [#, ""]}"#);
        assert_eq!(
            (without_values("{1"), without_values("\"1"), without_values("}1")),
            ("{".into(), "\"".into(), "}#".into())
        );
    }

    #[test]
    fn faults_differ_by_what_they_are() {
        let fault = |kind, message: &str| Fault::new(kind, message.to_owned());
        let trap = |message| ViolationKind::of(&Judgement::Fault(fault(FaultKind::Trap, message)));
        assert_eq!(trap("at line 7"), trap("at line 8"));
        let loops = Judgement::Fault(fault(FaultKind::Divergence, "at line 7"));
        assert_ne!(trap("at line 7"), ViolationKind::of(&loops));
        let broken = Judgement::Broken { property: 0, fault: fault(FaultKind::Trap, "at line 7") };
        assert_ne!(trap("at line 7"), ViolationKind::of(&broken));
        assert_ne!(violated(0, "x"), ViolationKind::of(&Judgement::Deadlock { message: "x".to_owned() }));
    }
}
