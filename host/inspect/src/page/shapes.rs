//! The answers of the API, which `host/explore/web/src/api.ts` describes to the page: a test compares the fields of both.
//!
//! Every text is one that can be shown as it is: letters that act on others are escaped.

use serde::Serialize;

/// The session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session {
    /// The version of the API.
    pub version: u32,
    /// The plugin, the cluster and the finding on one line.
    pub title: String,
    /// The plugin.
    pub plugin: Plugin,
    /// Where the page begins.
    pub place: usize,
    /// The branch that it shows: the places from the beginning to its end.
    pub line: Vec<usize>,
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The properties that are judged.
    pub properties: Vec<Property>,
    /// The strategies that a search can have.
    pub strategies: Vec<String>,
}

/// The plugin of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plugin {
    /// Its name and version.
    pub reference: String,
    /// The digest of its component.
    pub digest: String,
}

/// A property.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// `always`, `sometimes` or `eventually`.
    pub kind: String,
    /// `node` or `cluster`.
    pub scope: &'static str,
}

/// A place, and the event that led there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The place.
    pub place: usize,
    /// The place before.
    pub parent: Option<usize>,
    /// The number of steps before it.
    pub depth: usize,
    /// None at the beginning.
    pub event: Option<Event>,
    /// The name that it was given.
    pub name: Option<String>,
}

/// An event that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Where.
    pub node: u32,
    /// What kind of event it is.
    pub kind: EventKind,
    /// As in the list of steps of `host replay`.
    pub text: String,
    /// The messages that it takes out of flight.
    pub received: Vec<Received>,
    /// The messages that it sends.
    pub sent: Vec<Sent>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// A message is delivered.
    Deliver,
    /// Several messages are delivered at once.
    Quorum,
    /// A call of the application or an internal event.
    Local,
    /// A timer fires.
    Timer,
    /// A node crashes or is reset, a connection breaks.
    Fault,
    /// A message is lost.
    Lose,
}

/// A message that an event takes out of flight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Received {
    /// The sender.
    pub from: u32,
    /// The destination.
    pub to: u32,
    /// The place after the step that has sent it; 0 for what was in flight at the beginning.
    pub sent: usize,
    /// What it says.
    pub text: String,
    /// Whether it is lost.
    pub lost: bool,
}

/// A message that is sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sent {
    /// The sender.
    pub from: u32,
    /// The destination.
    pub to: u32,
    /// What it says.
    pub text: String,
}

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flying {
    /// The sender.
    pub from: u32,
    /// The destination.
    pub to: u32,
    /// What it says.
    pub text: String,
    /// The place after the step that has sent it; 0 for what was in flight at the beginning.
    pub sent: usize,
}

/// The state of the cluster at a place, and what can happen there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// The step that led there.
    pub step: Step,
    /// The steps that were taken from there.
    pub children: Vec<Step>,
    /// The nodes.
    pub nodes: Vec<NodeState>,
    /// The messages in flight.
    pub flight: Vec<Flying>,
    /// The properties.
    pub standings: Vec<Standing>,
    /// What can happen.
    pub enabled: Vec<Enabled>,
}

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeState {
    /// The state, row by row, against that at the place before.
    pub rows: Vec<Row>,
    /// The fault that it is stuck in.
    pub stuck: Option<String>,
}

/// A row of a state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// How far inside it is.
    pub depth: usize,
    /// What became of it.
    pub mark: &'static str,
    /// The name of the field; empty for an element of a list.
    pub name: String,
    /// The value; empty where it follows in rows below.
    pub value: String,
    /// The value before, of one that has changed.
    pub old: Option<String>,
}

/// How a property stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Its place among the properties.
    pub property: usize,
    /// The node, of a property of one node.
    pub node: Option<u32>,
    /// The standing in a word or two.
    pub standing: &'static str,
    /// Why.
    pub why: Option<String>,
}

/// Something that can happen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Enabled {
    /// Its number, which stays the same for a place.
    pub action: usize,
    /// Where.
    pub node: u32,
    /// What kind of event it is.
    pub kind: EventKind,
    /// The event in words.
    pub text: String,
    /// One for each combination of choices.
    pub outcomes: Vec<Outcome>,
}

/// One way in which an event can go.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Its number.
    pub outcome: usize,
    /// The choices, if there are any.
    pub text: Option<String>,
    /// The place that it leads to, if it was taken before.
    pub child: Option<usize>,
}

/// What a step would change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preview {
    /// Where.
    pub node: u32,
    /// The state of that node afterwards, row by row, against that before.
    pub rows: Vec<Row>,
    /// The messages that it would send.
    pub sent: Vec<Sent>,
    /// How the properties would stand.
    pub standings: Vec<Standing>,
}

/// Where a request has led.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// The place.
    pub place: usize,
    /// The places from the beginning to the end of the branch.
    pub line: Vec<usize>,
}

/// What differs between two places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The number of steps that both share.
    pub shared: usize,
    /// The nodes that differ.
    pub nodes: Vec<NodeDifference>,
}

/// What differs in the state of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeDifference {
    /// The node.
    pub node: u32,
    /// The state at the second place, row by row, against that at the first.
    pub rows: Vec<Row>,
}

/// The properties along a branch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Strips {
    /// For each property a letter per place: h holds or is reached, v violated, o owed, u unknown or not reached.
    pub strips: Vec<String>,
}

/// An explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// Sentences, a line each.
    pub text: String,
    /// The places that it is about.
    pub places: Vec<usize>,
}

