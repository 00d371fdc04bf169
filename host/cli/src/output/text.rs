//! The result of a run for people.

use host_inspect::explain::{self, Paint};
use host_inspect::recording::Recording;
use host_inspect::words;
use host_model::contract::NodeId;
use host_model::scenario::{Network, Scenario};
use host_search::kernel::rules::Recovery;
use host_search::strategy::bdfs::FINGERPRINT_BITS;
use host_session::base::names::short_digest;
use host_session::base::text::{bytes, count, grouped, on_one_line, paragraph, shortened, table};
use host_session::cluster::placement;
use host_session::report::ScopeReport;
use host_session::report::assumed::{Prefix, ProgressRules};
use host_session::report::audit::{HiddenDifference, ReportedViolation};
use host_session::report::properties::{PromiseCounts, PromiseStates, PromiseWalks, PropertyReport};
use host_session::report::result::{RunReport, Seconds, SymmetryReport, Verdict};
use host_session::report::unreached::Unreached;
use host_session::report::violation::ViolationReport;
use host_session::search::finding::Violation;

use crate::output::bytes::bytes_there;
use crate::output::{curve, levels};

/// The name of the depth: it is not the distance of the farthest state, which can be less.
const LONGEST_PATH: &str = "longest path";

/// The result of a run for people.
pub struct Text<'r> {
    /// The result as values.
    pub report: &'r RunReport,
    /// The violations found.
    pub violations: &'r [Violation],
    /// Events of the prefix; 0 without one.
    pub prefix_steps: usize,
    /// Plain or coloured.
    pub paint: Paint,
    /// Whether all counts are shown, including those of the strategy.
    pub verbose: bool,
}

