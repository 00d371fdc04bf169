//! The findings in the current state of a replay, compared with that of a trace.

use crate::contract::hex::Hex;
use crate::contract::{Fault, Machine, MachineFactory, NodeId, PropertyScope};
use crate::lts::deadlock;
use crate::lts::handler::evaluate;
use crate::scenario::Scenario;
use crate::trace::document::{Finding, TraceStep};
use crate::trace::origin::Origin;
use crate::trace::promise::PromiseWatch;
use crate::trace::replay::{Replay, ReplayError};

impl Replay {
    /// The findings in the current state: every property that is violated, reached or cannot be evaluated; after a fault,
    /// only the fault.
    pub fn findings(&mut self) -> Result<Vec<Finding>, ReplayError> {
        Ok(self.judged()?.into_iter().map(|(_, finding)| finding).collect())
    }

    /// The same with the node that a finding is about, if it is about one.
    ///
    /// # Errors
    ///
    /// As for [`findings`](Self::findings).
    pub fn judged(&mut self) -> Result<Vec<(Option<NodeId>, Finding)>, ReplayError> {
        let fault =
            |(node, fault): &(NodeId, Fault)| (Some(*node), Finding::Fault { node: *node, fault: fault.clone() });
        let mut findings: Vec<(Option<NodeId>, Finding)> = self.faults.iter().map(fault).collect();
        if !findings.is_empty() {
            return Ok(findings);
        }
        for (index, property) in (0u32..).zip(&self.properties) {
            let views: Vec<Option<&[u8]>> = self.views.iter().map(|views| views[index as usize].as_deref()).collect();
            let tuples: Vec<&[Option<&[u8]>]> = match property.scope {
                PropertyScope::Node => views.chunks(1).collect(),
                PropertyScope::System => vec![&views],
            };
            let about = |node: NodeId| (property.scope == PropertyScope::Node).then_some(node);
            for (node, tuple) in (0..).map(about).zip(tuples).filter(|(_, tuple)| tuple.iter().any(Option::is_some)) {
                let judgement = evaluate(&mut *self.judge, index, property.kind, tuple)?.judgement;
                findings.extend(judgement.map(|it| (node, Finding::new(&self.properties, node, &it))));
            }
        }
        Ok(findings)
    }

    /// The nodes that have crashed if no event is possible in the current state; none if one is possible, or a node is stuck.
    /// The replay cannot continue if a node fails to answer.
    pub fn crashed(&mut self) -> Option<Vec<NodeId>> {
        let (machines, rules) = (&mut self.machines, &self.rules);
        let is_busy = |(node, machine): (NodeId, &mut Box<dyn Machine>)| match rules.is_absent(node) {
            true => Some(false),
            false => Some(!machine.local_events().ok()?.is_empty()),
        };
        let is_busy = (0..).zip(machines.iter_mut()).map(is_busy).collect::<Option<Vec<bool>>>()?;
        if !self.faults.is_empty() {
            return None;
        }
        let addressees = self.in_flight.iter().map(|item| item.route.to);
        deadlock::crashed(is_busy, addressees, self.rules.max.crashes)
    }

    /// The deadlock, if no event is possible and some node is not done; none otherwise.
    /// The replay cannot continue if a node fails to answer.
    pub fn deadlock(&mut self) -> Option<Finding> {
        let crashed = self.crashed()?;
        let (machines, rules) = (&mut self.machines, &self.rules);
        let is_done =
            |(node, machine): (NodeId, &mut Box<dyn Machine>)| match crashed.contains(&node) || rules.is_absent(node) {
                true => Ok(true),
                false => machine.is_done(),
            };
        let answers: Vec<Result<bool, Fault>> = (0..).zip(machines).map(is_done).collect();
        deadlock::message(&answers, &crashed).map(|message| Finding::Deadlock { message })
    }
}

/// Replays all steps and checks that the finding is there at the end. Returns the steps with the states filled in.
///
/// # Errors
///
/// As for [`Replay::new`] and [`Replay::step`]; or the finding is not there.
pub fn confirm(
    factory: &dyn MachineFactory,
    scenario: &Scenario,
    origin: &Origin,
    steps: &[TraceStep],
    finding: &Finding,
) -> Result<Vec<TraceStep>, ReplayError> {
    let (mut replay, _) = Replay::new(factory, scenario, origin)?;
    let mut confirmed = Vec::with_capacity(steps.len());
    let promise = if let Finding::Promise(promise) = finding { Some(promise) } else { None };
    let mut watch = promise.map(|promise| PromiseWatch::new(&mut replay, promise, steps)).transpose()?;
    for (number, step) in (1..).zip(steps) {
        let report = replay.step(step)?;
        confirmed.push(TraceStep { state: report.state.map(Hex), ..step.clone() });
        if let Some(watch) = &mut watch {
            watch.after(&mut replay, number)?;
        }
    }
    if let Some(watch) = watch {
        watch.end(&mut replay)?;
        return Ok(confirmed);
    }
    if matches!(finding, Finding::Deadlock { .. }) {
        return match replay.deadlock() {
            Some(found) if found == *finding => Ok(confirmed),
            Some(other) => Err(ReplayError::NoFinding { what: format!("there is {other:?}") }),
            None => Err(ReplayError::NoFinding { what: "something can happen, or every node is done".to_owned() }),
        };
    }
    let findings = replay.findings()?;
    if findings.iter().any(|found| found.is_same(finding)) {
        return Ok(confirmed);
    }
    let what = match findings.first() {
        None => "every property holds".to_owned(),
        Some(other) => format!("there is {other:?}"),
    };
    Err(ReplayError::NoFinding { what })
}

#[cfg(test)]
mod tests {
    use crate::contract::{Fault, FaultKind};
    use crate::trace::document::Finding;

    #[test]
    fn where_a_limit_ended_a_call_is_another_question() {
        let failed = |kind, message: &str| Finding::Fault { node: 1, fault: Fault::new(kind, message.to_owned()) };
        let cannot = |kind, message: &str| Finding::Broken {
            property: "agreement".to_owned(),
            fault: Fault::new(kind, message.to_owned()),
        };
        for (kind, is_same) in [
            (FaultKind::Divergence, true),
            (FaultKind::MemoryLimit, true),
            (FaultKind::Trap, false),
            (FaultKind::Choose, false),
        ] {
            assert_eq!(failed(kind, "in `one`").is_same(&failed(kind, "in `two`")), is_same, "{kind:?}");
            assert_eq!(cannot(kind, "in `one`").is_same(&cannot(kind, "in `two`")), is_same, "{kind:?}");
            assert!(!failed(kind, "in `one`").is_same(&failed(FaultKind::Platform, "in `one`")), "{kind:?}");
            assert!(!failed(kind, "in `one`").is_same(&cannot(kind, "in `one`")), "{kind:?}");
        }
        let Finding::Fault { fault, .. } = failed(FaultKind::Divergence, "") else { panic!("it is a fault") };
        assert!(!Finding::Fault { node: 2, fault }.is_same(&failed(FaultKind::Divergence, "")), "of another node");
    }
}
