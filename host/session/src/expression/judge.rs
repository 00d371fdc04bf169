//! Expressions as properties of machines, in addition to those of the plugin.

use host_model::contract::{Fault, FaultKind, MachineError, Outside, OutsideVerdict, Property, PropertyScope};
use host_model::trace::Expressed;

use super::eval::Evaluation;
use super::value::Value;
use super::{Expression, ExpressionError};

/// The maximum number of letters of a state in an explanation.
const LETTERS_MAX: usize = 200;

/// Expressions with their names and kinds.
#[derive(Debug)]
pub struct Judge(Vec<(Property, Expression)>);

impl Judge {
    /// Reads expressions.
    ///
    /// # Errors
    ///
    /// The first invalid expression, with its error.
    pub fn new<'e>(all: &'e [Expressed]) -> Result<Self, (&'e Expressed, ExpressionError)> {
        let read = |expressed: &'e Expressed| {
            let Expressed { name, kind, expression } = expressed;
            let read = Expression::parse(expression).map_err(|error| (expressed, error))?;
            let scope = if read.is_about_all { PropertyScope::System } else { PropertyScope::Node };
            Ok((Property { name: name.clone(), kind: *kind, scope }, read))
        };
        all.iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}

impl Outside for Judge {
    fn properties(&self) -> Vec<Property> {
        self.0.iter().map(|(property, _)| property.clone()).collect()
    }

    /// Compact JSON of the part of the state that each expression reads; if the description is not JSON, a text that is not JSON either.
    fn views(&self, description: Option<&str>) -> Result<Vec<Option<Vec<u8>>>, MachineError> {
        let state = match description.map(serde_json::from_str) {
            None => Err("the component does not describe its states".to_owned()),
            Some(Err(error)) => Err(format!("the description of the state is not JSON: {error}")),
            Some(Ok(json)) => Value::of_json(&json).map_err(|why| format!("in the description of the state, {why}")),
        };
        let view = |(_, expression): &(Property, Expression)| match &state {
            Ok(state) => {
                let mut text = String::new();
                expression.reads.part(state).write(&mut text);
                text.into_bytes()
            }
            Err(why) => format!("!{why}").into_bytes(),
        };
        Ok(self.0.iter().map(|one| Some(view(one))).collect())
    }

    fn invariant(&self, property: u32, views: &[Option<&[u8]>]) -> OutsideVerdict {
        Ok(self.judged(property, views))
    }

    /// A view is JSON, unless the node's description was not.
    fn describe_view(&self, _: u32, view: &[u8]) -> Option<String> {
        String::from_utf8(view.to_vec()).ok().filter(|text| !text.starts_with('!'))
    }
}

impl Judge {
    /// The fields of the object that lacks a field of the property, given the descriptions of the nodes; `None` for a node that it does
    /// not read. The views of the nodes hold only the fields that the property reads, so they do not have them.
    pub fn present_fields(&self, property: &str, nodes: &[Option<&serde_json::Value>]) -> Option<Vec<String>> {
        let (_, expression) = self.0.iter().find(|(stated, _)| stated.name == property)?;
        let values = nodes.iter().map(|node| node.map_or(Ok(Value::Absent), Value::of_json));
        let values: Vec<Value> = values.collect::<Result<_, _>>().ok()?;
        let root = match expression.is_about_all {
            false => ("node", values.into_iter().find(|value| !matches!(value, Value::Absent))?),
            true => ("nodes", Value::list(values)),
        };
        let mut evaluation = Evaluation::new(root);
        evaluation.truth(&expression.whole).err()?;
        evaluation.present_fields.take()
    }

    /// Whether a property holds; the inner error has the reason why not.
    pub(super) fn judged(&self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        let expression = &self.0[property as usize].1;
        let fault = |message: String| Fault::new(FaultKind::Malformed, message);
        let value = |view: &Option<&[u8]>| match view {
            None => Ok(Value::Absent),
            Some([b'!', why @ ..]) => Err(fault(String::from_utf8_lossy(why).into_owned())),
            Some(view) => {
                let json = serde_json::from_slice(view).map_err(|error| error.to_string());
                json.and_then(|json| Value::of_json(&json)).map_err(|why| fault(format!("this is no view: {why}")))
            }
        };
        let mut values: Vec<Value> = views.iter().map(value).collect::<Result<_, _>>()?;
        // Most evaluations are not reported.
        let read = values.clone();
        let node = |node: usize| if expression.is_about_all { format!("node {node} is ") } else { "it is ".to_owned() };
        let what_is_read = || told(&read, node);
        let root = match (expression.is_about_all, values.pop()) {
            (false, Some(value)) => ("node", value),
            (_, last) => {
                values.extend(last);
                ("nodes", Value::list(values))
            }
        };
        let mut evaluation = Evaluation::new(root);
        // The words must not suggest that a node has no other fields than the property reads.
        let of = |node: usize| if expression.is_about_all { format!("of node {node} ") } else { String::new() };
        let cannot = |error: ExpressionError| fault(format!("{error}; it has read {}", told(&read, of)));
        if evaluation.truth(&expression.whole).map_err(cannot)? {
            return Ok(Ok(()));
        }
        let mut blamed = Vec::new();
        // Repeating the work may exceed the bound; then the report is shorter.
        drop(evaluation.blame(&expression.whole, true, &mut blamed));
        let blamed = if blamed.is_empty() { String::new() } else { format!("not for {}: ", blamed.join(", ")) };
        Ok(Err(format!("{blamed}{}", what_is_read())))
    }
}

/// The parts of the nodes that an expression reads, for people, each behind words for its node.
fn told(values: &[Value], words: impl Fn(usize) -> String) -> String {
    let present = (0..).zip(values).filter(|(_, value)| !matches!(value, Value::Absent));
    let told = present.map(|(node, value): (usize, &Value)| {
        let mut text = String::new();
        value.write(&mut text);
        let is_long = text.char_indices().nth(LETTERS_MAX).map(|(end, _)| end);
        let text = match is_long {
            Some(end) => format!("{}…", &text[..end]),
            None => text,
        };
        format!("{}{text}", words(node))
    });
    told.collect::<Vec<_>>().join(", ")
}
