//! The committed bindings are what the generator makes of `wit/`. `HOST_BLESS=1` rewrites them.

use std::path::Path;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};
use wit_bindgen_rust::WithOption;

#[test]
fn bindings_are_generated_from_wit() {
    check("src/wasm/bindings.rs", "full", "__export_plugin", &[]);
    // Types and `log` are those of the other world.
    let shared = ["types", "environment"].map(|interface| {
        let name = format!("host:protocol/{interface}@0.1.0");
        (name, WithOption::Path(format!("crate::wasm::bindings::host::protocol::{interface}")))
    });
    check("src/wasm/spec/bindings.rs", "spec", "__export_spec", &shared);
}

fn check(path: &str, world: &str, export_macro: &str, with: &[(String, WithOption)]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = root.join(path);
    let generated = generate(&root.join("../wit"), world, export_macro, with);
    if std::env::var_os("HOST_BLESS").is_some() {
        std::fs::write(&committed, generated).expect("the bindings can be written");
        return;
    }
    let committed = std::fs::read_to_string(committed).unwrap_or_default();
    assert!(
        committed == generated,
        "guest-sdk/{path} is not what wit/ says: run `HOST_BLESS=1 cargo test -p guest-sdk --test bindings`"
    );
}

/// The bindings of a world, with an export macro for the crates of plugins and specifications.
fn generate(wit: &Path, world: &str, export_macro: &str, with: &[(String, WithOption)]) -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).expect("wit/ is well-formed");
    let world = resolve.select_world(&[package], Some(world)).expect("there is this world");
    let options = wit_bindgen_rust::Opts {
        format: true,
        pub_export_macro: true,
        export_macro_name: Some(export_macro.to_owned()),
        runtime_path: Some("wit_bindgen::rt".to_owned()),
        with: with.to_vec(),
        ..Default::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).expect("wit/ can be bound");
    let (_, content) = files.iter().next().expect("the generator makes a file");
    // Its first lines name the version and the options of the generator.
    String::from_utf8(content.to_vec()).expect("Rust is UTF-8")
}
