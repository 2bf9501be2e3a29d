//! The length of a particle's next step.
//!
//! Steps are powers of two, and they are compared by exact powers of them, so that neither roots nor logarithms can make results
//! differ between machines.

use super::Taylor;
use crate::Vec3;
use crate::number::sqrt;

#[inline(always)]
fn norm2(v: Vec3<f64>) -> f64 {
    v.norm2_plus(0.0)
}

/// (A⁽ᵏ⁾)² = |a⁽ᵏ⁻¹⁾||a⁽ᵏ⁺¹⁾| + |a⁽ᵏ⁾|², where a⁽ᵏ⁾ is the k-th derivative of the acceleration.
#[inline(always)]
fn squared_measure(x: &Taylor<f64>, k: usize) -> f64 {
    sqrt(norm2(x[k + 1]) * norm2(x[k + 3])) + norm2(x[k + 2])
}

/// A power of a time, with its exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The time raised to `exponent`.
    pub value: f64,
    /// The exponent, which is even.
    pub exponent: u32,
}

/// The generalised criterion of order p (Nitadori & Makino 2008): dt = η (A⁽¹⁾ / A⁽ᵖ⁻²⁾)^(1/(p-3)).
///
/// At order 4 it is Aarseth's criterion, dt = (η' (|a||s| + |j|²) / (|j||c| + |s|²))^(1/2), with η' = η².
#[inline(always)]
pub fn criterion(order: u32, x: &Taylor<f64>, eta: f64) -> Power {
    let exponent = 2 * (order - 3);
    let ratio = squared_measure(x, 1) / squared_measure(x, order as usize - 2);
    Power {
        value: power(eta, exponent) * ratio,
        exponent,
    }
}

/// The noise of the three highest derivatives in a criterion, p - 3 to p - 1, in units of ε S / hᵏ: sums of the coefficients by which
/// the interpolation ([`correct`](super::correct)) multiplies the forces at both ends.
const fn amplification(order: u32) -> [f64; 3] {
    match order {
        4 => [1.0, 7.0, 6.0],
        6 => [75.0, 111.0, 105.0],
        _ => [2430.0, 3990.0, 3885.0],
    }
}

/// Whether the divisor of [`criterion`] is rounding noise of forces with the relative error `epsilon`, interpolated over a step of
/// `dt`. The error of such a step is due to rounding as well, so that there is no reason to shorten the next step, which would even
/// amplify the noise.
///
/// The error of a force is ε times the force itself, plus its change over ε times the position. `scale` is added to the size of the
/// force; for a part of the force, it is the size of the whole force.
///
/// The roots take most of the time, and most derivatives are far above the noise. An upper bound of the noise, which needs no roots, therefore
/// decides most cases. It changes no result. `dt` is a power of two.
#[inline(always)]
pub fn is_noise(order: u32, x: &Taylor<f64>, dt: f64, scale: f64, epsilon: f64) -> bool {
    let measure = squared_measure(x, order as usize - 2);
    let bound = noise(order, x, dt, scale, epsilon, root_above, root_below);
    if measure > bound {
        return false;
    }
    measure <= noise(order, x, dt, scale, epsilon, sqrt, sqrt)
}

/// The noise of the divisor of [`criterion`] if `root` and `divisor` are the square root. If `root` is never less than the square root and
/// `divisor` is never greater, the result is an upper bound of the noise.
#[inline(always)]
fn noise(
    order: u32,
    x: &Taylor<f64>,
    dt: f64,
    scale: f64,
    epsilon: f64,
    root: impl Fn(f64) -> f64,
    divisor: impl Fn(f64) -> f64,
) -> f64 {
    let p = order as usize;
    let size = |k: usize| root(norm2(x[k]));
    let (h, per_h) = (0.5 * dt, 2.0 * reciprocal(dt));
    let mut s = scale + size(2) + h * size(3);
    let speed = divisor(norm2(x[1]));
    if speed > 0.0 {
        s += size(3) / speed * size(0);
    }
    let [low, middle, high] = amplification(order);
    let n = epsilon * s * power(per_h, order - 3);
    let (low, middle, high) = (low * n, middle * n * per_h, high * n * (per_h * per_h));
    (size(p - 1) + low) * high + middle * middle
}

/// An upper bound of the square root of `x`, which exceeds it by 7 % at most. It halves the bits of the exponent and of the fraction, as if the
/// logarithm were linear between powers of two.
#[inline(always)]
fn root_above(x: f64) -> f64 {
    if x <= f64::MAX {
        f64::from_bits((x.to_bits() >> 1) + ((BIAS as u64) << (FRACTION_BITS - 1)))
    } else {
        x
    }
}

/// A lower bound of the square root of `x`, which is at most 7 % less.
#[inline(always)]
fn root_below(x: f64) -> f64 {
    if x > 0.0 { 0.9375 * root_above(x) } else { 0.0 }
}

