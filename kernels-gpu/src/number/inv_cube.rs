//! r⁻³ from r² in `f64`, with the same bits on every machine.
//!
//! A square root and a division for each pair would be the slow part of gravity. Here, integer and `f32` operations first approximate
//! r⁻¹ from the upper bits of r² (a linear guess in the logarithm, then a cubic in u = m·y²; relative error below 1.2e-6). Then r⁻³
//! follows from one third-order step in `f64`: with the seed y and e = 1 - r²y², r⁻³ = y³(1 - e)^(-3/2) = y³(1 + 3/2 e + 15/8 e² + …).
//! All of these are IEEE operations, so a GPU, a CPU vector unit and the emulator agree bit for bit.
//!
//! [`inv_cube`] is within 2 ULP of the correctly rounded value wherever r⁻³ is a normal number (r² from about 1e-205 to 1e205).
//! Otherwise the result is +∞ for r² = 0 or where r⁻³ overflows, 0 for r² = ∞ and where r⁻³ underflows below the subnormal numbers,
//! and NaN for NaN or negative r².
//!
//! r² in [2⁻⁶⁴, 2⁶⁴) is *ordinary*: the seed's exponent then fits an `f32`. Other values are first scaled into that range by a power
//! of 4, on a path that is never taken in ordinary units.

use core::ops::Mul;

use super::{Real, each, fma_f32};

/// Upper half of the bits of 2⁻⁶⁴, the lower end of the ordinary range.
pub const ORDINARY_BASE: u32 = (1023 - 64) << 20;
/// Ordinary r² have (upper half - [`ORDINARY_BASE`]) below this: 128 binades.
pub const ORDINARY_WIDTH: u32 = 128 << 20;
/// Turns ((upper half - base) << 3) into the bits of the `f32` with 20 bits of fraction that is at the centre of the values that the
/// dropped bits may have.
pub const MANTISSA_BASE: u32 = ((127 - 64) << 23) + 4;
/// Minus ((upper half - base) << 2), it gives the bits of an `f32` guess of r⁻¹ with m·y² in [0.9297, 1.0645].
pub const GUESS_BASE: u32 = 0x5f37_0000 - (((127 - 64) << 23) >> 1);
/// Added to the bits of the `f32` seed, shifted right by 3, it gives the upper half of the same number as `f64`.
pub const WIDEN_BASE: u32 = (1023 - 127) << 20;

/// Subtracted from bits 29 to 60 of an ordinary r², it gives the bits of r² as a truncated `f32`.
pub const SINGLE_BASE: u32 = ((ORDINARY_BASE as u64) << 3) as u32 - ((127 - 64) << 23);

/// Coefficients of the cubic in u with the least relative error as an approximation of u^(-1/2) over the range of u that
/// [`GUESS_BASE`] leaves.
const SEED: [f32; 4] = [2.193_482_8, -2.204_234, 1.328_008_4, -0.317_257_84];

/// 3/2, corrected for the neglected 35/16 e³ over the range of e (Chebyshev: e³ ≈ 3/4 E² e, E = 2.4e-6).
const LINEAR: f64 = 1.5 + 35.0 / 16.0 * 0.75 * 2.4e-6 * 2.4e-6;
/// 15/8.
const QUADRATIC: f64 = 1.875;

/// `f64` numbers, one or several side by side, with the operations on bits that connect a number and its seed. Only this part of
/// [`ordinary`] depends on the storage of the numbers.
pub trait Seeded: Real<Lane = <Self as Seeded>::Alone> {
    /// The number of a single lane.
    type Alone: Seeded;
    /// The `f32` numbers of the seed.
    type Short: Short;
    /// For ordinary r²: r² as `f32` (with 20 bits of fraction) and the guess of r⁻¹.
    fn guess(self) -> (Self::Short, Self::Short);
    /// For ordinary r²: r² as `f32` (truncated to 23 bits of fraction) and the guess of r⁻¹.
    fn guess_single(self) -> (Self::Short, Self::Short);
    /// Whether all of these are ordinary, in every lane.
    fn all_ordinary<const K: usize>(r2: &[Self; K]) -> bool;
    /// The seed as a number of this type, exactly.
    fn widen(seed: Self::Short) -> Self;
    /// Applies `f` to each lane of each number, when some are not ordinary.
    fn by_lane<const K: usize>(r2: [Self; K], f: fn(f64) -> f64) -> [Self; K];
}

