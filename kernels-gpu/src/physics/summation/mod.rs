//! The order in which the pulls on a body are added up. It depends on the number of bodies alone, so that every engine, whatever its
//! lanes, threads, blocks, devices and ranks, gets the same bits.
//!
//! - [`all_pairs`]: of N-body runs, by tiles, rows and chunks of bodies
//! - [`partial_sums`]: of star clusters, by interleaved partial sums that are folded

pub mod all_pairs;
pub mod partial_sums;
