//! Values of a scenario with their places. Errors name file and line.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::base::Failure;
use crate::base::names::closest;
use crate::base::text::on_one_line;
use crate::scenario_file::content::Scenario;
use crate::scenario_file::keys::keys;

/// A failure about a place in the file.
pub fn wrong(path: &Path, line: Option<usize>, what: &str) -> Failure {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    // Keys and values are quoted, and can have line breaks.
    Failure::configuration(format_args!("{}{line}: {}", path.display(), on_one_line(what)))
}

/// The text with its path, to point into.
pub struct Reader<'t> {
    /// The text.
    pub text: &'t str,
    /// The file, for messages and for paths in it.
    pub path: &'t Path,
}

/// A key with its place.
pub type Key<'t> = Spanned<std::borrow::Cow<'t, str>>;
/// A value with its place.
pub type Value<'t> = Spanned<DeValue<'t>>;

/// An element of a list of tables.
pub struct Row<'v, 't>(&'v DeTable<'t>);

impl<'v, 't> Row<'v, 't> {
    /// A field with its key, if it is given.
    pub fn field(&self, name: &str) -> Option<(&'v Key<'t>, &'v Value<'t>)> {
        self.0.iter().find(|(key, _)| key.get_ref() == name)
    }
}

impl<'t> Reader<'t> {
    /// The line of a byte, counted from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count()
    }

    /// A failure about a key.
    pub fn wrong(&self, key: &Key<'_>, what: &str) -> Failure {
        wrong(self.path, Some(self.line(key.span().start)), what)
    }

    /// A table.
    pub fn table<'v>(&self, key: &Key<'_>, value: &'v Value<'t>) -> Result<&'v DeTable<'t>, Failure> {
        value.get_ref().as_table().ok_or_else(|| {
            self.wrong(key, &format!("`{0}` must be a table: [{0}] on a line of its own", key.get_ref()))
        })
    }

    /// An element of a list of tables, and its fields by name.
    pub fn row<'v>(&self, key: &Key<'_>, value: &'v Value<'t>, known: &[&str]) -> Result<Row<'v, 't>, Failure> {
        let name = key.get_ref();
        let table = value.get_ref().as_table();
        let table = table
            .ok_or_else(|| self.wrong(key, &format!("`{name}` must be a table: [[{name}]] on a line of its own")))?;
        match table.keys().find(|key| !known.contains(&&**key.get_ref())) {
            Some(unknown) => Err(self.unknown_of(name, unknown, known)),
            None => Ok(Row(table)),
        }
    }

    /// A list.
    pub fn list<'v>(&self, key: &Key<'_>, value: &'v Value<'t>) -> Result<&'v [Value<'t>], Failure> {
        let list = value.get_ref().as_array();
        list.map(|list| &**list).ok_or_else(|| match &**key.get_ref() {
            name @ ("node" | "link") => {
                self.wrong(key, &format!("`{name}` must be a list of tables: [[{name}]] on a line of its own"))
            }
            name => self.wrong(key, &format!("`{name}` must be a list in brackets")),
        })
    }

    /// A text.
    pub fn text(&self, key: &Key<'_>, value: &Value<'_>) -> Result<String, Failure> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| self.wrong(key, &format!("`{}` must be a text in quotes", key.get_ref())))
    }

    /// One of the known words.
    pub fn word(&self, key: &Key<'_>, value: &Value<'_>, what: &str, known: &[&str]) -> Result<String, Failure> {
        let word = self.text(key, value)?;
        match known.contains(&word.as_str()) {
            true => Ok(word),
            false => Err(self.wrong(key, &format!("{what} is one of {}, not {word:?}", known.join(", ")))),
        }
    }

    /// A text, a whole number, true or false, as on a command line.
    pub fn scalar(&self, key: &Key<'_>, value: &Value<'_>) -> Result<String, Failure> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Boolean(value) => Ok(value.to_string()),
            _ => self.number(key, value).map(|number| number.to_string()).map_err(|_| {
                self.wrong(key, &format!("`{}` must be a text, a whole number, true or false", key.get_ref()))
            }),
        }
    }

    /// True or false.
    pub fn flag(&self, key: &Key<'_>, value: &Value<'_>) -> Result<bool, Failure> {
        let flag = value.get_ref().as_bool();
        flag.ok_or_else(|| self.wrong(key, &format!("`{}` must be true or false", key.get_ref())))
    }

    /// A whole number.
    pub fn number(&self, key: &Key<'_>, value: &Value<'_>) -> Result<u64, Failure> {
        let number = value.get_ref().as_integer();
        let number = number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.ok_or_else(|| self.wrong(key, &format!("`{}` must be a whole number, not less than 0", key.get_ref())))
    }

    /// A path, relative to the folder of the file.
    pub fn path(&self, key: &Key<'_>, value: &Value<'_>) -> Result<PathBuf, Failure> {
        let path = self.text(key, value)?;
        Ok(self.path.parent().unwrap_or(Path::new("")).join(path))
    }

    /// Notes the line of an option.
    pub fn note(&self, file: &mut Scenario, option: String, at: &Key<'_>) {
        file.note(option, self.line(at.span().start));
    }

    /// A failure about the value of an option.
    pub fn invalid(&self, key: &Key<'_>, option: &str, value: &str, why: &str) -> Failure {
        self.wrong(key, &format!("invalid value '{value}' for '--{option}': {why}"))
    }

    /// Says that a section has no such key, and lists its keys.
    pub fn unknown_of(&self, section: &str, key: &Key<'_>, known: &[&str]) -> Failure {
        let place = if section.is_empty() { "a scenario".to_owned() } else { format!("[{section}]") };
        let failure = self.wrong(key, &format!("{place} has no key `{}` in this version", key.get_ref()));
        failure.help(format_args!("{}there are: {}", meant(key.get_ref(), known), known.join(", ")))
    }
}

/// The closest key of this section; or, for an option in the wrong section, the right one.
fn meant(key: &str, known: &[&str]) -> String {
    if let Some(closest) = closest(key, known) {
        return format!("write `{closest}`; ");
    }
    let all: Vec<(&str, &str)> = keys().map(|(section, name, _)| (section, name)).collect();
    let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
    let section = |name: &str| all.iter().find(|(_, other)| *other == name).map(|(section, _)| *section);
    match closest(key, &names).and_then(|name| Some((name, section(name)?))) {
        Some((name, "")) => format!("write `{name}` above all sections; "),
        Some((name, section)) => format!("write `{name}` under [{section}]; "),
        None => String::new(),
    }
}
