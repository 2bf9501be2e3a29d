//! The precision of pairs: the representation of positions and the summation of forces.
//!
//! - [`Plain`]: a single number for each component.
//! - [`SplitF32`]: `f32` pairs, with positions and accelerations as sums of two `f32`, as in Nitadori's slides (docs/references.md). A
//!   difference of positions takes 2 more operations per component, an accumulated acceleration 3: together 15 per pair.

use core::marker::PhantomData;

use super::force::terms;
use crate::number::each;
use crate::{Real, Vec3};

/// A precision of pairs, for `D` derivatives (2, 3 or 4).
pub trait Arithmetic<const D: usize> {
    /// The numbers in which a pair is computed.
    type Number: Real;
    /// Position, velocity, acceleration and jerk of a body, up to `D` vectors.
    type Body: Copy;
    /// Sums of acceleration, jerk, snap and crackle, up to `D` vectors.
    type Sum: Copy;

    /// The sum of no terms.
    fn zero() -> Self::Sum;

    /// Differences j - i of position, velocity, acceleration and jerk.
    fn difference(i: &Self::Body, j: &Self::Body) -> [Vec3<Self::Number>; D];

    /// Adds w times the vectors of [`terms`] to `sum`.
    fn add(w: Self::Number, vectors: &[Vec3<Self::Number>; D], sum: &mut Self::Sum);

    /// Does the same as [`add`](Self::add) for one component, `x`. `of_first` says whether it is one of the first vector. The sum of the
    /// component is that of `sum` and its rounding errors, which some precisions keep.
    fn add_component(w: Self::Number, x: Self::Number, of_first: bool, sum: &mut [Self::Number; 2]);

    /// Adds the pull of body `j` (of G·m = `mass`) on body `i` to `sum`.
    #[inline(always)]
    fn pull(
        i: &Self::Body,
        j: &Self::Body,
        mass: Self::Number,
        softening2: Self::Number,
        sum: &mut Self::Sum,
    ) {
        let d = Self::difference(i, j);
        let r2 = d[0].norm2_plus(softening2);
        let (w, t) = terms(&d, r2, r2.inv_cube(), mass);
        Self::add(w, &t, sum);
    }

    /// The differences of `K` pairs of bodies i and j, and the softened squares of their distances.
    #[inline(always)]
    #[allow(clippy::type_complexity)]
    fn differences<const K: usize>(
        i: [&Self::Body; K],
        j: [&Self::Body; K],
        softening2: Self::Number,
    ) -> ([[Vec3<Self::Number>; D]; K], [Self::Number; K]) {
        let mut d = [Self::difference(i[0], j[0]); K];
        each!(K, |k| d[k] = Self::difference(i[k], j[k]));
        let mut r2 = [softening2; K];
        each!(K, |k| r2[k] = d[k][0].norm2_plus(softening2));
        (d, r2)
    }

    /// The contributions of `K` pairs of bodies i and j, as [`add`](Self::add) takes them, with G·m of each j; and the softened squares of
    /// the distances.
    #[inline(always)]
    fn terms_of<const K: usize>(
        i: [&Self::Body; K],
        j: [&Self::Body; K],
        mass: [Self::Number; K],
        softening2: Self::Number,
    ) -> ([Term<Self::Number, D>; K], [Self::Number; K]) {
        let (d, r2) = Self::differences(i, j, softening2);
        let inv3 = Self::Number::inv_cubes(r2);
        (all_terms(&d, &r2, &inv3, &mass), r2)
    }

    /// Does the same as [`terms_of`](Self::terms_of) without the slow path of r⁻³: the caller has to test `ranges` as described at
    /// [`Real::inv_cubes_if_ordinary`].
    #[inline(always)]
    fn terms_if_ordinary<const K: usize>(
        i: [&Self::Body; K],
        j: [&Self::Body; K],
        mass: [Self::Number; K],
        softening2: Self::Number,
        ranges: &mut u32,
    ) -> ([Term<Self::Number, D>; K], [Self::Number; K]) {
        let (d, r2) = Self::differences(i, j, softening2);
        let inv3 = Self::Number::inv_cubes_if_ordinary(r2, ranges);
        (all_terms(&d, &r2, &inv3, &mass), r2)
    }