impl Text<'_> {
    /// The verdict comes first and last: the beginning of a long text has scrolled away by its end.
    pub fn text(&self) -> String {
        let verdict = format!("{}: {}\n", self.report.result.name(), self.report.because);
        let mut sections = vec![format!("{verdict}{}", self.summary())];
        sections
            .extend(self.report.violations.iter().enumerate().map(|(index, violation)| self.steps(index, violation)));
        // A trace leaves less room for counts, and less interest in them.
        if self.report.violations.is_empty() {
            sections.extend(self.verbose.then(|| table("explored", &self.explored())));
            let mut assumed = self.assumed_rows();
            assumed.push(("command".to_owned(), on_one_line(&self.report.command)));
            sections.push(table("assumed", &assumed));
            sections.push(self.properties_text());
            sections.extend(curve::section(&self.report.curve, !self.report.at_least.is_empty()));
            let open = self.report.levels.as_ref().filter(|_| self.report.result == Verdict::Incomplete);
            sections.extend(open.and_then(levels::section));
            let not_covered = self.report.not_covered.iter().map(|it| (it.what, it.advice()));
            let not_covered: Vec<_> = not_covered.collect();
            sections.extend((!not_covered.is_empty()).then(|| table("not covered", &not_covered)));
            let unreached = self.report.unreached.as_ref().map(Unreached::rows).unwrap_or_default();
            let unreached: Vec<_> = unreached.into_iter().map(|(name, value)| (name, on_one_line(&value))).collect();
            sections.extend((!unreached.is_empty()).then(|| table("never reached", &unreached)));
        } else {
            let numbers = self.explored().into_iter().map(|(name, number)| match number.trim_start() {
                number if name == LONGEST_PATH => format!("{name} {number}"),
                "1" => format!("1 {}", name.trim_end_matches('s')),
                number => format!("{number} {name}"),
            });
            let assumed = self.assumed_rows().into_iter().map(|(name, value)| format!("{name} {value}"));
            let statuses = self.report.properties.iter();
            let statuses = statuses.map(|it| format!("{} {}", on_one_line(&it.name), self.property_status(it)));
            let statuses = statuses.chain(self.report.deadlock.map(|found| format!("deadlock {}", self.status(found))));
            let explored = || paragraph("explored", &numbers.collect::<Vec<_>>().join(", "));
            sections.push(
                self.verbose.then(explored).unwrap_or_default()
                    + &paragraph("assumed", &assumed.collect::<Vec<_>>().join("; "))
                    + &paragraph("properties", &statuses.collect::<Vec<_>>().join("; ")),
            );
        }
        let scopes = ScopeReport::rows(&self.report.scopes);
        sections.extend((!scopes.is_empty()).then(|| table("scopes", &scopes)));
        sections.extend(self.report.audit.iter().flat_map(|audit| &audit.broken).map(broken));
        sections.extend(self.report.unmet.as_ref().map(|unmet| expected(unmet)));
        sections.push(self.cost());
        sections.extend(self.report.violations.iter().filter_map(replay));
        sections.push(verdict);
        sections.join("\n")
    }

    /// The explored states and the strategy, on one line.
    fn summary(&self) -> String {
        let (report, counts) = (self.report, &self.report.counts.0);
        let goes_through = [
            (counts.global_states, "global state"),
            (counts.events, "event"),
            (counts.executions, "execution"),
            (counts.walks, "walk"),
        ];
        let is_local = goes_through.iter().all(|(number, _)| number.is_none());
        let local = (counts.local_states.filter(|_| is_local), "local state");
        let all = goes_through.into_iter().chain([local, (counts.transitions, "transition")]);
        let all: Vec<String> = all.filter_map(|(number, noun)| Some(count(number?, noun))).collect();
        let decider = report.decided_by.as_ref().map(|decider| format!(", decided by {decider}")).unwrap_or_default();
        format!("explored {} in {:.3} s{decider}\n", all.join(", "), report.seconds.search)
    }

    fn cost(&self) -> String {
        let Seconds { load, search, verification } = &self.report.seconds;
        let verification = verification.map(|seconds| format!(" ({seconds:.3} s of it verification)"));
        let peak = self.report.memory_peak_bytes.map(|peak| format!(", memory at most {}", bytes(peak)));
        format!(
            "load {load:.3} s, search {search:.3} s{}{}\n",
            verification.unwrap_or_default(),
            peak.unwrap_or_default()
        )
    }

    fn explored(&self) -> Vec<(String, String)> {
        let report = self.report;
        let mut rows: Vec<(String, String)> = (report.counts.rows().iter())
            .filter_map(|(name, number)| {
                Some((name.replace('_', " "), counted((*number)?, report.at_least.contains(name))))
            })
            .collect();
        rows.push((LONGEST_PATH.to_owned(), grouped(self.report.depth.into())));
        let width = rows.iter().map(|(_, number)| number.len()).max().unwrap_or(0);
        for (_, number) in &mut rows {
            *number = format!("{number:>width$}");
        }
        rows
    }

    fn assumed_rows(&self) -> Vec<(String, String)> {
        let assumed = &self.report.assumed;
        let version = self.report.plugin.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let digest = |digest: &Option<String>| short_digest(digest.as_deref().unwrap_or_default());
        let plugin = format!("{}{version}, {}", self.report.plugin.name, digest(&self.report.plugin.digest));
        let parameters = assumed.parameters.iter().map(|(key, value)| match self.report.scenario.parameters.get(key) {
            Some(_) => format!("{key}={value}"),
            None => format!("{key}={value} (default)"),
        });
        let parameters = list(&parameters.collect::<Vec<_>>());
        let start = match &assumed.prefix {
            None => "after init".to_owned(),
            Some(Prefix { trace, steps: 0, from_states: true }) => format!("in the exported states of {trace}"),
            Some(Prefix { trace, steps, from_states }) => {
                let begins = if *from_states { ", which begins in exported states" } else { "" };
                format!("after {} of {trace}{begins}", count(*steps as u64, "step"))
            }
        };
        let algorithm = match &self.report.decided_by {
            Some(decider) => format!("{}, decided by {decider}", self.report.algo),
            None => format!("{}{}", self.report.algo, if assumed.reduced { " --reduce" } else { "" }),
        };
        let limits: Vec<String> = assumed.limits.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let row = |name: &str, value: String| (name.to_owned(), on_one_line(&value));
        let mut rows = vec![row("plugin", plugin)];
        rows.extend(assumed.specs.iter().map(|spec| row("spec", format!("{}, {}", spec.name, digest(&spec.digest)))));
        rows.extend([
            row("algorithm", format!("{algorithm}: {}", self.report.guarantees)),
            row("nodes", grouped(assumed.nodes.into()) + &words::absent(&self.report.scenario)),
        ]);
        let placed = assumed.placements.iter();
        rows.extend(placed.map(|placement| row(&format!("node {}", placement.node), placement::describe(placement))));
        rows.push(row("parameters", parameters));
        rows.push(row("network", format!("{}: {}", assumed.network, travel(assumed.network, &self.report.scenario))));
        rows.extend((!assumed.links.is_empty()).then(|| row("links", list(&words::links(&assumed.links)))));
        let arrives = assumed.progress.as_ref().is_some_and(ProgressRules::each_message_arrives);
        rows.push(row("faults", assumed.faults.text(assumed.order, arrives)));
        let loses_any = assumed.outage_writes.map(|_| "any unsynced entry can be lost, each by itself");
        rows.extend(loses_any.map(|words| row("outages", words.to_owned())));
        let can_lose = assumed.faults.can_lose(assumed.order);
        rows.extend(assumed.progress.as_ref().map(|rules| row("progress", progress(rules, can_lose))));
        rows.extend((!assumed.platform.is_empty()).then(|| row("platform", assumed.platform.join("; "))));
        rows.push(row("start", start));
        rows.push(row("bounds", self.bounds()));
        rows.extend(assumed.collision_odds.map(|odds| row("collisions", collisions(odds))));
        rows.extend(self.report.symmetry.as_ref().map(|used| row("symmetry", symmetry(used))));
        rows.extend(self.report.basis.map(|basis| row("answer", answer(basis).to_owned())));
        rows.extend((!limits.is_empty()).then(|| row("limits", list(&limits))));
        rows
    }

    fn bounds(&self) -> String {
        let bounds = &self.report.assumed.bounds;
        let parts = [
            bounds.depth.map(|depth| format!("depth {depth}")),
            bounds.local_events.map(|events| format!("{} per node", count(events.into(), "local event"))),
            bounds.states.map(|states| count(states, "state")),
            bounds.walks.map(|walks| count(walks, "walk")),
            bounds.seed.map(|seed| format!("seed {seed}")),
            bounds.weights.as_ref().map(|weights| format!("weights {weights}")),
            bounds.schedule.as_ref().map(|schedule| format!("schedule {schedule}")),
            (!bounds.goal.is_empty()).then(|| format!("goals {} in this order", bounds.goal.join(", "))),
            (!bounds.avoid.is_empty()).then(|| format!("avoids {}", bounds.avoid.join(", "))),
            bounds.time_seconds.map(|seconds| format!("{seconds} s")),
            bounds.memory_bytes.map(bytes),
        ];
        list(&parts.into_iter().flatten().collect::<Vec<_>>())
    }

    /// A violation with the steps that lead to it.
    fn steps(&self, index: usize, violation: &ViolationReport) -> String {
        let after = violation.length - violation.prefix_length;
        let assumed_prefix = self.report.assumed.prefix.as_ref();
        let mut length = count(violation.length as u64, "step");
        if violation.prefix_length > 0 {
            length = format!("{length}: {} of the prefix and {after} after it", violation.prefix_length);
        }
        let is_from_init = violation.prefix_length == 0 && !assumed_prefix.is_some_and(|prefix| prefix.from_states);
        let from = if is_from_init { "" } else { " from there" };
        // More local events might allow a shorter one.
        let within = if self.report.assumed.bounds.local_events.is_some() { " within --local-events" } else { "" };
        let shortest = match violation.shortest {
            true => format!(", no shorter way{from} exists{within}"),
            false => String::new(),
        };
        let also = if index == 0 { String::new() } else { format!("also: {}\n", violation.title) };
        let found = match violation.found_length - violation.length {
            0 => String::new(),
            _ => format!(", minimised from {}", grouped(violation.found_length as u64)),
        };
        let alike = match violation.alike {
            0 => String::new(),
            alike if violation.at_least => format!(", and at least {alike} more of this shape"),
            alike => format!(", and {alike} more of this shape"),
        };
        let recording = &self.violations[index].recording;
        let (steps, views) = (explain::steps(recording, self.prefix_steps, self.paint), explain::views(recording));
        let views = if views.is_empty() { String::new() } else { format!("\n{views}") };
        let sibling = self.violations[index].sibling.as_ref().zip(violation.critical);
        let sibling = sibling.map(|(sibling, critical)| format!("\n{}", sibling_text(sibling, critical, self.paint)));
        let way_on = self.violations[index].way_on.as_ref();
        let way_on = way_on.map(|(way, is_over)| explain::way_on(way, recording.steps.len(), *is_over, self.paint));
        let way_on = way_on.map(|way| format!("\n{way}")).unwrap_or_default();
        let views = sibling.unwrap_or_default() + &way_on + &views;
        let unfinished = violation.unfinished.as_ref().map(|what| format!(", {what}")).unwrap_or_default();
        format!("{also}after {length}{shortest}{found}{alike}{unfinished}\n{steps}{views}")
    }

    /// The status of a property, or of the search for deadlocks.
    fn status(&self, status: &str) -> String {
        match (status, self.report.undecided) {
            ("never-reached", _) => "never reached".to_owned(),
            ("unknown", Some(why)) => format!("not decided: {why}"),
            _ => status.to_owned(),
        }
    }

    fn property_status(&self, property: &PropertyReport) -> String {
        if let Some(why) = &property.not_checked {
            return format!("not checked: {why}");
        }
        if let Some(why) = &property.undecided {
            return format!("not decided: {why}{}{}", so_far(&property.so_far), walks_text(&property.sampled));
        }
        if let Some(witness) = &property.witness {
            return format!("{}, see {}", self.status(property.status.name()), on_one_line(witness));
        }
        let sum = |count: fn(&PromiseCounts) -> u64| property.promises.iter().map(count).sum::<u64>();
        let parts = [
            (sum(|it| it.dead_states), "dead state"),
            (sum(|it| it.critical_edges), "critical step"),
            (sum(|it| it.stuck_states), "stuck state"),
            (sum(|it| it.fair_components), "fair component"),
        ];
        let parts = parts.into_iter().filter(|(number, _)| *number > 0).map(|(number, what)| count(number, what));
        let parts: Vec<String> = parts.collect();
        let counts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        self.status(property.status.name()) + &counts + &walks_text(&property.sampled)
    }

    fn properties_text(&self) -> String {
        if self.report.properties.is_empty() && self.report.deadlock.is_none() {
            return "properties\n  none; only faults are looked for\n".to_owned();
        }
        let properties = (self.report.properties.iter())
            .map(|property| (on_one_line(&property.name), words::name(property.kind), self.property_status(property)));
        let deadlock = self.report.deadlock.map(|found| ("deadlock".into(), String::new(), self.status(found)));
        let properties: Vec<_> = properties.chain(deadlock).collect();
        let width = properties.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
        let rows: Vec<(String, String)> = (properties.into_iter())
            .map(|(name, kind, status)| (format!("{name:width$}  {kind:10}"), status))
            .collect();
        table("properties", &rows)
    }
}

