//! Properties over typed views of the nodes' states.

use crate::{Canonical, Protocol, format};

/// The claim of a property about the reachable states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// Holds in every reachable state.
    Always,
    /// Holds in at least one reachable state.
    Sometimes,
    /// Holds again and again in every fair execution.
    Eventually,
}

/// The part of a global state that a property reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyScope {
    /// One node by itself: `always` and `eventually` claim something of every node, `sometimes` of at least
    /// one.
    Node,
    /// All nodes together.
    System,
}

/// A property that a protocol declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name, for people.
    pub name: &'static str,
    /// Its claim.
    pub kind: PropertyKind,
    /// The part of a global state that it reads.
    pub scope: PropertyScope,
}

/// The out-parameter of [`Protocol::properties`].
///
/// One declaration defines a property: name, kind, scope, view and check. A view is the part of a node's state that the property reads:
/// `None` says that the node, in its present state, is irrelevant. Where no node has a view nothing is checked: an `always` property
/// holds there, a `sometimes` property does not, and a node owes no promise. Only an `eventually` property of all nodes is checked there
/// as well: it decides itself whether something is owed without a leader, say. The fewer distinct views there are, the faster the
/// search; a property that needs everything returns the state.
///
/// ```
/// # use guest_sdk::{Properties, Protocol};
/// # fn properties<P: Protocol<State = Option<u64>>>(claims: &mut Properties<P>) {
/// claims.always("agreement").system(
///     |_, state| *state,
///     |views| {
///         let mut decided = views.iter().flatten();
///         match decided.next() {
///             Some(first) if decided.any(|other| other != first) => Err(format!("decisions differ: {views:?}")),
///             _ => Ok(()),
///         }
///     },
/// );
/// # }
/// ```
pub struct Properties<'a, P: Protocol> {
    /// Index of the property that is declared next.
    next: u32,
    question: Question<'a, P>,
}

