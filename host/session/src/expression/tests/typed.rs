//! Random expressions with a type, so that most have a truth value. They are made as trees of their own, not as those of the parser.

use serde_json::{Value as Json, json};

use super::Dice;

/// A random expression.
#[derive(Clone, Debug)]
pub enum Term {
    Constant(Json),
    Name(String),
    Field(Box<Term>, &'static str),
    Has(Box<Term>, &'static str),
    At(Box<Term>, Box<Term>),
    List(Vec<Term>),
    Not(Box<Term>),
    Negative(Box<Term>),
    Binary(&'static str, Box<Term>, Box<Term>),
    Choice(Box<[Term; 3]>),
    Call(&'static str, Vec<Term>),
    Each { what: &'static str, of: Box<Term>, place: Option<String>, item: String, body: Box<Term> },
    Closure { start: Box<Term>, item: String, next: Box<Term> },
}

/// The type of an expression, and of the value of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Truth,
    Number,
    Text,
    Numbers,
    Texts,
    ListOfNumbers,
    Object,
    Node,
    Nodes,
}

/// The names that can be used, with their types.
type Names = Vec<(String, Type)>;

impl Dice {
    /// A state of one of three nodes, with a field for each type; `odd` is sometimes missing.
    pub fn node(&mut self) -> Json {
        let numbers = |dice: &mut Self| (0..dice.below(4)).map(|_| dice.below(3)).collect::<Vec<_>>();
        let mut node = json!({
            "n": self.below(4),
            "t": self.text(),
            "b": self.below(2) == 0,
            "next": if self.below(3) == 0 { Json::Null } else { json!(self.below(3)) },
            "log": numbers(self),
            "texts": (0..self.below(3)).map(|_| self.text()).collect::<Vec<_>>(),
            "logs": (0..self.below(3)).map(|_| numbers(self)).collect::<Vec<_>>(),
            "m": {},
        });
        for _ in 0..self.below(3) {
            node["m"][self.text()] = json!(self.below(3));
        }
        if self.below(8) > 0 {
            node["odd"] = json!(self.below(3));
        }
        node
    }

    fn text(&mut self) -> &'static str {
        ["x", "y", "ab"][self.below(3)]
    }

    /// A random expression that is true or false, or cannot be evaluated in some states.
    pub fn truth(&mut self, depth: usize) -> Term {
        self.term(&mut vec![("nodes".to_owned(), Type::Nodes)], Type::Truth, depth)
    }

    fn boxed(&mut self, names: &mut Names, of: Type, depth: usize) -> Box<Term> {
        Box::new(self.term(names, of, depth))
    }

    fn term(&mut self, names: &mut Names, of: Type, depth: usize) -> Term {
        let bound: Vec<usize> = (0..names.len()).filter(|place| names[*place].1 == of).collect();
        if !bound.is_empty() && (depth == 0 || self.below(3) == 0) {
            return Term::Name(names[bound[self.below(bound.len())]].0.clone());
        }
        if depth == 0 {
            return self.leaf(names, of);
        }
        let depth = depth - 1;
        if self.below(12) == 0 {
            let condition = self.term(names, Type::Truth, depth);
            return Term::Choice(Box::new([condition, self.term(names, of, depth), self.term(names, of, depth)]));
        }
        match of {
            Type::Truth => self.condition(names, depth),
            Type::Number => self.number(names, depth),
            Type::Text => match self.below(3) {
                0 => Term::Binary("+", self.boxed(names, of, depth), self.boxed(names, of, depth)),
                1 => Term::Call(["min", "max"][self.below(2)], vec![self.term(names, Type::Texts, depth)]),
                _ => Term::Field(self.boxed(names, Type::Node, depth), "t"),
            },
            Type::Numbers | Type::Texts | Type::ListOfNumbers => self.list(names, of, depth),
            Type::Object => Term::Field(self.boxed(names, Type::Node, depth), "m"),
            Type::Node => {
                Term::At(self.boxed(names, Type::Nodes, depth), Box::new(Term::Constant(json!(self.below(3)))))
            }
            Type::Nodes => match self.below(3) {
                0 => self.each(names, "filter", Type::Nodes, (Type::Truth, depth)),
                _ => Term::Name("nodes".to_owned()),
            },
        }
    }

    fn leaf(&mut self, names: &mut Names, of: Type) -> Term {
        let constant = match of {
            Type::Truth => json!(self.below(2) == 0),
            Type::Number if self.below(6) == 0 => json!(0.5),
            Type::Number => json!(self.below(3)),
            Type::Text => json!(self.text()),
            Type::Numbers | Type::Texts | Type::ListOfNumbers => {
                let inner = match of {
                    Type::Numbers => Type::Number,
                    Type::Texts => Type::Text,
                    _ => Type::Numbers,
                };
                return Term::List((0..self.below(3)).map(|_| self.leaf(names, inner)).collect());
            }
            Type::Object => return Term::Field(self.boxed(names, Type::Node, 0), "m"),
            Type::Node => {
                return Term::At(Box::new(Term::Name("nodes".into())), Box::new(Term::Constant(json!(self.below(3)))));
            }
            Type::Nodes => return Term::Name("nodes".to_owned()),
        };
        Term::Constant(constant)
    }

    fn condition(&mut self, names: &mut Names, depth: usize) -> Term {
        match self.below(12) {
            0 => Term::Binary(
                ["&&", "||"][self.below(2)],
                self.boxed(names, Type::Truth, depth),
                self.boxed(names, Type::Truth, depth),
            ),
            1 => Term::Not(self.boxed(names, Type::Truth, depth)),
            2 => {
                let of = [Type::Number, Type::Text][self.below(2)];
                let operator = ["<", "<=", ">", ">="][self.below(4)];
                Term::Binary(operator, self.boxed(names, of, depth), self.boxed(names, of, depth))
            }
            3 => {
                let all = [Type::Truth, Type::Number, Type::Text, Type::Numbers, Type::Object, Type::Node, Type::Nodes];
                let of = all[self.below(all.len())];
                // Values of different kinds are never equal.
                let other = if self.below(8) == 0 { all[self.below(all.len())] } else { of };
                let operator = ["==", "!="][self.below(2)];
                Term::Binary(operator, self.boxed(names, of, depth), self.boxed(names, other, depth))
            }
            4 => {
                let (one, all) = [
                    (Type::Number, Type::Numbers),
                    (Type::Text, Type::Texts),
                    (Type::Numbers, Type::ListOfNumbers),
                    (Type::Text, Type::Object),
                ][self.below(4)];
                Term::Binary("in", self.boxed(names, one, depth), self.boxed(names, all, depth))
            }
            5 => Term::Has(self.boxed(names, Type::Node, depth), ["odd", "n"][self.below(2)]),
            6 => Term::Call(
                "prefix",
                vec![self.term(names, Type::Numbers, depth), self.term(names, Type::Numbers, depth)],
            ),
            7 => Term::Field(self.boxed(names, Type::Node, depth), "b"),
            _ => {
                let lists = [Type::Nodes, Type::Nodes, Type::Numbers, Type::Texts, Type::ListOfNumbers, Type::Object];
                let of = lists[self.below(lists.len())];
                let what = ["all", "exists", "exists_one"][self.below(3)];
                self.each(names, what, of, (Type::Truth, depth))
            }
        }
    }

    fn number(&mut self, names: &mut Names, depth: usize) -> Term {
        match self.below(8) {
            0 => Term::Binary(
                ["+", "-", "*", "/", "%"][self.below(5)],
                self.boxed(names, Type::Number, depth),
                self.boxed(names, Type::Number, depth),
            ),
            1 => Term::Negative(self.boxed(names, Type::Number, depth)),
            2 | 3 => {
                let sized = [Type::Numbers, Type::Texts, Type::Text, Type::Object, Type::Nodes, Type::ListOfNumbers];
                let of = sized[self.below(sized.len())];
                Term::Call("size", vec![self.term(names, of, depth)])
            }
            4 => Term::Call(["min", "max"][self.below(2)], vec![self.term(names, Type::Numbers, depth)]),
            5 => Term::At(self.boxed(names, Type::Numbers, depth), Box::new(Term::Constant(json!(self.below(2))))),
            6 => Term::Field(self.boxed(names, Type::Node, depth), "odd"),
            _ => Term::Field(self.boxed(names, Type::Node, depth), "n"),
        }
    }

    fn list(&mut self, names: &mut Names, of: Type, depth: usize) -> Term {
        let (inner, field) = match of {
            Type::Numbers => (Type::Number, "log"),
            Type::Texts => (Type::Text, "texts"),
            _ => (Type::Numbers, "logs"),
        };
        match self.below(9) {
            0 => Term::Binary("+", self.boxed(names, of, depth), self.boxed(names, of, depth)),
            1 => Term::Call("unique", vec![self.term(names, of, depth)]),
            2 => self.each(names, "filter", of, (Type::Truth, depth)),
            3 | 4 => {
                let lists = [Type::Nodes, Type::Nodes, Type::Numbers, Type::Texts, Type::Object];
                let from = lists[self.below(lists.len())];
                self.each(names, "map", from, (inner, depth))
            }
            5 => match of {
                Type::Numbers if self.below(2) == 0 => self.closure(names, depth),
                Type::Numbers => Term::Call("values", vec![self.term(names, Type::Object, depth)]),
                Type::Texts => Term::Call("keys", vec![self.term(names, Type::Object, depth)]),
                _ => Term::List(vec![self.term(names, inner, depth), self.term(names, inner, depth)]),
            },
            6 if of == Type::Numbers => Term::Call("flatten", vec![self.term(names, Type::ListOfNumbers, depth)]),
            _ => Term::Field(self.boxed(names, Type::Node, depth), field),
        }
    }

    /// Along a field of the nodes, whose numbers are 0 to 2, or in a cycle.
    fn closure(&mut self, names: &mut Names, depth: usize) -> Term {
        let start = match self.below(3) {
            0 => Term::Field(self.boxed(names, Type::Node, depth), "next"),
            1 => Term::Field(self.boxed(names, Type::Node, depth), "log"),
            _ => Term::Constant(json!(self.below(3))),
        };
        let item = format!("v{}", names.len());
        let there = || Box::new(Term::Name(item.clone()));
        let node = |field| Term::Field(Box::new(Term::At(Box::new(Term::Name("nodes".into())), there())), field);
        let next = match self.below(4) {
            0 => {
                let step = Term::Binary("+", there(), Box::new(Term::Constant(json!(1 + self.below(2)))));
                Term::Binary("%", Box::new(step), Box::new(Term::Constant(json!(3))))
            }
            1 => node("log"),
            _ => node("next"),
        };
        Term::Closure { start: Box::new(start), item, next: Box::new(next) }
    }

    fn each(&mut self, names: &mut Names, what: &'static str, of: Type, (body, depth): (Type, usize)) -> Term {
        let list = self.boxed(names, of, depth);
        let (place_type, item_type) = match of {
            Type::Nodes => (Type::Number, Type::Node),
            Type::Numbers => (Type::Number, Type::Number),
            Type::Texts => (Type::Number, Type::Text),
            Type::ListOfNumbers => (Type::Number, Type::Numbers),
            _ => (Type::Text, Type::Number),
        };
        let known = names.len();
        let (place, item) = ((self.below(2) == 0).then(|| format!("w{known}")), format!("v{known}"));
        names.extend(place.clone().map(|place| (place, place_type)));
        names.push((item.clone(), item_type));
        let body = self.boxed(names, body, depth);
        names.truncate(known);
        Term::Each { what, of: list, place, item, body }
    }

    /// The text of an expression, with brackets where they are needed and sometimes where they are not.
    pub fn written(&mut self, term: &Term) -> String {
        self.write(term, 0)
    }

    /// The same as an operand of an operator with this precedence.
    fn write(&mut self, term: &Term, outside: u8) -> String {
        let (inside, text) = match term {
            Term::Constant(constant) => (8, constant.to_string()),
            Term::Name(name) => (8, name.clone()),
            Term::Field(of, field) if self.below(4) == 0 => (7, format!("{}['{field}']", self.write(of, 7))),
            Term::Field(of, field) => (7, format!("{}.{field}", self.write(of, 7))),
            Term::Has(of, field) => (8, format!("has({}.{field})", self.write(of, 7))),
            Term::At(of, index) => (7, format!("{}[{}]", self.write(of, 7), self.write(index, 0))),
            Term::List(items) => (8, format!("[{}]", self.listed(items))),
            Term::Not(of) => (6, format!("!{}", self.write(of, 6))),
            Term::Negative(of) => (6, format!("-{}", self.write(of, 6))),
            Term::Binary(operator, one, other) => {
                let tightness = match *operator {
                    "||" => 1,
                    "&&" => 2,
                    "+" | "-" => 4,
                    "*" | "/" | "%" => 5,
                    _ => 3,
                };
                let (one, other) = (self.write(one, tightness), self.write(other, tightness + 1));
                (tightness, format!("{one} {operator} {other}"))
            }
            Term::Choice(parts) => {
                let [condition, one, other] = &**parts;
                let condition = self.write(condition, 1);
                (0, format!("{condition} ? {} : {}", self.write(one, 0), self.write(other, 0)))
            }
            Term::Call(function, arguments) => (8, format!("{function}({})", self.listed(arguments))),
            Term::Each { what, of, place, item, body } => {
                let of = self.write(of, 7);
                let place = place.as_ref().map(|place| format!("{place}, ")).unwrap_or_default();
                (7, format!("{of}.{what}({place}{item}, {})", self.write(body, 0)))
            }
            Term::Closure { start, item, next } => {
                (8, format!("closure({}, {item}, {})", self.write(start, 0), self.write(next, 0)))
            }
        };
        if inside < outside || self.below(16) == 0 { format!("({text})") } else { text }
    }

    fn listed(&mut self, terms: &[Term]) -> String {
        terms.iter().map(|term| self.write(term, 0)).collect::<Vec<_>>().join(", ")
    }
}
