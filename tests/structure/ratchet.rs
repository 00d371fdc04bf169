//! Habits that the tree does not have everywhere yet: how often each is broken, which may only become less.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use crate::imports::is_test;

/// Words that mark a translated sentence. `docs/glossary.md` and CONTRIBUTING have what to write in their place.
const TRANSLATED: [&str; 37] = [
    "nobody",
    "somebody",
    "whoever",
    "anew",
    "beside",
    "so many",
    "is told",
    "are told",
    "comes to",
    "come to",
    "goes on",
    "has come",
    "have come",
    "what there is",
    "of which",
    "has it that",
    "now and then",
    "that is so",
    "is said",
    "are said",
    "everybody",
    "carry out",
    "carries out",
    "carried out",
    "go on",
    "going on",
    "went on",
    "be told",
    "was told",
    "were told",
    "told apart",
    "come out",
    "comes out",
    "came out",
    "comes of",
    "look whether",
    "looks whether",
];

/// How often a text has one of the words that mark a translated sentence.
pub fn translated(text: &str) -> usize {
    // Marks of comments and of code stand between words; what ends a phrase is a word of its own.
    let letters = text
        .to_lowercase()
        .chars()
        .map(|letter| match letter {
            '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' => " | ".to_owned(),
            _ if letter.is_alphanumeric() => letter.to_string(),
            _ => " ".to_owned(),
        })
        .collect::<String>();
    let words: Vec<&str> = letters.split_whitespace().collect();
    let found = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.windows(phrase.len()).filter(|words| **words == phrase).count()
    };
    TRANSLATED.iter().map(|phrase| found(phrase)).sum()
}

/// A document without its code, whose names are not prose.
pub fn without_code(document: &str) -> String {
    document.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Words that begin a noun clause: "What a disk would hold" says less than "The durable state".
const CLAUSES: [&str; 5] = ["What", "Whatever", "Who", "Whoever", "How"];

/// How many sentences of a document, or of the comments of a source, begin with a noun clause and are no question.
pub fn noun_clauses(text: &str, is_document: bool) -> usize {
    let prose = text.lines().filter_map(|line| match is_document {
        // A heading may be an open question.
        true if line.starts_with('#') => None,
        true => Some(line.trim_start_matches(|letter: char| !letter.is_alphabetic() && letter != '`')),
        false => line.trim_start().strip_prefix("//").map(|line| line.trim_start_matches(['/', '!', ' '])),
    });
    prose.flat_map(sentences).filter(|sentence| begins_with_clause(sentence)).count()
}

/// The sentences that begin in a line: a line that continues one begins with a small letter.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(['.', '!', '?', ':', '|']).map(str::trim_start)
}

fn begins_with_clause(sentence: &str) -> bool {
    let Some((first, rest)) = sentence.split_once(' ') else { return false };
    // The subject or the verb of a clause follows in small letters.
    let continues = rest.starts_with(|letter: char| letter.is_lowercase() || letter.is_ascii_digit() || letter == '`');
    CLAUSES.contains(&first) && continues && !sentence.ends_with('?')
}

/// Words of a reason of `expect`, at least: "a table" says what is there, and not why.
const REASON_WORDS_MIN: usize = 4;

/// What code that ships has too much of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Functions with a tuple as a parameter that they take apart: the caller reads unnamed values in invented groups.
    pub tuple_parameters: usize,
    /// Calls of `expect`.
    pub expects: usize,
    /// Those of them whose reason is too short to say why they cannot fail.
    pub short_reasons: usize,
}

/// What a source has of both, tests inside of it left out.
pub fn habits(source: &str) -> Habits {
    let mut visitor = Counting(Habits::default());
    visitor.visit_file(&syn::parse_file(source).expect("the sources compile"));
    visitor.0
}

struct Counting(Habits);

