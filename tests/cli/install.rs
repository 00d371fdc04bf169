//! The companions of an installed program: completions and manual pages.

use super::Place;

#[test]
fn each_shell_has_completions_of_all_commands_and_options() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.host(&["completions", shell]).exits(0).out;
        for word in ["run", "replay", "minimize", "deadlock", "max-violations", "unfold"] {
            assert!(script.contains(word), "{shell} has no {word}");
        }
    }
    let none = place.host(&["completions", "tcsh"]).exits(2);
    assert!(none.err.contains("possible values: bash"), "{none:?}");
}

#[test]
fn each_command_has_a_manual_page() {
    let place = Place::new();
    let page = place.host(&["man"]).exits(0).out;
    assert!(page.contains(".TH host 1") && page.contains("replay"), "{page}");
    place.host(&["man", "--out", "man1"]).exits(0);
    let read = |name: &str| std::fs::read_to_string(place.path("man1").join(name)).expect("it was written");
    assert_eq!(read("host.1"), page);
    let run = read("host-run.1");
    assert!(run.contains("host\\-run") && run.contains("local\\-events") && run.contains("Exit codes"), "{run}");
    // A page per command, and that of the program.
    let help = place.host(&["--help"]).exits(0).out;
    let (_, commands) = help.split_once("Commands:\n").expect("they are listed");
    let names = commands.lines().take_while(|line| !line.is_empty()).filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then_some(name)
    });
    for name in names {
        assert!(read(&format!("host-{name}.1")).starts_with(".ie"), "{name}");
    }
}
