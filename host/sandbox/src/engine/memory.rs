//! Memory use as Linux reports it.

/// A line of its report on this process, in bytes, such as `VmRSS:`; none if the system has no report.
pub fn process_bytes(line: &str) -> Option<u64> {
    bytes_in(&std::fs::read_to_string("/proc/self/status").ok()?, line)
}

/// A line of a report in kibibytes, in bytes; none if there is no such line.
pub fn bytes_in(account: &str, line: &str) -> Option<u64> {
    let found = account.lines().find_map(|it| it.strip_prefix(line))?;
    Some(found.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
