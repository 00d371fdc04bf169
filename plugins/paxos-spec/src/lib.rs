//! The claims of Paxos, stated from outside: over the states that its nodes show, and without its code.

use guest_sdk::{Claims, Specification};
use serde::{Deserialize, Serialize};

/// The properties of Paxos.
pub struct PaxosSpec;

/// The part of a node's state that is read here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Node {
    /// Not yet alive.
    Uninitialised(Disk),
    /// Alive.
    Running(Roles),
}

/// Nothing is read of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {}

/// The roles of a node that is alive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Roles {
    proposer: Proposer,
    acceptor: Acceptor,
    learner: Learner,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Proposer {
    Ready,
    Collecting {},
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Acceptor {
    promised: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Learner {
    chosen: Vec<u32>,
}

impl Specification for PaxosSpec {
    type State = Node;

    fn properties(claims: &mut Claims<'_, Self>) {
        claims.always("one-value").system(|_, node| chosen(node), one_value);
        claims.sometimes("some-chosen").node(|_, node| chosen(node), |_| Ok(()));
        claims.eventually("learns").node(
            |_, node| Some(waits(node)),
            |waits| match waits {
                false => Ok(()),
                true => Err("the node knows of a ballot, and has not learned that a value is chosen".to_owned()),
            },
        );
    }
}

guest_sdk::export_spec!(PaxosSpec);

/// The values that a node knows to be chosen; none if it knows of none.
fn chosen(node: &Node) -> Option<Vec<u32>> {
    match node {
        Node::Running(Roles { learner, .. }) if !learner.chosen.is_empty() => Some(learner.chosen.clone()),
        _ => None,
    }
}

fn one_value(views: &[Option<Vec<u32>>]) -> Result<(), String> {
    let mut known = views.iter().enumerate().flat_map(|(node, values)| values.iter().flatten().map(move |v| (node, v)));
    let Some((first_node, first)) = known.next() else { return Ok(()) };
    match known.find(|(_, value)| *value != first) {
        None => Ok(()),
        Some((node, value)) => Err(format!("node {first_node} has chosen {first}, node {node} has chosen {value}")),
    }
}

/// Whether a node has begun or promised a ballot, and knows of no choice.
fn waits(node: &Node) -> bool {
    match node {
        Node::Uninitialised(_) => false,
        Node::Running(Roles { proposer, acceptor, learner }) => {
            let knows_of_ballot = *proposer == Proposer::Collecting {} || acceptor.promised > 0;
            knows_of_ballot && learner.chosen.is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use guest_sdk::test::judge;

    use super::*;

    fn shown(promised: u32, chosen: &str) -> String {
        let (acceptor, learner) =
            (format!(r#"{{"promised":{promised},"accepted":null}}"#), format!(r#"{{"votes":[],"chosen":[{chosen}]}}"#));
        format!(r#"{{"Running":{{"attempts":0,"proposer":"Ready","acceptor":{acceptor},"learner":{learner}}}}}"#)
    }

    #[test]
    fn two_values_are_one_too_many_at_one_node_or_at_two() {
        let agreed = [shown(1, "100"), shown(1, ""), shown(1, "100")];
        let split = [shown(1, "100"), shown(1, ""), shown(1, "101")];
        let both = [shown(1, ""), shown(1, "100,101")];
        let one_value =
            |nodes: &[String]| judge::<PaxosSpec>("one-value", &nodes.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(one_value(&agreed), Ok(()));
        assert_eq!(one_value(&split), Err("node 0 has chosen 100, node 2 has chosen 101".to_owned()));
        assert_eq!(one_value(&both), Err("node 1 has chosen 100, node 1 has chosen 101".to_owned()));
    }

    #[test]
    fn a_node_that_promised_waits_until_it_has_learned() {
        let learns = |node: &str| judge::<PaxosSpec>("learns", &[node]).is_ok();
        assert!(learns(&shown(0, "")) && learns(&shown(1, "100")));
        assert!(!learns(&shown(1, "")));
        assert!(learns(r#"{"Uninitialised":{"acceptor":{"promised":1,"accepted":null},"attempts":0}}"#));
    }
}
