//! The test cluster itself, on a protocol whose executions can be counted by hand.

use guest_sdk::test::Cluster;
use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Place, Properties, Protocol, Role};
use serde::{Deserialize, Serialize};

/// Node 0 rolls two dice and tells all nodes; nodes remember the sum, and keep it over a reset.
struct Dice {
    sides: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Sum(u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Roll;

impl Protocol for Dice {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = Option<Sum>;
    type Message = Sum;
    type Local = Roll;
    type Durable = Sum;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Dice { sides: parameters.get("sides", 3, "how many sides a die has")? })
    }

    fn init(&self, _: &mut Context<Sum>, durable: Option<Sum>) -> Option<Sum> {
        durable
    }

    fn handle_message(&self, _: &mut Context<Sum>, state: &mut Option<Sum>, _: NodeId, sum: Sum) {
        *state = Some(sum);
    }

    fn local_events(&self, state: &Option<Sum>, events: &mut LocalEvents<Roll>) {
        if events.me() == 0 && state.is_none() {
            events.application("roll", Roll);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Sum>, state: &mut Option<Sum>, _: Roll) {
        let sum = ctx.choose(self.sides) + ctx.choose(self.sides);
        ctx.log(format_args!("rolled {sum}"));
        *state = Some(Sum(sum));
        ctx.send(1, Sum(sum));
    }

    fn persist(&self, state: &Option<Sum>) -> Option<Sum> {
        state.clone()
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("sums-agree").system(
            |_, state| state.clone(),
            |views| match views {
                [Some(first), Some(second)] if first != second => Err(format!("{} and {}", first.0, second.0)),
                _ => Ok(()),
            },
        );
        claims.always("below-four").node(
            |_, state| state.clone(),
            |sum| if sum.0 < 4 { Ok(()) } else { Err(format!("the sum is {}", sum.0)) },
        );
        claims.sometimes("rolled").node(|_, state| state.clone(), |_| Ok(()));
    }
}

fn dice(sides: &str) -> Cluster<Dice> {
    Cluster::new(2, &[("sides", sides)]).expect("the parameter is known")
}

#[test]
fn every_choice_is_explored() {
    let found = dice("2").explore(100);
    // Four outcomes with the sums 0, 1, 1 and 2, each then delivered: three states on the way, three at the end.
    assert_eq!((found.global_states, found.transitions, found.terminal_states), (1 + 3 + 3, 4 + 3, 3));
    assert_eq!((found.depth, found.broken), (2, None));
}

#[test]
fn a_violation_ends_the_exploration() {
    let found = dice("3").explore(100);
    assert_eq!((found.depth, found.broken.as_deref()), (1, Some("below-four: node 0: the sum is 4")));
}

#[test]
fn choices_follow_the_script() {
    let mut cluster = dice("6");
    cluster.answer(&[2, 5]);
    cluster.happen(0, "roll");
    assert_eq!((cluster.state(0), cluster.log()), (&Some(Sum(7)), &["rolled 7".to_owned()][..]));
    assert_eq!(cluster.in_flight()[0].message, Sum(7));
}

#[test]
#[should_panic(expected = "the script answers 6 where there are 6 alternatives")]
fn a_script_keeps_to_the_alternatives() {
    let mut cluster = dice("6");
    cluster.answer(&[6]);
    cluster.happen(0, "roll");
}

#[test]
#[should_panic(expected = "roll cannot happen to node 1 now; there are []")]
fn only_what_is_listed_happens() {
    dice("6").happen(1, "roll");
}

#[test]
fn without_a_view_only_always_holds() {
    let mut cluster = dice("6");
    assert_eq!(cluster.holds("below-four"), Ok(()));
    assert_eq!(cluster.holds("rolled"), Err("of no node".to_owned()));
    cluster.happen(0, "roll");
    assert_eq!(cluster.holds("rolled"), Ok(()));
}

#[test]
fn a_reset_keeps_what_is_durable_and_the_network() {
    let mut cluster = dice("6");
    cluster.happen(0, "roll");
    cluster.reset(0);
    assert_eq!((cluster.state(0), cluster.in_flight().len()), (&Some(Sum(0)), 1));
    cluster.duplicate(0);
    cluster.lose(0);
    assert_eq!(cluster.settle(), 1);
}

#[test]
fn parameters_are_listed_without_a_configuration() {
    let listed = Parameters::of::<Dice>();
    assert_eq!((&*listed[0].name, listed[0].default_value.as_str()), ("sides", "3"));
}

/// A state that forgets a field on the way through its encoding.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Leaky {
    #[serde(skip)]
    forgotten: u32,
}

