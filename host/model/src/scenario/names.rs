//! The names of nodes for people.

use serde::Serialize;

use crate::contract::NodeId;

/// Letters of a name; the rest is cut off.
const LETTERS_MAX: usize = 40;

/// The names of the nodes of a cluster, as far as the protocol gives them: no two nodes share a name, and no name reads like
/// the number of a node.
///
/// A name has at most 40 letters, and at least one is no digit or sign: letters and digits of any script, spaces and
/// `-_./()+@`. It is on one line and means nothing to a terminal, a browser or a format of drawings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NodeNames(Vec<Option<String>>);

impl NodeNames {
    /// The names that the nodes gave themselves, in their order. Other letters are replaced by `_`; a text that begins with `node` or has
    /// no letter is no name; nodes of the same name get their numbers behind it.
    pub fn new(said: impl IntoIterator<Item = Option<String>>) -> Self {
        let cleaned: Vec<Option<String>> = said.into_iter().map(|name| clean(&name?)).collect();
        let is_shared = |names: &[Option<String>], name: &Option<String>| {
            name.is_some() && names.iter().filter(|other| *other == name).count() > 1
        };
        let numbered = (0u32..).zip(&cleaned).map(|(node, name)| match name {
            Some(own) if is_shared(&cleaned, name) => {
                let number = format!(" (node {node})");
                let room = LETTERS_MAX - number.len();
                let own: String = own.chars().take(room).collect();
                Some(own.trim_end().to_owned() + &number)
            }
            _ => name.clone(),
        });
        let numbered: Vec<Option<String>> = numbered.collect();
        // A node may have the name that another node gets with its number.
        let names = numbered.iter().map(|name| name.clone().filter(|_| !is_shared(&numbered, name)));
        Self(names.collect())
    }

    /// The name of a node, if it has one.
    pub fn get(&self, node: NodeId) -> Option<&str> {
        self.0.get(node as usize)?.as_deref()
    }

    /// Whether no node has a name.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// A node in a sentence: its name, or otherwise its number, such as `node 3`.
    pub fn of(&self, node: NodeId) -> String {
        self.get(node).map_or_else(|| format!("node {node}"), str::to_owned)
    }

    /// The same with the number if it has a name, such as `client 0 (node 3)`.
    pub fn with_number(&self, node: NodeId) -> String {
        match self.get(node) {
            Some(name) if !name.ends_with(&format!("(node {node})")) => format!("{name} (node {node})"),
            _ => self.of(node),
        }
    }

    /// Several nodes in a sentence, such as `node 1`, `nodes 0, 2`, or `client 0, node 4`.
    pub fn list(&self, nodes: &[NodeId]) -> String {
        if nodes.iter().any(|node| self.get(*node).is_some()) {
            return nodes.iter().map(|node| self.of(*node)).collect::<Vec<_>>().join(", ");
        }
        let numbers: Vec<String> = nodes.iter().map(NodeId::to_string).collect();
        format!("{} {}", if nodes.len() == 1 { "node" } else { "nodes" }, numbers.join(", "))
    }
}

/// The displayed form of a name; none if it is no name.
fn clean(said: &str) -> Option<String> {
    // Longer ones are cut off anyway, and the text of a plugin can have megabytes.
    let shown = said.chars().take(16 * LETTERS_MAX).map(|letter| match letter {
        letter if letter.is_whitespace() => ' ',
        letter if is_plain(letter) => letter,
        _ => '_',
    });
    let shown: String = shown.collect();
    let words: Vec<&str> = shown.split(' ').filter(|word| !word.is_empty()).collect();
    let name: String = words.join(" ").chars().take(LETTERS_MAX).collect();
    let name = name.trim_end();
    let is_number = name.get(..4).is_some_and(|begins| begins.eq_ignore_ascii_case("node"));
    (name.chars().any(char::is_alphabetic) && !is_number).then(|| name.to_owned())
}

/// Whether a letter is printable, and has no special meaning to any program.
fn is_plain(letter: char) -> bool {
    // Fillers of Hangul are invisible letters.
    let is_filler = matches!(letter, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
    letter.is_alphanumeric() && !is_filler || matches!(letter, '-' | '_' | '.' | '/' | '(' | ')' | '+' | '@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(said: [&str; N]) -> [Option<String>; N] {
        let names = NodeNames::new(said.map(|name| Some(name.to_owned())));
        std::array::from_fn(|node| names.get(node as NodeId).map(str::to_owned))
    }

    #[test]
    fn what_is_no_name_is_left_out() {
        for said in ["", "  ", "17", "-", "node 1", "Node1", "nodes", "NODE", "\u{3164}\u{3164}", "\u{200b}"] {
            assert_eq!(names([said]), [None], "{said:?}");
        }
        assert_eq!(names(["a", "17"]), [Some("a".to_owned()), None]);
    }

    #[test]
    fn names_mean_nothing_to_what_shows_them() {
        let [name] = names(["a\u{1b}[31m\n<b>\"x\";#&{}\\ \u{202e}b: 1%,\u{7f}\u{9b}'"]);
        assert_eq!(name.as_deref(), Some("a__31m _b__x_______ _b_ 1_____"));
        let [name] = names(["älteste\t Replika  2"]);
        assert_eq!(name.as_deref(), Some("älteste Replika 2"));
    }

    #[test]
    fn names_are_cut_off() {
        let [name] = names([&"ä".repeat(1_000_000)]);
        assert_eq!(name, Some("ä".repeat(LETTERS_MAX)));
    }

    #[test]
    fn no_two_nodes_share_a_name() {
        let of = |name: &str| Some(name.to_owned());
        assert_eq!(names(["a", "b", "a"]), [of("a (node 0)"), of("b"), of("a (node 2)")]);
        // After the cut, they are the same.
        let [one, other] = names([&("x".repeat(50) + "1"), &("x".repeat(50) + "2")]);
        assert_eq!((one, other), (of(&("x".repeat(31) + " (node 0)")), of(&("x".repeat(31) + " (node 1)"))));
        // Nodes 0 and 2 would share a name, so neither has it.
        assert_eq!(names(["a", "a", "a (node 0)"]), [None, of("a (node 1)"), None]);
    }

    #[test]
    fn nodes_without_a_name_have_their_number() {
        let names = NodeNames::new([Some("client 0".to_owned()), None, None]);
        assert_eq!((names.of(0), names.of(1), names.of(7)), ("client 0".into(), "node 1".into(), "node 7".into()));
        assert_eq!(names.list(&[1, 2]), "nodes 1, 2");
        assert_eq!((names.list(&[1]), names.list(&[0, 1])), ("node 1".into(), "client 0, node 1".into()));
        assert_eq!((names.with_number(0), names.with_number(1)), ("client 0 (node 0)".into(), "node 1".into()));
        let shared = NodeNames::new(vec![Some("a".to_owned()); 2]);
        assert_eq!(shared.with_number(1), "a (node 1)");
        assert!(!names.is_empty() && NodeNames::new([None]).is_empty());
    }
}
