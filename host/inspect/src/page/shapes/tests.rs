//! The shapes here and those of the page.

use std::collections::BTreeMap;

const TYPESCRIPT: &str = include_str!("../../../../explore/web/src/api.ts");
const RUST: &str = include_str!("../shapes.rs");

/// Fields and their types, by the name of the shape.
type Shapes = BTreeMap<String, Vec<(String, String)>>;

/// The fields between two braces, and what is behind them.
fn fields(text: &str) -> (Vec<(String, String)>, &str) {
    let (mut fields, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return (fields, behind);
        }
        let (name, kind) = rest.split_once(':').expect("a field has a type");
        let mut depth = 0;
        let end = kind.find(|letter| {
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            depth < 0 || (depth == 0 && letter == ';')
        });
        let end = end.expect("an interface has an end");
        fields.push((name.trim().trim_end_matches('?').to_owned(), kind[..end].trim().to_owned()));
        rest = kind[end..].trim_start_matches(';');
    }
}

/// The interfaces of the page, those without a name as well: by the names that the fields of `shapes` have for them.
fn typescript(rust: &Shapes) -> Shapes {
    let code = TYPESCRIPT.lines().filter(|line| !line.trim_start().starts_with("/**"));
    let code = code.collect::<Vec<_>>().join("\n");
    let mut open: Vec<(String, String)> = Vec::new();
    for part in code.split("export interface ").skip(1) {
        let (name, body) = part.split_once('{').expect("an interface has fields");
        open.push((name.trim().to_owned(), body.to_owned()));
    }
    let mut shapes = Shapes::new();
    while let Some((name, body)) = open.pop() {
        let (found, _) = fields(&body);
        for (field, kind) in &found {
            let Some((_, inside)) = kind.split_once('{') else { continue };
            let named = rust.get(&name).and_then(|fields| fields.iter().find(|(it, _)| it == field));
            let (_, named) = named.unwrap_or_else(|| panic!("no field `{field}` in `{name}` of shapes.rs"));
            open.push((named.clone(), inside.to_owned()));
        }
        shapes.insert(name, found);
    }
    shapes
}

fn rust() -> Shapes {
    let code = RUST.split("#[cfg(test)]").next().unwrap_or_default();
    let mut shapes = Shapes::new();
    for part in code.split("pub struct ").skip(1) {
        let (name, body) = part.split_once('{').expect("a struct has fields");
        let body = body.split_once("\n}").expect("it has an end").0;
        let of_line = |line: &str| {
            let (name, kind) = line.trim().strip_prefix("pub ")?.split_once(':')?;
            let kind = kind.trim().trim_end_matches(',').trim_end_matches('>');
            let kind = kind.rsplit(['<', ' ']).next().unwrap_or_default();
            Some((name.to_owned(), kind.to_owned()))
        };
        shapes.insert(name.trim().to_owned(), body.lines().filter_map(of_line).collect());
    }
    shapes
}

#[test]
fn the_page_and_the_server_have_the_same_shapes() {
    let rust = rust();
    let typescript = typescript(&rust);
    assert!(rust.len() > 20 && rust["Session"].len() > 5, "{rust:?}");
    let names = |shapes: &Shapes| {
        let fields = |(shape, fields): (&String, &Vec<(String, String)>)| {
            (shape.clone(), fields.iter().map(|(field, _)| field.clone()).collect::<Vec<_>>())
        };
        shapes.iter().map(fields).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(names(&rust), names(&typescript), "shapes.rs, and host/explore/web/src/api.ts");
    for (shape, fields) in &typescript {
        for ((field, kind), (_, ours)) in fields.iter().zip(&rust[shape]) {
            let named = kind.split(' ').next().unwrap_or_default().trim_end_matches("[]");
            let is_shape = typescript.contains_key(named);
            assert!(!is_shape || named == ours, "{shape}.{field} is {named} for the page and {ours} here");
        }
    }
}
