//! The bytes at a place in which two states differ.

/// The bytes there in the one state and in the other; none if neither has bytes there, as for a size.
pub fn bytes_there(bytes: &[Vec<u8>; 2]) -> Option<String> {
    let [one, other] = bytes.each_ref().map(|bytes| shown(bytes));
    let are_some = bytes.iter().any(|bytes| !bytes.is_empty());
    are_some.then(|| format!("{one} in the first, {other} in the second"))
}

/// Bytes as digits, and as text if all are printable.
fn shown(bytes: &[u8]) -> String {
    let is_text = !bytes.is_empty() && bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    match bytes {
        [] => "nothing".to_owned(),
        bytes if is_text => format!("{} ({})", spaced(bytes), String::from_utf8_lossy(bytes)),
        bytes => spaced(bytes),
    }
}

fn spaced(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
