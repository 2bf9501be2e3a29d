//! The order in which the forces on a body are added. It depends only on the number of bodies, so that every engine gives the same
//! bits, whatever its number of lanes, threads, blocks, devices and ranks.
//!
//! - [`all_pairs`]: for N-body runs, by tiles, rows and chunks of bodies
//! - [`partial_sums`]: for star clusters, by interleaved partial sums that are folded

pub mod all_pairs;
pub mod partial_sums;
