//! What Linux says of memory.

/// A line of its account of this process, in bytes, such as `VmRSS:`; none where the system does not tell.
pub fn process_bytes(line: &str) -> Option<u64> {
    bytes_in(&std::fs::read_to_string("/proc/self/status").ok()?, line)
}

/// A line of an account in kibibytes, in bytes; none if the account has no such line.
pub fn bytes_in(account: &str, line: &str) -> Option<u64> {
    let found = account.lines().find_map(|it| it.strip_prefix(line))?;
    Some(found.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
