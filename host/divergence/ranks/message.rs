//! Messages between ranks about a task. A message consists of the number of the task (u32), its kind (u8) and its contents: numbers
//! for results, and JSON for everything else, which is short. All numbers are little-endian.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::report::Report;
use crate::Specification;
use crate::value::{ValueType, ValueVec};

/// A message about a task or about all tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Message {
    /// To a rank: take part in this map.
    Begin {
        specification: Box<Specification>,
        /// The checksum of the start states, if they are not a grid's.
        points: Option<u32>,
        /// Pixels that a rank computes if all ranks are equally fast.
        pixels: u64,
        /// The task's number, if each is to be computed on one GPU, in turn.
        turn: Option<u64>,
    },
    /// From a rank: its devices are ready.
    Ready { capacity: u64, unit: u64 },
    /// From a rank: request for more pixels. It is repeated, with the same number and the pixels then left, until there is a grant.
    Ask {
        backlog: u64,
        rate: f64,
        steps: u64,
        /// Number of grants that the rank has received.
        number: u64,
    },
    /// From a rank: the number of steps so far.
    Steps(u64),
    /// To a rank: pixels to compute.
    Grant(Vec<Range<u64>>),
    /// From a rank: values of pixels, each with the number of the first.
    #[serde(skip)]
    Results(Vec<(u64, ValueVec)>),
    /// To a rank: there are no more pixels.
    End,
    /// From a rank: its part is done.
    Ended(Report),
    /// From a rank: it has failed.
    Failed {
        /// The value of `--gpus`, if that is the reason.
        gpus: Option<String>,
        reason: String,
    },
    /// To a rank: the results are no longer needed.
    Cancel,
    /// To a rank: end with this exit code. From a rank: it ends.
    Quit(u8),
}

const WORDS: u8 = 0;
const RESULTS: u8 = 1;

impl Message {
    pub fn to_bytes(&self, task: u32) -> Vec<u8> {
        let mut bytes = task.to_le_bytes().to_vec();
        if let Self::Results(results) = self {
            bytes.push(RESULTS);
            for (first, values) in results {
                let values = values.as_slice();
                bytes.extend(first.to_le_bytes());
                bytes.push(values.value_type() as u8);
                bytes.extend((values.len() as u32).to_le_bytes());
                bytes.extend(&*values.le_bytes());
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

fn results(mut bytes: &[u8]) -> Option<Vec<(u64, ValueVec)>> {
    let mut results = Vec::new();
    while !bytes.is_empty() {
        let (first, rest) = bytes.split_first_chunk::<8>()?;
        let (of, rest) = rest.split_first()?;
        let of = ValueType::ALL.iter().find(|t| **t as u8 == *of)?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let length = of.size() * u32::from_le_bytes(*count) as usize;
        let (values, rest) = rest.split_at_checked(length)?;
        results.push((u64::from_le_bytes(*first), of.from_le_bytes(values)?));
        bytes = rest;
    }
    Some(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_arrives_bit_for_bit() {
        let specification = Specification {
            dt: 0.1 + 0.2,
            span: [1.0 / 3.0, f64::MIN_POSITIVE],
            ..Specification::default()
        };
        for message in [
            Message::Begin {
                specification: Box::new(specification),
                points: Some(7),
                pixels: u64::MAX,
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
                (1 << 40, ValueVec::U32(vec![0, u32::MAX, 1])),
                (3, ValueVec::F64(vec![])),
                (4, ValueVec::F64(vec![0.1 + 0.2, f64::INFINITY])),
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