/// The `f32` arithmetic of the seed, in the lanes of a [`Seeded`].
pub trait Short: Copy + Mul<Output = Self> {
    /// `x` in every lane.
    fn from_f32(x: f32) -> Self;
    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
}

impl Short for f32 {
    #[inline(always)]
    fn from_f32(x: f32) -> Self {
        x
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma_f32(self, a, b)
    }
}

impl Seeded for f64 {
    type Alone = Self;
    type Short = f32;

    #[inline(always)]
    fn guess(self) -> (f32, f32) {
        let t = range(self);
        let m = (t << 3).wrapping_add(MANTISSA_BASE);
        let y = GUESS_BASE.wrapping_sub(t << 2);
        (f32::from_bits(m), f32::from_bits(y))
    }

    #[inline(always)]
    fn guess_single(self) -> (f32, f32) {
        let m = ((self.to_bits() >> 29) as u32).wrapping_sub(SINGLE_BASE);
        let t = range(self);
        let y = GUESS_BASE.wrapping_sub(t << 2);
        (f32::from_bits(m), f32::from_bits(y))
    }

    #[inline(always)]
    fn all_ordinary<const K: usize>(r2: &[f64; K]) -> bool {
        let mut union = 0;
        each!(K, |k| union |= range(r2[k]));
        are_ordinary(union)
    }

    #[inline(always)]
    fn widen(seed: f32) -> f64 {
        let bits = seed.to_bits();
        let high = (bits >> 3).wrapping_add(WIDEN_BASE);
        f64::from_bits(((high as u64) << 32) | (bits << 29) as u64)
    }

    #[inline(always)]
    fn by_lane<const K: usize>(r2: [f64; K], f: fn(f64) -> f64) -> [f64; K] {
        let mut w = r2;
        each!(K, |k| w[k] = f(r2[k]));
        w
    }
}

/// The upper 32 bits.
#[inline(always)]
pub(super) fn upper(x: f64) -> u32 {
    (x.to_bits() >> 32) as u32
}

/// [`upper`], hidden from the compiler for GPUs, which would otherwise combine it with a shift to a shift of 64 bits and a mask: two
/// instructions more than the shift of a register with the upper half, which is free to read. It is for the steps of encounters alone:
/// the compiler unrolls loops with it less, which halves the rate of the N-body kernels.
#[inline(always)]
pub(super) fn upper_alone(x: f64) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let upper: u32;
        // SAFETY: the instruction only copies half of a register.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b32 lower; mov.b64 {{lower, {0}}}, {1}; }}",
                out(reg32) upper, in(reg64) x, options(pure, nomem, nostack, preserves_flags)
            );
        }
        upper
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        upper(x)
    }
}

/// Whether numbers are all ordinary, from the union of the bits of their [`range`]s.
#[inline(always)]
pub(super) fn are_ordinary(union: u32) -> bool {
    // ORDINARY_WIDTH is a power of two, so the union is below it exactly if all ranges are.
    union < ORDINARY_WIDTH
}

/// The upper half of the bits, less the base of the ordinary range.
#[inline(always)]
pub(super) fn range(x: f64) -> u32 {
    upper(x).wrapping_sub(ORDINARY_BASE)
}

/// r⁻³ for ordinary r²; a meaningless number for any other.
#[inline(always)]
pub fn ordinary<R: Seeded>(r2: R) -> R {
    let (m, guess) = r2.guess();
    refine(r2, R::widen(seed(m, guess)))
}

/// r⁻¹ with a relative error of 1.2e-6, from r² as `f32` and the guess.
#[inline(always)]
pub fn seed<S: Short>(m: S, guess: S) -> S {
    let u = m * guess * guess;
    let c = S::from_f32;
    let p = c(SEED[3])
        .mul_add(u, c(SEED[2]))
        .mul_add(u, c(SEED[1]))
        .mul_add(u, c(SEED[0]));
    guess * p
}

/// r⁻³ from r² and the [`seed`] y.
#[inline(always)]
pub fn refine<R: Real>(r2: R, y: R) -> R {
    refine_all([r2], [y])[0]
}