/// The remark that a promise was kept in no state so far, at some node if it is about nodes; empty if it was kept.
fn so_far(met: &[PromiseStates]) -> String {
    let never = met.iter().find(|it| it.kept_states == 0 && it.states > 0);
    let at = |node: Option<NodeId>| node.map(|node| format!(" at node {node}")).unwrap_or_default();
    never
        .map_or_else(String::new, |it| format!("; kept in none of {} so far{}", count(it.states, "state"), at(it.node)))
}

/// The results of random walks for a promise, at the node with the worst ones; empty without walks.
fn walks_text(sampled: &[PromiseWalks]) -> String {
    let Some(worst) = sampled.iter().max_by_key(|it| (it.dead, it.open, it.owing)) else { return String::new() };
    if worst.walks == 0 {
        return "; no walk has ended".to_owned();
    }
    let walks = count(worst.walks, "walk");
    let ends = |number: u64| format!("at the end of {} of {walks}", grouped(number));
    match (worst.dead, worst.probability_max.zip(worst.confidence)) {
        (1.., _) => format!(" ({} nothing can keep it any more)", ends(worst.dead)),
        (0, Some((probability, confidence))) => {
            let (tried, likely, sure) = (count(worst.trials, "walk"), probability * 100.0, confidence * 100.0);
            format!(
                "; {} it is owed, and none of {tried} from there led to where it is kept: each does with at most {likely:.1} % (confidence {sure:.0} % for all of them together)",
                ends(worst.open)
            )
        }
        (0, None) if worst.owing == 0 => format!("; it is kept at the end of each of {walks}"),
        (0, None) => format!(
            "; {} it is owed, and from {} a way to where it is kept was found",
            ends(worst.owing),
            grouped(worst.alive)
        ),
    }
}

