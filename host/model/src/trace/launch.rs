//! The beginning of a replay: with `init` on every node, or in states from elsewhere.

use crate::contract::{Envelope, Input, MachineError, MachineFactory, NodeId, StateOwner, TransferError};
use crate::scenario::fault_state::Rules;
use crate::scenario::{InFlight, Scenario};
use crate::trace::origin::{Beginning, Origin};
use crate::trace::replay::{Replay, ReplayError, StepReport};

impl Replay {
    /// Starts the cluster. Returns the reports of the nodes, in their order; that of an absent node is empty.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, the calls of `choose` in `init` differ from the recorded ones, or the states from
    /// elsewhere are not of this cluster.
    pub fn new(
        factory: &dyn MachineFactory,
        scenario: &Scenario,
        origin: &Origin,
    ) -> Result<(Self, Vec<StepReport>), ReplayError> {
        let mut replay = Self::idle(factory, scenario)?;
        let reports = match origin {
            Origin::Init(_) => (0..scenario.nodes).map(|node| replay.init(node, origin)).collect(),
            Origin::States(beginning) => replay.adopt(scenario, beginning),
        };
        Ok((replay, reports?))
    }

    /// A cluster before any node has begun.
    fn idle(factory: &dyn MachineFactory, scenario: &Scenario) -> Result<Self, ReplayError> {
        let rules = Rules::new(scenario, factory.hears_errors());
        let mut judge = factory.machine()?;
        let properties =
            judge.properties().map_err(|fault| MachineError::Host(format!("cannot list the properties: {fault}")))?;
        let mut machines = Vec::new();
        for _ in 0..scenario.nodes {
            let mut machine = factory.machine()?;
            machine.keep_log(true);
            machines.push(machine);
        }
        let nodes = scenario.nodes as usize;
        Ok(Self {
            machines,
            judge,
            views: vec![vec![None; properties.len()]; nodes],
            properties,
            in_flight: InFlight::default(),
            contents: Vec::new(),
            steps: 0,
            nodes: scenario.nodes,
            config: scenario.config(),
            fault_states: vec![rules.fresh(); nodes],
            rules,
            takes_quorums: vec![false; nodes],
            faults: Vec::new(),
            lost: Vec::new(),
        })
    }

    fn init(&mut self, node: NodeId, origin: &Origin) -> Result<StepReport, ReplayError> {
        if self.rules.is_absent(node) {
            return Ok(StepReport::default());
        }
        let config = self.config.clone();
        let input = Input::Init { node, nodes: self.nodes, config: &config, durable: None };
        let mut report = self.run(node, input, origin.choices(node))?;
        self.ask_for_quorums(node, &mut report)?;
        Ok(report)
    }

    fn adopt(&mut self, scenario: &Scenario, beginning: &Beginning) -> Result<Vec<StepReport>, ReplayError> {
        let refuse = |why: String| ReplayError::NotEnabled { step: 0, why };
        let settled = beginning.settle(scenario, &self.rules).map_err(refuse)?;
        self.fault_states = settled.fault_states;
        let mut reports = vec![StepReport::default(); self.machines.len()];
        for state in &beginning.states {
            let node = state.node;
            let machine = &mut self.machines[node as usize];
            let owner = StateOwner { node, nodes: self.nodes, config: &self.config };
            let snapshot = machine.import(&state.exported.0, owner).map_err(|error| match error {
                TransferError::Refused(why) => refuse(format!("the state of node {node}: {why}")),
                TransferError::Machine(error) => error.into(),
            })?;
            machine.restore(Some(&snapshot))?;
            let mut report = StepReport::default();
            self.look(node, &mut report)?;
            self.ask_for_quorums(node, &mut report)?;
            reports[node as usize] = report;
        }
        for (route, payload) in settled.in_flight {
            if !route.is_notice {
                // The step that sent it is unknown, so the beginning counts as its sender.
                let sent = Envelope { to: route.to, payload: payload.to_vec() };
                reports[route.from as usize].effects.sent.push(sent);
            }
            self.send(route, payload);
        }
        Ok(reports)
    }

    fn ask_for_quorums(&mut self, node: NodeId, report: &mut StepReport) -> Result<(), ReplayError> {
        if report.fault.is_some() {
            return Ok(());
        }
        match self.machines[node as usize].takes_quorums() {
            Ok(takes) => self.takes_quorums[node as usize] = takes,
            Err(fault) => {
                self.stick(node, &fault)?;
                (report.fault, report.state) = (Some(fault), None);
            }
        }
        Ok(())
    }
}
