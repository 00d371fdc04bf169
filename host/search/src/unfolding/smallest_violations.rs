//! The smallest violations of an unfolding, over all start states.

use std::collections::BTreeMap;

use host_model::contract::{Judgement, NodeId, Severity};
use host_model::lts::Step;
use host_model::trace::start::Start;

use crate::kernel::{EndCondition, FoundViolation, Report, ViolationKind};
use crate::unfolding::EventId;
use crate::unfolding::reachable_tuples::JudgedConfig;

/// The smallest violations so far, in the order of their sizes, no two with the same words.
pub(crate) struct Best {
    violations: Vec<Smallest>,
    /// The number of violations wanted, or of kinds of them that the report does not have; at least one.
    wanted: usize,
    /// The number of violations to keep of each kind, including those of the report; none if all are.
    variants_max: Option<u64>,
    /// The bound on depth, and the judgements of configurations that are larger.
    depth_max: u32,
    beyond: Vec<(Option<NodeId>, Judgement)>,
    /// No start state has a smaller violation than the ones here up to this size.
    sure_up_to: u32,
}

struct Smallest {
    judgement: Judgement,
    kind: ViolationKind,
    node: Option<NodeId>,
    size: u32,
    way: Way,
    /// Whether it was announced while the search continued.
    is_announced: bool,
}

/// The path to a violation.
enum Way {
    /// In the current unfolding: the last event of each node.
    Config(Box<[EventId]>),
    /// In an earlier unfolding.
    Path(Box<FoundViolation>),
}

impl Best {
    /// An empty collection, for a report with room for more violations.
    pub(crate) fn new(report: &Report, depth: Option<u32>) -> Self {
        let wanted = report.violations_max.saturating_sub(report.collected()) as usize;
        let variants_max = report.variants_max;
        let depth_max = depth.unwrap_or(u32::MAX);
        Self { violations: Vec::new(), wanted, variants_max, depth_max, beyond: Vec::new(), sure_up_to: u32::MAX }
    }

    /// Whether only one is wanted.
    pub(crate) fn is_one(&self) -> bool {
        self.wanted == 1 && self.variants_max.is_none()
    }

    /// An upper bound of the size of violations that are still of use; none if all are.
    pub(crate) fn size_max(&self) -> Option<u32> {
        // A smaller variant of any kind takes the place of a larger one.
        let is_full = self.variants_max.is_none() && self.violations.len() >= self.wanted;
        self.violations.last().filter(|_| is_full).map(|last| last.size)
    }

    /// Drops the largest violations in excess of those wanted.
    fn trim(&mut self, report: &Report) {
        let Some(variants_max) = self.variants_max else {
            self.violations.truncate(self.wanted);
            return;
        };
        let mut kept: BTreeMap<ViolationKind, u64> = BTreeMap::new();
        let mut kinds = 0;
        self.violations.retain(|found| {
            let known = report.variants(&found.kind);
            let is_new = known == 0 && !kept.contains_key(&found.kind);
            if is_new && kinds == self.wanted {
                return false;
            }
            kinds += usize::from(is_new);
            let count = kept.entry(found.kind.clone()).or_insert(known);
            *count += 1;
            *count <= variants_max
        });
    }

    /// Notes witnesses, and keeps the small violations.
    pub(crate) fn take(&mut self, report: &mut Report, hits: Vec<JudgedConfig>) {
        for JudgedConfig { judgement, node, config, size } in hits {
            if size > self.depth_max {
                if !self.beyond.contains(&(node, judgement.clone())) {
                    self.beyond.push((node, judgement));
                }
                continue;
            }
            if let Severity::Witness(property) = judgement.severity() {
                report.witness(property);
                continue;
            }
            match self.position(node, &judgement) {
                Some(known) if self.violations[known].size <= size => continue,
                Some(known) => {
                    self.violations.remove(known);
                }
                None if !report.is_news(node, &judgement) => continue,
                None => {}
            }
            // Among violations of the same size, the first one comes first.
            let place = self.violations.partition_point(|other| other.size <= size);
            let kind = ViolationKind::of(&judgement);
            self.violations
                .insert(place, Smallest { judgement, kind, node, size, way: Way::Config(config), is_announced: false });
            self.trim(report);
        }
    }

    fn position(&self, node: Option<NodeId>, judgement: &Judgement) -> Option<usize> {
        self.violations.iter().position(|other| other.node == node && other.judgement == *judgement)
    }

    /// Whether there is a judgement beyond the bound on depth that does not occur within it.
    pub(crate) fn is_beyond(&self, report: &Report) -> bool {
        let is_new = |(node, judgement): &(Option<NodeId>, Judgement)| match judgement.severity() {
            Severity::Witness(property) => report.wants_witness(property),
            Severity::Violation => self.position(*node, judgement).is_none() && report.is_news(*node, judgement),
        };
        self.beyond.iter().any(is_new)
    }

    /// Notes that no smaller violation from a start state was missed, up to this size.
    pub(crate) fn is_sure_up_to(&mut self, size: u32) {
        self.sure_up_to = self.sure_up_to.min(size);
    }

    /// Notes that the smallest violation is not sure if a search for it was given up.
    pub(crate) fn is_sure_unless(&mut self, is_given_up: bool) {
        if is_given_up {
            self.is_sure_up_to(0);
        }
    }

    /// Passes the violations of the current unfolding that are new since the last call to `finds`. None of them is known to be the
    /// smallest one yet.
    pub(crate) fn announce(
        &mut self,
        start: &Start,
        linearise: impl Fn(&[EventId]) -> Vec<Step>,
        finds: impl Fn(&FoundViolation),
    ) {
        for Smallest { judgement, node, way, is_announced, .. } in &mut self.violations {
            if let Way::Config(config) = way
                && !std::mem::replace(is_announced, true)
            {
                finds(&FoundViolation::new(start, &linearise(config), *node, judgement.clone()));
            }
        }
    }

    /// Computes the paths to the violations of the current unfolding, which is from this start state.
    pub(crate) fn settle(&mut self, start: &Start, linearise: impl Fn(&[EventId]) -> Vec<Step>) {
        for Smallest { judgement, node, way, .. } in &mut self.violations {
            if let Way::Config(config) = way {
                *way = Way::Path(Box::new(FoundViolation::new(start, &linearise(config), *node, judgement.clone())));
            }
        }
    }

    /// Reports the violations.
    pub(crate) fn finish(self, report: &mut Report) {
        for Smallest { size, way, .. } in self.violations {
            let Way::Path(mut found) = way else { unreachable!("the paths were taken") };
            found.shortest = size <= self.sure_up_to;
            report.violations.push(*found);
        }
        if report.is_full() {
            report.end = EndCondition::Violation;
        }
    }
}