    /// Adds the pull of one body on two bodies, as [`pull`](Self::pull) does for one. Returns the softened squares of the distances.
    #[inline(always)]
    fn pull_two(
        i: [&Self::Body; 2],
        j: &Self::Body,
        mass: Self::Number,
        softening2: Self::Number,
        sum: [&mut Self::Sum; 2],
    ) -> [Self::Number; 2] {
        let ([first, second], r2) = Self::terms_of(i, [j; 2], [mass; 2], softening2);
        Self::add(first.0, &first.1, sum[0]);
        Self::add(second.0, &second.1, sum[1]);
        r2
    }

    /// The sum itself; see [`Real::now`].
    fn now(sum: Self::Sum) -> Self::Sum;
}

/// What [`terms`] returns: a factor, and the vectors that it multiplies.
pub type Term<R, const D: usize> = (R, [Vec3<R>; D]);

/// [`terms`] of `K` pairs.
#[inline(always)]
fn all_terms<R: Real, const D: usize, const K: usize>(
    d: &[[Vec3<R>; D]; K],
    r2: &[R; K],
    inv3: &[R; K],
    mass: &[R; K],
) -> [Term<R, D>; K] {
    let mut all = [terms(&d[0], r2[0], inv3[0], mass[0]); K];
    each!(K, |k| all[k] = terms(&d[k], r2[k], inv3[k], mass[k]));
    all
}

/// Number of operations per pair that [`SplitF32`] takes in addition to those of [`Plain`].
pub const SPLIT_OPERATIONS: u32 = 15;

/// Pairs with a single number for each component.
#[derive(Clone, Copy, Debug)]
pub struct Plain<R>(PhantomData<R>);

/// Pairs in `f32`, with positions and accelerations as sums of two `f32`.
#[derive(Clone, Copy, Debug)]
pub struct SplitF32<R>(PhantomData<R>);

/// A body of [`SplitF32`].
#[derive(Clone, Copy, Debug)]
pub struct SplitBody<R> {
    /// Position, upper part.
    pub high: Vec3<R>,
    /// The remainder of the position.
    pub low: Vec3<R>,
    /// Velocity, acceleration and jerk, as many as `D` requires.
    pub rates: [Vec3<R>; 3],
}

/// A sum of [`SplitF32`].
#[derive(Clone, Copy, Debug)]
pub struct SplitSum<R> {
    /// Acceleration, upper part.
    pub high: Vec3<R>,
    /// The rounding errors of the sums of `high`.
    pub low: Vec3<R>,
    /// Jerk, snap and crackle, as many as `D` requires.
    pub rates: [Vec3<R>; 3],
}

impl<R: Real, const D: usize> Arithmetic<D> for Plain<R> {
    type Number = R;
    type Body = [Vec3<R>; D];
    type Sum = [Vec3<R>; D];

    #[inline(always)]
    fn zero() -> Self::Sum {
        [Vec3::zero(); D]
    }

    #[inline(always)]
    fn difference(i: &Self::Body, j: &Self::Body) -> [Vec3<R>; D] {
        let mut d = *j;
        let mut k = 0;
        while k < D {
            d[k] = j[k] - i[k];
            k += 1;
        }
        d
    }

    #[inline(always)]
    fn add(w: R, vectors: &[Vec3<R>; D], sum: &mut Self::Sum) {
        let mut k = 0;
        while k < D {
            sum[k] = sum[k].add_scaled(w, vectors[k]);
            k += 1;
        }
    }

    #[inline(always)]
    fn add_component(w: R, x: R, _of_first: bool, [sum, _]: &mut [R; 2]) {
        *sum = w.mul_add(x, *sum);
    }

    #[inline(always)]
    fn now(mut sum: Self::Sum) -> Self::Sum {
        let mut k = 0;
        while k < D {
            sum[k] = sum[k].now();
            k += 1;
        }
        sum
    }
}

/// Adds `a` to high + low. The computed rounding error is exact where |a| is not above |high|, and no worse than `f32` otherwise.
#[inline(always)]
fn accumulate<R: Real>(high: &mut R, low: &mut R, a: R) {
    let before = *high;
    *high = before + a;
    *low = *low + (a - (*high - before));
}

impl<R: Real, const D: usize> Arithmetic<D> for SplitF32<R> {
    type Number = R;
    type Body = SplitBody<R>;
    type Sum = SplitSum<R>;

    #[inline(always)]
    fn zero() -> SplitSum<R> {
        SplitSum {
            high: Vec3::zero(),
            low: Vec3::zero(),
            rates: [Vec3::zero(); 3],
        }
    }

