//! The order of summation of N-body runs.
//!
//! Bodies are numbered from 0 and divided in three ways: a *tile* has [`TILE`] bodies, a *row* has [`TILE`] times the precision's
//! [`LANE_BODIES`](crate::device::DeviceNumber::LANE_BODIES), and a *chunk* has [`chunk_length`] bodies; a chunk is a whole number of
//! rows, and a row is a whole number of tiles. Every sum starts at +0 and adds its terms one by one: pulls by fused multiply-adds,
//! sums of pulls by additions.
//!
//! `basic`: the pull on body b is the sum over chunks, ascending, of the sum over the chunk's bodies, ascending.
//!
//! `reduced`: the pull on body b of row ρ is A + Q.
//! - A is the sum of P(I, b) over the rows I < ρ, ascending. P(I, b) sums the pulls of row I on b: with l = b mod 32, for step s = 0 …
//!   31 and for k = 0, 1, …, that of the row's body number 32 k + (l ⊕ [`partner`]`(s)`).
//! - Q is the sum of Q(c, b) over the chunks from that of row ρ on, ascending. Q(c, b) sums over the tiles of the chunk, from the
//!   first tile of row ρ on: within row ρ over the tile's bodies, ascending; behind it, for s = 0 … 31, over the tile's body number l
//!   ⊕ [`partner`]`(s)`.
//!
//! A pair within a row is therefore evaluated once for each of its bodies, and any other pair only once. The last tile may be padded
//! with bodies of strength 0, which add nothing.

/// Number of bodies in a tile, which is the number of lanes of a warp.
pub const TILE: u32 = 32;

/// The largest number of chunks.
pub const MAX_CHUNKS: u32 = 64;

/// The length of a chunk is a multiple of this.
pub const CHUNK_UNIT: u32 = 256;

/// The number of bodies in a chunk (the last may have fewer) for `n` bodies: enough chunks to occupy a large GPU, but not more.
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

/// In step s, lane l meets the body of lane l ⊕ `partner(s)`, which is s with its five bits reversed.
///
/// The exclusive-or is its own inverse and permutes aligned groups of 2, 4 or 8 lanes of a CPU vector among themselves. The bits are
/// reversed so that the low bits, which permute within a vector, change rarely.
#[inline(always)]
pub const fn partner(s: u32) -> u32 {
    s.reverse_bits() >> 27
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_bodies_and_do_not_exceed_their_limit() {
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
