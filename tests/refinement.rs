//! Reductions gain from quorum transitions that are split by senders, on the protocols of the paper; see
//! [`host_agreement::refinement`].

use host_agreement::refinement::{self, Compared};

use crate::plugins;

/// A plugin, how many nodes, and parameters.
type Case = (&'static str, u32, &'static [(&'static str, &'static str)]);

const SEPARATE: &[(&str, &str)] = &[("model", "mp-basset")];
const BARE: &[(&str, &str)] = &[("notices", "off")];

/// On the protocols of the paper, with the states of each form; `--nocapture` shows the table. A greedy choice among sets can cost
/// states where a split makes the sets smaller, so what is asked is that each split spares some on the whole. Two readers without quorums
/// would take as long as all others together.
#[test]
#[expect(clippy::print_stdout, reason = "the table is a result")]
fn a_reduction_gains_from_splits() {
    const BOTH: &[&str] = &["off", "on"];
    let cases: [(Case, &[&str]); 8] = [
        (("paxos", 5, SEPARATE), BOTH),
        (("paxos", 7, SEPARATE), BOTH),
        (("paxos", 6, &[("model", "mp-basset"), ("proposers", "2")]), BOTH),
        (("regular-storage", 5, BARE), BOTH),
        (("regular-storage", 6, BARE), BOTH),
        (("regular-storage", 6, &[("notices", "off"), ("readers", "2")]), &["on"]),
        (("echo-multicast", 4, &[]), BOTH),
        (("echo-multicast", 5, &[]), BOTH),
    ];
    println!("| protocol | nodes | all | by outlook: whole, split | by type: none, quorum-split, reply-split, both |");
    let mut totals = ([0; 2], [0; 4]);
    for ((name, nodes, parameters), quorums) in cases {
        for quorum in quorums {
            let parameters: Vec<_> = parameters.iter().chain([&("quorum", *quorum)]).copied().collect();
            let scenario = plugins::scenario(nodes, &parameters);
            let found = refinement::compare(plugins::plugin(name), scenario, 200_000).expect("it is small enough");
            let Compared { all, by_outlook, by_type, .. } = found;
            println!("| {name} {parameters:?} | {nodes} | {all} | {by_outlook:?} | {by_type:?} |");
            totals.0 = std::array::from_fn(|form| totals.0[form] + by_outlook[form]);
            totals.1 = std::array::from_fn(|split| totals.1[split] + by_type[split]);
        }
    }
    let ([whole, split], [none, quorums, replies, both]) = totals;
    assert!(split < whole, "by outlook {split} of {whole}");
    assert!(
        both < quorums.min(replies) && quorums.max(replies) < none,
        "by type {quorums}, {replies}, {both} of {none}"
    );
}
