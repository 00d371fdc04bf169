//! From words to a syntax tree. The parser refuses unknown names.

use super::syntax::{Closure, Each, Function, Kind, Operator, Part, Quantifier};
use super::tokens::{Token, Word};
use super::value::Value;
use super::{DEPTH_MAX, ExpressionError, error};

/// Reads a syntax tree.
pub struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    /// The names that are known, `node` and `nodes` first.
    names: Vec<String>,
}

impl Parser {
    /// A parser of these words.
    pub fn new(tokens: Vec<Token>) -> Self {
        Self { tokens, next: 0, depth: 0, names: vec!["node".to_owned(), "nodes".to_owned()] }
    }

    /// The whole.
    pub fn whole(mut self) -> Result<Part, ExpressionError> {
        let part = self.choice()?;
        match self.word() {
            Word::End => Ok(part),
            _ => Err(self.unexpected("an operator")),
        }
    }

    fn word(&self) -> &Word {
        &self.tokens[self.next].word
    }

    fn at(&self) -> usize {
        self.tokens[self.next].at
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.word(), Word::Sign(there) if *there == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_there = self.is(sign);
        self.next += usize::from(is_there);
        is_there
    }

    fn need(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> ExpressionError {
        let there = match self.word() {
            Word::End => "it ends here".to_owned(),
            Word::Name(name) => format!("there is `{name}`"),
            Word::Sign(sign) => format!("there is `{sign}`"),
            Word::Number(_) => "there is a number".to_owned(),
            Word::Text(_) => "there is a text".to_owned(),
        };
        error(self.at(), format!("expected {wanted}, and {there}"))
    }

    /// One level deeper; the evaluation needs as much stack again.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ExpressionError>) -> Result<T, ExpressionError> {
        if self.depth == DEPTH_MAX {
            return Err(error(self.at(), format!("nested more than {DEPTH_MAX} deep")));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn choice(&mut self) -> Result<Part, ExpressionError> {
        self.deeper(|this| {
            let condition = this.binary(1)?;
            let at = this.at();
            if !this.take("?") {
                return Ok(condition);
            }
            let one = this.choice()?;
            this.need(":")?;
            let other = this.choice()?;
            Ok(Part { at, kind: Kind::Choice(Box::new([condition, one, other])) })
        })
    }

    fn operator(&self) -> Option<(Operator, u8)> {
        let text = match self.word() {
            Word::Sign(sign) => sign,
            Word::Name(name) if name == "in" => "in",
            _ => return None,
        };
        Operator::TABLE.iter().find(|row| row.0 == text).map(|row| (row.1, row.2))
    }

    /// Operators that bind at least this tightly. Chains nest to the left, and each operator counts as a level.
    fn binary(&mut self, least: u8) -> Result<Part, ExpressionError> {
        let mut left = self.unary()?;
        let before = self.depth;
        while let Some((operator, tightness)) = self.operator().filter(|(_, tightness)| *tightness >= least) {
            let at = self.at();
            self.next += 1;
            self.depth += 1;
            let right = self.deeper(|this| this.binary(tightness + 1))?;
            left = Part { at, kind: Kind::Binary(operator, Box::new(left), Box::new(right)) };
        }
        self.depth = before;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Part, ExpressionError> {
        let at = self.at();
        if self.take("!") {
            let part = self.deeper(Self::unary)?;
            return Ok(Part { at, kind: Kind::Not(Box::new(part)) });
        }
        if self.take("-") {
            let part = self.deeper(Self::unary)?;
            return Ok(Part { at, kind: Kind::Negative(Box::new(part)) });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Result<Part, ExpressionError> {
        let mut part = self.primary()?;
        let before = self.depth;
        loop {
            let at = self.at();
            if self.depth >= DEPTH_MAX {
                return Err(error(at, format!("nested more than {DEPTH_MAX} deep")));
            }
            if self.take(".") {
                let at = self.at();
                let name = self.name()?;
                part = if self.is("(") { self.each(at, &name, part)? } else { field(at, part, name) };
            } else if self.take("[") {
                let index = self.choice()?;
                self.need("]")?;
                part = match index.kind {
                    Kind::Constant(Value::Text(name)) => field(at, part, (*name).to_owned()),
                    _ => Part { at, kind: Kind::Index(Box::new(part), Box::new(index)) },
                };
            } else {
                self.depth = before;
                return Ok(part);
            }
            self.depth += 1;
        }
    }

    fn name(&mut self) -> Result<String, ExpressionError> {
        let Word::Name(name) = self.word().clone() else { return Err(self.unexpected("a name")) };
        self.next += 1;
        Ok(name)
    }

    /// A variable, which names a value in the text that follows.
    fn variable(&mut self) -> Result<String, ExpressionError> {
        let at = self.at();
        let name = self.name()?;
        let is_taken = self.names.contains(&name) || ["true", "false", "null", "in"].contains(&&*name);
        if is_taken {
            return Err(error(at, format!("`{name}` means something else here; take another name")));
        }
        Ok(name)
    }

    fn each(&mut self, at: usize, name: &str, of: Part) -> Result<Part, ExpressionError> {
        let Some((_, what)) = Quantifier::TABLE.into_iter().find(|row| row.0 == name) else {
            let known: Vec<&str> = Quantifier::TABLE.iter().map(|row| row.0).collect();
            return Err(error(at, format!("a list has no `{name}`; it has: {}", known.join(", "))));
        };
        self.need("(")?;
        let first = self.variable()?;
        self.need(",")?;
        let second = match (self.word(), self.tokens.get(self.next + 1).map(|token| &token.word)) {
            (Word::Name(_), Some(Word::Sign(","))) => Some(self.variable()?),
            _ => None,
        };
        if second.is_some() {
            self.need(",")?;
        }
        let (place, item) = match second {
            Some(item) => (Some(first), item),
            None => (None, first),
        };
        let known = self.names.len();
        self.names.extend(place.clone());
        self.names.push(item.clone());
        let body = self.choice()?;
        self.names.truncate(known);
        self.need(")")?;
        Ok(Part { at, kind: Kind::Each(Box::new(Each { what, of, place, item, body })) })
    }

    fn primary(&mut self) -> Result<Part, ExpressionError> {
        let at = self.at();
        if self.take("(") {
            let part = self.choice()?;
            self.need(")")?;
            return Ok(part);
        }
        if self.take("[") {
            let items = self.items("]")?;
            return Ok(Part { at, kind: Kind::List(items) });
        }
        let constant = match self.word().clone() {
            Word::Number(number) => number,
            Word::Text(text) => Value::Text(text.into()),
            Word::Name(name) => {
                self.next += 1;
                return self.named(at, name);
            }
            Word::Sign(_) | Word::End => return Err(self.unexpected("a value")),
        };
        self.next += 1;
        Ok(Part { at, kind: Kind::Constant(constant) })
    }

    fn items(&mut self, end: &str) -> Result<Vec<Part>, ExpressionError> {
        let mut items = Vec::new();
        while !self.take(end) {
            if !items.is_empty() {
                self.need(",")?;
            }
            items.push(self.choice()?);
        }
        Ok(items)
    }

    fn named(&mut self, at: usize, name: String) -> Result<Part, ExpressionError> {
        let constant = match &*name {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => None,
        };
        if let Some(constant) = constant {
            return Ok(Part { at, kind: Kind::Constant(constant) });
        }
        if self.take("(") {
            return self.call(at, &name);
        }
        if self.names.contains(&name) {
            return Ok(Part { at, kind: Kind::Name(name) });
        }
        Err(error(at, format!("there is no `{name}`; there are: {}", self.names.join(", "))))
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Part, ExpressionError> {
        if name == "closure" {
            let start = self.choice()?;
            self.need(",")?;
            let item = self.variable()?;
            self.need(",")?;
            self.names.push(item.clone());
            let next = self.choice()?;
            self.names.pop();
            self.need(")")?;
            return Ok(Part { at, kind: Kind::Closure(Box::new(Closure { start, item, next })) });
        }
        let mut arguments = self.items(")")?;
        if name == "has" {
            let one = if arguments.len() == 1 { arguments.pop() } else { None };
            return match one.map(|part| part.kind) {
                Some(Kind::Field(of, field)) => Ok(Part { at, kind: Kind::Has(of, field) }),
                _ => Err(error(at, "`has` asks for a field, as in has(node.leader)")),
            };
        }
        let Some((_, function, count)) = Function::TABLE.into_iter().find(|row| row.0 == name) else {
            let known: Vec<&str> = Function::TABLE.iter().map(|row| row.0).chain(["has", "closure"]).collect();
            return Err(error(at, format!("there is no function `{name}`; there are: {}", known.join(", "))));
        };
        if arguments.len() != count {
            return Err(error(at, format!("`{name}` takes {count} and not {} arguments", arguments.len())));
        }
        Ok(Part { at, kind: Kind::Call(function, arguments) })
    }
}

fn field(at: usize, of: Part, name: String) -> Part {
    Part { at, kind: Kind::Field(Box::new(of), name) }
}
