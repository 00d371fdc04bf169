//! The program: standard streams and signals for [`host::run`].

use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host::exit::Exit;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::flag;

/// The width of a terminal that does not report it.
const COLUMNS_DEFAULT: u16 = 80;

/// The width of the terminal behind standard error.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let columns = size.map_or(0, |size| size.ws_col);
    if columns == 0 { COLUMNS_DEFAULT } else { columns }.into()
}

fn main() -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in TERM_SIGNALS {
        // The first signal ends the search, the second the process. Without handlers both end the process.
        let _ = flag::register_conditional_default(*signal, Arc::clone(&interrupted));
        let _ = flag::register(*signal, Arc::clone(&interrupted));
    }
    // A file that exceeds the limit on its size is an error of the write, with a remedy; the signal would end the process and what it has
    // in memory.
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let mut environment = host::Environment {
        stdout: &mut std::io::stdout(),
        stderr: &mut std::io::stderr(),
        stdin: &mut host::StandardInput::new(Arc::clone(&interrupted)),
        stdin_is_terminal: std::io::stdin().is_terminal(),
        // https://no-color.org: any value but the empty one.
        colours: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        stderr_columns: std::io::stderr().is_terminal().then(columns),
        directory: PathBuf::new(),
        cache: host::default_cache(),
        interrupted,
        clock: host::system_clock(),
        builds: Default::default(),
    };
    // A panic is a broken invariant. Its message is printed already; the exit code is a documented one.
    let result = catch_unwind(AssertUnwindSafe(|| host::run(std::env::args_os(), &mut environment)));
    ExitCode::from(result.unwrap_or_else(|_| {
        environment.tell("error: this is a bug in `host`; please report the lines above");
        Exit::System.code()
    }))
}