    #[inline(always)]
    fn difference(i: &SplitBody<R>, j: &SplitBody<R>) -> [Vec3<R>; D] {
        let mut d = [(j.high - i.high) + (j.low - i.low); D];
        let mut k = 1;
        while k < D {
            d[k] = j.rates[k - 1] - i.rates[k - 1];
            k += 1;
        }
        d
    }

    #[inline(always)]
    fn add(w: R, vectors: &[Vec3<R>; D], sum: &mut SplitSum<R>) {
        let r = vectors[0];
        accumulate(&mut sum.high.x, &mut sum.low.x, w * r.x);
        accumulate(&mut sum.high.y, &mut sum.low.y, w * r.y);
        accumulate(&mut sum.high.z, &mut sum.low.z, w * r.z);
        let mut k = 1;
        while k < D {
            sum.rates[k - 1] = sum.rates[k - 1].add_scaled(w, vectors[k]);
            k += 1;
        }
    }

    #[inline(always)]
    fn add_component(w: R, x: R, of_first: bool, [high, low]: &mut [R; 2]) {
        if of_first {
            accumulate(high, low, w * x);
        } else {
            *high = w.mul_add(x, *high);
        }
    }

    #[inline(always)]
    fn now(mut sum: SplitSum<R>) -> SplitSum<R> {
        sum.high = sum.high.now();
        sum.low = sum.low.now();
        let mut k = 1;
        while k < D {
            sum.rates[k - 1] = sum.rates[k - 1].now();
            k += 1;
        }
        sum
    }
}

/// `x` as the sum of two `f32`.
#[inline(always)]
pub fn split(x: f64) -> (f32, f32) {
    let high = x as f32;
    (high, (x - high as f64) as f32)
}

#[cfg(test)]
mod tests {
    use core::ops::{Add, Mul, Neg, Sub};
    use core::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::PerLane;
    use crate::physics::hermite::force::{OPERATIONS_OF_INVERSE_CUBE, operations};

    static COUNT: AtomicU32 = AtomicU32::new(0);

    /// A number that counts the operations on it.
    #[derive(Clone, Copy, Debug)]
    struct Counted(f64);

    impl Counted {
        fn after(value: f64, operations: u32) -> Self {
            COUNT.fetch_add(operations, Ordering::Relaxed);
            Self(value)
        }
    }

    impl Add for Counted {
        type Output = Self;
        fn add(self, o: Self) -> Self {
            Self::after(self.0 + o.0, 1)
        }
    }
    impl Sub for Counted {
        type Output = Self;
        fn sub(self, o: Self) -> Self {
            Self::after(self.0 - o.0, 1)
        }
    }
    impl Mul for Counted {
        type Output = Self;
        fn mul(self, o: Self) -> Self {
            Self::after(self.0 * o.0, 1)
        }
    }
    impl Neg for Counted {
        type Output = Self;
        fn neg(self) -> Self {
            Self(-self.0)
        }
    }

    impl PerLane for Counted {
        type One = Self;
        fn spread(one: &Self) -> Self {
            *one
        }
        fn lane(&self, _: usize) -> Self {
            *self
        }
        fn set_lane(&mut self, _: usize, from: &Self) {
            *self = *from;
        }
    }

    impl Real for Counted {
        crate::own_constants_and_forces!(1);
        type Lane = Self;
        const LANES: usize = 1;
        const TOGETHER: bool = false;
        const HAS_SOFTENING_FLOOR: bool = false;
        type Mask = bool;
        fn from_f64(x: f64) -> Self {
            Self(x)
        }
        fn to_f64(self, _: usize) -> f64 {
            self.0
        }
        fn mul_add(self, a: Self, b: Self) -> Self {
            Self::after(crate::number::fma(self.0, a.0, b.0), 2)
        }
        fn at_most(self, other: Self) -> bool {
            self.0 <= other.0
        }
        fn select(mask: bool, yes: Self, no: Self) -> Self {
            if mask { yes } else { no }
        }
        fn inv_cube(self) -> Self {
            Self::after(
                crate::number::inv_cube::inv_cube(self.0),
                OPERATIONS_OF_INVERSE_CUBE,
            )
        }
    }

    fn vector(x: f64) -> Vec3<Counted> {
        Vec3 {
            x: Counted(x),
            y: Counted(0.5 * x),
            z: Counted(-0.25 * x),
        }
    }