/// An expression along a branch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probe {
    /// Its number.
    pub probe: usize,
    /// The expression.
    pub expression: String,
    /// Its value at each place of the branch; none where it has no value.
    pub values: Vec<Option<String>>,
}

/// A search from a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    /// Its number.
    pub search: usize,
    /// The strategy.
    pub strategy: String,
    /// `running`, `stopped`, `done` or `failed`.
    pub state: &'static str,
    /// The last line of progress, or the verdict.
    pub text: String,
    /// What it has found.
    pub findings: Vec<Finding>,
}

/// A finding of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The finding in words.
    pub text: String,
    /// The end of the branch that shows it.
    pub place: usize,
    /// That branch.
    pub line: Vec<usize>,
}

/// The states within reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateMap {
    /// Whether these are all.
    pub complete: bool,
    /// The states, breadth first.
    pub states: Vec<MapState>,
    /// The steps between them.
    pub edges: Vec<MapEdge>,
}

/// A state of the map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapState {
    /// The number of steps to it.
    pub level: u32,
    /// The properties that are violated in it.
    pub violated: Vec<usize>,
    /// The states of the nodes, a line each.
    pub local: String,
    /// Where the state has been in this session.
    pub place: Option<usize>,
}

/// A step of the map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapEdge {
    /// The state before.
    pub from: usize,
    /// The state after.
    pub to: usize,
    /// Where.
    pub node: u32,
    /// The event in words.
    pub text: String,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// A lower-case phrase.
    pub error: String,
    /// What to do about it.
    pub help: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    const TYPESCRIPT: &str = include_str!("../../../explore/web/src/api.ts");
    const RUST: &str = include_str!("shapes.rs");

    /// Fields and their types, by the name of the shape.
    type Shapes = BTreeMap<String, Vec<(String, String)>>;

    /// The fields between two braces, and what is behind them.
    fn fields(text: &str) -> (Vec<(String, String)>, &str) {
        let (mut fields, mut rest) = (Vec::new(), text);
        loop {
            rest = rest.trim_start();
            if let Some(behind) = rest.strip_prefix('}') {
                return (fields, behind);
            }
            let (name, kind) = rest.split_once(':').expect("a field has a type");
            let mut depth = 0;
            let end = kind.find(|letter| {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                depth < 0 || (depth == 0 && letter == ';')
            });
            let end = end.expect("an interface has an end");
            fields.push((name.trim().trim_end_matches('?').to_owned(), kind[..end].trim().to_owned()));
            rest = kind[end..].trim_start_matches(';');
        }
    }

    /// The interfaces of the page, those without a name as well: by the names that the fields of `shapes` have for them.
    fn typescript(rust: &Shapes) -> Shapes {
        let code = TYPESCRIPT.lines().filter(|line| !line.trim_start().starts_with("/**"));
        let code = code.collect::<Vec<_>>().join("\n");
        let mut open: Vec<(String, String)> = Vec::new();
        for part in code.split("export interface ").skip(1) {
            let (name, body) = part.split_once('{').expect("an interface has fields");
            open.push((name.trim().to_owned(), body.to_owned()));
        }
        let mut shapes = Shapes::new();
        while let Some((name, body)) = open.pop() {
            let (found, _) = fields(&body);
            for (field, kind) in &found {
                let Some((_, inside)) = kind.split_once('{') else { continue };
                let named = rust.get(&name).and_then(|fields| fields.iter().find(|(it, _)| it == field));
                let (_, named) = named.unwrap_or_else(|| panic!("no field `{field}` in `{name}` of shapes.rs"));
                open.push((named.clone(), inside.to_owned()));
            }
            shapes.insert(name, found);
        }
        shapes
    }

    fn rust() -> Shapes {
        let code = RUST.split("#[cfg(test)]").next().unwrap_or_default();
        let mut shapes = Shapes::new();
        for part in code.split("pub struct ").skip(1) {
            let (name, body) = part.split_once('{').expect("a struct has fields");
            let body = body.split_once("\n}").expect("it has an end").0;
            let of_line = |line: &str| {
                let (name, kind) = line.trim().strip_prefix("pub ")?.split_once(':')?;
                let kind = kind.trim().trim_end_matches(',').trim_end_matches('>');
                let kind = kind.rsplit(['<', ' ']).next().unwrap_or_default();
                Some((name.to_owned(), kind.to_owned()))
            };
            shapes.insert(name.trim().to_owned(), body.lines().filter_map(of_line).collect());
        }
        shapes
    }

    #[test]
    fn the_page_and_the_server_have_the_same_shapes() {
        let rust = rust();
        let typescript = typescript(&rust);
        assert!(rust.len() > 20 && rust["Session"].len() > 5, "{rust:?}");
        let names = |shapes: &Shapes| {
            let fields = |(shape, fields): (&String, &Vec<(String, String)>)| {
                (shape.clone(), fields.iter().map(|(field, _)| field.clone()).collect::<Vec<_>>())
            };
            shapes.iter().map(fields).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(names(&rust), names(&typescript), "shapes.rs, and host/explore/web/src/api.ts");
        for (shape, fields) in &typescript {
            for ((field, kind), (_, ours)) in fields.iter().zip(&rust[shape]) {
                let named = kind.split(' ').next().unwrap_or_default().trim_end_matches("[]");
                let is_shape = typescript.contains_key(named);
                assert!(!is_shape || named == ours, "{shape}.{field} is {named} for the page and {ours} here");
            }
        }
    }
}
