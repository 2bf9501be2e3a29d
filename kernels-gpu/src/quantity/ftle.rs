//! The finite-time Lyapunov exponent (FTLE): λ = ln(|ξ(T)| / |ξ(0)|) / T of a tangent vector ξ after the time T.
//!
//! The variational equations of the integrator propagate ξ exactly: trajectories are computed in [dual numbers](Dual), whose
//! derivatives are those of every operation of every step. (Benettin, Galgani, Giorgilli & Strelcyn 1980, Meccanica 15, 9; for
//! symplectic integrators Skokos & Gerlach 2010, Phys. Rev. E 82, 036704.) ξ is the derivative of the state with respect to the start
//! position of the grid body in the direction of the twin's shift. The state is that of bodies 2 and 3 relative to the grid body, so
//! that ξ(0) = (-d, -d, 0, 0) with the unit vector d, and |ξ(0)| = √2. The norm is the Euclidean norm of the 12 relative positions and
//! velocities, with velocities in the specification's unit of time.
//!
//! If ξ becomes long or short, it is multiplied by a power of two, which causes no rounding, and the exponents are added up. Therefore
//! it neither overflows nor loses digits, and the value does not depend on when this is done. The value is NaN if a position, a
//! velocity or ξ is not finite at the end, as after a collision without softening, or if ξ vanishes.

use core::f64::consts::LN_2;

use super::{ContextOf, Quantity, Scale};
use crate::integrator::MapIntegrator;
use crate::map::{Masses, Point, Start};
use crate::number::{Dual, Mask, Numbers, per_lane};
use crate::physics::three_body::Relative;
use crate::{Real, Vec3};

/// The finite-time Lyapunov exponent (1 / time). The squared length of the tangent vector is kept between 2^-`LIMIT` and 2^`LIMIT`.
#[derive(Clone, Copy, Debug)]
pub struct Ftle<const LIMIT: i32 = 256>;

/// A system with its tangent vector.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Tangent<S, R> {
    /// The system, of dual numbers.
    pub system: S,
    /// The exponent of the power of two by which the tangent vector has to be multiplied.
    pub exponent: R,
    /// Squared length of the tangent vector's positions.
    pub norm2: R,
}

per_lane!(Tangent<S, R> { system, exponent, norm2 });

/// Derivatives of a vector.
#[inline(always)]
fn derivative<R: Real>(v: Vec3<Dual<R>>) -> Vec3<R> {
    Vec3 {
        x: v.x.derivative,
        y: v.y.derivative,
        z: v.z.derivative,
    }
}

/// Squared length of the derivatives.
#[inline(always)]
fn norm2<R: Real>(q: &Relative<Dual<R>>) -> R {
    let a = derivative(q.a).norm2_plus(R::zero());
    derivative(q.b).norm2_plus(a)
}

impl<const LIMIT: i32> Ftle<LIMIT> {
    /// The bounds of the tangent vector's squared length.
    #[inline(always)]
    fn bounds<R: Real>() -> [R; 2] {
        // Not by `map`, whose closure the compiler may leave in a function without the lanes' instruction set.
        [
            R::from_f64(power_of_two(-LIMIT)),
            R::from_f64(power_of_two(LIMIT)),
        ]
    }

    /// Updates the length of the tangent vector after a step, and rescales it if it has become too long or too short.
    #[inline(always)]
    fn observe<R: Real, I: MapIntegrator>(s: &mut Tangent<I::State<Dual<R>>, R>) {
        s.norm2 = norm2(&I::positions(&s.system)).now();
        let [low, high] = Self::bounds::<R>();
        if !(low.at_most(s.norm2).all() && s.norm2.at_most(high).all()) {
            Self::renormalise::<R, I>(s);
        }
    }

    /// Multiplies the tangent vector by a power of two in those lanes where it is too long or too short. Other lanes have no effect,
    /// so that a pixel has the same digits whichever pixels share its vector.
    #[cfg_attr(not(target_arch = "nvptx64"), cold)]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
    // A call would require the state in a GPU's local memory.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn renormalise<R: Real, I: MapIntegrator>(s: &mut Tangent<I::State<Dual<R>>, R>) {
        let mut factor = R::from_f64(1.0);
        let [low, high] = Self::bounds::<R>();
        let outside =
            |lane: usize| !(low.at_most(s.norm2).lane(lane) && s.norm2.at_most(high).lane(lane));
        let q = I::positions(&s.system);
        let mut lane = 0;
        while lane < R::LANES {
            let largest = larger(
                largest(derivative(q.a), lane),
                largest(derivative(q.b), lane),
            );
            // Infinite vectors and vectors of length 0 stay as they are.
            if outside(lane) && largest > 0.0 && largest <= f64::MAX {
                let k = exponent(largest);
                factor.set_lane(lane, &R::from_f64(power_of_two(-k)));
                let sum = s.exponent + R::from_f64(k as f64);
                s.exponent.set_lane(lane, &sum);
            }
            lane += 1;
        }
        s.system
            .for_each(&mut |x| x.derivative = x.derivative * factor);
        s.norm2 = norm2(&I::positions(&s.system));
    }
}

