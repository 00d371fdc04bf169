//! A scenario from its text, section by section.

use std::path::Path;

use host_model::contract::PropertyKind;
use host_model::trace::Expressed;
use toml::de::DeTable;

use crate::base::Failure;
use crate::scenario_file::content::Scenario;
use crate::scenario_file::expected;
use crate::scenario_file::keys::{Kind, keys};
use crate::scenario_file::reader::{Key, Reader, Value, wrong};
use crate::spec::{limits, links, placement, values};

/// Keys with a meaning of their own, in the order in which errors list them.
const PLUGIN: &str = "plugin";
const SECTIONS: [&str; 17] = [
    "spec",
    "always",
    "sometimes",
    "eventually",
    "property",
    "ignore",
    "goal",
    "avoid",
    "parameters",
    "faults",
    "strategy",
    "bounds",
    "limits",
    "link",
    "node",
    "twins",
    "expect",
];

/// Keys of a table `[[node]]`.
const NODE_KEYS: [&str; 4] = ["id", "plugin", "adversary", "parameters"];

/// Keys of a table `[[link]]`.
const LINK_KEYS: [&str; 4] = ["between", "from", "to", "network"];

/// A scenario from its text; `path` is for messages, and for paths in it.
pub fn parse(text: &str, path: &Path) -> Result<Scenario, Failure> {
    let reader = Reader { text, path };
    let document = DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| reader.line(span.start));
        wrong(path, line, &format!("this is not TOML: {}", error.message().replace('\n', ", ")))
    })?;
    let mut file = Scenario::new(path.to_owned());
    for (key, value) in document.get_ref() {
        let name: &str = key.get_ref();
        match name {
            PLUGIN => file.spec.cluster.plugin = reader.path(key, value)?,
            "parameters" => {
                for (key, value) in reader.table(key, value)? {
                    reader.parameter(&mut file, key, value)?;
                }
            }
            "always" => reader.expressed(&mut file, PropertyKind::Always, key, value)?,
            "sometimes" => reader.expressed(&mut file, PropertyKind::Sometimes, key, value)?,
            "eventually" => reader.expressed(&mut file, PropertyKind::Eventually, key, value)?,
            "spec" => reader.specs(&mut file, key, value)?,
            "limits" => {
                for (key, value) in reader.table(key, value)? {
                    let text = reader.scalar(key, value)?;
                    let (name, number) = limits::value(key.get_ref(), &text).map_err(|why| reader.wrong(key, &why))?;
                    file.spec.cluster.limits.insert(name.to_owned(), number);
                    reader.note(&mut file, format!("limit {name}"), key);
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
            "property" | "ignore" | "goal" | "avoid" => {
                let names = reader.list(key, value)?.iter().map(|entry| reader.text(key, entry));
                let names = names.collect::<Result<_, _>>()?;
                reader.note(&mut file, name.to_owned(), key);
                let (cluster, search) = (&mut file.spec.cluster, &mut file.spec.search);
                *match name {
                    "property" => &mut cluster.property,
                    "ignore" => &mut cluster.ignore,
                    "goal" => &mut search.goal,
                    _ => &mut search.avoid,
                } = names;
            }
            "twins" => {
                for twin in reader.list(key, value)? {
                    let number = reader.number(key, twin)?;
                    let node = u32::try_from(number)
                        .map_err(|_| reader.invalid(key, "twin", &number.to_string(), "no node"))?;
                    file.spec.cluster.placement.twins.push(node);
                    reader.note(&mut file, "twin".to_owned(), key);
                }
            }
            "expect" => file.expect = expected::read(&reader, reader.table(key, value)?, &mut file)?,
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

impl<'t> Reader<'t> {
    /// Specifications from outside: a path, or a list of paths.
    fn specs(&self, file: &mut Scenario, key: &Key<'_>, value: &Value<'t>) -> Result<(), Failure> {
        file.spec.cluster.specs = match value.get_ref().as_array() {
            Some(paths) => paths.iter().map(|path| self.path(key, path)).collect::<Result<_, _>>()?,
            None => vec![self.path(key, value)?],
        };
        self.note(file, "spec".to_owned(), key);
        Ok(())
    }

    /// A table of properties from outside.
    fn expressed(
        &self,
        file: &mut Scenario,
        kind: PropertyKind,
        key: &Key<'_>,
        value: &Value<'t>,
    ) -> Result<(), Failure> {
        let table = key;
        for (key, value) in self.table(key, value)? {
            let (name, expression) = (key.get_ref().to_string(), self.text(key, value)?);
            self.note(file, format!("{} {name}", table.get_ref()), key);
            file.spec.cluster.expressed.push(Expressed { name, kind, expression });
        }
        Ok(())
    }

    /// One table `[[node]]`: the settings of one node.
    fn node(&self, file: &mut Scenario, key: &Key<'_>, value: &Value<'t>) -> Result<(), Failure> {
        let row = self.row(key, value, &NODE_KEYS)?;
        let Some((id_key, id)) = row.field("id") else {
            let line = self.line(value.span().start);
            return Err(wrong(self.path, Some(line), "a table [[node]] needs the `id` of a node"));
        };
        let id = self.number(id_key, id)?.to_string();
        let placed = &mut file.spec.cluster.placement;
        let before = (placed.node.len(), placed.adversary.len(), placed.parameters.len());
        let is_adversary = row.field("adversary").map_or(Ok(false), |(key, value)| self.flag(key, value))?;
        match row.field("plugin") {
            Some((key, value)) => {
                let (option, list) =
                    if is_adversary { ("adversary", &mut placed.adversary) } else { ("node", &mut placed.node) };
                let text = format!("{id}={}", self.path(key, value)?.display());
                let place = placement::node_path(&text).map_err(|why| self.invalid(key, option, &text, &why))?;
                list.push(place);
                self.note(file, format!("{option} {id}"), key);
            }
            None if is_adversary => return Err(self.wrong(id_key, "an adversary needs a `plugin` of its own")),
            None => {}
        }
        if let Some((key, value)) = row.field("parameters") {
            for (key, value) in self.table(key, value)? {
                let text = format!("{id}:{}={}", key.get_ref(), self.scalar(key, value)?);
                let own = placement::node_assignment(&text).map_err(|why| self.invalid(key, "set-on", &text, &why))?;
                file.spec.cluster.placement.parameters.push(own);
                self.note(file, format!("set-on {id}:{}", key.get_ref()), key);
            }
        }
        // Only settings of a node cause the check that it exists.
        let placed = &file.spec.cluster.placement;
        if (placed.node.len(), placed.adversary.len(), placed.parameters.len()) == before {
            return Err(
                self.wrong(id_key, &format!("there are no settings for node {id}: give `plugin` or `parameters`"))
            );
        }
        self.note(file, format!("id {id}"), id_key);
        Ok(())
    }

    /// One table `[[link]]`: the network between two nodes, or from one to another.
    fn link(&self, file: &mut Scenario, key: &Key<'_>, value: &Value<'t>) -> Result<(), Failure> {
        let row = self.row(key, value, &LINK_KEYS)?;
        let line = self.line(value.span().start);
        let (at, one, other) = match (row.field("between"), row.field("from"), row.field("to")) {
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
        let Some((network_key, network)) = row.field("network") else {
            return Err(wrong(self.path, Some(line), "a table [[link]] needs a `network`"));
        };
        let network = self.text(network_key, network)?;
        let network = links::network(&network).map_err(|why| self.wrong(network_key, &why))?;
        let is_both = row.field("between").is_some() && one != other;
        for (from, to) in [(one, other), (other, one)].into_iter().take(1 + usize::from(is_both)) {
            // One way each: the command line may set one of them differently.
            let text = format!("{from}>{to}={network}");
            let link = links::link(&text).map_err(|why| self.invalid(at, "link", &text, &why))?;
            if file.spec.cluster.links.iter().any(|given| given.ways == link.ways) {
                let what = format!("the network from node {from} to node {to} is given twice; keep one");
                return Err(self.wrong(at, &what));
            }
            self.note(file, link.id(), at);
            file.spec.cluster.links.push(link);
        }
        Ok(())
    }

    /// A parameter of the protocol.
    fn parameter(&self, file: &mut Scenario, key: &Key<'_>, value: &Value<'_>) -> Result<(), Failure> {
        let name: &str = key.get_ref();
        if name.is_empty() || name.contains(['=', '\n', '\r']) {
            return Err(self.wrong(key, &format!("{name:?} cannot be the name of a parameter")));
        }
        let text = format!("{name}={}", self.scalar(key, value)?);
        let pair = values::assignment(&text).map_err(|why| self.invalid(key, "set", &text, &why))?;
        file.spec.cluster.parameters.push(pair);
        self.note(file, format!("set {name}"), key);
        Ok(())
    }

    /// A key that stands for an option.
    fn option(&self, file: &mut Scenario, section: &str, key: &Key<'_>, value: &Value<'_>) -> Result<(), Failure> {
        let name: &str = key.get_ref();
        let Some((_, option, kind)) = keys().find(|row| (row.0, row.1) == (section, name)) else {
            return Err(self.unknown(section, key));
        };
        let spec = &mut file.spec;
        match kind {
            Kind::Budget => {
                let text = match value.get_ref().as_str() {
                    Some(word) => word.to_owned(),
                    None => self.number(key, value)?.to_string(),
                };
                let budget = values::budget(option, &text).map_err(|why| self.invalid(key, option, &text, &why))?;
                spec.cluster.faults.insert(option.to_owned(), budget);
            }
            Kind::Number(set) => {
                let number = self.number(key, value)?;
                set(spec, number).map_err(|why| self.invalid(key, option, &number.to_string(), &why))?;
            }
            Kind::Text(set) => {
                let text = self.text(key, value)?;
                set(spec, &text).map_err(|why| self.invalid(key, option, &text, &why))?;
            }
            Kind::Path(set) => set(spec, self.path(key, value)?),
            Kind::Flag(set) => match self.flag(key, value)? {
                true => set(spec),
                false => return Ok(()),
            },
        }
        self.note(file, option.to_owned(), key);
        Ok(())
    }

    fn unknown(&self, section: &str, key: &Key<'_>) -> Failure {
        let mut known: Vec<&str> = keys().filter(|row| row.0 == section).map(|row| row.1).collect();
        if section.is_empty() {
            known.insert(0, PLUGIN);
            known.extend(SECTIONS);
        }
        self.unknown_of(section, key, &known)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::spec::RunSpec;

    fn spec(text: &str) -> RunSpec {
        parse(text, Path::new("a/scenarios/s.toml")).expect("a scenario").spec
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn keys_stand_for_options() {
        let text = "nodes = 3\nprefix = \"live.json\"\nproperty = [\"a\", \"b\"]\nignore = [\"c\"]\ngoal = [\"d\", \"e\"]\navoid = [\"f\"]\n[parameters]\nbug = \"none\"\nproposers = 2\nfast = true\n\
                    [bounds]\ntime = \"5s\"\nlocal-events = 0x10\n[limits]\nfuel = 1_000_000\nmemory = \"64MiB\"\n";
        let mut expected = RunSpec::default();
        expected.process.time = Some(Duration::from_secs(5));
        expected.search.local_events = Some(16);
        expected.cluster.limits = [("fuel".to_owned(), 1_000_000), ("memory".to_owned(), 64 << 20)].into();
        expected.cluster.nodes = Some(3);
        expected.cluster.property = vec!["a".to_owned(), "b".to_owned()];
        expected.cluster.ignore = vec!["c".to_owned()];
        expected.search.goal = vec!["d".to_owned(), "e".to_owned()];
        expected.search.avoid = vec!["f".to_owned()];
        expected.cluster.parameters = vec![pair("bug", "none"), pair("fast", "true"), pair("proposers", "2")];
        expected.cluster.prefix = Some("a/scenarios/live.json".into());
        let mut found = spec(text);
        found.cluster.parameters.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn nodes_can_differ() {
        let text = "twins = [0]\n[[node]]\nid = 1\nplugin = \"../../b\"\nparameters = { bug = \"none\" }\n\
                    [[node]]\nid = 2\nplugin = \"c.wasm\"\nadversary = true\n";
        let placement = spec(text).cluster.placement;
        assert_eq!(placement.node, [(1, PathBuf::from("a/scenarios/../../b"))]);
        assert_eq!(placement.parameters, [(1, "bug".to_owned(), "none".to_owned())]);
        assert_eq!(placement.adversary, [(2, PathBuf::from("a/scenarios/c.wasm"))]);
        assert_eq!(placement.twins, [0]);
    }

    #[test]
    fn a_link_between_two_nodes_is_two_ways() {
        let text = "[[link]]\nbetween = [0, 1]\nnetwork = \"ordered\"\n\
                    [[link]]\nfrom = 2\nto = 0\nnetwork = \"unordered\"\n\
                    [[link]]\nbetween = [2, 2]\nnetwork = \"ordered\"\n";
        let links = spec(text).cluster.links;
        let links: Vec<String> = links.iter().map(|link| format!("{}={}", link.place, link.network)).collect();
        assert_eq!(links, ["0>1=ordered", "1>0=ordered", "2>0=unordered", "2>2=ordered"]);
    }

    #[test]
    fn a_failure_about_an_option_leads_to_its_line() {
        let file = parse("\n[parameters]\na = 1\n[faults]\nresets = 2\n", Path::new("s.toml")).expect("a scenario");
        let located = |about: &str| file.locate(Failure::configuration("no").about(about)).message;
        assert_eq!(located("set a"), "s.toml:3: no");
        assert_eq!(located("resets"), "s.toml:5: no");
        assert_eq!(located("set b"), "s.toml: no");
        assert_eq!(file.locate(Failure::configuration("no resets")).message, "s.toml: no resets");
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_line() {
        let cases = [
            ("[[node]]\nplugin = \"a\"", 1, "needs the `id`"),
            ("[[node]]\nid = 1\nplugins = \"a\"", 3, "[node] has no key `plugins`"),
            ("[[node]]\nid = 1\nadversary = true", 2, "an adversary needs a `plugin`"),
            ("[[node]]\nid = 9", 2, "there are no settings for node 9"),
            ("[[node]]\nid = 1\nparameters = {}", 2, "there are no settings for node 1"),
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
            ("property = \"a\"", 1, "`property` must be a list"),
            ("\nignore = [1]", 2, "`ignore` must be a text"),
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
