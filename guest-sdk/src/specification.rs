//! Properties from outside: a specification of a component built by others.

use serde::de::DeserializeOwned;

use crate::{
    About, Canonical, Context, Encoding, Network, Never, NodeId, ParameterError, Parameters, Properties, Protocol,
};

/// Properties of a component built by others, over the states that it shows: `host run PLUGIN --spec FOLDER`.
///
/// [`export_spec!`](crate::export_spec) makes it a component. Every call begins in the same memory, so a static has the same value every
/// time. A property cannot be evaluated in a state that does not decode as [`State`](Self::State).
///
/// ```
/// use guest_sdk::{Claims, Specification};
/// use serde::{Deserialize, Serialize};
///
/// /// At most one node holds the token.
/// struct OneHolder;
///
/// /// What is read of a node; fields that it shows besides are left out.
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
/// struct Node {
///     holds: bool,
/// }
///
/// impl Specification for OneHolder {
///     type State = Node;
///
///     fn properties(claims: &mut Claims<'_, Self>) {
///         claims.always("one-holder").system(
///             |_, node| node.holds.then_some(()),
///             |views| match views.iter().flatten().count() {
///                 0 | 1 => Ok(()),
///                 holders => Err(format!("{holders} nodes hold the token")),
///             },
///         );
///     }
/// }
///
/// guest_sdk::export_spec!(OneHolder);
///
/// let shown = [r#"{"holds":true,"next":1}"#, r#"{"holds":true,"next":2}"#];
/// let verdict = guest_sdk::test::judge::<OneHolder>("one-holder", &shown);
/// assert_eq!(verdict, Err("2 nodes hold the token".to_owned()));
/// ```
pub trait Specification: Sized + 'static {
    /// The part of a node's shown state that the specification reads. `host replay` shows such states.
    type State: Canonical + DeserializeOwned;

    /// Declares the properties, in the same order every time.
    fn properties(claims: &mut Claims<'_, Self>);
}

/// The out-parameter of [`Specification::properties`]. The first argument of a view, the configuration of a protocol, has no content
/// here.
pub type Claims<'a, S> = Properties<'a, Outside<S>>;

/// The protocol, known only by the descriptions of its nodes.
#[derive(Debug)]
pub struct Outside<S>(std::marker::PhantomData<S>);

impl<S> Default for Outside<S> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<S: Specification> Protocol for Outside<S> {
    const ABOUT: About = About { name: "outside", version: "", summary: "", nodes: 1, network: Network::Unordered };
    // The host shows views that are JSON.
    const ENCODING: Encoding = Encoding::Json;
    type State = S::State;
    type Message = Never;
    type Local = Never;
    type Durable = Never;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self::default())
    }

    fn init(&self, _: &mut Context<Never>, _: Option<Never>) -> S::State {
        unreachable!("nobody runs it")
    }

    fn handle_message(&self, _: &mut Context<Never>, _: &mut S::State, _: NodeId, message: Never) {
        match message {}
    }

    fn properties(claims: &mut Properties<'_, Self>) {
        S::properties(claims);
    }
}

/// Parses the shown state of a node.
///
/// # Panics
///
/// The state does not fit the specification.
pub(crate) fn read<S: Specification>(shown: &str) -> S::State {
    serde_json::from_str(shown)
        .unwrap_or_else(|error| panic!("the state is not as this spec expects: {error} in {shown}"))
}
