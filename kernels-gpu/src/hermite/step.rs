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
