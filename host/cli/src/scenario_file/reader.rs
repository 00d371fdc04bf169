//! A scenario from its text. Whatever is wrong with it is named with file and line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use host_model::scenario::Network;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::base::failure::Failure;
use crate::base::text::on_one_line;
use crate::options::Arguments;
use crate::options::limits;
use crate::scenario_file::content::{Given, ScenarioFile};
use crate::scenario_file::expected;

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    /// A path, relative to the folder of the file.
    Path,
    /// An option without a value, given or not.
    Flag,
}

/// Keys that stand for one option each: section, name, kind. The option has the name of the key.
const KEYS: &[(&str, &str, Kind)] = &[
    ("", "nodes", Kind::Number),
    ("", "network", Kind::Text),
    ("", "prefix", Kind::Path),
    ("", "audit", Kind::Text),
    ("", "no-minimize", Kind::Flag),
    ("", "deadlock", Kind::Flag),
    ("", "continue", Kind::Flag),
    ("", "max-violations", Kind::Number),
    ("strategy", "algo", Kind::Text),
    ("strategy", "reduce", Kind::Flag),
    ("strategy", "no-symmetry", Kind::Flag),
    ("strategy", "walks", Kind::Number),
    ("strategy", "seed", Kind::Number),
    ("strategy", "weights", Kind::Text),
    ("faults", "resets", Kind::Number),
    ("faults", "duplicates", Kind::Number),
    ("faults", "breaks", Kind::Number),
    ("faults", "refusals", Kind::Number),
    ("faults", "crashes", Kind::Number),
    ("faults", "partitions", Kind::Number),
    ("bounds", "depth", Kind::Number),
    ("bounds", "local-events", Kind::Number),
    ("bounds", "states", Kind::Number),
    ("bounds", "time", Kind::Text),
    ("bounds", "memory", Kind::Text),
];

/// Keys with a meaning of their own, in the order in which errors list them.
const PLUGIN: &str = "plugin";
const SECTIONS: [&str; 9] = ["parameters", "faults", "strategy", "bounds", "limits", "link", "node", "twins", "expect"];

/// Keys of a table [[node]].
const NODE_KEYS: [&str; 4] = ["id", "plugin", "adversary", "parameters"];

/// Keys of a table [[link]].
const LINK_KEYS: [&str; 4] = ["between", "from", "to", "network"];

/// A scenario from its text; `path` is for messages, and for paths in it.
pub fn parse(text: &str, path: &Path) -> Result<ScenarioFile, Failure> {
    let reader = Reader { text, path };
    let document = DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| reader.line(span.start));
        wrong(path, line, &format!("this is not TOML: {}", error.message().replace('\n', ", ")))
    })?;
    let mut file = ScenarioFile::default();
    for (key, value) in document.get_ref() {
        let name: &str = key.get_ref();
        match name {
            PLUGIN => file.plugin = Some(reader.path(key, value)?),
            "parameters" => {
                for (key, value) in reader.table(key, value)? {
                    let name: &str = key.get_ref();
                    if name.is_empty() || name.contains(['=', '\n', '\r']) {
                        return Err(reader.wrong(key, &format!("{name:?} cannot be the name of a parameter")));
                    }
                    reader.push(&mut file, "set", key, Some(name.to_owned()), reader.scalar(key, value)?.into())?;
                }
            }
            "limits" => {
                for (key, value) in reader.table(key, value)? {
                    let text = reader.scalar(key, value)?;
                    limits::value(key.get_ref(), &text).map_err(|why| reader.wrong(key, &why))?;
                    reader.push(&mut file, "limit", key, Some(key.get_ref().to_string()), text.into())?;
                }
            }
            "node" => {
                for node in reader.list(key, value)? {
                    reader.node(&mut file, key, node)?;
                }
            }
            "link" => {
                for link in reader.list(key, value)? {
                    reader.link(&mut file, key, link)?;
                }
            }
            "twins" => {
                for twin in reader.list(key, value)? {
                    let number = reader.number(key, twin)?;
                    reader.push(&mut file, "twin", key, None, number.to_string().into())?;
                }
            }
            "expect" => file.expect = expected::read(&reader, reader.table(key, value)?)?,
            section if SECTIONS.contains(&section) => {
                for (key, value) in reader.table(key, value)? {
                    reader.option(&mut file, section, key, value)?;
                }
            }
            _ => reader.option(&mut file, "", key, value)?,
        }
    }
    Ok(file)
}

