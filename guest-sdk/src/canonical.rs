//! The canonical encoding of states, messages and views: postcard, or JSON, over types without hidden order.

use std::fmt::Debug;
use std::hash::Hash;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::codec::{Encoding, Format, Json, Postcard, json_string};

/// A value whose encoding is canonical: equal values have equal bytes.
///
/// Never implemented by hand. Derive `Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize`.
///
/// The bounds exclude types that would make a checker wrong. A `HashMap` or `HashSet` has no `Hash`: its order depends
/// on how it was filled, so one state would have many encodings. Floating point numbers have no `Eq`: NaN differs from
/// itself.
///
/// ```compile_fail,E0277
/// # use serde::{Deserialize, Serialize};
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
/// struct State {
///     votes: std::collections::HashMap<u32, u32>,
/// }
/// # fn state<T: guest_sdk::Canonical>() {}
/// # state::<State>();
/// ```
///
/// Leaving out `Hash` does not help, and its error says what to use instead.
///
/// ```compile_fail,E0277
/// # use serde::{Deserialize, Serialize};
/// #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
/// struct State {
///     voters: std::collections::HashSet<u32>,
/// }
/// # fn state<T: guest_sdk::Canonical>() {}
/// # state::<State>();
/// ```
///
/// ```compile_fail,E0277
/// # fn state<T: guest_sdk::Canonical>() {}
/// state::<std::collections::HashSet<u32>>();
/// ```
///
/// ```compile_fail,E0277
/// # fn state<T: guest_sdk::Canonical>() {}
/// state::<f64>();
/// ```
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
/// struct State {
///     votes: std::collections::BTreeMap<u32, u32>,
/// }
/// # fn state<T: guest_sdk::Canonical>() {}
/// # state::<State>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no canonical encoding, so it cannot be (part of) a state, message, local event or view",
    label = "needs `Clone + Debug + Eq + Hash + Serialize + Deserialize`",
    note = "derive Clone, Debug, PartialEq, Eq, Hash, serde::Serialize and serde::Deserialize",
    note = "use BTreeMap and BTreeSet: the order of a HashMap or HashSet depends on how it was filled, so equal states would differ",
    note = "use integers or fixed point: floating point numbers have no total equality"
)]
pub trait Canonical: Sized + 'static {
    // The requirements of the SDK, in place of supertraits: with supertraits the compiler would complain that `Hash` is
    // missing, and would not show the notes above, which say why.
    #[doc(hidden)]
    fn encode_as<F: Format>(&self) -> Vec<u8>;
    #[doc(hidden)]
    fn decode_as<F: Format>(bytes: &[u8]) -> Option<Self>;
    #[doc(hidden)]
    fn encode(&self, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Postcard => self.encode_as::<Postcard>(),
            Encoding::Json => self.encode_as::<Json>(),
        }
    }
    #[doc(hidden)]
    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        match encoding {
            Encoding::Postcard => Self::decode_as::<Postcard>(bytes),
            Encoding::Json => Self::decode_as::<Json>(bytes),
        }
    }
    #[doc(hidden)]
    fn duplicate(&self) -> Self;
    #[doc(hidden)]
    fn is_same(&self, other: &Self) -> bool;
    #[doc(hidden)]
    fn json(&self) -> String;
    #[doc(hidden)]
    fn debug(&self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + 'static> Canonical for T {
    fn encode_as<F: Format>(&self) -> Vec<u8> {
        F::encode(self)
    }

    fn decode_as<F: Format>(bytes: &[u8]) -> Option<Self> {
        F::decode(bytes)
    }

    fn duplicate(&self) -> Self {
        self.clone()
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }

    fn json(&self) -> String {
        json(self)
    }

    fn debug(&self) -> String {
        format!("{self:?}")
    }
}

/// No value at all: the [`Local`](crate::Protocol::Local) of a protocol without local events, the
/// [`Durable`](crate::Protocol::Durable) of one that loses everything at a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Never {}

/// The value as JSON; where JSON has no form for it (a map whose keys are tuples), its `Debug` form as a JSON string.
pub(crate) fn json<T: Serialize + Debug>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| json_string(&format!("{value:?}")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn json_is_sorted_and_tight() {
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        struct Reply {
            version: u32,
            op: Option<i64>,
            from: Vec<(u8, String)>,
        }
        let reply = Reply { version: 1, op: None, from: vec![(2, "a \"b\"".to_owned())] };
        let bytes = reply.encode(Encoding::Json);
        assert_eq!(String::from_utf8_lossy(&bytes), r#"{"from":[[2,"a \"b\""]],"op":null,"version":1}"#);
        assert_eq!(Reply::decode(&bytes, Encoding::Json), Some(reply));
        assert_eq!(Reply::decode(b"{}", Encoding::Json), None);
    }

    #[test]
    fn a_value_without_a_json_form_is_shown_all_the_same() {
        assert_eq!(json(&BTreeMap::from([(1, "a")])), r#"{"1":"a"}"#);
        assert_eq!(json(&BTreeMap::from([((1, 2), 'a')])), r#""{(1, 2): 'a'}""#);
    }
}