impl<'ast> Visit<'ast> for Counting {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let is_tuple =
            |input: &syn::FnArg| matches!(input, syn::FnArg::Typed(typed) if matches!(*typed.pat, syn::Pat::Tuple(_)));
        self.0.tuple_parameters += usize::from(signature.inputs.iter().any(is_tuple));
        visit::visit_signature(self, signature);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "expect" {
            self.0.expects += 1;
            let is_short = |reason: &syn::LitStr| reason.value().split_whitespace().count() < REASON_WORDS_MIN;
            let reason = call.args.first().and_then(|reason| match reason {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(reason), .. }) => Some(reason),
                _ => None,
            });
            self.0.short_reasons += usize::from(reason.is_some_and(is_short));
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// Words of names that mark a switch for a mistake.
const SWITCHES: [&str; 3] = ["sabotage", "mutant", "canary"];

/// What makes code do something else in tests than in what ships, tests inside of it left out: names of mistakes, `cfg!` that asks for
/// tests, and what is left out where tests are compiled.
pub fn switches(source: &str) -> Vec<String> {
    let mut visitor = Switches(BTreeSet::new());
    visitor.visit_file(&syn::parse_file(source).expect("the sources compile"));
    visitor.0.into_iter().collect()
}

struct Switches(BTreeSet<String>);

impl<'ast> Visit<'ast> for Switches {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        let name = ident.to_string();
        if SWITCHES.iter().any(|word| name.to_lowercase().contains(word)) {
            self.0.insert(name);
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let asked = call.tokens.to_string();
        if call.path.is_ident("cfg") && (asked.contains("test") || asked.contains("canary")) {
            self.0.insert(format!("cfg!({asked})"));
        }
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            let asked: String = list.tokens.to_string().split_whitespace().collect();
            if list.path.is_ident("cfg") && asked.contains("not(test") {
                self.0.insert(format!("cfg({asked})"));
            }
        }
    }
}

/// The names that a source matches, compares or looks up as strings, tests inside of it left out.
pub fn matched(source: &str, names: &[String]) -> Vec<String> {
    let mut visitor = Matching { names, found: Vec::new() };
    visitor.visit_file(&syn::parse_file(source).expect("the sources compile"));
    visitor.found
}

/// Methods and functions that look something up by its name.
const LOOKUPS: [&str; 7] = ["get", "get_mut", "contains_key", "contains", "remove", "entry", "of_kind"];

struct Matching<'n> {
    names: &'n [String],
    found: Vec<String>,
}