/// A declaration answers one question about a property, if that property is the one in question.
enum Question<'a, P: Protocol> {
    List(Vec<Property>),
    View { property: u32, protocol: &'a P, state: &'a P::State, view: Option<Vec<u8>> },
    Describe { property: u32, view: &'a [u8], json: Option<String> },
    Check { property: u32, views: &'a [Option<Vec<u8>>], outcome: Result<(), String> },
}

impl<'a, P: Protocol> Properties<'a, P> {
    /// A property that holds in every reachable state.
    pub fn always(&mut self, name: &'static str) -> Claim<'_, 'a, P> {
        self.claim(name, PropertyKind::Always)
    }

    /// A property that holds in at least one reachable state: a possibility.
    pub fn sometimes(&mut self, name: &'static str) -> Claim<'_, 'a, P> {
        self.claim(name, PropertyKind::Sometimes)
    }

    /// A property that holds again and again in every fair execution: nothing is owed for ever. Its error should say what is
    /// owed.
    pub fn eventually(&mut self, name: &'static str) -> Claim<'_, 'a, P> {
        self.claim(name, PropertyKind::Eventually)
    }

    /// Declares the properties of a protocol that is a part of this one.
    #[doc(hidden)]
    pub fn of_part<Q: Protocol>(
        &mut self,
        protocol_of: impl Fn(&'a P) -> &'a Q,
        state_of: impl Fn(&'a P::State) -> &'a Q::State,
    ) {
        let question = match &mut self.question {
            Question::List(list) => Question::List(std::mem::take(list)),
            Question::View { property, protocol, state, .. } => Question::View {
                property: *property,
                protocol: protocol_of(protocol),
                state: state_of(state),
                view: None,
            },
            Question::Describe { property, view, .. } => Question::Describe { property: *property, view, json: None },
            Question::Check { property, views, .. } => Question::Check { property: *property, views, outcome: Ok(()) },
        };
        let mut claims = Properties::<Q> { next: self.next, question };
        Q::properties(&mut claims);
        let asked = self.next..claims.next;
        self.next = claims.next;
        match (&mut self.question, claims.question) {
            (Question::List(list), Question::List(all)) => *list = all,
            (Question::View { property, view, .. }, Question::View { view: of_part, .. })
                if asked.contains(property) =>
            {
                *view = of_part;
            }
            (Question::Describe { property, json, .. }, Question::Describe { json: of_part, .. })
                if asked.contains(property) =>
            {
                *json = of_part;
            }
            (Question::Check { property, outcome, .. }, Question::Check { outcome: of_part, .. })
                if asked.contains(property) =>
            {
                *outcome = of_part;
            }
            _ => {}
        }
    }

    fn claim(&mut self, name: &'static str, kind: PropertyKind) -> Claim<'_, 'a, P> {
        let index = self.next;
        self.next += 1;
        Claim { name, kind, index, question: &mut self.question }
    }
}

/// A property whose scope is still open; ends in [`system`](Claim::system) or [`node`](Claim::node).
#[must_use = "a property needs a scope: end with `.system(..)` or `.node(..)`"]
pub struct Claim<'c, 'a, P: Protocol> {
    name: &'static str,
    kind: PropertyKind,
    index: u32,
    question: &'c mut Question<'a, P>,
}

impl<P: Protocol> Claim<'_, '_, P> {
    /// About all nodes together: `check` gets one view per node, in the order of the nodes. Its error says in words why
    /// the property does not hold.
    pub fn system<V: Canonical>(
        self,
        view: impl FnOnce(&P, &P::State) -> Option<V>,
        check: impl FnOnce(&[Option<V>]) -> Result<(), String>,
    ) {
        self.answer(PropertyScope::System, view, check);
    }

    /// About each node by itself: `check` gets its view.
    pub fn node<V: Canonical>(
        self,
        view: impl FnOnce(&P, &P::State) -> Option<V>,
        check: impl FnOnce(&V) -> Result<(), String>,
    ) {
        self.answer(PropertyScope::Node, view, |views: &[Option<V>]| match views {
            [Some(view)] => check(view),
            _ => panic!("a property of one node is asked about {}", views.len()),
        });
    }

    fn answer<V: Canonical>(
        self,
        scope: PropertyScope,
        view: impl FnOnce(&P, &P::State) -> Option<V>,
        check: impl FnOnce(&[Option<V>]) -> Result<(), String>,
    ) {
        match self.question {
            Question::List(list) => list.push(Property { name: self.name, kind: self.kind, scope }),
            Question::View { property, protocol, state, view: answer } if *property == self.index => {
                *answer = view(protocol, state).map(|view| format::to_bytes::<P, _>(&view));
            }
            Question::Describe { property, view, json } if *property == self.index => {
                *json = format::from_bytes::<P, V>(view).map(|view| view.json());
            }
            Question::Check { property, views, outcome }
                if *property == self.index
                    && views.iter().all(Option::is_none)
                    && (self.kind, scope) != (PropertyKind::Eventually, PropertyScope::System) =>
            {
                *outcome = match self.kind {
                    PropertyKind::Always | PropertyKind::Eventually => Ok(()),
                    PropertyKind::Sometimes => Err("no node has a view of it".to_owned()),
                };
            }
            Question::Check { property, views, outcome } if *property == self.index => {
                let read = |bytes: &Vec<u8>| {
                    format::from_bytes::<P, V>(bytes)
                        .unwrap_or_else(|| panic!("{:?} is no view of {}", bytes, self.name))
                };
                let views: Vec<Option<V>> = views.iter().map(|view| view.as_ref().map(read)).collect();
                *outcome = check(&views);
            }
            Question::View { .. } | Question::Describe { .. } | Question::Check { .. } => {}
        }
    }
}

/// The properties of a protocol.
pub(crate) fn list<P: Protocol>() -> Vec<Property> {
    match ask::<P>(Question::List(Vec::new())).0 {
        Question::List(list) => list,
        _ => unreachable!("the question stays the same"),
    }
}

/// The view of a state for a property.
pub(crate) fn view<P: Protocol>(protocol: &P, state: &P::State, property: u32) -> Option<Vec<u8>> {
    match ask(Question::View { property, protocol, state, view: None }) {
        (Question::View { view, .. }, declared) if property < declared => view,
        (_, declared) => panic!("there is no property {property}, only {declared}"),
    }
}

/// A view of a property as JSON; none for bytes that are no view of the property.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "tests look at the views themselves"))]
pub(crate) fn describe<P: Protocol>(property: u32, view: &[u8]) -> Option<String> {
    match ask::<P>(Question::Describe { property, view, json: None }) {
        (Question::Describe { json, .. }, declared) if property < declared => json,
        (_, declared) => panic!("there is no property {property}, only {declared}"),
    }
}

/// Whether a property holds on views.
pub(crate) fn check<P: Protocol>(property: u32, views: &[Option<Vec<u8>>]) -> Result<(), String> {
    match ask::<P>(Question::Check { property, views, outcome: Ok(()) }) {
        (Question::Check { outcome, .. }, declared) if property < declared => outcome,
        (_, declared) => panic!("there is no property {property}, only {declared}"),
    }
}

/// The question with its answer, and the number of declared properties.
fn ask<P: Protocol>(question: Question<'_, P>) -> (Question<'_, P>, u32) {
    let mut claims = Properties { next: 0, question };
    P::properties(&mut claims);
    (claims.question, claims.next)
}