/// The larger number; the second if either is NaN.
#[inline(always)]
fn larger(x: f64, y: f64) -> f64 {
    if x > y { x } else { y }
}

/// The largest magnitude of a component in a lane.
#[inline(always)]
fn largest<R: Real>(v: Vec3<R>, lane: usize) -> f64 {
    let size = |x: R| x.to_f64(lane).abs();
    larger(larger(size(v.x), size(v.y)), size(v.z))
}

/// 2^n for -1022 ≤ n ≤ 1022.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// The binary exponent of a positive number, limited to the range of [`power_of_two`].
#[inline(always)]
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) as i32 - 1023).clamp(-1022, 1022)
}

impl<const LIMIT: i32> Quantity for Ftle<LIMIT> {
    const NAME: &'static str = "ftle";
    const LABEL: &'static str = "finite-time Lyapunov exponent";
    const UNIT: &'static str = "1 / time";
    const SCALE: Scale = Scale::Linear;
    const HELP: &'static str =
        "finite-time Lyapunov exponent: the rate at which neighbouring systems part";
    type Value = f64;
    const STRIDE: u32 = 1;
    type Number<R: Real> = Dual<R>;
    type Terms<R: Real> = [R; 0];
    type State<R: Real, I: MapIntegrator> = Tangent<I::State<Dual<R>>, R>;

    #[inline(always)]
    fn terms<R: Real>(_: &Masses) -> [R; 0] {
        []
    }

    #[inline(always)]
    fn begin<R: Real, I: MapIntegrator>(
        point: &Point,
        c: ContextOf<'_, Self, I, R>,
    ) -> Self::State<R, I> {
        let mut start: Start<Dual<R>> = point.start(c.dt());
        // Relative to the grid body, the other bodies move in the opposite direction; the sign does not affect the length.
        let [x, y, z] = c.direction();
        let along = |v: Vec3<Dual<R>>| Vec3 {
            x: v.x.with_derivative(R::from_f64(x)),
            y: v.y.with_derivative(R::from_f64(y)),
            z: v.z.with_derivative(R::from_f64(z)),
        };
        start.positions = Relative {
            a: along(start.positions.a),
            b: along(start.positions.b),
        };
        Tangent {
            system: I::begin(&start, c.masses),
            exponent: R::zero(),
            norm2: norm2(&start.positions),
        }
    }

    #[inline(always)]
    fn goes_on<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        _: ContextOf<'_, Self, I, R>,
    ) -> R::Mask {
        let [_, high] = Self::bounds::<R>();
        s.norm2.at_most(high)
    }

    #[inline(always)]
    fn start<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, c: ContextOf<'_, Self, I, R>) {
        I::start(&mut s.system, c.first_steps(), c.masses);
        Self::observe::<R, I>(s);
    }

    #[inline(always)]
    fn step<R: Real, I: MapIntegrator>(s: &mut Self::State<R, I>, c: ContextOf<'_, Self, I, R>) {
        I::step([&mut s.system], c.masses);
        Self::observe::<R, I>(s);
    }

    #[inline(always)]
    fn value<R: Real, I: MapIntegrator>(
        s: &Self::State<R, I>,
        counted: u32,
        c: ContextOf<'_, Self, I, R>,
    ) -> f64 {
        let q = I::positions(&s.system);
        let v = I::velocities(&s.system, Dual::<R>::constant(1.0 / c.dt()), c.masses);
        // A loop over an array would put it into a GPU's local memory.
        let size_of = |v| largest(derivative(v), 0);
        let positions = larger(size_of(q.a), size_of(q.b));
        let size = larger(positions, larger(size_of(v.a), size_of(v.b)));
        if !(size > 0.0 && size <= f64::MAX) {
            return f64::NAN;
        }
        // Scaled to a length of about 1, so that no square overflows or vanishes.
        let k = exponent(size);
        let scale = R::from_f64(power_of_two(-k));
        let plus = |sum: R, v: Vec3<Dual<R>>| {
            let d = derivative(v);
            let scaled = Vec3 {
                x: d.x * scale,
                y: d.y * scale,
                z: d.z * scale,
            };
            scaled.norm2_plus(sum)
        };
        let end = plus(plus(plus(plus(R::zero(), q.a), q.b), v.a), v.b).to_f64(0);
        // 0 for finite numbers, NaN for others.
        let zero =
            |v: Vec3<Dual<R>>| 0.0 * v.x.to_f64(0) + 0.0 * v.y.to_f64(0) + 0.0 * v.z.to_f64(0);
        let nothing = zero(q.a) + zero(q.b) + zero(v.a) + zero(v.b);
        if !(end < f64::INFINITY && nothing == 0.0) {
            return f64::NAN;
        }
        let [x, y, z] = c.direction();
        let start = 2.0 * Vec3 { x, y, z }.norm2_plus(0.0);
        let powers = s.exponent.to_f64(0) + k as f64;
        let growth = 0.5 * (libm::log(end) - libm::log(start)) + powers * LN_2;
        growth / (counted as f64 * c.dt())
    }
}