/// The path that keeps a promise, which leaves the trace at its critical step.
pub fn sibling_text(sibling: &Recording, critical: usize, paint: Paint) -> String {
    let steps = explain::steps_from(sibling, critical, 0, paint);
    format!("{}\n{steps}", explain::sibling_head(sibling.steps.len(), critical))
}

/// A count, which may be a lower bound.
fn counted(number: u64, is_lower_bound: bool) -> String {
    let least = if is_lower_bound { "at least " } else { "" };
    format!("{least}{}", grouped(number))
}

/// The odds of a collision.
fn collisions(odds: f64) -> String {
    let odds = match odds {
        ..1e-15 => "below 1 in 10^15".to_owned(),
        ..1.0 => format!("of about 1 in 10^{:.0}", -odds.log10()),
        _ => "of 1".to_owned(),
    };
    format!("two states were taken for one with odds {odds}, by {FINGERPRINT_BITS} bits")
}

fn answer(basis: &str) -> &'static str {
    match basis {
        "unfolding" => "from the causal unfolding, which had it before all local states were explored",
        _ => "complete under --local-events: no reachable local state needs more local events than the bound allows",
    }
}

fn symmetry(symmetry: &SymmetryReport) -> String {
    match (symmetry.renamings, &symmetry.refused) {
        (_, Some(why)) => format!("not used: the plugin declares interchangeable nodes, but {why}"),
        (renamings, _) => {
            let renamings = count(renamings.unwrap_or(1), "renaming");
            format!("states are distinguished up to {renamings} of nodes, checked step by step")
        }
    }
}

