//! The syntax tree of an expression.

/// A part of an expression.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its place: the number of its first character, from 1 on.
    pub at: usize,
    /// The kind.
    pub kind: Kind,
}

/// The kinds of parts of an expression.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A constant.
    Constant(super::value::Value),
    /// `node`, `nodes` or a variable.
    Name(String),
    /// `of.field`
    Field(Box<Part>, String),
    /// `has(of.field)`
    Has(Box<Part>, String),
    /// `of[index]`
    Index(Box<Part>, Box<Part>),
    /// `[a, b]`
    List(Vec<Part>),
    /// `!a`
    Not(Box<Part>),
    /// `-a`
    Negative(Box<Part>),
    /// `a op b`
    Binary(Operator, Box<Part>, Box<Part>),
    /// `a ? b : c`
    Choice(Box<[Part; 3]>),
    /// `function(a, b)`
    Call(Function, Vec<Part>),
    /// `of.all(place, item, body)` and its like.
    Each(Box<Each>),
    /// `closure(start, item, next)`
    Closure(Box<Closure>),
}

/// A walk through a list, or through the keys of an object.
#[derive(Clone, Debug)]
pub struct Each {
    /// The operation.
    pub what: Quantifier,
    /// The list.
    pub of: Part,
    /// The variable for the place in the list, or for the key; none if it has none.
    pub place: Option<String>,
    /// The variable for the element.
    pub item: String,
    /// The expression that is evaluated for each element.
    pub body: Part,
}

/// The values that can be reached from others along a field, in any number of steps.
#[derive(Clone, Debug)]
pub struct Closure {
    /// The first values, or a single one.
    pub start: Part,
    /// The variable for a value that is reached.
    pub item: String,
    /// The value or values that it leads to.
    pub next: Part,
}

/// The operations of a walk through a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Whether the body holds for all.
    All,
    /// Whether it holds for one or more.
    Exists,
    /// Whether it holds for exactly one.
    ExistsOne,
    /// The elements for which it holds.
    Filter,
    /// The values of the body.
    Map,
}

impl Quantifier {
    /// The quantifiers by name.
    pub const TABLE: [(&str, Self); 5] = [
        ("all", Self::All),
        ("exists", Self::Exists),
        ("exists_one", Self::ExistsOne),
        ("filter", Self::Filter),
        ("map", Self::Map),
    ];
}

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `in`
    In,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

impl Operator {
    /// The operators as they are written, with their precedence.
    pub const TABLE: [(&str, Self, u8); 14] = [
        ("||", Self::Or, 1),
        ("&&", Self::And, 2),
        ("==", Self::Equal, 3),
        ("!=", Self::Unequal, 3),
        ("<=", Self::AtMost, 3),
        (">=", Self::AtLeast, 3),
        ("<", Self::Less, 3),
        (">", Self::More, 3),
        ("in", Self::In, 3),
        ("+", Self::Plus, 4),
        ("-", Self::Minus, 4),
        ("*", Self::Times, 5),
        ("/", Self::Divide, 5),
        ("%", Self::Remainder, 5),
    ];

    /// The operator as it is written.
    pub fn text(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The number of elements, keys or characters.
    Size,
    /// A list without repetitions: a set.
    Unique,
    /// The elements of the lists in a list.
    Flatten,
    /// Whether the first list is the beginning of the second one.
    Prefix,
    /// The keys of an object, sorted.
    Keys,
    /// The values of an object, in the order of their keys.
    Values,
    /// The least of a list.
    Min,
    /// The greatest of a list.
    Max,
}

impl Function {
    /// The functions by name, with their numbers of arguments.
    pub const TABLE: [(&str, Self, usize); 8] = [
        ("size", Self::Size, 1),
        ("unique", Self::Unique, 1),
        ("flatten", Self::Flatten, 1),
        ("prefix", Self::Prefix, 2),
        ("keys", Self::Keys, 1),
        ("values", Self::Values, 1),
        ("min", Self::Min, 1),
        ("max", Self::Max, 1),
    ];
}
