//! Budgets of local events: bounds on events that could continue for ever.

use serde::{Deserialize, Serialize};

use crate::{LocalEvent, LocalEvents, LocalKind};

/// The maximum number of kinds of local events with a budget.
const KINDS_MAX: usize = 8;

/// The number of times that each local event may happen at a node: timeouts, calls of clients, changes of the membership. Part of the
/// configuration; a [`Spent`] in the state of a node counts its events.
///
/// Without a bound on events that could continue for ever, no search ends.
///
/// A reset gives a budget back, unless the node persists its [`Spent`].
///
/// The host does not know budgets: for it, an event whose budget is spent can never happen again. So where an `eventually` property
/// needs the event, it is dead once the budget is spent, and a report can show the rest of a budget as the way to keep it. To decide
/// such a property, give the event a budget that is never spent, and bound it by `--local-events`: events beyond that bound stay
/// possible.
///
/// ```
/// # use guest_sdk::ready_made::{Budgets, Spent};
/// # use guest_sdk::{LocalEvents, ParameterError, Parameters};
/// # #[derive(Clone, PartialEq)] enum Local { Timeout, Command }
/// # struct Checked { budgets: Budgets<Local> }
/// # struct Node { leads: bool, spent: Spent, log: Vec<u32> }
/// # impl Checked {
/// fn configure(parameters: &mut Parameters) -> Result<Checked, ParameterError> {
///     let timeouts = parameters.get("timeouts", 2, "how often each node hears nothing for a while")?;
///     let commands = parameters.get("commands", 1, "how many commands each leader takes")?;
///     let budgets = Budgets::new().timer("timeout", Local::Timeout, timeouts);
///     Ok(Checked { budgets: budgets.application("command", Local::Command, commands) })
/// }
///
/// fn local_events(&self, node: &Node, events: &mut LocalEvents<Local>) {
///     self.budgets.list(&node.spent, events, |event| *event == Local::Timeout || node.leads);
/// }
///
/// fn handle_local(&self, node: &mut Node, event: Local) {
///     let number = self.budgets.spend(&mut node.spent, &event);
///     match event {
///         Local::Timeout => node.leads = true,
///         Local::Command => node.log.push(number),
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Budgets<L> {
    events: Vec<(LocalEvent<L>, u32)>,
}

/// The events of a node that are charged to its [`Budgets`]: none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Spent([u32; KINDS_MAX]);

impl<L> Default for Budgets<L> {
    fn default() -> Self {
        Self { events: Vec::new() }
    }
}

impl<L: Clone + PartialEq> Budgets<L> {
    /// A budget for no event.
    pub fn new() -> Self {
        Self::default()
    }

    /// A timer may fire this many times.
    #[must_use]
    pub fn timer(self, name: &'static str, event: L, times: u32) -> Self {
        self.with(LocalEvent { name, kind: LocalKind::Timer, event }, times)
    }

    /// The application above may make this call this many times.
    #[must_use]
    pub fn application(self, name: &'static str, event: L, times: u32) -> Self {
        self.with(LocalEvent { name, kind: LocalKind::Application, event }, times)
    }

    fn with(mut self, event: LocalEvent<L>, times: u32) -> Self {
        assert!(self.place(&event.event).is_none(), "{} has a budget already", event.name);
        assert!(self.events.len() < KINDS_MAX, "more than {KINDS_MAX} kinds of local events with a budget");
        self.events.push((event, times));
        self
    }

    /// Lists the events with a remaining budget that can happen in this state, in the order in which they were given their budgets.
    pub fn list(&self, spent: &Spent, events: &mut LocalEvents<L>, can_happen: impl Fn(&L) -> bool) {
        for ((LocalEvent { name, kind, event }, times), spent) in self.events.iter().zip(spent.0) {
            if spent < *times && can_happen(event) {
                match kind {
                    LocalKind::Timer => events.timer(name, event.clone()),
                    LocalKind::Application => events.application(name, event.clone()),
                    LocalKind::Internal => events.internal(name, event.clone()),
                }
            }
        }
    }

    /// The remaining budget of an event at a node; none for an event without a budget.
    pub fn left(&self, spent: &Spent, event: &L) -> Option<u32> {
        let place = self.place(event)?;
        Some(self.events[place].1.saturating_sub(spent.0[place]))
    }

    /// Charges an event and returns its number, from 1. An event without a budget is not counted, and has the number 0.
    pub fn spend(&self, spent: &mut Spent, event: &L) -> u32 {
        let Some(place) = self.place(event) else { return 0 };
        spent.0[place] += 1;
        spent.0[place]
    }

