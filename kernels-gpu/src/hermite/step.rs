//! How long a particle's next step may be.
//!
//! Steps are powers of two and compared by exact powers of them: neither root nor logarithm can differ from machine to
//! machine.

use super::Taylor;
use crate::Vec3;

/// The square root, correctly rounded.
#[inline(always)]
fn sqrt(x: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f64::math::sqrt(x)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        x.sqrt()
    }
}

#[inline(always)]
fn norm2(v: Vec3<f64>) -> f64 {
    v.norm2_plus(0.0)
}

/// (A⁽ᵏ⁾)² = |a⁽ᵏ⁻¹⁾||a⁽ᵏ⁺¹⁾| + |a⁽ᵏ⁾|², a⁽ᵏ⁾ being the k-th derivative of the acceleration.
#[inline(always)]
fn squared_measure(x: &Taylor<f64>, k: usize) -> f64 {
    sqrt(norm2(x[k + 1]) * norm2(x[k + 3])) + norm2(x[k + 2])
}

/// A time to a known power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The time to the power of `exponent`.
    pub value: f64,
    /// The exponent, even.
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

/// Noise of the three highest derivatives that a criterion uses, p - 3 to p - 1, in units of ε S / hᵏ: sums of the
/// coefficients by which the interpolation ([`correct`](super::correct)) multiplies the forces at both ends.
const fn amplification(order: u32) -> [f64; 3] {
    match order {
        4 => [1.0, 7.0, 6.0],
        6 => [75.0, 111.0, 105.0],
        _ => [2430.0, 3990.0, 3885.0],
    }
}

/// Whether what [`criterion`] divides by is rounding noise of forces with the relative error `epsilon`, interpolated over
/// a step of `dt`. The error of such a step is rounding as well: there is no reason to make the next one shorter, and
/// doing so makes the noise larger.
///
/// Forces err by ε of themselves, and by their change over ε of the position. `scale` is added to their size: of a part of
/// the force, the size of all of it.
#[inline(always)]
pub fn is_noise(order: u32, x: &Taylor<f64>, dt: f64, scale: f64, epsilon: f64) -> bool {
    let p = order as usize;
    let size = |k: usize| sqrt(norm2(x[k]));
    let h = 0.5 * dt;
    let mut s = scale + size(2) + h * size(3);
    if size(1) > 0.0 {
        s += size(3) / size(1) * size(0);
    }
    let [low, middle, high] = amplification(order);
    let power_of_h = power(h, order - 3);
    let n = epsilon * s / power_of_h;
    let (low, middle, high) = (low * n, middle * n / h, high * n / (h * h));
    let noise = (size(p - 1) + low) * high + middle * middle;
    squared_measure(x, p - 2) <= noise
}

/// The first step's criterion, from the derivatives that the force gives at once: η |a|/|j| at order 4,
/// η (|a|/|s|)^(1/2) at order 6, η ((|a||s| + |j|²)/(|j||c| + |s|²))^(1/2) at order 8.
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

/// xⁿ by n - 1 products.
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

/// The longest power of two that is at most `longest` (itself one) and at most what the criterion allows, or
/// `shortest` if there is none. No derivatives at all (0/0, a particle that nothing pulls) allow any step.
#[inline(always)]
pub fn quantised(allowed: Power, longest: f64, shortest: f64) -> f64 {
    let mut step = longest;
    while step > shortest && power(step, allowed.exponent) > allowed.value {
        step *= 0.5;
    }
    step
}
