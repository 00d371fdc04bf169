//! The section `[expect]`.

use toml::de::DeTable;

use crate::base::failure::Failure;
use crate::scenario_file::reader::Reader;
use crate::spec::expectation::{self, Expectation};

/// What a scenario expects.
///
/// # Errors
///
/// A key or a value is wrong.
pub fn read<'t>(reader: &Reader<'t>, table: &DeTable<'t>) -> Result<Expectation, Failure> {
    let mut expect = Expectation::default();
    for (key, value) in table {
        let name: &str = key.get_ref();
        match name {
            "counts" => {
                for (key, value) in reader.table(key, value)? {
                    let name: &str = key.get_ref();
                    if !expectation::COUNTS.contains(&name) {
                        return Err(reader.unknown_of("expect.counts", key, &expectation::COUNTS));
                    }
                    expect.counts.insert(name.to_owned(), reader.number(key, value)?);
                }
            }
            "properties" => {
                for (key, value) in reader.table(key, value)? {
                    let status = reader.text(key, value)?;
                    if !expectation::STATUSES.contains(&status.as_str()) {
                        let known = expectation::STATUSES.join(", ");
                        return Err(reader.wrong(key, &format!("a property is one of {known}, not {status:?}")));
                    }
                    expect.properties.insert(key.get_ref().to_string(), status);
                }
            }
            "result" => {
                let result = reader.text(key, value)?;
                if !expectation::RESULTS.contains(&result.as_str()) {
                    let known = expectation::RESULTS.join(", ");
                    return Err(reader.wrong(key, &format!("`result` is one of {known}, not {result:?}")));
                }
                expect.result = Some(result);
            }
            "end" => expect.end = Some(reader.text(key, value)?),
            "property" => expect.property = Some(reader.text(key, value)?),
            "fault" => expect.fault = Some(reader.text(key, value)?),
            "deadlock" => {
                let deadlock = reader.text(key, value)?;
                if !expectation::DEADLOCKS.contains(&deadlock.as_str()) {
                    let known = expectation::DEADLOCKS.join(", ");
                    return Err(reader.wrong(key, &format!("`deadlock` is one of {known}, not {deadlock:?}")));
                }
                expect.deadlock = Some(deadlock);
            }
            "length" => expect.length = Some(reader.number(key, value)?),
            "length-max" => expect.length_max = Some(reader.number(key, value)?),
            "depth" => expect.depth = Some(reader.number(key, value)?),
            _ => return Err(reader.unknown_of("expect", key, &expectation::KEYS)),
        }
    }
    Ok(expect)
}