fn progress(rules: &ProgressRules, can_lose: bool) -> String {
    let fairness = match rules.fairness {
        "none" => "nothing has to happen, fairness none",
        "fair-lossy" => {
            "faults other than losses end, and what is possible infinitely often happens, fairness fair-lossy"
        }
        _ if can_lose => {
            "faults end, and what stays possible happens, so each message that is not lost finally arrives, fairness stable"
        }
        _ => "faults end, and what stays possible happens, so each message finally arrives, fairness stable",
    };
    let timers = match rules.timers {
        "late" => "timers fire only where nothing can be delivered, timers late",
        _ => "timers fire whenever they are set, timers free",
    };
    let recovery = if rules.recover_by == Recovery::Resets.name() { "; resets count as a way back" } else { "" };
    format!("{fairness}; {timers}{recovery}")
}

fn travel(network: Network, scenario: &Scenario) -> &'static str {
    match network {
        Network::UnorderedDuplicating if scenario.faults.duplicates == 0 => travel(Network::Unordered, scenario),
        Network::Unordered => "any message in flight can come next, or never",
        Network::UnorderedDuplicating => "any message in flight can come next, also again, or never",
        Network::Ordered => "messages from one node to another arrive in order",
    }
}

fn broken(ReportedViolation { violation, differ }: &ReportedViolation) -> String {
    let mut rows = vec![
        ("function", violation.function.clone()),
        ("where", violation.place.clone()),
        ("one time", violation.one.clone()),
        ("other time", violation.other.clone()),
        ("probably", violation.cause.to_owned()),
    ];
    if let Some(HiddenDifference { place, bytes }) = differ {
        rows.push(("differ at", place.to_string()));
        rows.extend(bytes_there(bytes).map(|bytes| ("bytes there", bytes)));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name, shortened(on_one_line(&value)))).collect();
    table(&format!("contract violation: {}", violation.promise), &rows)
}