    /// The number of operations in one pull of each precision.
    fn counted<const D: usize>() -> [u32; 2] {
        let since = |f: &dyn Fn()| {
            COUNT.store(0, Ordering::Relaxed);
            f();
            COUNT.load(Ordering::Relaxed)
        };
        let (mass, softening2) = (Counted(1.0), Counted(0.1));
        let plain = since(&|| {
            let mut sum = <Plain<Counted> as Arithmetic<D>>::zero();
            let (i, j) = ([vector(1.0); D], [vector(3.0); D]);
            <Plain<Counted> as Arithmetic<D>>::pull(&i, &j, mass, softening2, &mut sum);
        });
        let split = since(&|| {
            let mut sum = <SplitF32<Counted> as Arithmetic<D>>::zero();
            let body = |x| SplitBody {
                high: vector(x),
                low: vector(0.0),
                rates: [vector(x); 3],
            };
            let (i, j) = (body(1.0), body(3.0));
            <SplitF32<Counted> as Arithmetic<D>>::pull(&i, &j, mass, softening2, &mut sum);
        });
        [plain, split]
    }

    #[test]
    fn a_pair_takes_as_many_operations_as_documented() {
        for (counted, d) in [
            (counted::<2>(), 2),
            (counted::<3>(), 3),
            (counted::<4>(), 4),
        ] {
            assert_eq!(counted[0], operations(d));
            assert_eq!(counted[1], operations(d) + SPLIT_OPERATIONS);
        }
        assert_eq!([2, 3, 4].map(operations), [60, 97, 144]);
    }

    #[test]
    fn small_pulls_are_not_lost_in_a_large_sum() {
        // 2²⁴ + 1 is not an `f32`.
        let (mut high, mut low) = (0.0f32, 0.0f32);
        accumulate(&mut high, &mut low, 16_777_216.0);
        for _ in 0..1000 {
            accumulate(&mut high, &mut low, 1.0);
        }
        assert_eq!(f64::from(high) + f64::from(low), 16_778_216.0);
        // The difference of nearby positions is not lost, either.
        let (a, b) = (split(1.0 + 1e-9), split(1.0));
        let difference = (a.0 - b.0) + (a.1 - b.1);
        assert!((f64::from(difference) - 1e-9).abs() < 1e-15);
    }

    /// Terms whose sums depend on rounding, with their factors.
    fn terms_to_add<R: Copy>(number: impl Fn(f64) -> R) -> [(R, [Vec3<R>; 4]); 9] {
        core::array::from_fn(|k| {
            let at = |n: usize| number(1.0 / (3 * k + n + 1) as f64);
            let vectors = core::array::from_fn(|d| Vec3 {
                x: at(d),
                y: at(d + 5),
                z: at(d + 11),
            });
            (at(2), vectors)
        })
    }

    fn components<R: Copy>(v: &Vec3<R>) -> [R; 3] {
        [v.x, v.y, v.z]
    }

    #[test]
    fn a_component_by_itself_has_the_bits_of_the_whole_sum() {
        let terms = terms_to_add(|x| x);
        let mut sum = <Plain<f64> as Arithmetic<4>>::zero();
        let mut alone = [[0.0; 2]; 12];
        for (w, vectors) in &terms {
            <Plain<f64> as Arithmetic<4>>::add(*w, vectors, &mut sum);
            for (n, x) in vectors.iter().flat_map(components).enumerate() {
                <Plain<f64> as Arithmetic<4>>::add_component(*w, x, n < 3, &mut alone[n]);
            }
        }
        for (n, x) in sum.iter().flat_map(components).enumerate() {
            assert_eq!(x.to_bits(), alone[n][0].to_bits(), "f64, component {n}");
        }

        let terms = terms_to_add(|x| x as f32);
        let mut sum = <SplitF32<f32> as Arithmetic<4>>::zero();
        let mut alone = [[0.0; 2]; 12];
        for (w, vectors) in &terms {
            <SplitF32<f32> as Arithmetic<4>>::add(*w, vectors, &mut sum);
            for (n, x) in vectors.iter().flat_map(components).enumerate() {
                <SplitF32<f32> as Arithmetic<4>>::add_component(*w, x, n < 3, &mut alone[n]);
            }
        }
        let high = [sum.high, sum.rates[0], sum.rates[1], sum.rates[2]];
        for (n, x) in high.iter().flat_map(components).enumerate() {
            assert_eq!(x.to_bits(), alone[n][0].to_bits(), "split, component {n}");
        }
        assert!(alone.iter().take(3).any(|[_, low]| *low != 0.0));
        for (n, x) in components(&sum.low).into_iter().enumerate() {
            assert_eq!(x.to_bits(), alone[n][1].to_bits(), "rounding errors {n}");
        }
    }
}
