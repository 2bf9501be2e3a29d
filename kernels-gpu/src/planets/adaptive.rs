//! Steps of their own length for each system: the Runge-Kutta scheme of order 8 by Dormand & Prince with error estimates of orders 5 and 3
//! (Hairer, Nørsett & Wanner 1993, section II.10). It follows encounters, eccentric orbits and forces that depend on velocities.
//!
//! Steps are a power of two times the step h of the specification and begin at a multiple of themselves, so that the time in units of h is
//! exact and every system ends at the same time as with steps h. A step is repeated with half its length if its error is too large, and the
//! next one is twice as long if the error is far below that. Only products and sums decide, so that all engines decide alike.
//!
//! A hybrid system takes a Wisdom-Holman step, and repeats it by steps of their own length if two planets are within some Hill radii of
//! either of them, as in TRACE (Lu, Hernandez & Rein 2024).

use trisolar_equations::scheme::dormand_prince::{ERROR_3, ERROR_5, WEIGHTS};

use super::kepler::Phase;
use super::system::{Each, FEW, Outcome, Planet, System, pull, turned};
use super::{Follow, Physics};
use crate::number::{Bits, Mask};
use crate::{PerLane, Real, Vec3};

/// The largest step in units of h.
const LARGEST: f64 = 8.0;
/// The smallest one; a system that needs smaller ones is not solved.
const SMALLEST: f64 = 1.0 / (1_u64 << 40) as f64;
/// A step may be doubled if its squared error is this much smaller: its error is of order 8.
const ROOM: f64 = 512.0 * 512.0;
/// A number whose sum with one below 2⁵¹ has no fraction.
const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;

/// A state plus a multiple of its slope.
#[inline(always)]
fn plus<R: Real>(a: Phase<R>, k: R, b: Phase<R>) -> Phase<R> {
    Phase {
        x: a.x.add_scaled(k, b.x),
        v: a.v.add_scaled(k, b.v),
    }
}

/// Where both hold.
#[inline(always)]
fn both<R: Real>(a: R::Mask, b: R::Mask) -> R::Mask {
    let one = R::from_f64(1.0);
    one.at_most(R::select(a, R::select(b, one, R::zero()), R::zero()))
}

impl<R: Bits<Alone = f64>, const N: usize, P: Each<Phase<R>>, Q: Each<Planet<R>>>
    System<R, N, P, Q>
{
    /// The derivatives of the state of a planet and of its tangent vector with respect to time.
    #[inline(always)]
    fn slope<F: Follow>(&self, i: usize) -> [Phase<R>; 2] {
        let Phase { x, v } = *self.states.of(i);
        let (w, ri2) = pull(x.dot(x));
        let w = -(self.planets.of(i).inner * w);
        let state = Phase {
            x: v,
            v: self.accelerations[i].add_scaled(w, x),
        };
        if !F::TANGENT {
            return [state; 2];
        }
        let Phase { x: dx, v: dv } = *self.tangents.of(i);
        let d = turned(x, dx, ri2);
        let tangent = Phase {
            x: dv,
            v: self.tangent_accelerations[i].add_scaled(w, d),
        };
        [state, tangent]
    }

    /// The growth of the logarithm of the tangent vector's length in a time h; `length2` is its squared length.
    #[inline(always)]
    pub(super) fn growth<F: Follow>(&self, count: usize, length2: R) -> R {
        let mut sum = R::zero();
        let mut i = 0;
        while i < count {
            let Phase { x, v } = *self.tangents.of(i);
            let [_, slope] = self.slope::<F>(i);
            sum = sum + (x.dot(slope.x) + v.dot(slope.v));
            i += 1;
        }
        length2.divides(self.course.h * sum)
    }
}

impl<R: Bits<Alone = f64>, const N: usize> System<R, N> {
    /// Replaces the state by that after a time h. Returns where the error is allowed, and where it would be with twice the time.
    #[inline(always)]
    fn attempt<F: Follow>(&mut self, count: usize, physics: &Physics, h: R) -> [R::Mask; 2] {
        let c = R::from_f64;
        let none = Phase {
            x: Vec3::zero(),
            v: Vec3::zero(),
        };
        let (mut k, mut dk) = ([[none; N]; 12], [[none; N]; 12]);
        let (mut start, mut dstart) = ([none; N], [none; N]);
        let mut stage = 0;
        while stage < 12 {
            let mut i = 0;
            while i < count {
                if stage == 0 {
                    start[i] = self.states[i];
                    if F::TANGENT {
                        dstart[i] = self.tangents[i];
                    }
                }
                let [slope, dslope] = self.slope::<F>(i);
                k[stage][i] = slope;
                if F::TANGENT {
                    dk[stage][i] = dslope;
                }
                i += 1;
            }
            let mut i = 0;
            while i < count {
                let (mut sum, mut dsum) = (none, none);
                let mut j = 0;
                while j <= stage {
                    let weight = WEIGHTS[stage][j];
                    if weight != 0.0 {
                        sum = plus(sum, c(weight), k[j][i]);
                        if F::TANGENT {
                            dsum = plus(dsum, c(weight), dk[j][i]);
                        }
                    }
                    j += 1;
                }
                self.states[i] = plus(start[i], h, sum);
                if F::TANGENT {
                    self.tangents[i] = plus(dstart[i], h, dsum);
                }
                i += 1;
            }
            self.kicks::<F>(count, physics);
            stage += 1;
        }
        // The squares of both errors, relative to places and velocities.
        let (mut five, mut three) = (R::zero(), R::zero());
        let mut i = 0;
        while i < count {
            let (mut a, mut b) = (none, none);
            let mut j = 0;
            while j < 12 {
                if ERROR_5[j] != 0.0 {
                    a = plus(a, c(ERROR_5[j]), k[j][i]);
                    b = plus(b, c(ERROR_3[j]), k[j][i]);
                }
                j += 1;
            }
            let Phase { x, v } = start[i];
            let x = x.dot(x).divides(c(1.0));
            let v = v.norm2_plus(c(1e-18)).divides(c(1.0));
            five = five + x.mul_add(a.x.dot(a.x), v * a.v.dot(a.v));
            three = three + x.mul_add(b.x.dot(b.x), v * b.v.dot(b.v));
            i += 1;
        }
        let error = h * five;
        let error = error * error;
        let tolerance = physics.tolerance * physics.tolerance * 2.0 * count as f64;
        let allowed = c(tolerance) * c(0.01).mul_add(three, five);
        [error.at_most(allowed), (c(ROOM) * error).at_most(allowed)]
    }