fn expected(unmet: &[String]) -> String {
    if unmet.is_empty() {
        return "expected\n  all of this, as the scenario says\n".to_owned();
    }
    let lines: String = unmet.iter().map(|unmet| format!("  {}\n", on_one_line(unmet))).collect();
    format!("not as the scenario expects\n{lines}")
}

fn replay(violation: &ViolationReport) -> Option<String> {
    let (trace, replay) = (violation.trace.as_ref()?, violation.replay.as_ref()?);
    let drawing = violation.drawing.as_ref().map(|drawing| format!(", drawn in {drawing}")).unwrap_or_default();
    let (where_it_is, replay) = (on_one_line(&format!("{trace}{drawing}")), on_one_line(replay));
    let page = violation.page.as_ref().map(|page| format!("step by step, for a browser: {}\n", on_one_line(page)));
    Some(format!("{}trace in {where_it_is}; replay it with\n{replay}\n", page.unwrap_or_default()))
}

fn list(parts: &[String]) -> String {
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_is_called_so() {
        assert_eq!(counted(573_381, false), "573,381");
        assert_eq!(counted(573_381, true), "at least 573,381");
    }

    /// For all counts of walks: no report of zero walks, and no bound without the walks that it is about.
    #[test]
    fn reports_of_walks_claim_only_what_walks_have_seen() {
        let numbers = [0, 1, 2];
        for (owing, alive, dead, open) in numbers.into_iter().flat_map(|owing| {
            let alive = numbers.into_iter().filter(move |alive| *alive <= owing);
            alive.flat_map(move |alive| {
                let dead = numbers.into_iter().filter(move |dead| alive + dead <= owing);
                dead.map(move |dead| (owing, alive, dead, owing - alive - dead))
            })
        }) {
            for walks in [owing, owing + 1] {
                let probability_max = (open > 0).then_some(0.1);
                let confidence = probability_max.map(|_| 0.95);
                let (node, unexamined, trials) = (None, 0, 40);
                let seen = PromiseWalks {
                    node,
                    walks,
                    owing,
                    alive,
                    dead,
                    open,
                    unexamined,
                    trials,
                    confidence,
                    probability_max,
                };
                let text = walks_text(&[seen]);
                assert!(!text.contains(" 0 walks"), "{text}");
                assert_eq!(text.contains("no walk has"), walks == 0, "{text}");
                assert_eq!(text.contains("kept at the end of each"), walks > 0 && owing == 0, "{text}");
                assert_eq!(text.contains("for all of them together"), open > 0 && dead == 0, "{text}");
            }
        }
    }

    #[test]
    fn a_promise_that_was_never_kept_so_far_is_named() {
        let met = |kept_states, states| PromiseStates { node: Some(1), states, kept_states };
        assert_eq!(so_far(&[met(3, 9), met(0, 1_234)]), "; kept in none of 1,234 states so far at node 1");
        assert_eq!((so_far(&[met(3, 9)]), so_far(&[met(0, 0)])), (String::new(), String::new()));
    }
}
