//! Tables of the documents that repeat what the sandbox and the command line know; `tests/structure` compares the others.

use host_sandbox::Unit;
use host_structure::tree::read;
use host_structure::{checks, none};

#[test]
fn the_readme_lists_the_exit_codes() {
    let expected: Vec<String> =
        host::exit::TABLE.iter().map(|(exit, meaning)| format!("| {} | {meaning} |", exit.code())).collect();
    none(checks::wrong_rows(&read("README.md"), "Exit codes", &expected));
}

#[test]
fn the_contract_lists_the_features_of_webassembly() {
    let expected: Vec<String> = host_sandbox::FEATURES.iter().map(feature_row).collect();
    none(checks::wrong_rows(&read("wit/README.md"), "Features of WebAssembly", &expected));
}

fn feature_row(feature: &host_sandbox::Feature) -> String {
    match feature.refused {
        None => format!("| {} | accepted | |", feature.name),
        Some((why, without)) => format!("| {} | refused: {why} | {without} |", feature.name),
    }
}

#[test]
fn the_security_page_lists_the_limits() {
    let limits = host_sandbox::GuestLimits::default();
    let expected: Vec<String> = host_sandbox::LIMITS.iter().map(|limit| limit_row(limit, &limits)).collect();
    none(checks::wrong_rows(&read("docs/security.md"), "Limits", &expected));
}

fn limit_row(limit: &host_sandbox::Limit, limits: &host_sandbox::GuestLimits) -> String {
    let value = limit.get(limits);
    let value = match limit.unit {
        Unit::Bytes if value.is_multiple_of(1 << 30) => format!("{} GiB", value >> 30),
        Unit::Bytes if value.is_multiple_of(1 << 20) => format!("{} MiB", value >> 20),
        Unit::Bytes => format!("{} KiB", value >> 10),
        Unit::Seconds => format!("{value} s"),
        Unit::Count => value.to_string(),
    };
    format!("| `{}` | {value} | {} |", limit.name, limit.meaning)
}
