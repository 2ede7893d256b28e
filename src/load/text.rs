//! Reading a text file that a user wrote.

use std::fs;
use std::path::Path;

use crate::base::{Error, Result};

/// Larger files are not written by hand; traces are read elsewhere, as streams.
const LARGEST: u64 = 256 << 20;

/// Reads a UTF-8 text without its byte order mark.
///
/// # Errors
///
/// If the file can't be read, is larger than 256 MiB, is empty, or is not UTF-8; the last with the
/// line of the first wrong byte.
pub(crate) fn read(file: &Path) -> Result<String> {
    let size = fs::metadata(file).map_err(|e| unreadable(file, &e))?;
    if size.is_dir() {
        return Err(Error::input("this is a folder, not a file").in_file(file));
    }
    if size.len() > LARGEST {
        return Err(Error::input("the file is larger than 256 MiB").in_file(file));
    }
    let bytes = fs::read(file).map_err(|e| unreadable(file, &e))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|b| **b == b'\n').count() as u64;
        Error::input("the file is not UTF-8")
            .at(file, line)
            .hint("save it as UTF-8")
    })?;
    // Windows editors put a byte order mark first; it means nothing in UTF-8.
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    if text.trim().is_empty() {
        return Err(Error::input("the file is empty").in_file(file));
    }
    Ok(text)
}

fn unreadable(file: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::input("there is no such file").in_file(file),
        _ => Error::io(format!("the file can't be read: {error}")).in_file(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8]) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.yaml");
        fs::write(&file, bytes).unwrap();
        read(&file).map_err(|e| format!("{:?}: {}", e.line(), e.message()))
    }

    #[test]
    fn byte_order_marks_go_and_broken_bytes_are_named() {
        assert_eq!(check(b"\xef\xbb\xbfa: 1"), Ok("a: 1".into()));
        assert_eq!(
            check(b"a: 1\nb: \xff"),
            Err("Some(2): the file is not UTF-8".into())
        );
        assert_eq!(check(b" \n"), Err("None: the file is empty".into()));
    }
}
