//! Lone surrogates in JSON text: one half of a pair, which some writers leave where they cut a text.
//!
//! `\ud83d` without its other half is no character, so that a strict parser refuses the whole text.
//! It is replaced by U+FFFD, the replacement character, of the same length; nothing else is changed.

/// Replaces lone surrogates in a stream of bytes. A backslash stands in JSON only within strings, so
/// that nothing else need be known about the text.
#[derive(Debug, Default)]
pub(crate) struct Mender {
    /// Bytes of an escape, or of two, that are not complete yet.
    held: Vec<u8>,
    /// Surrogates replaced so far.
    pub replaced: u64,
}

/// Bytes of an escape such as `\ud83d`.
const LENGTH: usize = 6;

impl Mender {
    /// Takes a byte and appends to `out` what is certain by now.
    pub fn push(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.held.is_empty() && byte != b'\\' {
            out.push(byte);
            return;
        }
        self.held.push(byte);
        self.settle(out);
    }

    /// Appends what is still held, at the end of the stream.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if half(&self.held).is_some() {
            self.replace(out);
        }
        out.append(&mut self.held);
    }

    fn settle(&mut self, out: &mut Vec<u8>) {
        let held = &self.held;
        match (half(held), held.len()) {
            // An escape that is no `\u` is complete with its second byte.
            (_, 0 | 1) => {}
            _ if held[1] != b'u' => out.append(&mut self.held),
            (_, 2..LENGTH) => {}
            (None, _) => out.append(&mut self.held),
            (Some(Half::Low), _) => {
                self.replace(out);
                self.resume(out);
            }
            (Some(Half::High), LENGTH) => {}
            // What follows is the other half, or may become it, or is something else.
            (Some(Half::High), length) => {
                let next = &held[LENGTH..];
                if half(next) == Some(Half::Low) {
                    out.append(&mut self.held);
                } else if length == 2 * LENGTH || !b"\\u".starts_with(&next[..next.len().min(2)]) {
                    self.replace(out);
                    self.resume(out);
                }
            }
        }
    }

    fn replace(&mut self, out: &mut Vec<u8>) {
        self.held.drain(..LENGTH);
        self.replaced += 1;
        out.extend_from_slice(b"\\ufffd");
    }

    /// Looks again at what followed a replaced surrogate.
    fn resume(&mut self, out: &mut Vec<u8>) {
        for byte in std::mem::take(&mut self.held) {
            self.push(byte, out);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Which half of a pair the escape at the beginning is.
fn half(escape: &[u8]) -> Option<Half> {
    let digits = escape.get(..LENGTH)?.strip_prefix(b"\\u")?;
    let code = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match code {
        0xd800..0xdc00 => Some(Half::High),
        0xdc00..0xe000 => Some(Half::Low),
        _ => None,
    }
}

/// The text with its lone surrogates replaced; `None` if it has none.
pub(crate) fn mended(text: &str) -> Option<String> {
    if !text.contains("\\u") {
        return None;
    }
    let bytes = mended_bytes(text.as_bytes())?;
    String::from_utf8(bytes).ok()
}

/// The bytes with their lone surrogates replaced; `None` if they have none.
pub(crate) fn mended_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut mender, mut out) = (Mender::default(), Vec::with_capacity(bytes.len()));
    bytes.iter().for_each(|&byte| mender.push(byte, &mut out));
    mender.finish(&mut out);
    (mender.replaced > 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_without_their_other_half_are_replaced() {
        for (text, expected) in [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""a\uDE00b""#, Some(r#""a\ufffdb""#)),
            (r#""\ud83d\n""#, Some(r#""\ufffd\n""#)),
            (r#""\ud83d\u0041""#, Some(r#""\ufffd\u0041""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud83d\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (r#"\ud83d"#, Some(r#"\ufffd"#)),
            (r#""\ud83d\"#, Some(r#""\ufffd\"#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\u00e9 é \" \ud8""#, None),
            (r#""\u12"#, None),
        ] {
            assert_eq!(mended(text).as_deref(), expected, "{text}");
        }
    }
}
