//! The header of a npy file: a dictionary in Python's notation, of which only `numpy.save`'s three keys are allowed.
//!
//! This is own code because the crates that read it depend on a Python parser with a C build script, and panic on a shape whose
//! product overflows. Format: numpy.lib.format, versions 1.0 to 3.0.

use std::io::Read;

use super::ReadError;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Data begin at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// The contents of a header.
#[derive(Debug, PartialEq)]
pub(super) struct NpyHeader {
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

/// Everything before the values, format 1.0.
pub(super) fn encode(descr: &str, shape: &[usize]) -> Vec<u8> {
    let axes = match shape {
        [n] => format!("{n},"),
        _ => shape
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before - 1;
    // The caller admits 64 axes, which fit 65535 bytes many times.
    let length = (padded + 1) as u16;
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(length.to_le_bytes());
    bytes.extend(format!("{text:<padded$}\n").as_bytes());
    bytes
}

/// Largest number of bytes of a header; 64 axes need a thirtieth of it.
const MAX_HEADER_BYTES: u64 = 1 << 16;

impl NpyHeader {
    /// Reads up to the first value.
    pub fn read(mut reader: impl Read) -> Result<Self, ReadError> {
        let mut start = [0; 8];
        reader.read_exact(&mut start)?;
        if !start.starts_with(MAGIC) {
            return Err(malformed("not a npy file"));
        }
        let length = match start[6] {
            1 => {
                let mut n = [0; 2];
                reader.read_exact(&mut n)?;
                u64::from(u16::from_le_bytes(n))
            }
            2 | 3 => {
                let mut n = [0; 4];
                reader.read_exact(&mut n)?;
                u64::from(u32::from_le_bytes(n))
            }
            version => {
                return Err(malformed(&format!(
                    "version {version} of the npy format is unknown"
                )));
            }
        };
        if length > MAX_HEADER_BYTES {
            return Err(malformed(&format!(
                "its header claims {length} bytes, and the header of an array has at most {MAX_HEADER_BYTES}"
            )));
        }
        let mut text = String::new();
        if reader.take(length).read_to_string(&mut text)? as u64 != length {
            return Err(malformed("not a complete npy file"));
        }
        Self::parse(&text).ok_or_else(|| {
            malformed(&format!(
                "the header {:?} is not that of a plain array",
                text.trim_end()
            ))
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = quoted(rest)?;
            let value = after.trim_start().strip_prefix(':')?.trim_start();
            let after = match key {
                "descr" => {
                    let (value, after) = quoted(value)?;
                    descr = Some(value.to_owned());
                    after
                }
                "fortran_order" => {
                    let (value, after) = [("True", true), ("False", false)]
                        .into_iter()
                        .find_map(|(word, v)| Some((v, value.strip_prefix(word)?)))?;
                    fortran_order = Some(value);
                    after
                }
                "shape" => {
                    let (value, after) = value.strip_prefix('(')?.split_once(')')?;
                    shape = Some(axes(value)?);
                    after
                }
                _ => return None,
            };
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(after) => after.trim_start(),
                None if after.is_empty() => after,
                None => return None,
            };
        }
        Some(Self {
            descr: descr?,
            fortran_order: fortran_order?,
            shape: shape?,
        })
    }
}

/// A quoted word and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    text[1..].split_once(quote)
}

/// `3, 4` or `3,`; Python 2 wrote long numbers as `3L`.
fn axes(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text).trim_end();
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',')
        .map(|n| n.trim().trim_end_matches('L').parse().ok())
        .collect()
}

fn malformed(reason: &str) -> ReadError {
    ReadError::Malformed(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_any_numpy_writes_them() {
        for text in [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n",
            "{\"shape\":(3,4,),\"fortran_order\":False,\"descr\":\"<f8\"}",
            "{'shape': (3L, 4L), 'fortran_order': False, 'descr': '<f8'}",
        ] {
            let header = NpyHeader::parse(text).unwrap();
            assert_eq!(header.shape, [3, 4]);
            assert_eq!(
                (header.descr.as_str(), header.fortran_order),
                ("<f8", false)
            );
        }
        for text in [
            "",
            "{",
            "{}",
            "{'descr'}",
            "{'descr': '<f8'}",
            "{'é': 1}",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': 3}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
            "{'descr': '<f8', 'fortran_order': False 'shape': (3,)}",
            "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (3,)}",
        ] {
            assert_eq!(NpyHeader::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for shape in [&[][..], &[7], &[1, 0, 3], &[usize::MAX; 20]] {
            let bytes = encode("<u4", shape);
            assert_eq!(bytes.len() % ALIGNMENT, 0);
            let mut rest = &bytes[..];
            let header = NpyHeader::read(&mut rest).unwrap();
            assert_eq!((&header.shape[..], rest.len()), (shape, 0));
        }
    }
}