    fn place(&self, event: &L) -> Option<usize> {
        self.events.iter().position(|(known, _)| known.event == *event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::Cluster;
    use crate::{About, Context, Never, NodeId, ParameterError, Parameters, Properties, Protocol};

    fn listed(budgets: &Budgets<char>, spent: Spent, can_happen: impl Fn(&char) -> bool) -> String {
        let mut events = LocalEvents::new(0, 1);
        budgets.list(&spent, &mut events, can_happen);
        events.into_listed().into_iter().map(|listed| listed.event).collect()
    }

    #[test]
    fn events_are_listed_until_they_are_spent() {
        let budgets = Budgets::new().timer("timeout", 't', 2).application("command", 'c', 1).timer("never", 'n', 0);
        let mut spent = Spent::default();
        assert_eq!(listed(&budgets, spent, |_| true), "tc");
        assert_eq!(listed(&budgets, spent, |event| *event == 'c'), "c", "of those that can happen");
        assert_eq!(['t', 'c', 'n', 'x'].map(|event| budgets.left(&spent, &event)), [Some(2), Some(1), Some(0), None]);
        assert_eq!(budgets.spend(&mut spent, &'t'), 1);
        assert_eq!((budgets.left(&spent, &'t'), budgets.left(&spent, &'c')), (Some(1), Some(1)));
        assert_eq!(budgets.spend(&mut spent, &'c'), 1);
        assert_eq!(listed(&budgets, spent, |_| true), "t");
        assert_eq!(budgets.spend(&mut spent, &'t'), 2);
        assert_eq!(listed(&budgets, spent, |_| true), "");
        assert_eq!(budgets.spend(&mut spent, &'x'), 0, "without a budget");
    }

    #[test]
    fn events_keep_their_names_and_kinds() {
        let mut events = LocalEvents::new(0, 1);
        Budgets::new().timer("timeout", 't', 1).application("command", 'c', 1).list(
            &Spent::default(),
            &mut events,
            |_| true,
        );
        let listed: Vec<(&str, LocalKind)> =
            events.into_listed().into_iter().map(|listed| (listed.name, listed.kind)).collect();
        assert_eq!(listed, [("timeout", LocalKind::Timer), ("command", LocalKind::Application)]);
    }

    /// Counts how often its timer has fired, and keeps that over resets; what it has spent as well, or not.
    struct Ticker {
        budgets: Budgets<char>,
        keeps: bool,
        most: u32,
    }

    #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    struct Ticks {
        fired: u32,
        most: u32,
        spent: Spent,
    }

    impl Protocol for Ticker {
        const ABOUT: About = About::new("ticker", "0", "a toy").nodes(1);
        type State = Ticks;
        type Message = Never;
        type Local = char;
        type Durable = (u32, Option<Spent>);

        fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
            let keeps = parameters.get("keeps", false, "whether resets give nothing back")?;
            let most = parameters.get("most", 0, "how often it may fire")?;
            Ok(Self { budgets: Budgets::new().timer("tick", 't', 2), keeps, most })
        }

        fn init(&self, _: &mut Context<Never>, durable: Option<Self::Durable>) -> Ticks {
            let (fired, spent) = durable.unwrap_or_default();
            Ticks { fired, most: self.most, spent: spent.unwrap_or_default() }
        }

        fn handle_message(&self, _: &mut Context<Never>, _: &mut Ticks, _: NodeId, message: Never) {
            match message {}
        }

        fn local_events(&self, state: &Ticks, events: &mut LocalEvents<char>) {
            self.budgets.list(&state.spent, events, |_| true);
        }

        fn handle_local(&self, _: &mut Context<Never>, state: &mut Ticks, event: char) {
            state.fired += 1;
            self.budgets.spend(&mut state.spent, &event);
        }

        fn persist(&self, state: &Ticks) -> Option<Self::Durable> {
            Some((state.fired, self.keeps.then_some(state.spent)))
        }

        fn properties(claims: &mut Properties<Self>) {
            claims.always("few").node(
                |_, state| Some((state.fired, state.most)),
                |(fired, most)| if fired <= most { Ok(()) } else { Err(format!("{fired} times")) },
            );
        }
    }

    /// Two events in each life of a node, or in all of them together.
    #[test]
    fn a_reset_gives_a_budget_back_unless_what_is_spent_is_kept() {
        for (keeps, resets) in [false, true].into_iter().flat_map(|keeps| (0..3).map(move |resets| (keeps, resets))) {
            let bound = if keeps { 2 } else { 2 * (resets + 1) };
            for most in [bound - 1, bound] {
                let parameters = [("keeps", keeps.to_string()), ("most", most.to_string())];
                let parameters = parameters.each_ref().map(|(name, value)| (*name, value.as_str()));
                let cluster = Cluster::<Ticker>::new(1, &parameters).expect("they fit").with_resets(resets);
                assert_eq!(cluster.explore(1_000).broken.is_none(), most == bound, "{keeps}, {resets} resets, {most}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "timeout has a budget already")]
    fn an_event_has_one_budget() {
        let _ = Budgets::new().timer("timeout", 't', 1).timer("timeout", 't', 2);
    }
}