/// The criterion for the first step, from the derivatives that the force gives directly: η |a|/|j| at order 4, η (|a|/|s|)^(1/2) at
/// order 6, η ((|a||s| + |j|²)/(|j||c| + |s|²))^(1/2) at order 8.
#[inline(always)]
pub fn first_criterion(order: u32, x: &Taylor<f64>, eta: f64) -> Power {
    match order {
        4 => Power {
            value: power(eta, 2) * (norm2(x[2]) / norm2(x[3])),
            exponent: 2,
        },
        6 => Power {
            value: power(eta, 4) * (norm2(x[2]) / norm2(x[4])),
            exponent: 4,
        },
        _ => Power {
            value: power(eta, 2) * (squared_measure(x, 1) / squared_measure(x, 2)),
            exponent: 2,
        },
    }
}

/// xⁿ, computed with n - 1 products.
#[inline(always)]
pub fn power(x: f64, n: u32) -> f64 {
    let mut p = x;
    let mut k = 1;
    while k < n {
        p *= x;
        k += 1;
    }
    p
}

/// The longest power of two that is at most `longest` (itself a power of two) and at most the allowed step, or `shortest` if there is
/// none. A particle on which no force acts has no derivatives (0/0) and may take any step.
#[inline(always)]
pub fn quantised(allowed: Power, longest: f64, shortest: f64) -> f64 {
    let mut step = above_root(allowed, longest, shortest);
    while step > shortest && power(step, allowed.exponent) > allowed.value {
        step *= 0.5;
    }
    step
}

/// A power of two up to `longest` that is not below the result of [`quantised`], and less than 4 times the root of `allowed`, so that
/// few halvings are left.
#[inline(always)]
fn above_root(allowed: Power, longest: f64, shortest: f64) -> f64 {
    if !(0.0..1.0).contains(&allowed.value) {
        return longest;
    }
    // The value is below 2^-below.
    let below = BIAS - 1 - (allowed.value.to_bits() >> FRACTION_BITS & EXPONENT) as u32;
    let root = f64::from_bits(((BIAS - below / allowed.exponent) as u64) << FRACTION_BITS);
    // A power of two above `shortest`.
    let least = f64::from_bits((2.0 * shortest).to_bits() >> FRACTION_BITS << FRACTION_BITS);
    if root < least {
        least.min(longest)
    } else {
        root.min(longest)
    }
}

/// Ratio of the shortest possible step to the longest.
pub const SMALLEST_RATIO: f64 = 1.0 / (1u64 << 50) as f64;

/// A step is abrupt if even this fraction of it exceeds the step that the criterion allows at its end.
const ABRUPT_FRACTION: f64 = 0.125;

/// Derivatives below this multiple of the noise carry no information about the step.
const NOISE_MARGIN: f64 = 1000.0;

/// Number of fraction bits of an `f64`.
const FRACTION_BITS: u32 = 52;
/// The exponent bits of an `f64` without its sign, and those of 1.
const EXPONENT: u64 = (1 << 11) - 1;
const BIAS: u32 = 1023;

/// The number of times that `longest` must be halved to give `step`; both are powers of two.
#[inline(always)]
pub fn halvings(longest: f64, step: f64) -> u32 {
    ((longest.to_bits() - step.to_bits()) >> FRACTION_BITS) as u32
}

/// `longest`, a power of two, halved `times` times.
#[inline(always)]
pub fn halved(longest: f64, times: u32) -> f64 {
    f64::from_bits(longest.to_bits() - ((times as u64) << FRACTION_BITS))
}

/// The reciprocal of `step`, which is a power of two.
#[inline(always)]
pub fn reciprocal(step: f64) -> f64 {
    f64::from_bits(((2 * BIAS as u64) << FRACTION_BITS) - step.to_bits())
}

/// The longest power of two up to `longest` (itself a power of two) that divides `time`, which must not be negative.
#[inline(always)]
pub fn longest_at(longest: f64, time: f64) -> f64 {
    if time == 0.0 {
        return longest;
    }
    let bits = time.to_bits();
    let zeros = (bits | 1 << FRACTION_BITS).trailing_zeros() as u64;
    let divisor =
        f64::from_bits(((bits >> FRACTION_BITS) + zeros - FRACTION_BITS as u64) << FRACTION_BITS);
    if divisor < longest { divisor } else { longest }
}

/// The shortest step that still advances `time`.
#[inline(always)]
pub fn lowest_step(max_step: f64, time: f64) -> f64 {
    let least = max_step * SMALLEST_RATIO;
    let power = f64::from_bits(time.to_bits() >> FRACTION_BITS << FRACTION_BITS);
    let spacing = power * (1.0 / (1u64 << FRACTION_BITS) as f64);
    if spacing > least { spacing } else { least }
}

/// Parameters of the time-step criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Accuracy {
    /// Parameter of [`criterion`].
    pub eta: f64,
    /// Relative error of the forces, for [`is_noise`].
    pub epsilon: f64,
}

