//! TIPSY's binary snapshots: a header (time: f64; bodies, dimensions, gas, dark, stars: u32 each, with or without
//! padding to 32 bytes), then gas (12 `f32` each), dark matter (9) and stars (11), each beginning with mass, position, velocity. Dark matter and
//! stars end with softening length and potential. The unit of mass is such that G = 1.

use super::Carried;
use crate::Bodies;

/// `f32` numbers of a gas, dark and star particle.
const WORDS: [usize; 3] = [12, 9, 11];

struct TipsyHeader {
    start: usize,
    time: f64,
    counts: [usize; 3],
    big_endian: bool,
}

/// Reads bodies of all three kinds, in the file's order, and the other values.
pub(super) fn read(bytes: &[u8]) -> Result<(Bodies, Carried), String> {
    let header = header(bytes)?;
    let number = |at: usize| {
        let raw = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let x = if header.big_endian {
            f32::from_be_bytes(raw)
        } else {
            f32::from_le_bytes(raw)
        };
        f64::from(x)
    };
    let mut bodies = Bodies::default();
    let mut at = header.start;
    let mut softenings: Option<[f64; 2]> = None;
    for (kind, (count, words)) in header.counts.into_iter().zip(WORDS).enumerate() {
        for _ in 0..count {
            let word = |k: usize| number(at + 4 * k);
            bodies.push(
                word(0),
                [word(1), word(2), word(3)],
                [word(4), word(5), word(6)],
            );
            // Gas particles have their smoothing length there, which is not a softening length.
            if kind > 0 {
                let own = word(words - 2);
                let [least, greatest] = softenings.unwrap_or([own; 2]);
                softenings = Some([least.min(own), greatest.max(own)]);
            }
            at += 4 * words;
        }
    }
    let common = softenings.filter(|[least, greatest]| least == greatest);
    let carried = Carried {
        g: Some(1.0),
        softening: common.map(|[length, _]| length),
        time: Some(header.time),
        softenings: softenings.filter(|_| common.is_none()),
        ..Carried::default()
    };
    Ok((bodies, carried))
}

/// Finds the byte order and the length of the header for which the counts agree with the length of the file.
fn header(bytes: &[u8]) -> Result<TipsyHeader, String> {
    if bytes.len() < 28 {
        return Err(format!(
            "a TIPSY file begins with 28 or 32 bytes; it has {}",
            bytes.len()
        ));
    }
    for big_endian in [false, true] {
        let word = |k: usize| {
            let at = 8 + 4 * k;
            let raw = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            let x = if big_endian {
                u32::from_be_bytes(raw)
            } else {
                u32::from_le_bytes(raw)
            };
            x as usize
        };
        let (bodies, counts) = (word(0), [word(2), word(3), word(4)]);
        let size: usize = counts
            .iter()
            .zip(WORDS)
            .map(|(n, words)| n * words * 4)
            .sum();
        for start in [32, 28] {
            if counts.iter().sum::<usize>() == bodies && start + size == bytes.len() {
                let raw = *bytes.first_chunk().expect("28 bytes at least");
                return Ok(TipsyHeader {
                    start,
                    time: if big_endian {
                        f64::from_be_bytes(raw)
                    } else {
                        f64::from_le_bytes(raw)
                    },
                    counts,
                    big_endian,
                });
            }
        }
    }
    Err(format!(
        "its length, {} bytes, is not what a TIPSY header says in either byte order",
        bytes.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(big_endian: bool, filled: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let u = |x: u32| {
            if big_endian {
                x.to_be_bytes()
            } else {
                x.to_le_bytes()
            }
        };
        let f = |x: f32| {
            if big_endian {
                x.to_be_bytes()
            } else {
                x.to_le_bytes()
            }
        };
        bytes.extend(if big_endian {
            1.5_f64.to_be_bytes()
        } else {
            1.5_f64.to_le_bytes()
        });
        for x in [3, 3, 1, 1, 1] {
            bytes.extend(u(x));
        }
        if filled {
            bytes.extend(u(0));
        }
        for (kind, words) in WORDS.into_iter().enumerate() {
            for k in 0..words {
                bytes.extend(f((kind * 100 + k) as f32));
            }
        }
        bytes
    }

    #[test]
    fn all_kinds_byte_orders_and_headers_are_read() {
        for (big_endian, filled) in [(false, false), (false, true), (true, false), (true, true)] {
            let (bodies, carried) = read(&sample(big_endian, filled)).unwrap();
            assert_eq!((carried.g, carried.time), (Some(1.0), Some(1.5)));
            // The softening lengths of the dark particle and the star.
            assert_eq!(
                (carried.softening, carried.softenings),
                (None, Some([107.0, 209.0]))
            );
            assert_eq!(bodies.mass, [0.0, 100.0, 200.0]);
            assert_eq!(bodies.position[1].to_array(), [101.0, 102.0, 103.0]);
            assert_eq!(bodies.velocity[2].to_array(), [204.0, 205.0, 206.0]);
        }
    }

    #[test]
    fn a_file_cut_short_is_refused() {
        let bytes = sample(false, true);
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
        assert!(read(&bytes[..20]).is_err());
    }
}
