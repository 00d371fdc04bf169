//! Reports the generation of machine code and its duration, which explains the time before a search.

use std::path::Path;
use std::time::Duration;

use crate::base::Context;

/// The time before the first line on a terminal, and the interval between redraws.
const DRAWN_AFTER: Duration = Duration::from_secs(1);
const REDRAWN_EVERY: Duration = Duration::from_millis(250);

/// The time before the first line elsewhere, and the interval between lines.
const TOLD_AFTER: Duration = Duration::from_secs(10);
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The lines about one component.
pub(super) struct Compilation {
    what: String,
    is_quiet: bool,
    /// The time at which the next line is due.
    next: Option<Duration>,
    is_drawn: bool,
}

impl Compilation {
    /// The state before it is known whether machine code has to be made.
    pub(super) fn new(plugin: &Path, is_quiet: bool) -> Self {
        Self { what: plugin.display().to_string(), is_quiet, next: None, is_drawn: false }
    }

    /// Reports that machine code has been made for this long. Called often.
    pub(super) fn show(&mut self, elapsed: Duration, context: &mut Context<'_>) {
        let is_terminal = context.columns.is_some();
        let (after, every) = if is_terminal { (DRAWN_AFTER, REDRAWN_EVERY) } else { (TOLD_AFTER, TOLD_EVERY) };
        if self.is_quiet || elapsed < self.next.unwrap_or(after) {
            return;
        }
        self.next = Some(elapsed + every);
        let seconds = elapsed.as_secs();
        let line = format!("{seconds:>4} s: making machine code of {}, which the cache keeps", self.what);
        if is_terminal {
            self.is_drawn = true;
            context.redraw(&line);
        } else {
            context.tell(&line);
        }
    }

    /// The machine code is made, or cannot be.
    pub(super) fn end(&mut self, context: &mut Context<'_>) {
        if std::mem::take(&mut self.is_drawn) {
            context.redraw("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::context::system_clock;

    /// The output during this number of seconds, in steps of a twentieth.
    fn log(columns: Option<usize>, is_quiet: bool, seconds: u64) -> String {
        let (mut log, interrupted, clock) = (Vec::new(), std::sync::Arc::default(), system_clock());
        let directory = Path::new("");
        let mut context = Context {
            log: &mut log,
            columns,
            directory,
            cache: None,
            interrupted: &interrupted,
            clock: &clock,
            builds: &Default::default(),
        };
        let mut compilation = Compilation::new(Path::new("plugins/one"), is_quiet);
        for twentieth in 1..=seconds * 20 {
            compilation.show(Duration::from_millis(50 * twentieth), &mut context);
        }
        compilation.end(&mut context);
        String::from_utf8(log).expect("text")
    }

    #[test]
    fn a_pipe_gets_a_line_after_ten_seconds_and_then_one_per_minute() {
        assert_eq!(log(None, false, 9), "");
        let line = |seconds| format!("  {seconds} s: making machine code of plugins/one, which the cache keeps\n");
        assert_eq!(log(None, false, 69), line(10));
        assert_eq!(log(None, false, 70), line(10) + &line(70));
        assert_eq!(log(None, true, 70), "");
    }

    #[test]
    fn a_terminal_has_one_line_that_is_redrawn_and_cleared() {
        // Nothing was drawn, so there is nothing to clear.
        let short = log(Some(40), false, 0);
        assert_eq!(short, "");
        let text = log(Some(40), false, 2);
        // At 1 s, 1.25, 1.5, 1.75 and 2 s, cut to the width of the terminal.
        let drawn: Vec<&str> = text.split_terminator("\x1b[K").collect();
        let (one, two) = ("\r   1 s: making machine code of plugins/", "\r   2 s: making machine code of plugins/");
        assert_eq!(drawn, [one, one, one, one, two, "\r"]);
        assert!(!text.contains('\n'));
        assert_eq!(log(Some(40), true, 2), "");
    }
}
