//! Messages between ranks about a task. A message consists of the number of the task (u32), its kind (u8) and its contents: numbers
//! for results, and JSON for everything else, which is short. All numbers are little-endian.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::report::Report;

/// A message about one task or about all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Message {
    /// To a rank: take part in this task.
    Begin {
        /// The specification of the items, as their system writes it.
        work: Value,
        /// Number of items that a rank computes if all ranks are equally fast.
        items: u64,
        /// The number of the task, if each task is to be computed on one GPU, in turn.
        turn: Option<u64>,
    },
    /// From a rank: its devices are ready.
    Ready { capacity: u64, unit: u64 },
    /// From a rank: a request for more items. It is repeated, with the same number and the current rest, until there is a grant.
    Ask {
        backlog: u64,
        rate: f64,
        steps: u64,
        /// Number of grants that the rank has received.
        number: u64,
    },
    /// From a rank: the number of steps that it has accounted for.
    Steps(u64),
    /// To a rank: items to compute.
    Grant(Vec<Range<u64>>),
    /// From a rank: results of items.
    #[serde(skip)]
    Results(Vec<Piece>),
    /// To a rank: there are no more items.
    End,
    /// From a rank: the task is done.
    Ended(Report),
    /// From a rank: it cannot go on.
    Failed {
        /// The value of `--gpus`, if that is the reason.
        gpus: Option<String>,
        reason: String,
    },
    /// To a rank: the results are not needed any more.
    Cancel,
    /// To a rank: end with this exit code. From a rank: confirms that it ends.
    Quit(u8),
}

/// Results of consecutive items, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first item.
    pub first: u64,
    /// Number of items.
    pub count: u64,
    /// Their results, as their system encodes them.
    pub bytes: Vec<u8>,
}

const WORDS: u8 = 0;
const RESULTS: u8 = 1;

impl Message {
    pub fn to_bytes(&self, task: u32) -> Vec<u8> {
        let mut bytes = task.to_le_bytes().to_vec();
        if let Self::Results(results) = self {
            bytes.push(RESULTS);
            for piece in results {
                let length = piece.bytes.len() as u64;
                for number in [piece.first, piece.count, length] {
                    bytes.extend(number.to_le_bytes());
                }
                bytes.extend(&piece.bytes);
            }
        } else {
            bytes.push(WORDS);
            serde_json::to_writer(&mut bytes, self).expect("plain data, to memory");
        }
        bytes
    }

    /// The task and the message; `None` if the bytes are truncated or from another version of this program.
    pub fn from_bytes(bytes: &[u8]) -> Option<(u32, Self)> {
        let (task, rest) = bytes.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_first()?;
        let message = match *kind {
            WORDS => serde_json::from_slice(rest).ok()?,
            RESULTS => Self::Results(results(rest)?),
            _ => return None,
        };
        Some((u32::from_le_bytes(*task), message))
    }
}

fn results(mut bytes: &[u8]) -> Option<Vec<Piece>> {
    let mut results = Vec::new();
    let number = |bytes: &mut &[u8]| {
        let (number, rest) = bytes.split_first_chunk::<8>()?;
        *bytes = rest;
        Some(u64::from_le_bytes(*number))
    };
    while !bytes.is_empty() {
        let [first, count, length] = [
            number(&mut bytes)?,
            number(&mut bytes)?,
            number(&mut bytes)?,
        ];
        let (own, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        results.push(Piece {
            first,
            count,
            bytes: own.to_vec(),
        });
        bytes = rest;
    }
    Some(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_arrives_bit_for_bit() {
        let work = serde_json::json!({
            "dt": 0.1 + 0.2,
            "span": [1.0 / 3.0, f64::MIN_POSITIVE],
            "seed": u64::MAX,
        });
        let piece = |first, bytes: &[u8]| Piece {
            first,
            count: 3,
            bytes: bytes.to_vec(),
        };
        for message in [
            Message::Begin {
                work,
                items: u64::MAX,
                turn: Some(3),
            },
            Message::Ask {
                backlog: 1 << 60,
                rate: 1e9 / 7.0,
                steps: 5,
                number: 2,
            },
            Message::Grant(vec![0..5, 1 << 40..(1 << 40) + 1]),
            Message::Results(vec![
                piece(1 << 40, &[0, 255, 7]),
                piece(3, &[]),
                piece(4, &[9; 100]),
            ]),
            Message::Quit(130),
        ] {
            let bytes = message.to_bytes(u32::MAX);
            assert_eq!(Message::from_bytes(&bytes), Some((u32::MAX, message)));
            assert_eq!(Message::from_bytes(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(Message::from_bytes(&[0; 4]), None);
    }
}
