//! The order of summation of N-body runs.
//!
//! Bodies are numbered from 0. Three sizes cut them up: a *tile* is [`TILE`] bodies, a *row* [`TILE`] times the
//! precision's [`LANE_BODIES`](crate::device::DeviceNumber::LANE_BODIES), a *chunk* [`chunk_length`] bodies; a chunk is a whole number of
//! rows, a row a whole number of tiles. Every sum starts at +0 and adds its terms one by one, pulls by a fused
//! multiply-add, sums of pulls by an addition.
//!
//! `basic`: the pull on body b is the sum over chunks, ascending, of the sum over the chunk's bodies, ascending.
//!
//! `reduced`: the pull on body b of row ρ is A + Q.
//! - A is the sum over rows I < ρ, ascending, of P(I, b). P(I, b) sums what row I does to b: with l = b mod 32, for
//!   step s = 0 … 31, for k = 0, 1, …, the body of row I with number 32 k + (l ⊕ [`partner`]`(s)`).
//! - Q is the sum over chunks from that of row ρ on, ascending, of Q(c, b). Q(c, b) sums, over the tiles of the chunk from the
//!   first one of row ρ on: within row ρ the tile's bodies, ascending; behind it, for s = 0 … 31, the body of the tile with
//!   number l ⊕ [`partner`]`(s)`.
//!
//! So a pair within a row is evaluated for each of its bodies, any other pair once. The last tile may be filled up
//! with bodies that pull with strength 0; they add nothing.

/// Bodies of a tile: as many as a warp has lanes.
pub const TILE: u32 = 32;

/// Chunks are as many at most.
pub const MAX_CHUNKS: u32 = 64;

/// The length of a chunk is a multiple of this.
pub const CHUNK_UNIT: u32 = 256;

/// Bodies of a chunk (the last may have fewer) for `n` bodies: enough chunks to fill a large GPU, and not more.
#[inline(always)]
pub const fn chunk_length(n: u32) -> u32 {
    let least = n.div_ceil(MAX_CHUNKS);
    let units = least.div_ceil(CHUNK_UNIT);
    if units == 0 {
        CHUNK_UNIT
    } else {
        units * CHUNK_UNIT
    }
}

/// Lane l meets the body of lane l ⊕ `partner(s)` in step s: the five bits of s, reversed.
///
/// Exclusive-or, because it is its own inverse and permutes aligned groups of 4 or 8 lanes of a CPU vector among themselves;
/// reversed, so that the low bits, which permute within a vector, change seldom.
#[inline(always)]
pub const fn partner(s: u32) -> u32 {
    s.reverse_bits() >> 27
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_bodies_and_are_not_too_many() {
        for n in [
            1,
            2,
            255,
            256,
            257,
            16384,
            16385,
            65535,
            65536,
            1 << 20,
            u32::MAX - 63,
        ] {
            let length = chunk_length(n);
            assert_eq!(length % CHUNK_UNIT, 0);
            assert!(n.div_ceil(length) <= MAX_CHUNKS, "{n}: {length}");
        }
    }

    #[test]
    fn a_lane_meets_every_lane_once() {
        for lane in 0..TILE {
            let mut met = [false; TILE as usize];
            (0..TILE).for_each(|s| met[(lane ^ partner(s)) as usize] = true);
            assert_eq!(met, [true; TILE as usize]);
        }
    }
}