struct Forgetful;

impl Protocol for Forgetful {
    const ABOUT: About = guest_sdk::about!().nodes(1);
    type State = Leaky;
    type Message = Roll;
    type Local = Roll;
    type Durable = Roll;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Forgetful)
    }

    fn init(&self, _: &mut Context<Roll>, _: Option<Roll>) -> Leaky {
        Leaky { forgotten: 1 }
    }

    fn handle_message(&self, _: &mut Context<Roll>, _: &mut Leaky, _: NodeId, _: Roll) {}

    fn properties(_: &mut Properties<Self>) {}
}

#[test]
#[should_panic(expected = "an encoding that loses something")]
fn a_state_that_serialize_leaves_out_is_noticed() {
    let _ = Cluster::<Forgetful>::new(1, &[]);
}

/// Every node votes for its number modulo 2; node 0 takes two votes that agree.
struct Ballot;

impl Protocol for Ballot {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = Option<u32>;
    type Message = u32;
    type Local = Roll;
    type Durable = Roll;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Ballot)
    }

    fn init(&self, ctx: &mut Context<u32>, _: Option<Roll>) -> Option<u32> {
        ctx.send(0, ctx.me() % 2);
        None
    }

    fn handle_message(&self, _: &mut Context<u32>, _: &mut Option<u32>, from: NodeId, _: u32) {
        panic!("the vote of node {from} is taken alone");
    }

    fn takes_quorums(&self) -> bool {
        true
    }

    fn role(&self, place: Place, state: &Option<u32>, _: NodeId, _: &u32) -> Role {
        if state.is_none() { Role::Member { name: "votes", size: place.majority() } } else { Role::Held }
    }

    fn handle_quorum(
        &self,
        ctx: &mut Context<u32>,
        state: &mut Option<u32>,
        _: &str,
        messages: Vec<(NodeId, u32)>,
    ) -> bool {
        ctx.send(1, 9);
        *state = Some(messages[0].1);
        messages[0].1 == messages[1].1
    }

    fn properties(_: &mut Properties<Self>) {}
}

/// Of three votes, 0, 1 and 0, there are three sets of two. Two of them are declined and change nothing.
#[test]
fn a_quorum_is_taken_or_declined_as_a_whole() {
    let mut cluster = Cluster::<Ballot>::new(3, &[]).expect("there are no parameters");
    assert_eq!(cluster.quorums(), [vec![0, 1], vec![0, 2], vec![1, 2]]);
    let found = cluster.explore(100);
    // The message to node 1 is a vote for it, and one vote is no quorum.
    assert_eq!((found.global_states, found.transitions, found.terminal_states), (2, 1, 1));
    assert!(!cluster.deliver_quorum(&[0, 1]));
    assert_eq!((cluster.state(0), cluster.in_flight().len()), (&None, 3));
    assert_eq!(cluster.settle(), 1);
    assert_eq!((cluster.state(0), cluster.in_flight().len()), (&Some(0), 2));
    assert_eq!(cluster.role(0), Role::Held);
}

#[test]
#[should_panic(expected = "are no quorum")]
fn two_messages_of_one_node_are_no_quorum() {
    let mut cluster = Cluster::<Ballot>::new(3, &[]).expect("there are no parameters");
    cluster.duplicate(0);
    cluster.deliver_quorum(&[0, 3]);
}
