//! The imports between the files of a crate, and the lengths of their functions.
//!
//! Names are resolved to files: a path that begins with `crate`, `super`, `self` or a module declared in the same file leads to the
//! module with the longest name that it begins with. Tests inside of a file are left out, and what a module takes from those inside of
//! it: it consists of them, and they may use what it declares.

use std::collections::{BTreeMap, BTreeSet};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The files of one crate by the names of their modules; the root has an empty name.
pub struct Crate {
    /// The folder of the sources, such as `host/search/src`.
    folder: String,
    imports: BTreeMap<Module, BTreeSet<Module>>,
}

type Module = Vec<String>;

impl Crate {
    /// The crate whose sources lie in a folder, of the paths and texts of all sources.
    pub fn new(folder: &str, sources: &[(String, String)]) -> Self {
        let own = sources.iter().filter_map(|(path, source)| {
            let file = path.strip_prefix(folder)?.strip_prefix('/')?;
            Some((module_of(file)?, source))
        });
        let own: Vec<(Module, &String)> = own.collect();
        let modules: BTreeSet<Module> = own.iter().map(|(module, _)| module.clone()).collect();
        let imports = own.iter().map(|(module, source)| {
            let mut visitor = Imports { module: module.clone(), modules: &modules, found: BTreeSet::new() };
            visitor.visit_file(&syn::parse_file(source).expect("the sources compile"));
            let beside = visitor.found.into_iter().filter(|imported| !imported.starts_with(module));
            (module.clone(), beside.collect())
        });
        Self { folder: folder.to_owned(), imports: imports.collect() }
    }

    /// Files that import each other, in one line per circle.
    pub fn circles_of_files(&self) -> Vec<String> {
        let circles = circles(&self.imports);
        let names = |circle: &BTreeSet<Module>| circle.iter().map(file_name).collect::<Vec<_>>().join(", ");
        circles
            .iter()
            .map(|circle| format!("{}: these files import each other: {}", self.folder, names(circle)))
            .collect()
    }

    /// Folders, and files next to them, that import each other: one of them is above the other, so one of the imports goes upwards.
    pub fn circles_of_rooms(&self) -> Vec<String> {
        let mut findings = Vec::new();
        let parents: BTreeSet<&[String]> =
            self.imports.keys().filter_map(|module| Some(module.split_last()?.1)).collect();
        for parent in parents {
            let room = |module: &Module| module.strip_prefix(parent)?.first().cloned();
            let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            let mut examples = BTreeMap::new();
            for (module, imported) in &self.imports {
                let Some(from) = room(module) else { continue };
                for to in imported {
                    if let Some(room) = room(to).filter(|room| *room != from) {
                        examples.entry((from.clone(), room.clone())).or_insert((module, to));
                        rooms.entry(from.clone()).or_default().insert(room);
                    }
                }
            }
            for circle in circles(&rooms) {
                let inside = examples.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
                let imports = inside.map(|(_, (from, to))| format!("{} imports {}", file_name(from), file_name(to)));
                let folder = [std::slice::from_ref(&self.folder), parent].concat().join("/");
                findings.push(format!("{folder}: a circle of rooms: {}", imports.collect::<Vec<_>>().join(", ")));
            }
        }
        findings
    }
}

/// Sets of two or more that reach each other.
fn circles<T: Clone + Ord>(edges: &BTreeMap<T, BTreeSet<T>>) -> Vec<BTreeSet<T>> {
    let reached = |start: &T| {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(next) = open.pop() {
            open.extend(edges.get(next).into_iter().flatten().filter(|to| reached.insert((*to).clone())));
        }
        reached
    };
    let reached: BTreeMap<&T, BTreeSet<T>> = edges.keys().map(|from| (from, reached(from))).collect();
    let circle = |(from, to): (&&T, &BTreeSet<T>)| -> BTreeSet<T> {
        let reaches_back = |to: &&T| reached.get(to).is_some_and(|back| back.contains(*from));
        to.iter().filter(reaches_back).cloned().collect()
    };
    let circles: BTreeSet<BTreeSet<T>> = reached.iter().map(circle).collect();
    circles.into_iter().filter(|circle: &BTreeSet<T>| circle.len() > 1).collect()
}

/// The module of a file, by its path in the folder of the sources; none for roots of binaries.
fn module_of(file: &str) -> Option<Module> {
    let module = file.strip_suffix(".rs")?;
    let module = module.strip_suffix("/mod").unwrap_or(module);
    match module {
        "lib" => Some(Vec::new()),
        "main" | "mod" => None,
        _ => Some(module.split('/').map(str::to_owned).collect()),
    }
}

fn file_name(module: &Module) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("/") }
}

struct Imports<'m> {
    module: Module,
    modules: &'m BTreeSet<Module>,
    found: BTreeSet<Module>,
}

