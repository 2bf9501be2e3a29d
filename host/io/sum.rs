//! Checksums (length and CRC-32) that show whether a file still has the bytes that were written. Whatever a resumed run reads back has
//! one: files in the record of their run, items in spans, and JSON files in themselves ([`sealed`]).

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{IoError, read};

/// Length and CRC-32 of a file. It detects damage and changes, but does not protect against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Bytes of the file.
    pub bytes: u64,
    /// CRC-32 (IEEE 802.3) of these bytes.
    pub crc32: u32,
}

impl Sum {
    /// The sum of bytes in memory.
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            crc32: crc32fast::hash(bytes),
        }
    }

    /// The sum of a file, or `None` if there is no regular file at `path`.
    ///
    /// # Errors
    /// [`IoError`] if it cannot be read.
    pub fn of_file(path: &Path) -> Result<Option<Self>, IoError> {
        let failed = |e| IoError::system(path, "read", e);
        // Reading a pipe or a device could block or never end.
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Ok(None),
            Err(e) if is_missing(&e) => return Ok(None),
            Err(e) => return Err(failed(e)),
        }
        Self::of_reader(read::open(path)?).map(Some).map_err(failed)
    }

    /// The sum of all bytes of a reader.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut buffer = vec![0; 1 << 18];
        let mut hasher = crc32fast::Hasher::new();
        let mut bytes = 0;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    hasher.update(&buffer[..n]);
                    bytes += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let crc32 = hasher.finalize();
        Ok(Self { bytes, crc32 })
    }

    /// How a file that should have this sum differs from it; `None` if it does not.
    ///
    /// # Errors
    /// [`IoError`] if it cannot be read.
    pub fn difference(&self, path: &Path) -> Result<Option<String>, IoError> {
        Ok(match Self::of_file(path)? {
            None => Some("it is missing".into()),
            Some(there) if there.bytes != self.bytes => Some(format!(
                "it has {} bytes instead of {}",
                there.bytes, self.bytes
            )),
            Some(there) if there != *self => Some("its bytes have changed".into()),
            Some(_) => None,
        })
    }
}

/// The key of the checksum of a JSON object.
const SEAL: &str = "crc32";

/// A JSON object with the checksum of the rest of it under `crc32`.
pub fn sealed(mut object: Value) -> Value {
    let sum = Sum::of(object.to_string().as_bytes());
    object[SEAL] = sum.crc32.into();
    object
}

/// The object in a text of JSON that [`sealed`] made, without its checksum.
///
/// # Errors
/// What is wrong with the text.
pub fn unsealed(text: &str) -> Result<Value, &'static str> {
    let Ok(Value::Object(mut object)) = serde_json::from_str(text) else {
        return Err("it is incomplete");
    };
    let written = object.remove(SEAL);
    let object = Value::Object(object);
    match written {
        None => Err("it has no checksum, because an older version wrote it"),
        Some(written) if written != Sum::of(object.to_string().as_bytes()).crc32 => {
            Err("its bytes have changed")
        }
        Some(_) => Ok(object),
    }
}

/// Whether the error means that there is no file at the path.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_object_says_whether_it_was_changed() {
        let object = serde_json::json!({ "b": [1.5, 0.1, 1e300], "a": { "z": "ü", "crc32": 7 } });
        let text = format!("{:#}", sealed(object.clone()));
        assert_eq!(unsealed(&text), Ok(object));
        for (old, new) in [("1.5", "1.6"), ("ü", "u"), ("\"b\"", "\"c\""), ("7", "8")] {
            assert!(text.contains(old), "{old}");
            let said = unsealed(&text.replacen(old, new, 1));
            assert_eq!(said, Err("its bytes have changed"), "{old}");
        }
        assert_eq!(unsealed(&text[..text.len() - 2]), Err("it is incomplete"));
        assert!(unsealed("{}").is_err_and(|said| said.contains("older version")));
    }

    #[test]
    fn a_file_that_is_cut_changed_or_removed_is_told_from_the_one_that_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let sum = Sum::of(b"123456789");
        // The check value of this CRC.
        assert_eq!((sum.bytes, sum.crc32), (9, 0xcbf4_3926));
        assert_eq!(Sum::of_file(&path).unwrap(), None);
        assert_eq!(sum.difference(&path).unwrap().unwrap(), "it is missing");
        fs::write(&path, b"123456789").unwrap();
        assert_eq!(Sum::of_file(&path).unwrap(), Some(sum));
        assert_eq!(sum.difference(&path).unwrap(), None);
        fs::write(&path, b"12345").unwrap();
        let said = sum.difference(&path).unwrap().unwrap();
        assert_eq!(said, "it has 5 bytes instead of 9");
        fs::write(&path, b"123456780").unwrap();
        assert!(sum.difference(&path).unwrap().is_some());
        assert_eq!(Sum::of_file(Path::new("/dev/zero")).unwrap(), None);
    }
}
