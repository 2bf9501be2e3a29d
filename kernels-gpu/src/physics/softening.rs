//! The softening length in sums over all pairs, which include each body with itself, at distance 0.

/// The least squared softening length in `f32` for bodies with strengths G·m up to `g_max`: r⁻³ and g·r⁻³ stay finite at r = 0, where
/// a body meets itself.
///
/// For strengths up to about 1 it is 2⁻⁸⁰, a length of 1e-12, which is far below the distance between adjacent `f32` positions.
pub fn softening_floor_f32(g_max: f64) -> f64 {
    // 2^120 · floor^(3/2) = max(1, g_max): floor is the power of 4 at or above (max(1, g_max) · 2^-120)^(2/3).
    let mut floor = 1.0 / (1u128 << 80) as f64;
    let mut strength = 1.0;
    while strength < g_max && floor < 1.0e30 {
        floor *= 4.0;
        strength *= 8.0;
    }
    floor
}

/// Replaces a squared softening length of 0 in Hermite sums. A body's pull on itself then vanishes without a comparison in the loop,
/// as all pulls at distance 0 do. It has no effect at distances above 1e-22.
pub const SELF_SOFTENING2: f64 = 6.223_015_277_861_142e-61;

/// The squared softening length for Hermite sums in `f64`.
pub fn softening2(softening: f64) -> f64 {
    if softening == 0.0 {
        SELF_SOFTENING2
    } else {
        softening * softening
    }
}

/// The squared softening length for Hermite sums in `f32`, for bodies with G·m up to `heaviest`. A body's pull on itself is 0 times
/// r⁻³, so that r⁻³ must be finite.
pub fn softening2_single(softening: f64, heaviest: f64) -> f64 {
    (softening * softening).max(softening_floor_f32(heaviest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_f32_does_not_pull_itself_to_infinity() {
        for g in [0.0, 1.0, 7.9, 8.1, 1.0e9, 3.0e30] {
            let floor = softening_floor_f32(g) as f32;
            let y = 1.0 / floor.sqrt();
            assert!((y * y * y * g as f32).is_finite(), "{g}");
        }
    }
}
