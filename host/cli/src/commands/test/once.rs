//! Lines for people, each once: many tests run the same plugin, and each run would report that it is up to date.

use std::collections::BTreeSet;
use std::io::{Result, Write};

/// Forwards new lines, and all steps of builds: compilers print equal lines.
pub struct Once<'a> {
    log: &'a mut (dyn Write + Send),
    /// An incomplete line.
    line: Vec<u8>,
    /// The lines that were written and are not repeated.
    written: BTreeSet<Vec<u8>>,
}

impl<'a> Once<'a> {
    /// Writes to a log.
    pub fn new(log: &'a mut (dyn Write + Send)) -> Self {
        Self { log, line: Vec::new(), written: BTreeSet::new() }
    }
}

impl Write for Once<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let is_step = line.starts_with(b"build: ") && !line.ends_with(b" is up to date\n");
                if is_step || self.written.insert(line.clone()) {
                    self.log.write_all(&line)?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.log.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_once_however_it_comes() {
        let mut log = Vec::new();
        let mut once = Once::new(&mut log);
        let step = "build:   |\n";
        for piece in [
            "a\nb",
            "\na\n",
            "",
            step,
            "b\nc",
            "\n",
            "ab\n",
            step,
            "build: a is up to date\n",
            "build: a is up to date\n",
        ] {
            once.write_all(piece.as_bytes()).expect("memory can be written");
        }
        assert_eq!(String::from_utf8_lossy(&log), format!("a\nb\n{step}c\nab\n{step}build: a is up to date\n"));
    }
}
