//! The rows and the fields of their bodies.

use serde::Deserializer;
use serde::de::value::Error;
use serde::de::{DeserializeOwned, Error as _, Visitor};

use super::*;

/// Notes the fields that a type asks for, and has no value.
struct Asked<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("no value"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

fn fields<T: DeserializeOwned>() -> Vec<&'static str> {
    let mut fields: &'static [&'static str] = &[];
    assert!(T::deserialize(Asked(&mut fields)).is_err(), "it has no value");
    fields.to_vec()
}

fn names(all: &[Given]) -> Vec<&'static str> {
    all.iter().map(|given| given.name).collect()
}

#[test]
fn rows_name_the_fields_of_bodies() {
    let bodies = [
        ("places/P/take", fields::<Take>()),
        ("places/P/name", fields::<Name>()),
        ("places/P/save", fields::<Save>()),
        ("places/P/scenario", fields::<Save>()),
        ("replay", fields::<Fragment>()),
        ("probes", fields::<Expression>()),
        ("places/P/search", fields::<Search>()),
        ("map/go", fields::<Go>()),
    ];
    assert!(bodies.iter().all(|(_, fields)| !fields.is_empty()), "{bodies:?}");
    let rows = REQUESTS.iter().filter(|request| !request.body.is_empty());
    assert_eq!(rows.clone().count(), bodies.len());
    for row in rows {
        let known = bodies.iter().find(|(path, _)| *path == row.path);
        assert_eq!(known.map(|(_, fields)| fields.clone()), Some(names(row.body)), "{}", row.path);
        assert_eq!(row.method, "POST", "{}", row.path);
    }
}
