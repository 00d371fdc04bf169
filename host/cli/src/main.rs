//! The program: standard streams and signals for [`host::run`].

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::TERM_SIGNALS;
use signal_hook::flag;

fn main() -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in TERM_SIGNALS {
        // The first signal ends the search, the second the process. Without handlers both end the process.
        let _ = flag::register_conditional_default(*signal, Arc::clone(&interrupted));
        let _ = flag::register(*signal, Arc::clone(&interrupted));
    }
    let mut environment = host::Environment {
        stdout: &mut std::io::stdout(),
        stderr: &mut std::io::stderr(),
        stderr_is_terminal: std::io::stderr().is_terminal(),
        directory: PathBuf::new(),
        cache: host::default_cache(),
        interrupted,
    };
    ExitCode::from(host::run(std::env::args_os(), &mut environment))
}
