//! Streams the records of a JSON source, whatever its top level: one record in memory at a time.
//!
//! Read are a list of records, an object that holds the list under a known key, one record, and any
//! number of these one after the other (which makes JSON Lines a case of the rule).

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, Read};

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::base::surrogate::Mender;
use crate::base::{Error, Result};
use crate::trace::import::place::Place;
use crate::trace::import::problem::{Stop, explain};

/// What stands at the top of a source.
pub(crate) struct Shape<'a> {
    /// Name of the source, for errors.
    pub source: &'a str,
    /// Keys under which a top-level object may hold the list of records.
    pub lists: &'a [&'a str],
    /// Whether a top-level object without such a list is itself a record; else its other keys are
    /// skipped without being kept.
    pub single: bool,
}

/// Passes every record to `sink`.
pub(crate) fn each_record(
    input: &mut dyn BufRead,
    shape: &Shape<'_>,
    sink: &mut dyn FnMut(Value, Place) -> Result<()>,
) -> Result<()> {
    let position = Position::default();
    let counted = Counted {
        input,
        position: &position,
        mender: Mender::default(),
        ready: VecDeque::new(),
    };
    let mut json = serde_json::Deserializer::from_reader(counted);
    let mut walk = Walk {
        shape,
        position: &position,
        sink,
        failure: None,
        record: 0,
        top: 0,
        start: 1,
        replaced: 0,
    };
    // `end` fails as long as anything but white space is left, and consumes nothing of it.
    while json.end().is_err() {
        walk.top += 1;
        if let Err(error) = (Top { walk: &mut walk }).deserialize(&mut json) {
            return Err(walk.explain(&error));
        }
    }
    Ok(())
}

/// Line and last bytes of what was read.
#[derive(Default)]
struct Position {
    newlines: Cell<u64>,
    tail: Cell<[u8; 16]>,
    filled: Cell<usize>,
    begun: Cell<bool>,
    /// Lone surrogates replaced so far.
    replaced: Cell<u64>,
}

impl Position {
    fn line(&self) -> u64 {
        self.newlines.get() + 1
    }

    fn take(&self, byte: u8) {
        if byte == b'\n' {
            self.newlines.set(self.newlines.get() + 1);
        }
        let mut tail = self.tail.get();
        let at = self.filled.get();
        tail[at % 16] = byte;
        self.tail.set(tail);
        self.filled.set(at + 1);
    }

    fn last_bytes(&self) -> Vec<u8> {
        let (tail, end) = (self.tail.get(), self.filled.get());
        (end.saturating_sub(16)..end)
            .map(|i| tail[i % 16])
            .collect()
    }
}

/// Hands bytes on one by one, as the parser asks for them, mends them, and keeps the position.
struct Counted<'a> {
    input: &'a mut dyn BufRead,
    position: &'a Position,
    mender: Mender,
    /// Mended bytes that the parser hasn't asked for yet.
    ready: VecDeque<u8>,
}

impl Counted<'_> {
    /// Reads on until a byte is certain, or to the end.
    fn fill(&mut self) -> io::Result<()> {
        let mut certain = Vec::new();
        while certain.is_empty() {
            match self.input.fill_buf()?.first() {
                Some(&byte) => {
                    self.input.consume(1);
                    self.mender.push(byte, &mut certain);
                }
                None => {
                    self.mender.finish(&mut certain);
                    break;
                }
            }
        }
        self.position.replaced.set(self.mender.replaced);
        self.ready.extend(certain);
        Ok(())
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.position.begun.replace(true) {
            skip_byte_order_mark(self.input)?;
        }
        let Some(slot) = out.first_mut() else {
            return Ok(0);
        };
        if self.ready.is_empty() {
            self.fill()?;
        }
        let Some(byte) = self.ready.pop_front() else {
            return Ok(0);
        };
        *slot = byte;
        self.position.take(byte);
        Ok(1)
    }
}

/// Skips the three bytes that some editors put before UTF-8 text.
pub(crate) fn skip_byte_order_mark(input: &mut dyn BufRead) -> io::Result<()> {
    if input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    Ok(())
}

struct Walk<'a> {
    shape: &'a Shape<'a>,
    position: &'a Position,
    sink: &'a mut dyn FnMut(Value, Place) -> Result<()>,
    /// The sink's own error; the parser can carry only its own type.
    failure: Option<Error>,
    record: u64,
    top: u64,
    start: u64,
    /// Lone surrogates replaced before the record.
    replaced: u64,
}

impl Walk<'_> {
    fn begin(&mut self) {
        self.record += 1;
        self.start = self.position.line();
    }

    fn emit<E: serde::de::Error>(&mut self, value: Value, listed: bool) -> Result<(), E> {
        let place = Place {
            record: self.record,
            line: self.start,
            top: self.top,
            listed,
            mended: self.position.replaced.get() > self.replaced,
        };
        self.replaced = self.position.replaced.get();
        (self.sink)(value, place).map_err(|error| {
            self.failure = Some(error);
            E::custom("stopped")
        })
    }

    fn explain(&mut self, error: &serde_json::Error) -> Error {
        if let Some(failure) = self.failure.take() {
            return failure;
        }
        explain(
            error,
            &Stop {
                source: self.shape.source,
                record: self.record.max(1),
                start: self.start,
                line: self.position.line(),
                tail: &self.position.last_bytes(),
            },
        )
    }
}

/// A top-level value.
struct Top<'w, 'a> {
    walk: &'w mut Walk<'a>,
}

