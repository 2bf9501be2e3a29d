//! The softening length as sums over all pairs need it: a body meets itself in them, at distance 0.

/// The least softening length squared in `f32`, for bodies of strength `g_max` = G·m at most: r⁻³ and g·r⁻³ stay finite at r = 0,
/// where a body meets itself.
///
/// For strengths up to about 1 it is 2⁻⁸⁰, a length of 1e-12: far below the distance of neighbouring `f32` positions.
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

/// Takes the place of a softening length squared of 0 in Hermite sums: a body's pull on itself then vanishes like all others at
/// distance 0, without a comparison in the loop. No distance above 1e-22 feels it.
pub const SELF_SOFTENING2: f64 = 6.223_015_277_861_142e-61;

/// Softening length squared as Hermite sums in `f64` need it.
pub fn softening2(softening: f64) -> f64 {
    if softening == 0.0 {
        SELF_SOFTENING2
    } else {
        softening * softening
    }
}

/// Softening length squared as Hermite sums in `f32` need it, for bodies of G·m up to `heaviest`: a body's pull on itself, which is
/// 0 times r⁻³, must not be 0 times infinity.
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
