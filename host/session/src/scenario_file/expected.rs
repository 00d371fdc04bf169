//! The section `[expect]`.

use toml::de::DeTable;

use crate::base::Failure;
use crate::scenario_file::content::Scenario;
use crate::scenario_file::reader::Reader;
use crate::spec::expectation::{self, Expectation};

/// The expectation of a scenario. The places where it names properties are noted in `file`.
///
/// # Errors
///
/// A key or a value is wrong.
pub fn read<'t>(reader: &Reader<'t>, table: &DeTable<'t>, file: &mut Scenario) -> Result<Expectation, Failure> {
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
                    let status = reader.word(key, value, "a property", &expectation::STATUSES)?;
                    reader.note(file, format!("expect properties {}", key.get_ref()), key);
                    expect.properties.insert(key.get_ref().to_string(), status);
                }
            }
            "result" => expect.result = Some(reader.word(key, value, "`result`", &expectation::RESULTS)?),
            "end" => expect.end = Some(reader.text(key, value)?),
            "property" => {
                reader.note(file, "expect property".to_owned(), key);
                expect.property = Some(reader.text(key, value)?);
            }
            "fault" => expect.fault = Some(reader.text(key, value)?),
            "class" => expect.class = Some(reader.word(key, value, "`class`", &expectation::CLASSES)?),
            "critical" => expect.critical = Some(reader.number(key, value)?),
            "loop" => expect.loop_start = Some(reader.number(key, value)?),
            "deadlock" => expect.deadlock = Some(reader.word(key, value, "`deadlock`", &expectation::DEADLOCKS)?),
            "length" => expect.length = Some(reader.number(key, value)?),
            "length-max" => expect.length_max = Some(reader.number(key, value)?),
            "depth" => expect.depth = Some(reader.number(key, value)?),
            _ => return Err(reader.unknown_of("expect", key, &expectation::KEYS)),
        }
    }
    Ok(expect)
}