impl<'de> DeserializeSeed<'de> for Top<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Top<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        stream_list(self.walk, seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let walk = self.walk;
        // Until a list turns up, the object itself is the record that an error would name.
        let first = walk.record;
        walk.begin();
        let start = walk.start;
        let (mut rest, mut streamed) = (Map::new(), false);
        while let Some(key) = map.next_key::<String>()? {
            if walk.shape.lists.contains(&key.as_str()) {
                match map.next_value_seed(MaybeList { walk, first })? {
                    None => streamed = true,
                    Some(value) => drop(rest.insert(key, value)),
                }
            } else if walk.shape.single && !streamed {
                rest.insert(key, map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if streamed {
            return Ok(());
        }
        if !walk.shape.single {
            let wanted = walk.shape.lists.join("` or `");
            return Err(A::Error::custom(format!(
                "the object has no list `{wanted}`"
            )));
        }
        walk.record = first + 1;
        walk.start = start;
        walk.emit(Value::Object(rest), false)
    }
}

/// A value that is streamed if it is a list, else returned.
struct MaybeList<'w, 'a> {
    walk: &'w mut Walk<'a>,
    /// Number of the last record before this top-level value.
    first: u64,
}

impl<'de> DeserializeSeed<'de> for MaybeList<'_, '_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MaybeList<'_, '_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        self.walk.record = self.first;
        stream_list(self.walk, seq).map(|()| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, value)) = map.next_entry()? {
            object.insert(key, value);
        }
        Ok(Some(Value::Object(object)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Value::String(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Value::Bool(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }
}

fn stream_list<'de, A: SeqAccess<'de>>(walk: &mut Walk<'_>, mut seq: A) -> Result<(), A::Error> {
    while let Some(value) = seq.next_element_seed(Element { walk })? {
        walk.emit(value, true)?;
    }
    Ok(())
}

/// One record of a list; notes where it begins.
struct Element<'w, 'a> {
    walk: &'w mut Walk<'a>,
}

impl<'de> DeserializeSeed<'de> for Element<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.walk.begin();
        serde::Deserialize::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str, single: bool) -> Result<Vec<(String, u64, u64, bool)>> {
        let shape = Shape {
            source: "f.json",
            lists: &["results"],
            single,
        };
        let mut found = vec![];
        each_record(&mut text.as_bytes(), &shape, &mut |value, place| {
            found.push((value.to_string(), place.record, place.line, place.listed));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn every_top_level_gives_its_records_with_place() {
        let one = |v: &str, r, l, listed| (v.to_owned(), r, l, listed);
        assert_eq!(
            records("\u{feff}[1,\n {\"a\": 2}]", true).unwrap(),
            [one("1", 1, 1, true), one("{\"a\":2}", 2, 2, true)]
        );
        assert_eq!(
            records("{\"m\": [7],\n\"results\":\n[3,\n4], \"x\": 1}", true).unwrap(),
            [one("3", 1, 3, true), one("4", 2, 4, true)]
        );
        assert_eq!(
            records("{\"a\":1}\n\n{\"a\":2}\n", true).unwrap(),
            [one("{\"a\":1}", 1, 1, false), one("{\"a\":2}", 2, 3, false)]
        );
        assert_eq!(
            records("{\"results\": \"none\"}", true).unwrap(),
            [one("{\"results\":\"none\"}", 1, 1, false)]
        );
        assert!(records("", true).unwrap().is_empty());
    }

    #[test]
    fn each_fault_has_its_own_words() {
        let message = |text: &str| records(text, true).unwrap_err().to_string();
        assert!(
            message("{\"a\":1}\n{\"a\":")
                .starts_with("f.json:2: the data ends in or after record 2")
        );
        assert!(message("[{\"a\":1},{\"a\":\n NaN}]").starts_with("f.json:2: record 2: NaN"));
        assert!(message("[1, -Infinity]").contains("NaN and Infinity"));
        assert!(message("[1, x]").contains("record 2 (begun on line 1) is not JSON"));
        assert!(message("7").contains("expected an object or a list"));
        let error = records("{\"tasks\": []}", false).unwrap_err();
        assert!(error.to_string().contains("has no list `results`"));
    }

    #[test]
    fn lines_are_counted_through_long_records() {
        let long = format!("\"{}\"", "x".repeat(100_000));
        let text = format!("[{long},\n{long},\n\n{long},\n NaN]");
        let error = records(&text, true).unwrap_err().to_string();
        assert!(error.starts_with("f.json:5: record 4: NaN"), "{error}");
    }

    #[test]
    fn a_lone_surrogate_is_replaced_and_said() {
        let text = "[\"a\",\"b\\ud83d\",\n\"\\ud83d\\ude00\"]\n\"x\\ude00\"";
        let shape = Shape {
            source: "f",
            lists: &[],
            single: true,
        };
        let mut found = vec![];
        let read = each_record(&mut text.as_bytes(), &shape, &mut |value, place| {
            found.push((value.as_str().unwrap().to_owned(), place.mended, place.line));
            Ok(())
        });
        // A text at the top is no record; it is only read.
        assert!(read.unwrap_err().to_string().contains("expected an object"));
        let one = |text: &str, mended, line| (text.to_owned(), mended, line);
        let expected = [
            one("a", false, 1),
            one("b\u{fffd}", true, 1),
            one("😀", false, 2),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_sinks_error_is_passed_on_as_it_is() {
        let shape = Shape {
            source: "f",
            lists: &[],
            single: true,
        };
        let error = each_record(&mut &b"[1,2]"[..], &shape, &mut |_, _| {
            Err(Error::io("full"))
        });
        assert_eq!(error.unwrap_err(), Error::io("full"));
    }
}