/// [`refine`] for several numbers, interleaved so that a processor can work on all of them at the same time.
#[inline(always)]
pub fn refine_all<R: Real, const K: usize>(r2: [R; K], y: [R; K]) -> [R; K] {
    let (mut y2, mut e, mut y3, mut q) = (y, y, y, y);
    let mut k = 0;
    while k < K {
        // y has 24 bits, so y² is exact and e has full relative precision.
        y2[k] = y[k] * y[k];
        k += 1;
    }
    k = 0;
    while k < K {
        e[k] = (-r2[k]).mul_add(y2[k], R::from_f64(1.0));
        y3[k] = y2[k] * y[k];
        k += 1;
    }
    k = 0;
    while k < K {
        q[k] = R::from_f64(QUADRATIC).mul_add(e[k], R::from_f64(LINEAR));
        e[k] = y3[k] * e[k];
        k += 1;
    }
    k = 0;
    while k < K {
        q[k] = e[k].mul_add(q[k], y3[k]);
        k += 1;
    }
    q
}

/// Coefficients of ((1 + v)^(-3/2) - 1)/v in powers of v, where v = u - 1 is in the range of the guess; the relative error of the
/// whole is 3.4e-8.
const SINGLE: [f32; 5] = [-1.5, 1.874_996_2, -2.187_363_4, 2.474_646, -2.765_644_6];

/// r⁻³ in `f32`, accurate to 4 ULP, from r² and a guess y of r⁻¹ with u = r²·y² in [0.9297, 1.0645].
#[inline(always)]
pub fn inv_cube_single<S: Short>(r2: S, guess: S) -> S {
    let c = S::from_f32;
    let v = (r2 * guess).mul_add(guess, c(-1.0));
    let q = c(SINGLE[4])
        .mul_add(v, c(SINGLE[3]))
        .mul_add(v, c(SINGLE[2]))
        .mul_add(v, c(SINGLE[1]))
        .mul_add(v, c(SINGLE[0]));
    let y3 = guess * guess * guess;
    (y3 * v).mul_add(q, y3)
}

/// r⁻³ with the precision of `f32` for ordinary r²; a meaningless number for any other.
#[inline(always)]
pub fn ordinary_single<R: Seeded>(r2: R) -> R {
    let (m, guess) = r2.guess_single();
    R::widen(inv_cube_single(m, guess))
}

/// r⁻³ for any r²; see the module's documentation.
#[inline(always)]
pub fn inv_cube(r2: f64) -> f64 {
    if range(r2) < ORDINARY_WIDTH {
        ordinary(r2)
    } else {
        scaled(r2)
    }
}

/// r⁻³ for any r², but 0 for r² = 0.
#[inline(always)]
pub fn inv_cube_or_zero(r2: f64) -> f64 {
    if range(r2) < ORDINARY_WIDTH {
        ordinary(r2)
    } else {
        extraordinary_or_zero(r2)
    }
}

/// [`inv_cube_or_zero`] outside the ordinary range.
#[cold]
fn extraordinary_or_zero(r2: f64) -> f64 {
    if r2 == 0.0 { 0.0 } else { inv_cube(r2) }
}

/// The path for values outside the ordinary range.
#[cold]
fn scaled(r2: f64) -> f64 {
    if r2 == 0.0 {
        return f64::INFINITY;
    }
    if r2 == f64::INFINITY {
        return 0.0;
    }
    if r2.is_nan() || r2 < 0.0 {
        return f64::NAN;
    }
    // r2 = x · 4^k with x in [1, 4): r⁻³ = x^(-3/2) · 2^(-3k)
    let (x, lift) = if r2 < f64::MIN_POSITIVE {
        (r2 * power_of_two(108), 54)
    } else {
        (r2, 0)
    };
    let exponent = (upper(x) >> 20) as i32 - 1023;
    let k = exponent >> 1;
    let x = f64::from_bits(x.to_bits().wrapping_sub(((2 * k) as i64 as u64) << 52));
    times_power_of_two(ordinary(x), -3 * (k - lift))
}

/// 2^n for -1022 ≤ n ≤ 1023.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// x · 2^n for x near 1, down to the subnormal numbers and up to infinity.
fn times_power_of_two(x: f64, n: i32) -> f64 {
    if n > 1023 {
        x * power_of_two(1023) * power_of_two((n - 1023).min(1023))
    } else if n < -1022 {
        // There is only one rounding, because 2^-600 is far from the subnormal numbers.
        x * power_of_two(-600) * power_of_two((n + 600).max(-1022))
    } else {
        x * power_of_two(n)
    }
}
