//! Server-sent events: bytes in, the data of whole events out.

/// Cuts a stream into events (WHATWG HTML, *Server-sent events*). Only `data` is of interest: both
/// protocols repeat the kind of an event in it.
#[derive(Default)]
pub(super) struct Events {
    /// Bytes of a line that is not complete yet.
    rest: Vec<u8>,
    /// Data of an event that is not complete yet.
    data: Vec<u8>,
}

impl Events {
    /// Takes the next bytes and hands every event that they complete to `take`, until it says `true`
    /// (the stream is over) or fails.
    pub fn feed<E>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let mut bytes = bytes;
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
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

    /// The event that the end of the stream leaves open; strictly it would be dropped, but some
    /// servers end without the empty line.
    pub fn close<E>(mut self, mut take: impl FnMut(&[u8]) -> Result<bool, E>) -> Result<bool, E> {
        let rest = std::mem::take(&mut self.rest);
        Ok(self.line(&rest, &mut take)? || self.line(b"", &mut take)?)
    }

    fn line<E>(
        &mut self,
        line: &[u8],
        take: &mut impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
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
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut found = Vec::new();
        let mut take = |data: &[u8]| {
            found.push(String::from_utf8_lossy(data).into_owned());
            Ok::<bool, ()>(data == b"end")
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
}
