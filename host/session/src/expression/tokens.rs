//! The words of an expression.

use super::value::{self, Value};
use super::{ExpressionError, error};

/// A word with the number of its first character, from 1 on.
#[derive(Clone, Debug)]
pub struct Token {
    /// The place.
    pub at: usize,
    /// The word.
    pub word: Word,
}

/// A word.
#[derive(Clone, Debug)]
pub enum Word {
    /// A name, or a word of the language.
    Name(String),
    /// A number.
    Number(Value),
    /// A text in quotes.
    Text(String),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end.
    End,
}

/// Longer ones first.
const SIGNS: [&str; 23] = [
    "||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]",
    "=",
];

/// Cuts a text into words.
pub fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let letters: Vec<char> = text.chars().collect();
    let mut all = Vec::new();
    let mut next = 0;
    while let Some(&letter) = letters.get(next) {
        let at = next + 1;
        let run = |is_part: &dyn Fn(char) -> bool, from: usize| {
            from + letters[from..].iter().take_while(|letter| is_part(**letter)).count()
        };
        let word = if letter.is_whitespace() {
            next += 1;
            continue;
        } else if letter.is_alphabetic() || letter == '_' {
            let end = run(&|letter| letter.is_alphanumeric() || letter == '_', next);
            let name = letters[next..end].iter().collect();
            next = end;
            Word::Name(name)
        } else if letter.is_ascii_digit() {
            let mut end = run(&|letter| letter.is_ascii_digit(), next);
            let is_real = letters.get(end) == Some(&'.') && letters.get(end + 1).is_some_and(char::is_ascii_digit);
            end = if is_real { run(&|letter| letter.is_ascii_digit(), end + 1) } else { end };
            let digits: String = letters[next..end].iter().collect();
            next = end;
            let number = match is_real {
                true => digits.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Real),
                false => value::whole(&digits),
            };
            Word::Number(number.ok_or_else(|| error(at, "this number is too large"))?)
        } else if letter == '"' || letter == '\'' {
            let (text, end) = quoted(&letters, next)?;
            next = end;
            Word::Text(text)
        } else {
            let is_here = |sign: &&&str| sign.chars().eq(letters[next..].iter().take(sign.len()).copied());
            let sign = SIGNS.iter().find(is_here);
            let sign = sign.ok_or_else(|| error(at, format!("`{letter}` means nothing here")))?;
            if *sign == "=" {
                return Err(error(at, "`=` compares nothing; write `==`"));
            }
            next += sign.len();
            Word::Sign(sign)
        };
        all.push(Token { at, word });
    }
    all.push(Token { at: letters.len() + 1, word: Word::End });
    Ok(all)
}

/// A text in quotes from its first quote on, and the index of its end.
fn quoted(letters: &[char], begin: usize) -> Result<(String, usize), ExpressionError> {
    let mut text = String::new();
    let mut next = begin + 1;
    loop {
        let Some(&letter) = letters.get(next) else {
            return Err(error(begin + 1, "this text has no end"));
        };
        next += 1;
        match letter {
            letter if letter == letters[begin] => return Ok((text, next)),
            '\\' => {
                let escaped = match letters.get(next) {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some(letter @ ('\\' | '"' | '\'')) => *letter,
                    _ => return Err(error(next, r#"after `\` comes one of \ " ' n t"#)),
                };
                text.push(escaped);
                next += 1;
            }
            letter => text.push(letter),
        }
    }
}
