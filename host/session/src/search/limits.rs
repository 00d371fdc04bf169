//! The bounds of a search, from its request.

use host_search::kernel::SearchBounds;
use host_search::kernel::goals::Goals;
use host_search::strategy::auto::Member;
use host_search::strategy::{Bound, STRATEGIES};

use crate::base::Failure;
use crate::search::promises;
use crate::spec::RunSpec;

/// The maximum number of kinds of violations that `--continue` collects, and of violations of each kind.
const KINDS_MAX: u64 = 100;
const VARIANTS_MAX: u64 = 8;

/// The bounds and other options of the search; the strategy honours all of them.
///
/// # Errors
///
/// An option that the strategy does not know: it would be wrong to ignore it.
pub fn limits(spec: &RunSpec) -> Result<SearchBounds, Failure> {
    let (search, strategy) = (&spec.search, spec.strategy());
    let keeps_checkpoints = spec.process.keep.is_some();
    if keeps_checkpoints && !strategy.keeps_checkpoints {
        let names = STRATEGIES.iter().filter(|strategy| strategy.keeps_checkpoints).map(|strategy| strategy.name);
        let failure = Failure::configuration(format_args!("the strategy {} keeps no checkpoints", strategy.name));
        return Err(failure.help(format_args!("use one that does: {}", names.collect::<Vec<_>>().join(", "))));
    }
    if keeps_checkpoints && (search.continues || search.max_violations.is_some()) {
        let why = "`--checkpoint`: a checkpoint keeps no violations, and --continue and --max-violations collect them";
        return Err(Failure::configuration(why).help("leave one of the two out").about("continue"));
    }
    // With a time, walks continue until it is up.
    let is_timed = spec.process.time.is_some() && strategy.honours.contains(&Bound::Walks);
    let limits = SearchBounds {
        depth: search.depth,
        local_events: search.local_events,
        states: search.states,
        violations: search.max_violations.or(search.continues.then_some(KINDS_MAX)),
        // A number of violations takes precedence.
        variants: (search.continues && search.max_violations.is_none()).then_some(VARIANTS_MAX),
        reduce: search.reduce,
        deadlock: search.deadlock,
        no_symmetry: search.no_symmetry,
        count_system_states: search.count_system_states,
        seed: search.seed,
        walks: search.walks.or(is_timed.then_some(u64::MAX)),
        weights: search.weights,
        schedule: search.schedule,
        // The plugin determines which properties they are.
        goals: Goals::default(),
        avoided: Goals::default(),
        // The cluster, too, determines whether they are decided.
        promises: None,
    };
    promises::check(spec)?;
    for bound in Bound::ALL {
        let is_set = match bound {
            Bound::Goal => !search.goal.is_empty(),
            Bound::Avoid => !search.avoid.is_empty(),
            bound => bound.is_set(&limits),
        };
        if !is_set || strategy.honours.contains(&bound) {
            continue;
        }
        let honour = STRATEGIES.iter().filter(|strategy| strategy.honours.contains(&bound));
        let names: Vec<&str> = honour.map(|strategy| strategy.name).collect();
        let (name, option) = (strategy.name, bound.option());
        let failure =
            Failure::configuration(format_args!("the strategy {name} has no option `--{option}`")).about(option);
        return Err(failure.help(format_args!("leave it out, or use one that has: {}", names.join(", "))));
    }
    if strategy.name == "auto" {
        check_walks(spec, &limits)?;
    }
    Ok(limits)
}

/// Refuses options of walks where `auto` makes none.
fn check_walks(spec: &RunSpec, limits: &SearchBounds) -> Result<(), Failure> {
    let of_walks = [Bound::Seed, Bound::Schedule].into_iter().find(|bound| bound.is_set(limits));
    let of_walks = of_walks.or((!spec.search.goal.is_empty()).then_some(Bound::Goal));
    let Some(option) = of_walks.map(Bound::option).filter(|_| !Member::walks(limits)) else { return Ok(()) };
    let why = match limits.states.is_some() {
        true => "--states bounds what searches keep, and walks keep no states",
        false => "a walk ends with its first violation, and --continue and --max-violations collect several",
    };
    let failure = Failure::configuration(format_args!("`--{option}`: auto makes no walks here: {why}")).about(option);
    Err(failure.help("leave one of the two out, or use --algo walk"))
}

/// The reason why deadlocks are not found where a node takes messages together.
pub fn no_ends() -> Failure {
    let why = "`--deadlock`: a message that waits for others of its quorum is in flight and may never come, so the end of a cluster \
               with quorums is not known";
    let failure = Failure::configuration(why).about("deadlock");
    failure.help("leave it out, or have the plugin take messages one by one")
}
