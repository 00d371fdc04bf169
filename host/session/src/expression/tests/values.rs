//! Values over random JSON: equality is an equivalence, the order is total, numbers are exact, and sets are sets.

use std::cmp::Ordering;

use host_model::toys;
use serde_json::{Value as Json, json};

use super::super::tokens::{Word, tokens};
use super::{Dice, Value, naive, truth, verdict};

/// Whole numbers around which numbers are close to each other for floating point: the ends of 53, 64, 127 and 128 bits, and beyond.
const WHOLE: [&str; 10] = [
    "0",
    "1",
    "9007199254740992",
    "9223372036854775808",
    "18446744073709551616",
    "1267650600228229401496703205376",
    "170141183460469231731687303715884105728",
    "340282366920938463463374607431768211456",
    "100000000000000000000000000000000000000000",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999",
];

impl Dice {
    /// The text of a number: one of a few, or one next to it, whole or not.
    fn digits(&mut self) -> String {
        let digits = WHOLE[self.below(WHOLE.len())];
        // One more or less at the last place; only those that end in 9 or 0 would carry.
        let (rest, last) = digits.split_at(digits.len() - 1);
        let last: usize = last.parse().expect("a digit");
        let last = (last + self.below(3)).saturating_sub(1).min(9);
        let sign = ["", "-"][self.below(2)];
        match self.below(4) {
            0 => format!("{sign}{digits}.0"),
            1 => format!("{sign}{digits}.5"),
            _ => format!("{sign}{rest}{last}"),
        }
    }

    /// A random value with such numbers, in which the fields of objects have a random order.
    fn value(&mut self, depth: usize) -> Json {
        match self.below(if depth == 0 { 5 } else { 8 }) {
            0 => Json::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(["", "x", "xy", "y", "é"][self.below(5)]),
            3 | 4 => self.digits().parse().map(Json::Number).expect("a number"),
            5 | 6 => (0..self.below(3)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let mut names = vec!["a", "b", "ab"];
                let mut map = serde_json::Map::new();
                while self.below(3) > 0 && !names.is_empty() {
                    let name = names.remove(self.below(names.len()));
                    map.insert(name.to_owned(), self.value(depth - 1));
                }
                Json::Object(map)
            }
        }
    }
}

fn value(json: &Json) -> Value {
    Value::of_json(json).expect("no number is too large")
}

fn equal(one: &Json, other: &Json) -> bool {
    value(one).equals(&value(other), &mut 0)
}

fn compare(one: &Json, other: &Json) -> Ordering {
    value(one).compare(&value(other), &mut 0)
}

/// Each pair agrees with the naive order, and each three with the laws of an order and an equivalence.
#[test]
fn equality_is_an_equivalence_and_the_order_is_total() {
    let mut dice = Dice(toys::Dice(5));
    let (mut equals, mut threes) = (0, 0);
    for round in 0..400 {
        let mut all: Vec<Json> = (0..8).map(|_| dice.value(round % 3)).collect();
        // Equal values of each kind are rare otherwise.
        all.push(all[0].clone());
        let orders: Vec<Vec<Ordering>> =
            all.iter().map(|one| all.iter().map(|other| compare(one, other)).collect()).collect();
        for (place, one) in all.iter().enumerate() {
            for (other_place, other) in all.iter().enumerate() {
                let order = orders[place][other_place];
                assert_eq!(order, naive::order(one, other), "{one} and {other}");
                assert_eq!(order, orders[other_place][place].reverse(), "{one} and {other}");
                assert_eq!(equal(one, other), order.is_eq(), "{one} and {other}");
                assert_eq!(naive::same(one, other), order.is_eq(), "{one} and {other}");
                equals += usize::from(order.is_eq() && place != other_place);
                for (third_place, third) in all.iter().enumerate() {
                    if order.is_le() && orders[other_place][third_place].is_le() {
                        threes += 1;
                        let expected = order.then(orders[other_place][third_place]);
                        assert_eq!(orders[place][third_place], expected, "{one}, {other}, {third}");
                    }
                }
            }
        }
    }
    assert!(equals > 2_000 && threes > 50_000, "{equals} equal pairs, {threes} ordered threes");
}