impl Matching<'_> {
    fn note(&mut self, literal: &syn::Lit) {
        if let syn::Lit::Str(text) = literal
            && self.names.contains(&text.value())
        {
            self.found.push(text.value());
        }
    }

    fn note_expression(&mut self, expression: &syn::Expr) {
        match expression {
            syn::Expr::Lit(literal) => self.note(&literal.lit),
            syn::Expr::Reference(reference) => self.note_expression(&reference.expr),
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Matching<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        if let syn::Pat::Lit(literal) = pattern {
            self.note(&literal.lit);
        }
        visit::visit_pat(self, pattern);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if matches!(binary.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_)) {
            self.note_expression(&binary.left);
            self.note_expression(&binary.right);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if LOOKUPS.iter().any(|name| call.method == name) {
            call.args.first().into_iter().for_each(|name| self.note_expression(name));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let syn::Expr::Path(path) = &*call.func else { return visit::visit_expr_call(self, call) };
        if path.path.segments.last().is_some_and(|last| LOOKUPS.iter().any(|name| last.ident == name)) {
            call.args.first().into_iter().for_each(|name| self.note_expression(name));
        }
        visit::visit_expr_call(self, call);
    }
}

/// A count that may only fall: more of it is refused, and so is a limit that has become too generous.
pub fn falls(what: &str, counts: &[(String, usize)], max: usize) -> Option<String> {
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    if total > max {
        let mut worst = counts.to_vec();
        worst.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let worst: Vec<String> = worst.iter().take(5).map(|(path, count)| format!("{path} {count}")).collect();
        return Some(format!("{what}: {total}, and at most {max} are allowed; most are in {}", worst.join(", ")));
    }
    // A twentieth is left, so that not every change has to change the limit.
    (total + max / 20 < max).then(|| format!("{what}: {total} are left of {max}; lower the limit to {total}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_phrases_are_counted_wherever_a_line_ends() {
        assert_eq!(translated("Nobody is\ntold. It comes, to be sure."), 2);
        assert_eq!(translated("`so many` somebodies"), 1);
        assert_eq!(translated(&without_code("```sh\nhost go on\n```\n`--go-on`: nobody `go on`, anew.")), 2);
    }

    #[test]
    fn sentences_that_begin_with_a_noun_clause_are_counted() {
        let source = "/// What it is.\n//! Keys: what they mean. How often\n/// it runs.\nlet x = \"What it is.\"; // What\n// What happens?\n";
        assert_eq!(noun_clauses(source, false), 2);
        let document = "- What a node holds is bounded.\n| Who decides? | Whoever leads |\nA word. How a node\nThe state: What\n## What holds\n";
        assert_eq!(noun_clauses(document, true), 3);
    }

    #[test]
    fn habits_are_counted_outside_of_tests() {
        let source = "fn one((a, b): (u8, u8)) { a.expect(\"x\"); }\n#[cfg(test)] mod tests { fn f((a, b): (u8, u8)) { a.expect(\"\") } }\n\
                      impl A { fn two(&self, [a]: [u8; 1], (b, _): (u8, u8)) {} fn three(a: (u8, u8)) { |(a, b)| a; } }";
        assert_eq!(habits(source), Habits { tuple_parameters: 2, expects: 1, short_reasons: 1 });
        let source = "fn f() { a.expect(\"the table has this row\"); b.expect(REASON); }";
        assert_eq!(habits(source), Habits { tuple_parameters: 0, expects: 2, short_reasons: 0 });
    }

    #[test]
    fn switches_are_found_outside_of_tests() {
        let source = "fn f() { if is_present(Mutant::X) { g() } }\nfn h() { if cfg!(any(test, feature = \"canary\")) {} }\n\
                      #[cfg(not(test))] fn i() {} #[cfg(test)] fn j() {} fn k() { if cfg!(debug_assertions) {} }\n\
                      #[cfg(test)] mod tests { fn f() { Sabotage::None } } struct S { sabotage: u8 }";
        assert_eq!(
            switches(source),
            ["Mutant", "cfg!(any (test , feature = \"canary\"))", "cfg(not(test))", "sabotage"]
        );
    }

    #[test]
    fn names_are_found_where_something_depends_on_them() {
        let names = ["resets".to_owned(), "reset".to_owned()];
        let source = "fn f() { match x { T { kind: \"resets\", .. } => \"resets\", _ => y } }\n\
                      fn g() { a == \"reset\" || faults.get(&\"resets\") || Event::of_kind(\"reset\", None) }\n\
                      fn h() { say(\"reset\"); match x { A => \"resets\" } }\n\
                      #[cfg(test)] mod tests { fn f() { a == \"reset\" } }";
        assert_eq!(matched(source, &names), ["resets", "reset", "resets", "reset"]);
    }

    #[test]
    fn a_limit_is_neither_passed_nor_generous() {
        let counts = [("a.rs".to_owned(), 60), ("b.rs".to_owned(), 40)];
        assert_eq!(falls("x", &counts, 100), None);
        assert_eq!(falls("x", &counts, 105), None);
        assert_eq!(
            falls("x", &counts, 99).as_deref(),
            Some("x: 100, and at most 99 are allowed; most are in a.rs 60, b.rs 40")
        );
        assert_eq!(falls("x", &counts, 120).as_deref(), Some("x: 100 are left of 120; lower the limit to 100"));
    }
}