    /// Puts back the system of the lanes where it is not kept.
    #[inline(always)]
    fn restore(&mut self, kept: R::Mask, before: &Self) {
        if kept.all() {
            return;
        }
        let mut lane = 0;
        while lane < R::LANES {
            if !kept.lane(lane) {
                self.set_lane(lane, before);
            }
            lane += 1;
        }
    }

    /// Takes a step of the system's own length, or finds that it must be shorter.
    #[inline(always)]
    fn own_step<F: Follow>(&mut self, count: usize, physics: &Physics) {
        let c = R::from_f64;
        let before = *self;
        let t = &before.course;
        let (mut size, mut inverse) = (t.size, t.inverse);
        // The last steps end with the system's time.
        let mut k = 1.0;
        while k < LARGEST {
            let fits = (t.taken + size).at_most(t.steps);
            size = R::select(fits, size, c(0.5) * size);
            inverse = R::select(fits, inverse, c(2.0) * inverse);
            k *= 2.0;
        }
        let [allowed, grows] = self.attempt::<F>(count, physics, size * t.h);
        let mut ends = [R::zero(); 2];
        let mut i = 0;
        while i < count {
            ends = self.inspect(i, ends);
            i += 1;
        }
        self.observe::<F>(count, ends, size);
        self.restore(allowed, &before);
        let (double, half) = (c(2.0) * size, c(0.5) * size);
        let (double_inverse, half_inverse) = (c(2.0) * inverse, c(0.5) * inverse);
        let t = &mut self.course;
        let times = half_inverse * t.taken;
        let largest = c(if physics.is_hybrid() { 1.0 } else { LARGEST });
        let grows = both::<R>(grows, both::<R>(is_whole(times), double.at_most(largest)));
        t.size = R::select(grows, double, R::select(allowed, size, half));
        t.inverse = R::select(
            grows,
            half_inverse,
            R::select(allowed, inverse, double_inverse),
        );
        t.tries = t.tries + c(1.0);
        let unsolved = c(f64::from(Outcome::UNSOLVED.0));
        t.outcome = R::select(c(SMALLEST).at_most(t.size), t.outcome, unsolved);
        // The time would stand still.
        let still = (t.taken + t.size).at_most(t.taken);
        t.outcome = R::select(still, unsolved, t.outcome);
    }

    /// Takes a step of the integrator of [`Physics`].
    #[inline(always)]
    pub(super) fn any_step<F: Follow>(&mut self, count: usize, physics: &Physics) {
        let c = R::from_f64;
        // Systems of few planets have exactly N, which is a constant.
        let exact = const { N <= FEW };
        let count = if exact || count > N { N } else { count };
        let one = c(1.0);
        let fine = self.course.fine;
        let is_fine = one.at_most(fine);
        if !is_fine.all() {
            let before = *self;
            self.wisdom_holman::<F>(count, physics);
            let t = &mut self.course;
            t.tries = t.tries + one;
            let far_apart = t.close.at_most(R::zero());
            let kept = one.at_most(R::select(
                is_fine,
                R::zero(),
                R::select(far_apart, one, R::zero()),
            ));
            self.restore(kept, &before);
            self.course.fine = R::select(kept, R::zero(), one);
        }
        if !fine.at_most(R::zero()).all() {
            let before = *self;
            self.own_step::<F>(count, physics);
            self.restore(is_fine, &before);
            if physics.is_hybrid() {
                // Between steps h, and not where a step was only found to be too long.
                let t = &mut self.course;
                let ends = both::<R>(is_whole(t.taken), t.close.at_most(R::zero()));
                let ends = both::<R>(is_fine, ends);
                let still = R::select(ends, R::zero(), t.fine);
                t.fine = R::select(t.taken.at_most(before.course.taken), t.fine, still);
            }
        }
    }
}

/// Where a number from 0 to 2⁵¹ has no fraction.
#[inline(always)]
fn is_whole<R: Real>(x: R) -> R::Mask {
    let c = R::from_f64;
    let fraction = ((x + c(WHOLE)) - c(WHOLE)) - x;
    (fraction * fraction).at_most(R::zero())
}