/// The value of a number is exactly its text, also through the text of a view, and in an expression as in a state.
#[test]
fn numbers_come_back_as_they_were() {
    let mut dice = Dice(toys::Dice(3));
    for _ in 0..2_000 {
        let text = dice.digits();
        let json: Json = serde_json::from_str(&text).expect("JSON");
        let mut written = String::new();
        value(&json).write(&mut written);
        let again: Json = serde_json::from_str(&written).expect("a view is JSON");
        assert!(equal(&json, &again) && naive::same(&json, &again), "{text} is written as {written}");
        let is_whole = !text.contains('.');
        assert!(!is_whole || written == text || (written, &*text) == ("0".to_owned(), "-0"), "{text}");
        let unsigned = text.trim_start_matches('-');
        let words = tokens(unsigned).expect("a number");
        let Word::Number(constant) = &words[0].word else { panic!("{words:?}") };
        let there = value(&serde_json::from_str(unsigned).expect("JSON"));
        assert!(constant.equals(&there, &mut 0), "{text}");
        let (holds, other) = (format!("node.x == {text}"), dice.digits());
        assert_eq!(verdict(&holds, &[json!({ "x": json })]), Ok(()));
        let order = naive::decimal_order(&text, &other);
        for (operator, is_so) in [("==", order.is_eq()), ("<", order.is_lt()), (">=", order.is_ge())] {
            let found = verdict(&format!("node.x {operator} {other}"), &[json!({ "x": json })]);
            assert_eq!(found.is_ok(), is_so, "{text} {operator} {other}: {found:?}");
        }
    }
}

/// Sets of the same elements are equal, whatever the order and number in which their elements were met.
#[test]
fn sets_are_compared_by_their_elements() {
    let mut dice = Dice(toys::Dice(9));
    let mut equal_ones = 0;
    for round in 0..1_500 {
        let pool: Vec<Json> = (0..3).map(|_| dice.value(round % 3)).collect();
        let mut list = || (0..dice.below(6)).map(|_| pool[dice.below(3)].clone()).collect::<Vec<Json>>();
        let (one, other) = (list(), list());
        let nodes = json!([{ "one": one, "other": other }]);
        let is_same = one.iter().all(|item| other.iter().any(|there| naive::same(item, there)))
            && other.iter().all(|item| one.iter().any(|there| naive::same(item, there)));
        assert_eq!(truth("unique(nodes[0].one) == unique(nodes[0].other)", &nodes), Ok(is_same), "{nodes}");
        let sizes = truth(&format!("size(unique(nodes[0].one)) == {}", naive::set(one.clone()).len()), &nodes);
        assert_eq!(sizes, Ok(true), "{nodes}");
        let among = one.iter().any(|item| naive::same(item, &json!(other)));
        assert_eq!(truth("nodes[0].other in unique(nodes[0].one)", &nodes), Ok(among), "{nodes}");
        equal_ones += usize::from(is_same);
    }
    assert!(equal_ones > 100 && equal_ones < 1_400, "{equal_ones}");
    // Along a field, from each end.
    let ring = json!([{ "next": [2, 1] }, { "next": 2 }, { "next": [0] }]);
    for expression in [
        "closure(0, x, nodes[x].next) == closure(2, x, nodes[x].next)",
        "closure([1, 0], x, nodes[x].next) == [0, 1, 2]",
        "unique([2, 1, 2]) == unique([1, 2]) && unique([2, 1]) == [1, 2]",
    ] {
        assert_eq!(truth(&format!("nodes == nodes && {expression}"), &ring), Ok(true), "{expression}");
    }
}

/// Numbers of more than 64 bits are not floating-point numbers, for which 2^100 and 2^100 + 1 would be the same.
#[test]
fn large_numbers_are_exact_or_refused() {
    let states = |text: &str| [json!({ "x": serde_json::from_str::<Json>(text).expect("JSON") })];
    let power = states("1267650600228229401496703205376");
    assert!(verdict("node.x == 1267650600228229401496703205377", &power).is_err());
    assert_eq!(verdict("node.x + 1 == 1267650600228229401496703205377", &power), Ok(()));
    assert_eq!(verdict("node.x - 1 < node.x && node.x == 1267650600228229401496703205376.0", &power), Ok(()));
    // The largest number of 128 bits without a sign, such as an identifier.
    let largest = states("340282366920938463463374607431768211455");
    assert_eq!(verdict("node.x < 340282366920938463463374607431768211456 && -node.x < 0", &largest), Ok(()));
    assert_eq!(verdict("-(-node.x) == node.x && max([node.x, 1]) == node.x", &largest), Ok(()));
    let least = states("-170141183460469231731687303715884105728");
    assert_eq!(verdict("node.x == -170141183460469231731687303715884105728", &least), Ok(()));
    let computed = verdict("node.x + 1 > 0", &largest).expect_err("it is too large");
    assert!(computed.contains("`+` takes whole numbers of up to 128 bits"), "{computed}");
    let refused = verdict("node.x > 0", &states("1e400")).expect_err("no number");
    assert!(refused.starts_with("in the description of the state, the number 1e"), "{refused}");
}