impl Imports<'_> {
    /// Notes the module that a path leads to.
    fn note(&mut self, path: &[String]) {
        let mut names = path.iter().map(String::as_str).peekable();
        let mut full: Module = match names.peek() {
            Some(&"crate") => Vec::new(),
            Some(&("self" | "super")) => self.module.clone(),
            Some(first) => {
                let child = [self.module.as_slice(), &[(*first).to_owned()]].concat();
                if path.len() < 2 || !self.modules.contains(&child) {
                    return;
                }
                self.module.clone()
            }
            None => return,
        };
        for name in names {
            match name {
                "crate" | "self" => {}
                "super" => drop(full.pop()),
                _ => full.push(name.to_owned()),
            }
        }
        while !self.modules.contains(&full) && !full.is_empty() {
            full.pop();
        }
        self.found.insert(full);
    }

    fn note_tree(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.note_tree(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_tree(before, tree)),
            syn::UseTree::Name(syn::UseName { ident }) | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
                before.push(ident.to_string());
                self.note(before);
                before.pop();
            }
            syn::UseTree::Glob(_) => self.note(before),
        }
    }
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.note_tree(&mut Vec::new(), &item.tree);
        }
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&names);
        visit::visit_path(self, path);
    }
}

/// Whether something is compiled for tests alone.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_asked = |ident: proc_macro2::Ident| ident == "test";
        let all = |meta: syn::MetaList| meta.path.is_ident("all") && meta.tokens.to_string().starts_with("test");
        attribute.path().is_ident("cfg")
            && (attribute.parse_args().is_ok_and(is_asked) || attribute.parse_args().is_ok_and(all))
    })
}

/// The functions of a source that have more lines than that, from the signature to the closing brace.
pub fn long_functions(path: &str, source: &str, lines_max: usize) -> Vec<String> {
    let mut visitor = Functions { path, lines_max, found: Vec::new() };
    visitor.visit_file(&syn::parse_file(source).expect("the sources compile"));
    visitor.found
}

struct Functions<'s> {
    path: &'s str,
    lines_max: usize,
    found: Vec<String>,
}

impl Functions<'_> {
    fn note(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let lines = block.span().end().line + 1 - signature.span().start().line;
        if lines > self.lines_max {
            let Self { path, lines_max, .. } = self;
            self.found.push(format!("{path}: `{}` has {lines} lines, more than {lines_max}", signature.ident));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.note(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.note(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up(sources: &[(&str, &str)]) -> Crate {
        let sources: Vec<(String, String)> =
            sources.iter().map(|(file, source)| (format!("c/src/{file}"), (*source).to_owned())).collect();
        Crate::new("c/src", &sources)
    }

    #[test]
    fn files_that_import_each_other_are_found() {
        let one_way = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::{self, X};"), ("b.rs", "pub struct X;")];
        assert_eq!(made_up(&one_way).circles_of_files(), [""; 0]);
        let back = "fn f() -> super::a::Y { crate::a::y() }";
        for back in [back, "use super::{a::Y as Z};", "mod inner { fn f() { crate::a::y() } }"] {
            let circle = made_up(&[one_way[0], one_way[1], ("b.rs", back)]);
            assert_eq!(circle.circles_of_files(), ["c/src: these files import each other: a, b"], "{back}");
        }
        let only_tests = made_up(&[one_way[0], one_way[1], ("b.rs", "#[cfg(test)] mod tests { use crate::a::Y; }")]);
        assert_eq!(only_tests.circles_of_files(), [""; 0]);
        let with_root = made_up(&[("lib.rs", "mod a; pub use a::f; pub struct X;"), ("a.rs", "use crate::X;")]);
        assert_eq!(with_root.circles_of_files(), [""; 0], "a module consists of those inside of it");
    }

    #[test]
    fn rooms_that_import_each_other_are_found() {
        let sources = [("lib.rs", "mod a; mod b;"), ("a/mod.rs", ""), ("b/mod.rs", "")];
        let down = [("a/one.rs", "use crate::b::one;"), ("b/one.rs", ""), ("b/two.rs", "")];
        assert_eq!(made_up(&[sources, down].concat()).circles_of_rooms(), [""; 0]);
        let up = [down[0], down[1], ("b/two.rs", "use crate::a::one::f;")];
        let circle = made_up(&[sources, up].concat());
        assert_eq!(circle.circles_of_files(), [""; 0]);
        assert_eq!(circle.circles_of_rooms(), ["c/src: a circle of rooms: a/one imports b/one, b/two imports a/one"]);
        let inside = [("a/x/mod.rs", "use super::y::f;"), ("a/y/mod.rs", ""), ("a/y/z.rs", "use crate::a::x;")];
        assert_eq!(made_up(&[sources, inside].concat()).circles_of_rooms().len(), 1);
    }

    #[test]
    fn a_function_that_is_too_long_is_found() {
        let source = "trait T {\n fn short() {\n }\n fn long() {\n\n\n }\n}\nimpl S {\n fn long_2() {\n\n\n }\n}\nfn long_3() {\n\n\n}\n";
        let found = long_functions("a.rs", source, 3);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "a.rs: `long` has 4 lines, more than 3");
        assert_eq!(long_functions("a.rs", source, 4), [""; 0]);
    }
}
