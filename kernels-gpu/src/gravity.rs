//! Newtonian attraction between pairs of bodies.

use crate::{Real, Vec3};

/// The three bodies' pairs in the order in which they are summed.
pub const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// The separations p₁-p₀, p₂-p₀, p₂-p₁ of three bodies (in the order of [`PAIRS`]).
#[inline(always)]
pub fn separations<R: Real>(p: &[Vec3<R>; 3]) -> [Vec3<R>; 3] {
    [p[1] - p[0], p[2] - p[0], p[2] - p[1]]
}

/// Adds the pulls of a pair to the velocities: with d = pⱼ - pᵢ and w = r⁻³ (softened),
/// vᵢ += gⱼ w d and vⱼ -= gᵢ w d, where g = G·m (times dt² for velocities in length a step).
#[inline(always)]
pub fn pull<R: Real>(v_i: &mut Vec3<R>, v_j: &mut Vec3<R>, d: Vec3<R>, w: R, g_i: R, g_j: R) {
    *v_i = v_i.add_scaled(g_j * w, d);
    *v_j = v_j.add_scaled(-(g_i * w), d);
}
