//! The language, and the parts of a state that an expression reads.
//!
//! | module | what it holds |
//! |---|---|
//! | `typed` | random expressions that have a type, and their text |
//! | `naive` | their values as the page defines them |
//! | `values` | equality, order, numbers and sets over random JSON |

mod naive;
mod typed;
mod values;

use std::collections::BTreeMap;

use host_model::contract::{Outside, PropertyKind, PropertyScope};
use host_model::toys;
use host_model::trace::Expressed;
use serde_json::{Value as Json, json};

use super::eval::Evaluation;
use super::reads::Reads;
use super::value::Value;
use super::{DEPTH_MAX, Expression, ExpressionError, Judge, LETTERS_MAX};

/// The truth of an expression about all nodes; no property reads a node that is `null`.
fn truth(expression: &str, nodes: &Json) -> Result<bool, String> {
    let read = Expression::parse(expression).map_err(|error| format!("syntax, {error}"))?;
    let node = |json: &Json| if json.is_null() { Value::Absent } else { Value::of_json(json).expect("a value") };
    let nodes = nodes.as_array().expect("a list").iter().map(node).collect();
    Evaluation::new(("nodes", Value::list(nodes))).truth(&read.whole).map_err(|error| error.to_string())
}

#[test]
fn expressions_have_the_values_of_arithmetic() {
    let nodes = json!([{"a": 1, "log": ["x", "y"], "up": null}, null, {"a": 2, "log": ["x"], "up": 0, "m": {"k": 3}}]);
    let hold = [
        "nodes[0].a + 1 == nodes[2].a",
        "size(nodes) == 2 && nodes[1] == null",
        "nodes.all(n, n.a > 0) && !nodes.all(n, n.a > 1) && nodes.exists(n, n.a == 2) && nodes.exists_one(n, n.a == 2)",
        "nodes.all(i, n, i == 0 ? n.a == 1 : i == 2)",
        "nodes.map(n, n.a) == [1, 2] && nodes.filter(n, n.a > 1).map(n, n.a) == [2]",
        "prefix(nodes[2].log, nodes[0].log) && !prefix(nodes[0].log, nodes[2].log)",
        "size(unique(flatten(nodes.map(n, n.log)))) == 2",
        "'x' in nodes[0].log && !('z' in nodes[0].log) && 'k' in nodes[2].m",
        "!has(nodes[0].log[0].k) && !has(nodes[0].up.k)",
        "has(nodes[2].m) && !has(nodes[0].m) && nodes[2].m['k'] == 3 && keys(nodes[2].m) == ['k']",
        "values(nodes[2].m) == [3] && nodes[2].m.all(k, v, k == 'k' && v == 3)",
        "min(nodes.map(n, n.a)) == 1 && max(nodes.map(n, n.a)) == 2",
        "closure(nodes[2].up, x, nodes[x].up) == [0] && size(closure(2, x, nodes[x].up)) == 2",
        "1 + 2 * 3 - 4 / 2 % 2 == 7 - nodes[0].a + 1 && -(1 - 3) == 2 && 0.5 + 0.5 == nodes[0].a && 'a' + \"b\" < 'ac'",
        "true || nodes[7].a == 1",
        "!(false && nodes[7].a == 1) && (1 == 1.0) && !(1 == '1') && null != nodes[0].a",
    ];
    for expression in hold {
        let expression = format!("nodes == nodes && ({expression})");
        assert_eq!(truth(&expression, &nodes), Ok(true), "{expression}");
    }
}

