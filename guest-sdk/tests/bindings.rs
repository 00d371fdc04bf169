//! The committed bindings are what the generator makes of `wit/`. `BLESS=1` rewrites them.

use std::path::Path;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};

#[test]
fn bindings_are_generated_from_wit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = root.join("src/wasm/bindings.rs");
    let generated = generate(&root.join("../wit"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&committed, generated).expect("the bindings can be written");
        return;
    }
    let committed = std::fs::read_to_string(committed).unwrap_or_default();
    assert!(
        committed == generated,
        "guest-sdk/src/wasm/bindings.rs is not what wit/ says: run `BLESS=1 cargo test -p guest-sdk --test bindings`"
    );
}

/// The bindings of the world `full`, with an export macro for the plugins' crates.
fn generate(wit: &Path) -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).expect("wit/ is well-formed");
    let world = resolve.select_world(&[package], Some("full")).expect("there is a world `full`");
    let options = wit_bindgen_rust::Opts {
        format: true,
        pub_export_macro: true,
        export_macro_name: Some("__export_plugin".to_owned()),
        runtime_path: Some("wit_bindgen::rt".to_owned()),
        ..Default::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).expect("wit/ can be bound");
    let (_, content) = files.iter().next().expect("the generator makes a file");
    // Its first lines name the version and the options of the generator.
    String::from_utf8(content.to_vec()).expect("Rust is UTF-8")
}
