//! Server-sent events: bytes in, the data of whole events out.

use super::failure::{Code, Failed};

/// A line that is none of the format; what it held is lost.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

impl From<Damaged> for Failed {
    fn from(_: Damaged) -> Self {
        Self::new(Code::MalformedReply, "a line of the stream is damaged")
    }
}

/// Cuts a stream into events (WHATWG HTML, *Server-sent events*). Only `data` is of interest: both
/// protocols repeat the kind of an event in it.
#[derive(Default)]
pub(super) struct Events {
    /// Bytes of a line that is not complete yet.
    rest: Vec<u8>,
    /// Data of an event that is not complete yet.
    data: Vec<u8>,
    /// Whether the last byte was a carriage return, to which a line feed may belong.
    returned: bool,
    /// Whether the first line, which may begin with a byte order mark, is behind.
    begun: bool,
}

impl Events {
    /// Takes the next bytes and hands every event that they complete to `take`, until it says `true`
    /// (the stream is over) or fails. A damaged line fails too.
    pub fn feed<E: From<Damaged>>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let mut bytes = bytes;
        if self.returned && !bytes.is_empty() {
            self.returned = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let line = &bytes[..end];
            bytes = self.after_end(&bytes[end..]);
            let over = if self.rest.is_empty() {
                self.line(line, &mut take)?
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.line(&whole, &mut take)?
            };
            if over {
                return Ok(true);
            }
        }
        self.rest.extend_from_slice(bytes);
        Ok(false)
    }

    /// What comes after the end of a line, which is a line feed, a carriage return, or both; the line
    /// feed of both may not have come yet.
    fn after_end<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        self.returned = bytes == b"\r";
        bytes.strip_prefix(b"\r\n").unwrap_or(&bytes[1..])
    }

    /// The event that the end of the stream leaves open; strictly it would be dropped, but some
    /// servers end without the empty line.
    pub fn close<E: From<Damaged>>(
        mut self,
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let rest = std::mem::take(&mut self.rest);
        Ok(self.line(&rest, &mut take)? || self.line(b"", &mut take)?)
    }

    fn line<E: From<Damaged>>(
        &mut self,
        line: &[u8],
        take: &mut impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let line = match std::mem::replace(&mut self.begun, true) {
            false => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            true => line,
        };
        if line.is_empty() {
            if self.data.is_empty() {
                return Ok(false);
            }
            let data = std::mem::take(&mut self.data);
            return take(&data);
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            let value = value.strip_prefix(b" ").unwrap_or(value);
            self.data.extend_from_slice(value);
            return Ok(false);
        }
        check(line).map(|()| false).map_err(E::from)
    }
}

/// Checks a line that is not data. The format lets fields pass that it doesn't know, but one that holds
/// an object, or whose name is no word in small letters, was data once.
fn check(line: &[u8]) -> Result<(), Damaged> {
    let colon = line.iter().position(|b| *b == b':');
    let name = &line[..colon.unwrap_or(line.len())];
    let value = colon.map_or(&b""[..], |at| line[at + 1..].trim_ascii_start());
    let word = |b: &u8| b.is_ascii_lowercase() || matches!(b, b'-' | b'_');
    let known = [&b"event"[..], b"id", b"retry", b"data", b""].contains(&name);
    let harmless = colon.is_some() && name.iter().all(word) && !value.starts_with(b"{");
    if known || harmless {
        Ok(())
    } else {
        Err(Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut found = Vec::new();
        let mut take = |data: &[u8]| {
            found.push(String::from_utf8_lossy(data).into_owned());
            Ok::<bool, Damaged>(data == b"end")
        };
        let mut events = Events::default();
        for piece in pieces {
            if events.feed(piece, &mut take) == Ok(true) {
                return found;
            }
        }
        events.close(&mut take).unwrap();
        found
    }

    const TEXT: &[u8] =
        b": hello\r\nevent: x\r\ndata: a\r\n\r\nid: 3\ndata:b\ndata: c\n\n\n\ndata: end\n\ndata: late\n\n";

    #[test]
    fn every_cut_gives_the_same_events() {
        let expected = ["a", "b\nc", "end"];
        assert_eq!(events(&[TEXT]), expected);
        for at in 0..TEXT.len() {
            assert_eq!(events(&[&TEXT[..at], &TEXT[at..]]), expected, "cut at {at}");
        }
        let single: Vec<&[u8]> = TEXT.chunks(1).collect();
        assert_eq!(events(&single), expected);
    }

    #[test]
    fn an_event_without_its_empty_line_counts_at_the_end() {
        assert_eq!(events(&[b"data: a\n\ndata: b"]), ["a", "b"]);
        assert_eq!(events(&[b"data: b\n"]), ["b"]);
        assert_eq!(events(&[b""]), Vec::<String>::new());
    }

    #[test]
    fn every_end_of_line_and_a_byte_order_mark_are_read() {
        assert_eq!(events(&[b"data: a\r\rdata: b\r", b"\r"]), ["a", "b"]);
        assert_eq!(events(&[b"data: a\r", b"\ndata: b\r\n\r\n"]), ["a\nb"]);
        assert_eq!(events(&[b"\xef\xbb", b"\xbfdata: a\n\n"]), ["a"]);
    }

    #[test]
    fn damaged_lines_fail_and_unknown_fields_pass() {
        let feed = |line: &str| {
            let text = format!("{line}\n");
            Events::default().feed(text.as_bytes(), |_| Ok::<bool, Damaged>(false))
        };
        for line in [
            "oops data: {}",
            "  data: {}",
            "Data: {}",
            "{\"a\": 1}",
            "ata: {}",
            "oops",
        ] {
            assert_eq!(feed(line), Err(Damaged), "{line}");
        }
        for line in [
            ": hello",
            ":{}",
            "x: y",
            "x-time: 3",
            "event: a",
            "id",
            "retry: 3",
            "data",
        ] {
            assert_eq!(feed(line), Ok(false), "{line}");
        }
    }
}
