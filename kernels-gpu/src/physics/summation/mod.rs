//! The order in which the forces on a body are added. It depends only on the number of bodies, so every engine gets the same bits,
//! whatever its lanes, threads, blocks, devices and ranks.
//!
//! - [`all_pairs`]: of N-body runs, by tiles, rows and chunks of bodies
//! - [`partial_sums`]: of star clusters, by interleaved partial sums that are folded

pub mod all_pairs;
pub mod partial_sums;