#[test]
fn what_cannot_be_read_or_evaluated_is_pointed_at() {
    let nodes = json!([{"a": 1, "t": "x", "l": [1, "x"]}]);
    let long = format!("nodes == {}", "1".repeat(LETTERS_MAX));
    let deep = format!("{}nodes == 1{}", "(".repeat(DEPTH_MAX), ")".repeat(DEPTH_MAX));
    let broad = format!("nodes == {}1", "1 + ".repeat(DEPTH_MAX));
    let tall = format!("nodes{}", "[0]".repeat(DEPTH_MAX));
    let not = format!("{}(nodes == 1)", "!".repeat(2000));
    let busy = "[0,0,0,0,0,0,0,0,0,0].all(a, nodes[0].a == 1 && [0,0,0,0,0,0,0,0,0,0].all(b, [0,0,0,0,0,0,0,0,0,0].all(c, \
                [0,0,0,0,0,0,0,0,0,0].all(d, [0,0,0,0,0,0,0,0,0,0].all(e, [0,0,0,0,0,0,0,0,0,0].all(f, true))))))";
    let cases = [
        ("", "syntax, at character 1: expected a value, and it ends here"),
        ("nodes.all(n, n.a >)", "syntax, at character 19: expected a value, and there is `)`"),
        ("nodes.al(n, true)", "syntax, at character 7: a list has no `al`"),
        ("nodes.all(n, m.a)", "syntax, at character 14: there is no `m`; there are: node, nodes, n"),
        ("nodes.all(nodes, true)", "syntax, at character 11: `nodes` means something else here"),
        ("nodes = 1", "syntax, at character 7: `=` compares nothing; write `==`"),
        ("nodes == 'x", "syntax, at character 10: this text has no end"),
        ("nodes == 1 2", "syntax, at character 12: expected an operator, and there is a number"),
        ("size(nodes, 1) == 1", "syntax, at character 1: `size` takes 1 and not 2 arguments"),
        ("sice(nodes) == 1", "syntax, at character 1: there is no function `sice`"),
        ("node == nodes", "syntax, at character 1: it names `node` and `nodes`"),
        ("1 == 1", "syntax, at character 1: it reads no state"),
        ("nodes == #", "syntax, at character 10: `#` means nothing here"),
        (&*long, "syntax, at character 4097: it has more than 4096 characters"),
        (&*deep, "nested more than 50 deep"),
        (&*broad, "nested more than 50 deep"),
        (&*tall, "nested more than 50 deep"),
        (&*not, "nested more than 50 deep"),
        ("nodes[0].b == 1", "at character 10: there is no field `b`"),
        ("nodes[0].a.b == 1", "at character 12: `b` is a field of an object, and this is a number"),
        ("nodes[1].a == 1", "at character 6: there is no element 1 in a list of 1"),
        ("nodes[0].a", "at character 10: true or false is needed, and this is a number"),
        (
            "nodes[0].a < 'x'",
            "at character 12: `<` compares two numbers or two texts, and these are a number and a text",
        ),
        ("nodes[0].a / 0 == 1", "at character 12: `/` divides by 0"),
        ("max(nodes[0].l) == 1", "at character 1: it takes numbers alone, or texts"),
        (
            "closure(0, x, [nodes]) == []",
            "at character 1: `closure` goes along whole numbers and texts, and this is a list",
        ),
        (
            "size(closure(nodes[0].a == 1, x, null)) == 1",
            "goes along whole numbers and texts, and this is true or false",
        ),
        (
            "size(closure(nodes[0].a / 2.0, x, null)) == 1",
            "goes along whole numbers and texts, and this is another number",
        ),
        ("has(nodes.a)", "at character 1: `a` is a field of an object, and this is a list"),
        (busy, "the evaluation takes more than 1000000 steps"),
    ];
    for (expression, expected) in cases {
        let wrong = truth(expression, &nodes).expect_err(expression);
        assert!(wrong.contains(expected), "{expression:?}: {wrong}");
    }
    let endless = truth("closure(0, x, x + 1) == [nodes]", &nodes).expect_err("no end");
    assert!(endless.contains("more than 1000000 steps"), "{endless}");
    let doubling = format!("size([nodes]{}) == 1", ".map(x, x + x)".repeat(40));
    assert!(truth(&doubling.replace("[nodes]", "['xxxxxxxx' + nodes[0].t]"), &nodes).is_err(), "memory is bounded");
}