/// The limits of the next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The longest step allowed, which divides the time.
    pub longest: f64,
    /// The shortest step allowed.
    pub shortest: f64,
}

/// The result of the criterion for a particle after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The next step.
    pub step: f64,
    /// Whether position, velocity and acceleration are finite numbers.
    pub finite: bool,
    /// Whether the next step is not shortened because the criterion would only follow rounding noise.
    pub noisy: bool,
    /// Whether the step was at least 8 times too long.
    pub abrupt: bool,
    /// Whether the next step should be shorter than the shortest.
    pub clamped: bool,
}

/// Whether a step of length `before` was at least 8 times longer than the criterion allows at its end.
#[inline(always)]
pub fn is_abrupt(allowed: Power, before: f64) -> bool {
    power(before * ABRUPT_FRACTION, allowed.exponent) > allowed.value
}

/// Whether position, velocity and acceleration are finite numbers.
#[inline(always)]
pub fn is_finite<const N: usize>(x: &[Vec3<f64>; N]) -> bool {
    (norm2(x[0]) + norm2(x[1]) + norm2(x[2])).is_finite()
}

/// The next step of a particle at `x` after a step of length `before`.
#[inline(always)]
pub fn judge(
    order: u32,
    accuracy: &Accuracy,
    limits: &Limits,
    x: &Taylor<f64>,
    before: f64,
) -> Verdict {
    let allowed = criterion(order, x, accuracy.eta);
    let step = quantised(allowed, limits.longest, limits.shortest);
    let twice = 2.0 * before;
    let doubled = if twice < limits.longest {
        twice
    } else {
        limits.longest
    };
    let noise = |factor: f64| is_noise(order, x, before, 0.0, factor * accuracy.epsilon);
    let noisy = step < doubled && noise(1.0);
    Verdict {
        step: if noisy { doubled } else { step },
        finite: is_finite(x),
        noisy,
        abrupt: !noisy && is_abrupt(allowed, before) && !noise(NOISE_MARGIN),
        clamped: !noisy && power(step, allowed.exponent) > allowed.value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_step_divides_the_time() {
        for longest in [0.0625, 1.0, 8.0] {
            for time in [0.0, 0.0625, 0.75, 1.0, 3.0, 4096.0, 123456.75] {
                for k in 0..60 {
                    let time = time + 0.5f64.powi(k);
                    let mut step = longest;
                    while (time / step).fract() != 0.0 {
                        step *= 0.5;
                    }
                    assert_eq!(longest_at(longest, time), step, "{time}");
                }
            }
            assert_eq!(longest_at(longest, 0.0), longest);
        }
    }

    #[test]
    fn the_bound_of_the_noise_is_never_too_small_and_at_most_a_half_more() {
        for k in -1000..1000 {
            for fraction in 0..50 {
                let x = 2f64.powi(k) * (1.0 + f64::from(fraction) / 50.0);
                let root = x.sqrt();
                assert!((root..1.07 * root).contains(&root_above(x)), "{x}");
                assert!(root_below(x) > 0.88 * root && root_below(x) <= root, "{x}");
            }
            assert_eq!(reciprocal(2f64.powi(k)), 2f64.powi(-k));
        }
        assert!(root_above(f64::NAN).is_nan() && root_above(f64::INFINITY) == f64::INFINITY);
        let mut random = 1u64;
        let mut number = || {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            2f64.powi((random >> 58) as i32 - 32) * ((random >> 11) as f64 * 2f64.powi(-53) - 0.5)
        };
        for order in [4, 6, 8] {
            for _ in 0..1000 {
                let x = [(); super::super::TERMS].map(|()| Vec3 {
                    x: number(),
                    y: number(),
                    z: number(),
                });
                let (dt, scale) = (2f64.powi(-7), number().abs());
                let exact = noise(order, &x, dt, scale, 1e-16, sqrt, sqrt);
                let bound = noise(order, &x, dt, scale, 1e-16, root_above, root_below);
                assert!(bound >= exact && bound < 1.5 * exact, "{bound} {exact}");
            }
        }
    }

    #[test]
    fn the_lowest_step_is_the_first_that_advances_the_time() {
        for max in [0.0625, 1.0, 1024.0] {
            for time in [0.0, 1e-9, 0.125, 0.3, 1.0, 1.5, 1e3, 4095.999, 4096.0, 1e9] {
                let mut step = max * SMALLEST_RATIO;
                while time + step == time || (time + step) - time != step {
                    step *= 2.0;
                }
                assert_eq!(lowest_step(max, time), step, "{max} {time}");
            }
        }
    }

    #[test]
    fn halvings_and_halved_are_inverse() {
        for times in 0..=50 {
            assert_eq!(halved(0.25, times), 0.25 * 0.5f64.powi(times as i32));
            assert_eq!(halvings(0.25, halved(0.25, times)), times);
        }
    }
}
