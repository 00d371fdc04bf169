//! Markdown tables, and numbers for people.

use std::fmt::Write;

/// A table with a head; all rows are as long as it.
pub fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        assert_eq!(row.len(), head.len(), "a cell for each column");
        writeln!(text, "| {} |", row.join(" | ")).expect("a String takes all");
    }
    text
}

/// With commas between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same, or nothing.
pub fn optional(number: Option<u64>) -> String {
    number.map(count).unwrap_or_default()
}

/// Three significant digits, or all before the point.
pub fn measured(number: f64) -> String {
    match number.abs() {
        size if size >= 1_000.0 => count(number.round() as u64),
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        size if size >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_legible() {
        assert_eq!([count(0), count(999), count(1_000), count(67_152_530)], ["0", "999", "1,000", "67,152,530"]);
        assert_eq!(
            [measured(0.0049), measured(5.823), measured(150.2), measured(1234.5)],
            ["0.005", "5.82", "150", "1,235"]
        );
    }

    #[test]
    fn a_table_has_a_head() {
        assert_eq!(markdown(&["a", "b"], &[vec!["1".into(), "2".into()]]), "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