fn judge(kind: PropertyKind, expression: &str) -> Judge {
    let expressed = Expressed { name: "p".to_owned(), kind, expression: expression.to_owned() };
    Judge::new(&[expressed]).expect("an expression")
}

/// The part of a state that the only property reads.
fn view(judge: &Judge, description: Option<&str>) -> Vec<u8> {
    judge.views(description).expect("no machine is asked").remove(0).expect("every node has one")
}

/// The verdict on nodes with these descriptions.
fn verdict(expression: &str, nodes: &[Json]) -> Result<(), String> {
    let judge = judge(PropertyKind::Always, expression);
    let views: Vec<Vec<u8>> = nodes.iter().map(|node| view(&judge, Some(&node.to_string()))).collect();
    let views: Vec<Option<&[u8]>> = views.iter().map(|view| Some(&**view)).collect();
    judge.judged(0, &views).unwrap_or_else(|fault| Err(fault.message))
}

#[test]
fn a_view_is_what_is_read_and_a_verdict_says_who_is_to_blame() {
    let states = [json!({"term": 1, "log": [7, 8], "x": 0}), json!({"x": 1, "log": [9], "term": 1})];
    let cases = [
        ("nodes.all(n, n.term == 1)", r#"{"term":1}"#),
        ("nodes.all(n, size(n.log) < 9)", r#"{"log":[null,null]}"#),
        ("nodes.all(n, n.log.all(e, e > 0))", r#"{"log":[7,8]}"#),
        ("nodes.all(n, n == n)", r#"{"log":[7,8],"term":1,"x":0}"#),
        ("size(nodes) == 2", "null"),
        ("nodes.all(n, has(n.x) || n.term == 1)", r#"{"term":1,"x":null}"#),
        ("nodes.filter(n, has(n.x)).map(n, n.term) == [1, 1]", r#"{"term":1,"x":null}"#),
        ("closure(0, i, nodes[i].x) == [0]", r#"{"x":0}"#),
        ("node.x >= 0", r#"{"x":0}"#),
    ];
    for (expression, expected) in cases {
        let view = view(&judge(PropertyKind::Always, expression), Some(&states[0].to_string()));
        assert_eq!(String::from_utf8(view).expect("JSON"), expected, "{expression}");
    }
    let agree = "nodes.all(a, nodes.all(b, prefix(a.log, b.log) || prefix(b.log, a.log)))";
    let why = "not for a = node 0, b = node 1: node 0 is {\"log\":[7,8]}, node 1 is {\"log\":[9]}";
    assert_eq!(verdict(agree, &states), Err(why.to_owned()));
    let missing = "at character 16: there is no field `y`; it has read of node 0 {}, of node 1 {}";
    assert_eq!(verdict("nodes.all(n, n.y == 1)", &states), Err(missing.to_owned()));
    let names = |expression: &str, nodes: &[Option<&Json>]| {
        judge(PropertyKind::Always, expression).present_fields("p", nodes).map(|names| names.join(" "))
    };
    let all = states.each_ref().map(Some);
    assert_eq!(names("nodes.all(n, n.y == 1)", &all).as_deref(), Some("log term x"), "all of them, read or not");
    assert_eq!(names("node['y'] == 1", &[None, Some(&states[1])]).as_deref(), Some("log term x"));
    assert_eq!(names("nodes.all(n, n.x)", &all), None, "no field is missing");
    assert_eq!(names("nodes.all(n, n.x >= 0)", &all), None);
    let judge = judge(PropertyKind::Sometimes, "node.x == 1");
    assert_eq!(judge.properties()[0].scope, PropertyScope::Node);
    let broken = view(&judge, Some("{"));
    assert!(judge.judged(0, &[Some(&broken)]).is_err_and(|fault| fault.message.contains("is not JSON")));
    assert!(judge.judged(0, &[Some(&view(&judge, None))]).is_err(), "it does not describe itself");
}

/// The properties of the page that are ready to be used, each where it holds and where it does not.
#[test]
fn ready_made_properties_hold_and_fail() {
    let page = include_str!("../../../../docs/properties-from-outside.md");
    let cases = [
        (
            "nodes.all(a, nodes.all(b, prefix(a.log, b.log) || prefix(b.log, a.log)))",
            [json!({"log": [1]}), json!({"log": [1, 2]})],
            [json!({"log": [1, 3]}), json!({"log": [1, 2]})],
        ),
        (
            "nodes.all(i, a, nodes.all(j, b, i == j || a.role != 'Leader' || b.role != 'Leader' || a.term != b.term))",
            [json!({"role": "Leader", "term": 1}), json!({"role": "Leader", "term": 2})],
            [json!({"role": "Leader", "term": 2}), json!({"role": "Leader", "term": 2})],
        ),
        (
            "nodes.all(c, c.acknowledged.all(v, size(nodes.filter(n, v in n.log)) * 2 > size(nodes)))",
            [json!({"acknowledged": [5], "log": [5]}), json!({"acknowledged": [], "log": [4, 5]})],
            [json!({"acknowledged": [5], "log": [5]}), json!({"acknowledged": [], "log": [4]})],
        ),
        (
            "nodes.all(a, nodes.all(b, a.value == b.value))",
            [json!({"value": {"x": 1}}), json!({"value": {"x": 1}})],
            [json!({"value": {"x": 1}}), json!({"value": {"x": 2}})],
        ),
        (
            "nodes.all(i, n, !(i in closure(n.parent, x, nodes[x].parent)))",
            [json!({"parent": null}), json!({"parent": 0})],
            [json!({"parent": 1}), json!({"parent": 0})],
        ),
    ];
    for (expression, good, bad) in cases {
        assert!(page.contains(expression), "the page has {expression}");
        assert_eq!(verdict(expression, &good), Ok(()), "{expression}");
        assert!(verdict(expression, &bad).is_err_and(|why| why.starts_with("not for ")), "{expression}");
    }
}

/// Random values and texts.
pub struct Dice(toys::Dice);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        (self.0.number() % end as u64) as usize
    }

    fn json(&mut self, depth: usize) -> Json {
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0 => Json::Null,
            1 => json!(self.below(3)),
            2 => json!(["x", "y", "ab"][self.below(3)]),
            3 => json!(self.below(2) == 0),
            4 => (0..self.below(3)).map(|_| self.json(depth - 1)).collect(),
            _ => {
                let fields = ["a", "b", "c"].into_iter().filter(|_| self.below(4) > 0).collect::<Vec<_>>();
                fields
                    .into_iter()
                    .map(|name| (name.to_owned(), self.json(depth - 1)))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }
        }
    }

    fn expression(&mut self, names: &mut Vec<String>, depth: usize) -> String {
        let name = |dice: &mut Self, names: &[String]| names[dice.below(names.len())].clone();
        if depth == 0 {
            return match self.below(4) {
                0 => ["0", "1", "'x'", "null", "true"][self.below(5)].to_owned(),
                _ => name(self, names),
            };
        }
        let part = |dice: &mut Self, names: &mut Vec<String>| dice.expression(names, depth - 1);
        match self.below(13) {
            0..=2 => format!("{}.{}", part(self, names), ["a", "b", "c"][self.below(3)]),
            3 => format!("has({}.{})", part(self, names), ["a", "b"][self.below(2)]),
            4 => format!("{}[{}]", part(self, names), ["0", "1", "'a'"][self.below(3)]),
            5 => format!(
                "({} {} {})",
                part(self, names),
                ["==", "<", "in", "+", "&&", "||"][self.below(6)],
                part(self, names)
            ),
            6 => format!("({} ? {} : {})", part(self, names), part(self, names), part(self, names)),
            7 => {
                let function = ["size", "unique", "flatten", "keys", "values", "max"][self.below(6)];
                format!("{function}({})", part(self, names))
            }
            8 => format!("[{}, {}]", part(self, names), part(self, names)),
            9 => {
                let start = part(self, names);
                let variable = format!("v{}", names.len());
                names.push(variable.clone());
                let next = part(self, names);
                names.pop();
                format!("closure({start}, {variable}, {next})")
            }
            _ => {
                let of = part(self, names);
                let what = ["all", "exists", "exists_one", "filter", "map"][self.below(5)];
                let variable = format!("v{}", names.len());
                let place = (self.below(2) == 0).then(|| format!("w{}", names.len()));
                let before = names.len();
                names.extend(place.clone());
                names.push(variable.clone());
                let body = part(self, names);
                names.truncate(before);
                format!(
                    "{of}.{what}({}{variable}, {body})",
                    place.map(|place| format!("{place}, ")).unwrap_or_default()
                )
            }
        }
    }
}

/// Random expressions that have a type, on three nodes, one sometimes absent: parsed from their text and evaluated over the
/// parts that they claim to read, they have the value of the definition over the whole states.
#[test]
fn expressions_have_the_values_of_their_definition() {
    let mut dice = Dice(toys::Dice(11));
    let (mut counted, mut deep) = ([0_usize; 3], 0);
    for round in 0..8_000 {
        let term = dice.truth(1 + round % 5);
        let text = format!("nodes == nodes && ({})", dice.written(&term));
        let text = if round % 2 == 0 { text } else { dice.written(&term) };
        let expression = match Expression::parse(&text) {
            Ok(expression) => expression,
            Err(error) => {
                let is_bound = ["nested more", "it reads no state", "it has more than"];
                assert!(is_bound.iter().any(|bound| error.what.starts_with(bound)), "{error}: {text}");
                deep += 1;
                continue;
            }
        };
        let nodes: Vec<Option<Json>> = (0..3).map(|_| (dice.below(6) > 0).then(|| dice.node())).collect();
        let known = nodes.iter().map(|node| node.clone().unwrap_or_else(naive::absent)).collect();
        let expected = naive::value(&term, &BTreeMap::from([("nodes".to_owned(), known)]));
        let expected = expected.and_then(|value| value.as_bool());

        assert!(expression.is_about_all);
        let judge = judge(PropertyKind::Always, &text);
        let views: Vec<Option<Vec<u8>>> =
            nodes.iter().map(|node| Some(view(&judge, Some(&node.as_ref()?.to_string())))).collect();
        let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
        let found = judge.judged(0, &views);
        assert_eq!(found.as_ref().ok().map(Result::is_ok), expected, "{text} is {found:?} of {nodes:?}");
        counted[expected.map_or(2, usize::from)] += 1;
    }
    let [not, holds, errors] = counted;
    assert!(not > 2_000 && holds > 2_000 && errors > 200 && deep < 800, "{counted:?}, {deep}");
}

/// The value of an expression on whole states is that on the parts that it claims to read, so equal views have equal values, and
/// equal errors: most of these expressions only have errors.
#[test]
fn what_an_expression_reads_determines_its_value() {
    let mut dice = Dice(toys::Dice(7));
    let (mut values, mut partial) = (0, 0);
    for round in 0..20_000 {
        let text = dice.expression(&mut vec!["nodes".to_owned()], 1 + round % 5);
        let Ok(expression) = Expression::parse(&text) else { continue };
        let nodes: Vec<Value> = (0..3).map(|_| Value::of_json(&dice.json(3)).expect("a value")).collect();
        let read: Vec<Value> = nodes.iter().map(|node| expression.reads.part(node)).collect();
        let value = |nodes: Vec<Value>| -> Result<bool, ExpressionError> {
            Evaluation::new(("nodes", Value::list(nodes))).truth(&expression.whole)
        };
        let whole = value(nodes.clone());
        assert_eq!(value(read), whole, "{text}");
        values += usize::from(whole.is_ok());
        partial += usize::from(expression.reads != Reads::all());
    }
    // Otherwise nothing was tested: of 20,000 expressions some have a value, and some read a part.
    assert!(values > 100 && partial > 1000, "{values} values, {partial} parts");
}