/// A failure about a place in the file.
pub fn wrong(path: &Path, line: Option<usize>, what: &str) -> Failure {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    // Keys and values are quoted, and can have line breaks.
    Failure::configuration(format_args!("{}{line}: {}", path.display(), on_one_line(what)))
}

/// What clap says, on one line and without advice about the command line.
pub fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines =
        text.lines().map(str::trim).take_while(|line| !line.starts_with("For more") && !line.starts_with("Usage"));
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

/// The text with its path, to point into.
pub struct Reader<'t> {
    text: &'t str,
    path: &'t Path,
}

/// A key with its place.
pub type Key<'t> = Spanned<std::borrow::Cow<'t, str>>;
/// A value with its place.
pub type Value<'t> = Spanned<DeValue<'t>>;

impl<'t> Reader<'t> {
    /// The line of a byte, counted from 1.
    fn line(&self, at: usize) -> usize {
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

    fn list<'v>(&self, key: &Key<'_>, value: &'v Value<'t>) -> Result<&'v [Value<'t>], Failure> {
        let list = value.get_ref().as_array();
        list.map(|list| &**list).ok_or_else(|| match &**key.get_ref() {
            name @ ("node" | "link") => {
                self.wrong(key, &format!("`{name}` must be a list of tables: [[{name}]] on a line of its own"))
            }
            name => self.wrong(key, &format!("`{name}` must be a list in brackets")),
        })
    }

    /// One table [[node]]: what one node runs.
    fn node(&self, file: &mut ScenarioFile, key: &Key<'_>, value: &Value<'t>) -> Result<(), Failure> {
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| self.wrong(key, "`node` must be a table: [[node]] on a line of its own"))?;
        if let Some((unknown, _)) = table.iter().find(|(key, _)| !NODE_KEYS.contains(&&**key.get_ref())) {
            return Err(self.unknown_of("node", unknown, &NODE_KEYS));
        }
        let field = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
        let Some((id_key, id)) = field("id") else {
            let line = self.line(value.span().start);
            return Err(wrong(self.path, Some(line), "a table [[node]] needs the `id` of a node"));
        };
        let id = self.number(id_key, id)?.to_string();
        let before = file.options.len();
        let is_adversary = match field("adversary") {
            Some((key, value)) => {
                let given = value.get_ref().as_bool();
                given.ok_or_else(|| self.wrong(key, "`adversary` must be true or false"))?
            }
            None => false,
        };
        match field("plugin") {
            Some((key, value)) => {
                let option = if is_adversary { "adversary" } else { "node" };
                self.push(file, option, key, Some(id.clone()), self.path(key, value)?.into())?;
            }
            None if is_adversary => return Err(self.wrong(id_key, "an adversary needs a `plugin` of its own")),
            None => {}
        }
        if let Some((key, value)) = field("parameters") {
            for (key, value) in self.table(key, value)? {
                let place = format!("{id}:{}", key.get_ref());
                self.push(file, "set-on", key, Some(place), self.scalar(key, value)?.into())?;
            }
        }
        // Nobody would look at whether there is such a node.
        if file.options.len() == before {
            return Err(self.wrong(id_key, &format!("nothing is said about node {id}: give `plugin` or `parameters`")));
        }
        Ok(())
    }

    /// One table [[link]]: the network between two nodes, or from one to another.
    fn link(&self, file: &mut ScenarioFile, key: &Key<'_>, value: &Value<'t>) -> Result<(), Failure> {
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| self.wrong(key, "`link` must be a table: [[link]] on a line of its own"))?;
        if let Some((unknown, _)) = table.iter().find(|(key, _)| !LINK_KEYS.contains(&&**key.get_ref())) {
            return Err(self.unknown_of("link", unknown, &LINK_KEYS));
        }
        let field = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
        let line = self.line(value.span().start);
        let (at, one, other) = match (field("between"), field("from"), field("to")) {
            (Some((at, ends)), None, None) => match self.list(at, ends)? {
                [one, other] => (at, self.number(at, one)?, self.number(at, other)?),
                ends => return Err(self.wrong(at, &format!("`between` must name two nodes, not {}", ends.len()))),
            },
            (None, Some((at, from)), Some((to_key, to))) => (at, self.number(at, from)?, self.number(to_key, to)?),
            _ => {
                let what = "a table [[link]] needs two nodes: `between`, or `from` and `to` for one way";
                return Err(wrong(self.path, Some(line), what));
            }
        };
        let Some((network_key, network)) = field("network") else {
            return Err(wrong(self.path, Some(line), "a table [[link]] needs a `network`"));
        };
        let network = self.text(network_key, network)?;
        if !Network::ALL.iter().any(|known| known.name() == network) {
            let known = Network::ALL.map(Network::name).join(", ");
            return Err(self.wrong(network_key, &format!("there is no network {network:?}; there are: {known}")));
        }
        let is_both = field("between").is_some() && one != other;
        for (from, to) in [(one, other), (other, one)].into_iter().take(1 + usize::from(is_both)) {
            // One way each: the command line may say something else of one of them.
            let place = format!("{from}>{to}");
            if file.options.iter().any(|given| given.option == "link" && given.key.as_ref() == Some(&place)) {
                let what = format!("the network from node {from} to node {to} is given twice; keep one");
                return Err(self.wrong(at, &what));
            }
            self.push(file, "link", at, Some(place), network.clone().into())?;
        }
        Ok(())
    }

    /// A text.
    pub fn text(&self, key: &Key<'_>, value: &Value<'_>) -> Result<String, Failure> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| self.wrong(key, &format!("`{}` must be a text in quotes", key.get_ref())))
    }

    /// A text, a whole number, true or false, as it stands on a command line.
    fn scalar(&self, key: &Key<'_>, value: &Value<'_>) -> Result<String, Failure> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Boolean(value) => Ok(value.to_string()),
            _ => self.number(key, value).map(|number| number.to_string()).map_err(|_| {
                self.wrong(key, &format!("`{}` must be a text, a whole number, true or false", key.get_ref()))
            }),
        }
    }

    /// A whole number.
    pub fn number(&self, key: &Key<'_>, value: &Value<'_>) -> Result<u64, Failure> {
        let number = value.get_ref().as_integer();
        let number = number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        number.ok_or_else(|| self.wrong(key, &format!("`{}` must be a whole number, not less than 0", key.get_ref())))
    }

    /// A path in the file is relative to the file.
    fn path(&self, key: &Key<'_>, value: &Value<'_>) -> Result<PathBuf, Failure> {
        let path = self.text(key, value)?;
        Ok(self.path.parent().unwrap_or(Path::new("")).join(path))
    }

    /// A key that stands for an option.
    fn option(&self, file: &mut ScenarioFile, section: &str, key: &Key<'_>, value: &Value<'_>) -> Result<(), Failure> {
        let name: &str = key.get_ref();
        let Some((_, option, kind)) = KEYS.iter().find(|row| (row.0, row.1) == (section, name)) else {
            return Err(self.unknown(section, key));
        };
        let value: OsString = match kind {
            Kind::Number => self.number(key, value)?.to_string().into(),
            Kind::Text => self.text(key, value)?.into(),
            Kind::Path => self.path(key, value)?.into(),
            Kind::Flag => {
                let is_given = value.get_ref().as_bool();
                match is_given.ok_or_else(|| self.wrong(key, &format!("`{name}` must be true or false")))? {
                    true => OsString::new(),
                    false => return Ok(()),
                }
            }
        };
        self.push(file, option, key, None, value)
    }

    /// Adds an option after a look at its value: now the line is known.
    fn push(
        &self,
        file: &mut ScenarioFile,
        option: &'static str,
        at: &Key<'_>,
        key: Option<String>,
        value: OsString,
    ) -> Result<(), Failure> {
        let given = Given { option, key, value, line: self.line(at.span().start) };
        let words = ["host".into(), "run".into(), "plugin".into(), given.word()];
        Arguments::try_parse_from(words).map_err(|error| self.wrong(at, &one_line(&error)))?;
        file.options.push(given);
        Ok(())
    }

    fn unknown(&self, section: &str, key: &Key<'_>) -> Failure {
        let mut known: Vec<&str> = KEYS.iter().filter(|row| row.0 == section).map(|row| row.1).collect();
        if section.is_empty() {
            known.insert(0, PLUGIN);
            known.extend(SECTIONS);
        }
        self.unknown_of(section, key, &known)
    }

    /// Says that there is no such key in a section, and which there are.
    pub fn unknown_of(&self, section: &str, key: &Key<'_>, known: &[&str]) -> Failure {
        let place = if section.is_empty() { "a scenario".to_owned() } else { format!("[{section}]") };
        let failure = self.wrong(key, &format!("{place} has no key `{}` in this version", key.get_ref()));
        failure.help(format_args!("there are: {}", known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let file = parse(text, Path::new("a/scenarios/s.toml")).expect("a scenario");
        file.options.iter().map(|given| given.word().into_string().expect("text")).collect()
    }

    #[test]
    fn keys_stand_for_options() {
        let text = "nodes = 3\nprefix = \"live.json\"\n[parameters]\nbug = \"none\"\nproposers = 2\nfast = true\n\
                    [bounds]\ntime = \"5s\"\nlocal-events = 0x10\n[limits]\nfuel = 1_000_000\nmemory = \"64MiB\"\n";
        let expected = [
            "--time=5s",
            "--local-events=16",
            "--limit=fuel=1000000",
            "--limit=memory=64MiB",
            "--nodes=3",
            "--set=bug=none",
            "--set=fast=true",
            "--set=proposers=2",
            "--prefix=a/scenarios/live.json",
        ];
        let mut words = words(text);
        words.sort_unstable();
        let mut expected = expected.map(str::to_owned);
        expected.sort_unstable();
        assert_eq!(words, expected);
    }

    /// Whether an option was typed is asked by the name of its key.
    #[test]
    fn every_key_is_the_name_of_an_argument() {
        let command = Arguments::command();
        let run = command.find_subcommand("run").expect("the command is there");
        for (_, key, _) in KEYS {
            let argument = run.get_arguments().find(|argument| argument.get_long() == Some(*key));
            assert_eq!(argument.map(|argument| argument.get_id().as_str()), Some(&*key.replace('-', "_")), "{key}");
        }
    }

    #[test]
    fn nodes_can_differ() {
        let text = "twins = [0]\n[[node]]\nid = 1\nplugin = \"../../b\"\nparameters = { bug = \"none\" }\n\
                    [[node]]\nid = 2\nplugin = \"c.wasm\"\nadversary = true\n";
        let expected =
            ["--node=1=a/scenarios/../../b", "--set-on=1:bug=none", "--adversary=2=a/scenarios/c.wasm", "--twin=0"];
        let mut words = words(text);
        words.sort_unstable();
        let mut expected = expected.map(str::to_owned);
        expected.sort_unstable();
        assert_eq!(words, expected);
    }

    #[test]
    fn a_link_between_two_nodes_is_two_ways() {
        let text = "[[link]]\nbetween = [0, 1]\nnetwork = \"ordered\"\n\
                    [[link]]\nfrom = 2\nto = 0\nnetwork = \"unordered\"\n\
                    [[link]]\nbetween = [2, 2]\nnetwork = \"ordered\"\n";
        assert_eq!(
            words(text),
            ["--link=0>1=ordered", "--link=1>0=ordered", "--link=2>0=unordered", "--link=2>2=ordered"]
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_line() {
        let cases = [
            ("[[node]]\nplugin = \"a\"", 1, "needs the `id`"),
            ("[[node]]\nid = 1\nplugins = \"a\"", 3, "[node] has no key `plugins`"),
            ("[[node]]\nid = 1\nadversary = true", 2, "an adversary needs a `plugin`"),
            ("[[node]]\nid = 9", 2, "nothing is said about node 9"),
            ("[[node]]\nid = 1\nparameters = {}", 2, "nothing is said about node 1"),
            ("node = 1", 1, "`node` must be a list of tables"),
            ("link = 1", 1, "`link` must be a list of tables"),
            ("[[link]]\nnetwork = \"ordered\"", 1, "needs two nodes: `between`"),
            ("[[link]]\nbetween = [0, 1]\nfrom = 0\nnetwork = \"ordered\"", 1, "needs two nodes: `between`"),
            ("[[link]]\nbetween = [0]\nnetwork = \"ordered\"", 2, "`between` must name two nodes, not 1"),
            ("[[link]]\nbetween = [0, -1]\nnetwork = \"ordered\"", 2, "`between` must be a whole number"),
            ("[[link]]\nbetween = [0, 1]", 1, "needs a `network`"),
            ("[[link]]\nbetween = [0, 1]\nnetwork = \"telegraph\"", 3, "there is no network \"telegraph\""),
            ("[[link]]\nbetween = [0, 1]\nnetworks = \"ordered\"", 3, "[link] has no key `networks`"),
            (
                "[[link]]\nbetween = [0, 1]\nnetwork = \"ordered\"\n[[link]]\nnetwork = \"ordered\"\nto = 0\nfrom = 1",
                7,
                "from node 1 to node 0 is given twice",
            ),
            ("twins = 1", 1, "`twins` must be a list"),
            ("nodes = \n", 1, "not TOML"),
            ("\n\nnodes = \"three\"", 3, "`nodes` must be a whole number"),
            ("nodes = 0", 1, "invalid value '0' for '--nodes"),
            ("nodes = -1", 1, "`nodes` must be a whole number"),
            ("nodes = 3\nnodes = 4", 2, "not TOML: duplicate key"),
            ("network = 3", 1, "`network` must be a text in quotes"),
            ("network = \"telegraph\"", 1, "possible values: unordered"),
            ("nods = 3", 1, "a scenario has no key `nods`"),
            ("[bounds]\ndepth = 3\nwidth = 4", 3, "[bounds] has no key `width`"),
            ("[bounds]\ntime = \"5\"", 2, "with a unit"),
            ("[faults]\nresets = -1", 2, "`resets` must be a whole number"),
            ("[faults]\nfires = 1", 2, "[faults] has no key `fires`"),
            ("bounds = 3", 1, "`bounds` must be a table"),
            ("[strategy]\nalgo = \"magic\"", 2, "invalid value 'magic'"),
            ("[limits]\nmagic = 1", 2, "there is no limit `magic`; there are: fuel"),
            ("[limits]\nfuel = 1", 2, "must be between"),
            ("[parameters]\n\"a=b\" = 1", 2, "cannot be the name of a parameter"),
            ("[parameters]\na = [1]", 2, "`a` must be a text, a whole number, true or false"),
            ("[parameters]\na = \"1\\n2\"", 2, "KEY=VALUE on one line"),
            ("[expect]\nresult = \"fine\"", 2, "`result` is one of ok, violation"),
            ("[expect]\nverdict = \"ok\"", 2, "[expect] has no key `verdict`"),
            ("[expect.counts]\nstates = 3", 2, "[expect.counts] has no key `states`"),
            ("[expect.properties]\nagreement = \"maybe\"", 2, "a property is one of holds"),
        ];
        for (text, line, words) in cases {
            let failure = parse(text, Path::new("s.toml")).expect_err(text);
            let begin = format!("s.toml:{line}: ");
            assert!(failure.message.starts_with(&begin) && failure.message.contains(words), "{text:?}: {failure:?}");
        }
        let failure = parse("[bounds]\ndeep = 3", Path::new("s.toml")).expect_err("no such key");
        assert_eq!(failure.help.as_deref(), Some("there are: depth, local-events, states, time, memory"));
    }
}
