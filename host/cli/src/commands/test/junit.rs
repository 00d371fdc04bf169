//! The results of `host test` for other programs: JUnit XML.
//!
//! Written by hand: three elements do not justify a library with eight crates.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use host_inspect::escape;
use host_session::base::text::shortened;
use host_session::base::{Failure, files};

use crate::commands::test::outcome::Outcome;
use crate::environment::Environment;

/// Writes all results to a file: one suite, with a case per test.
///
/// # Errors
///
/// The file cannot be written.
pub fn write(path: &Path, outcomes: &[Outcome], time: Duration, environment: &Environment<'_>) -> Result<(), Failure> {
    files::write(path, &xml(outcomes, time), &environment.directory)
}

fn xml(outcomes: &[Outcome], time: Duration) -> String {
    let wrong = |is_error| outcomes.iter().filter(|it| !it.wrong.is_empty() && it.is_error == is_error).count();
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\"",
        outcomes.len(),
        wrong(false),
        wrong(true),
        time.as_secs_f64()
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"host test\" {totals}>\n  \
         <testsuite name=\"host test\" {totals}>\n"
    );
    for outcome in outcomes {
        let (name, seconds) = (escape::xml(&outcome.name), outcome.time.as_secs_f64());
        let head = format!("    <testcase name=\"{name}\" classname=\"host test\" time=\"{seconds:.3}\"");
        let _ = match outcome.wrong.split_first() {
            None => writeln!(xml, "{head}/>"),
            Some((first, _)) => {
                let element = if outcome.is_error { "error" } else { "failure" };
                let all = outcome.wrong.iter().map(|wrong| shortened(wrong.clone())).collect::<Vec<_>>().join("\n");
                let (first, all) = (escape::xml(&shortened(first.clone())), escape::xml(&all));
                let body = format!("      <{element} message=\"{first}\">{all}</{element}>");
                writeln!(xml, "{head}>\n{body}\n    </testcase>")
            }
        };
    }
    xml + "  </testsuite>\n</testsuites>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_in_the_file_and_escaped() {
        let time = Duration::from_millis(1500);
        let good = Outcome { name: "a.toml".into(), wrong: Vec::new(), is_error: false, events: Vec::new(), time };
        let wrong = vec!["x < 3 & \"y\"\u{1b}".to_owned(), "more".to_owned()];
        let bad = Outcome { name: "b.toml".into(), wrong, is_error: false, events: Vec::new(), time };
        let wrong = vec!["no plugin".into()];
        let error = Outcome { name: "c.toml".into(), wrong, is_error: true, events: Vec::new(), time };
        let xml = xml(&[good, bad, error], time);
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="host test" tests="3" failures="1" errors="1" time="1.500">
  <testsuite name="host test" tests="3" failures="1" errors="1" time="1.500">
    <testcase name="a.toml" classname="host test" time="1.500"/>
    <testcase name="b.toml" classname="host test" time="1.500">
      <failure message="x &lt; 3 &amp; &quot;y&quot;\u{1b}">x &lt; 3 &amp; &quot;y&quot;\u{1b}&#10;more</failure>
    </testcase>
    <testcase name="c.toml" classname="host test" time="1.500">
      <error message="no plugin">no plugin</error>
    </testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(xml, expected);
    }
}
