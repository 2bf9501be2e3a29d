//! The state of a planetary system in Jacobi coordinates, and the steps of the integrator of Wisdom & Holman (1991): a kick by half a step, a
//! drift along Kepler orbits, and another kick (Rein & Tamayo 2015). Tangent vectors go through the derivatives of the same operations, from
//! which MEGNO and the Lyapunov exponent follow (Cincotta, Giordano & Simó 2003).

use core::f64::consts::LN_2;

use super::kepler::{Phase, drift};
use super::physics::MAX_STAGES;
use super::{Adaptive, Follow, General, MAX_PLANETS, Physics, WithTangent};
use crate::Vec3;
use crate::number::{Bits, Mask, divide, per_lane};

/// How a system ended: one of the constants of this type. (It is not an enum, because memory of a GPU may hold any number.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome(pub u32);

impl Outcome {
    /// It has not ended yet.
    pub const OPEN: Self = Self(0);
    /// All steps were taken.
    pub const STABLE: Self = Self(1);
    /// MEGNO exceeded its limit.
    pub const CHAOTIC: Self = Self(2);
    /// A planet went beyond the largest distance.
    pub const ESCAPE: Self = Self(3);
    /// Two planets came within their Hill radii.
    pub const ENCOUNTER: Self = Self(4);
    /// A Kepler step had no solution, or a distance left the range of the arithmetic.
    pub const UNSOLVED: Self = Self(5);
    /// What is [observed](super::observe) went beyond its limit.
    pub const LIMIT: Self = Self(6);
    /// Those of a system that has ended.
    pub const ENDED: [Self; 6] = [
        Self::STABLE,
        Self::CHAOTIC,
        Self::ESCAPE,
        Self::ENCOUNTER,
        Self::UNSOLVED,
        Self::LIMIT,
    ];
}

/// The result of a system. Times are in units of which a year has 2π. A value that does not exist is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Record {
    /// The time at which the system ended.
    pub time: f64,
    /// MEGNO Y at that time.
    pub megno: f64,
    /// Its mean over time.
    pub mean_megno: f64,
    /// The growth of the logarithm of the tangent vector's length, divided by the time.
    pub lyapunov: f64,
    /// (E - E₀) / |E₀|.
    pub energy_error: f64,
    /// What was [observed](super::observe); 0 if nothing was.
    pub observed: [f64; 2],
    /// Steps taken.
    pub steps: u32,
    /// See [`Outcome`].
    pub outcome: u32,
}

/// The squared distances within which the arithmetic of the steps is exact to rounding errors.
const DISTANCES2: [f64; 2] = [1e-18, 1e18];
/// The squared length above which a tangent vector is multiplied by 2⁻ⁿ, and n. Steps of their own length divide by the squared length, which
/// must be an [ordinary](crate::number::inv_cube) number.
const fn lengths<F: Follow>() -> (f64, u32) {
    if F::ADAPTIVE { (1e9, 15) } else { (1e180, 300) }
}

/// What stays the same of a planet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Planet<R> {
    /// Its mass.
    pub mass: R,
    /// The mass of the star and of the planets up to this one.
    pub(super) inner: R,
    /// Its mass divided by that.
    pub(super) share: R,
    /// 1 / (the mass of the star and of the planets before this one).
    reciprocal: R,
    /// The squared distance within which another planet has an encounter with it; 0 for none.
    near2: R,
    /// The square of some Hill radii, relative to its squared distance from the star.
    reach2: R,
}

per_lane!(Planet<R> {
    mass, inner, share, reciprocal, near2, reach2
});

impl<R: Bits> Planet<R> {
    /// The mass with which it moves about the centre of mass of the star and the planets before it.
    #[inline(always)]
    pub(super) fn reduced(&self) -> R {
        self.share * (self.inner - self.mass)
    }
}

/// Everything of a system besides its planets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Course<R> {
    /// Mass of the star.
    star: R,
    /// The squared distance beyond which a planet has escaped.
    far2: R,
    /// The squared distance within which [`System::met`] finds the outcome of two planets.
    met2: R,
    /// The step.
    pub(super) h: R,
    /// Steps to take.
    pub(super) steps: R,
    /// Largest MEGNO.
    most: R,
    /// Steps taken: the time in units of h.
    pub(super) taken: R,
    /// The logarithm of the tangent vector's length at the start.
    pub(super) start: R,
    /// The same now.
    pub(super) now: R,
    /// Its sum over the steps, by trapezia.
    sum: R,
    /// MEGNO now.
    megno: R,
    /// The sum of MEGNO over the steps.
    megno_sum: R,
    /// How often the tangent vector has been shortened.
    shifts: R,
    /// The energy at the start.
    energy: R,
    /// The [`Outcome`], as a number.
    pub(super) outcome: R,
    /// With an integrator other than that of Wisdom & Holman: the next step of the system's own length in units of h.
    pub(super) size: R,
    /// 1 / `size`.
    pub(super) inverse: R,
    /// Steps tried.
    pub(super) tries: R,
    /// The growth of the tangent vector, see [`System::growth`].
    growth: R,
    /// 1 while steps have their own length.
    pub(super) fine: R,
    /// 1 if two planets are close.
    pub(super) close: R,
}

per_lane!(Course<R> {
    star, far2, met2, h, steps, most, taken, start, now, sum, megno, megno_sum, shifts, energy, outcome, size, inverse, tries,
    growth, fine, close
});

/// Something for each planet, in the system or elsewhere, such as in the shared memory of a GPU.
pub trait Each<T> {
    /// That of a planet.
    fn of(&self, i: usize) -> &T;
    /// The same, to change it.
    fn of_mut(&mut self, i: usize) -> &mut T;
}

impl<T, const N: usize> Each<T> for [T; N] {
    #[inline(always)]
    fn of(&self, i: usize) -> &T {
        &self[i]
    }

    #[inline(always)]
    fn of_mut(&mut self, i: usize) -> &mut T {
        &mut self[i]
    }
}

impl<T, const N: usize> Each<T> for &mut [T; N] {
    #[inline(always)]
    fn of(&self, i: usize) -> &T {
        &self[i]
    }

    #[inline(always)]
    fn of_mut(&mut self, i: usize) -> &mut T {
        &mut self[i]
    }
}

/// A system with at most `N` planets, in Jacobi coordinates and their order. Elements beyond the number of planets are not used.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct System<R, const N: usize, P = [Phase<R>; N], Q = [Planet<R>; N]> {
    /// Positions and velocities of the planets.
    pub states: P,
    /// The tangent vector.
    pub tangents: P,
    /// The accelerations by which kicks change the velocities.
    pub(super) accelerations: [Vec3<R>; N],
    /// Those of the tangent vector.
    pub(super) tangent_accelerations: [Vec3<R>; N],
    /// What stays the same of the planets.
    pub planets: Q,
    pub(super) course: Course<R>,
}

per_lane!(System<R; N> {
    states, tangents, accelerations, tangent_accelerations, planets, course
});

/// What a system needs besides its masses and its start.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// The step.
    pub h: f64,
    /// Steps to take.
    pub steps: u32,
    /// The distance beyond which a planet has escaped.
    pub far: f64,
    /// Largest MEGNO.
    pub megno: f64,
    /// The number of Hill radii within which planets have an encounter.
    pub hill: f64,
    /// The distance within which they have one.
    pub near: f64,
}

/// The number of Hill radii within which a hybrid system has steps of its own length.
const CLOSE: f64 = 4.0;

impl<const N: usize> System<f64, N> {
    /// The same system with its planets elsewhere.
    #[inline(always)]
    pub fn elsewhere<P, Q>(&self, states: P, tangents: P, planets: Q) -> System<f64, N, P, Q> {
        System {
            states,
            tangents,
            accelerations: self.accelerations,
            tangent_accelerations: self.tangent_accelerations,
            planets,
            course: self.course,
        }
    }

    /// Takes over a later state of this system, which has its planets elsewhere.
    #[inline(always)]
    pub fn take_over<F: Follow, Q>(&mut self, other: &System<f64, N, &mut [Phase<f64>; N], Q>) {
        self.states = *other.states;
        if F::TANGENT {
            self.tangents = *other.tangents;
            self.tangent_accelerations = other.tangent_accelerations;
        }
        self.accelerations = other.accelerations;
        self.course = other.course;
    }

    /// A system with this star and these planets: mass, state and semi-major axis. The tangent vector has the components 1.
    #[inline(always)]
    pub fn begin<F: Follow>(
        star: f64,
        count: usize,
        planet: impl Fn(usize) -> (f64, Phase<f64>, f64),
        conditions: &Conditions,
        physics: &Physics,
    ) -> Self {
        let one = Vec3 {
            x: 1.0,
            y: 1.0,
            z: 1.0,
        };
        let mut system = Self {
            states: [Phase::default(); N],
            tangents: [Phase { x: one, v: one }; N],
            accelerations: [Vec3::zero(); N],
            tangent_accelerations: [Vec3::zero(); N],
            planets: [Planet::default(); N],
            course: Course {
                star,
                far2: conditions.far * conditions.far,
                met2: DISTANCES2[0],
                h: conditions.h,
                steps: f64::from(conditions.steps),
                most: conditions.megno,
                ..Course::default()
            },
        };
        let (mut i, mut inner) = (0, star);
        while i < count {
            let (mass, state, a) = planet(i);
            let radius = libm::cbrt(divide(mass, 3.0 * star));
            let near = conditions.hill * (a * radius);
            let near = if near > conditions.near {
                near
            } else {
                conditions.near
            };
            if near * near > system.course.met2 {
                system.course.met2 = near * near;
            }
            let reciprocal = divide(1.0, inner);
            inner += mass;
            system.states[i] = state;
            system.planets[i] = Planet {
                mass,
                inner,
                share: divide(mass, inner),
                reciprocal,
                near2: near * near,
                reach2: CLOSE * CLOSE * (radius * radius),
            };
            i += 1;
        }
        // Only what the system needs, because this code takes registers from the kernel that calls it.
        if F::ADAPTIVE {
            system.kicks::<Adaptive<WithTangent>>(count, physics);
        } else if F::GENERAL {
            system.kicks::<General<WithTangent>>(count, physics);
        } else {
            system.kicks::<WithTangent>(count, physics);
        }
        system.course.outcome = 0.0;
        system.course.energy = system.energy(count, physics);
        if physics.corrects::<F>() {
            system.correct::<F>(count, physics, 1.0);
        }
        let length2 = system.length2(count);
        let length = half_logarithm(length2);
        (system.course.start, system.course.now) = (length, length);
        if F::ADAPTIVE {
            system.course.growth = system.growth::<Adaptive<WithTangent>>(count, length2);
        }
        (system.course.size, system.course.inverse) = (1.0, 1.0);
        system.course.fine = match physics.integrator {
            Physics::WISDOM_HOLMAN => 0.0,
            Physics::HYBRID => system.course.close,
            _ => 1.0,
        };
        system
    }

    /// The accelerations of another state.
    #[cfg(test)]
    pub(super) fn kicks_anew(&mut self, count: usize, physics: &Physics) {
        self.kicks::<Adaptive<WithTangent>>(count, physics);
        self.course.outcome = 0.0;
    }

    /// The logarithm of the factor by which the tangent vector has been shortened with steps of the system's own length.
    #[cfg(test)]
    pub(super) fn shortened(&self) -> f64 {
        let (_, shift) = lengths::<Adaptive<WithTangent>>();
        LN_2 * f64::from(shift) * self.course.shifts
    }

    /// Moves the system by a symplectic corrector: with `sign` 1 to the coordinates in which steps are taken, with -1 back, to those in which
    /// the system is given (Wisdom 2006). One that cannot be moved gets coordinates that are not numbers, so that no step of it is solved.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn correct<F: Follow>(&mut self, count: usize, physics: &Physics, sign: f64) {
        let (h, outcome) = (self.course.h, self.course.outcome);
        let mut ends = [0.0; 2];
        let mut stage = 0;
        while stage < physics.corrector_stages as usize && stage < MAX_STAGES {
            let [over, kick] = physics.corrector[stage];
            let mut i = 0;
            while i < count && i < N {
                ends = self.drift_planet::<F>(i, over * h, ends);
                i += 1;
            }
            self.kicks::<F>(count, physics);
            self.push::<F>(count, sign * (kick * h));
            stage += 1;
        }
        self.course.outcome = outcome;
        if !(ends[0] <= 0.0) {
            self.states[0].v.x = f64::NAN;
        }
    }

    /// The system in the coordinates in which it is given.
    pub fn given<F: Follow>(&self, count: usize, physics: &Physics) -> Self {
        let mut system = *self;
        if physics.corrects::<F>() {
            system.correct::<F>(count, physics, -1.0);
        }
        system
    }

    /// The energy: motion about the centres of mass, and the potential of all pairs and of other forces.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn energy(&self, count: usize, physics: &Physics) -> f64 {
        let (mut energy, mut centre) = (0.0, Vec3::zero());
        let mut places = [Vec3::zero(); N];
        let mut i = 0;
        while i < count {
            let (p, Phase { x, v }) = (&self.planets[i], self.states[i]);
            places[i] = x + centre;
            centre = centre.add_scaled(p.share, x);
            let v2 = v.dot(v);
            energy += 0.5 * divide(p.share, p.reciprocal) * v2;
            let pull = |other: Vec3<f64>, mass: f64| {
                let d = places[i] - other;
                divide(mass * p.mass, crate::number::root(d.dot(d)))
            };
            energy -= pull(Vec3::zero(), self.course.star);
            if physics.has_forces() {
                energy +=
                    p.mass * physics.potential(self.course.star, i, &Phase { x: places[i], v });
            }
            let mut j = 0;
            while j < i {
                energy -= pull(places[j], self.planets[j].mass);
                j += 1;
            }
            i += 1;
        }
        energy
    }

    /// The result of a system that has ended.
    #[inline(always)]
    pub fn record<F: Follow>(&self, count: usize, physics: &Physics) -> Record {
        let c = &self.course;
        let time = c.taken * c.h;
        let mut record = Record {
            time,
            megno: f64::NAN,
            mean_megno: f64::NAN,
            lyapunov: f64::NAN,
            energy_error: f64::NAN,
            observed: [0.0; 2],
            steps: c.taken as u32,
            outcome: c.outcome as u32,
        };
        if record.outcome == Outcome::UNSOLVED.0 {
            return record;
        }
        let energy = if physics.corrects::<F>() {
            self.given::<F>(count, physics).energy(count, physics)
        } else {
            self.energy(count, physics)
        };
        let change = energy - c.energy;
        record.energy_error = divide(change, c.energy.abs());
        if F::ADAPTIVE {
            record.steps = c.tries as u32;
        }
        if F::TANGENT {
            record.megno = c.megno;
            // The trapezoidal rule: the first value is 0.
            record.mean_megno = match F::ADAPTIVE {
                true => divide(c.megno_sum, c.taken),
                false => divide(c.megno_sum - 0.5 * c.megno, c.taken),
            };
            record.lyapunov = divide(c.now - c.start, time);
        }
        // Systems without mass have no energy; all numbers that do not exist have the same bits.
        let known = |x: f64| if x.is_finite() { x } else { f64::NAN };
        record.megno = known(record.megno);
        record.mean_megno = known(record.mean_megno);
        record.lyapunov = known(record.lyapunov);
        record.energy_error = known(record.energy_error);
        record
    }
}

/// The largest number of planets whose systems are in registers.
pub const FEW: usize = 4;

/// The size of the arrays of systems with more than [`FEW`] and fewer than [`MANY`] planets. Loops over them are unrolled, except that of the drift.
pub const SOME: usize = 7;

/// The largest number of planets for which loops over the planets are unrolled, except that of the drift.
pub const MANY: usize = 8;

/// Does something for each planet, from a given one on, or for each before another one. Where the system has room for at most `MANY`, or another
/// number after `up to`, the planets' numbers are constants, so that a GPU keeps what changes in registers.
macro_rules! each_planet {
    (up to $most:ident, before $end:expr, |$i:ident| $what:expr) => {
        each_planet!(@ $most, 0, $end, $i, $what, $i < $end)
    };
    (up to $most:ident, $count:expr, $from:expr, |$i:ident| $what:expr) => {
        each_planet!(@ $most, $from, $count, $i, $what, $from < $i + 1 && (N != SOME || $i <= FEW || $i < $count))
    };
    (before $end:expr, |$i:ident| $what:expr) => {
        each_planet!(up to MANY, before $end, |$i| $what)
    };
    ($count:expr, $from:expr, |$i:ident| $what:expr) => {
        each_planet!(up to MANY, $count, $from, |$i| $what)
    };
    (@ $most:ident, $from:expr, $end:expr, $i:ident, $what:expr, $condition:expr) => {
        if const { N <= $most } {
            const { assert!(N <= FEW || N == SOME || N == MANY || N == MAX_PLANETS) };
            each_planet!(@ $i, $what, $condition, 0 1 2 3 4 5 6 7);
        } else {
            let end = if $end > N { N } else { $end };
            let mut $i = $from;
            while $i < end {
                $what;
                $i += 1;
            }
        }
    };
    (@ $i:ident, $what:expr, $condition:expr, $($number:literal)*) => {$(
        if const { $number < N } {
            let $i: usize = $number;
            // The last planet's copy changes what no other needs.
            #[allow(unused_assignments)]
            if $condition {
                $what;
            }
        }
    )*};
}

pub(super) use each_planet;

impl<R: Bits<Alone = f64>, const N: usize> System<R, N> {
    /// Takes a step. Systems that have ended must not take another one.
    #[inline(always)]
    pub fn step<F: Follow>(&mut self, count: usize, physics: &Physics) {
        match F::ADAPTIVE {
            true => self.any_step::<F>(count, physics),
            false => self.wisdom_holman::<F>(count, physics),
        }
    }
}

impl<R: Bits<Alone = f64>, const N: usize, P: Each<Phase<R>>, Q: Each<Planet<R>>>
    System<R, N, P, Q>
{
    /// Where the system goes on.
    #[inline(always)]
    pub fn goes_on(&self) -> R::Mask {
        self.course.outcome.at_most(R::zero())
    }

    /// The accelerations by which kicks change the velocities. Pairs that are too close end the system.
    #[inline(always)]
    pub(super) fn kicks<F: Follow>(&mut self, count: usize, physics: &Physics) {
        let c = R::from_f64;
        let zero = Vec3::<R>::zero();
        // Places relative to the star.
        let (mut places, mut dplaces) = ([zero; N], [zero; N]);
        let (mut centre, mut dcentre) = (zero, zero);
        each_planet!(count, 0, |i| {
            let (share, x) = (self.planets.of(i).share, self.states.of(i).x);
            places[i] = x + centre;
            centre = centre.add_scaled(share, x);
            self.accelerations[i] = zero;
            if F::TANGENT {
                let dx = self.tangents.of(i).x;
                dplaces[i] = dx + dcentre;
                dcentre = dcentre.add_scaled(share, dx);
                self.tangent_accelerations[i] = zero;
            }
        });
        let star = self.course.star;
        let (mut sum, mut dsum) = (zero, zero);
        // The star and all planets but the first, whose pull the Kepler orbit contains.
        each_planet!(count, 1, |i| {
            let place = places[i];
            let (w, ri2) = pull(place.dot(place));
            let (on_star, on_planet) = (self.planets.of(i).mass * w, -(star * w));
            sum = sum.add_scaled(on_star, place);
            let own = &mut self.accelerations[i];
            *own = own.add_scaled(on_planet, place);
            if F::TANGENT {
                let d = turned(place, dplaces[i], ri2);
                dsum = dsum.add_scaled(on_star, d);
                let own = &mut self.tangent_accelerations[i];
                *own = own.add_scaled(on_planet, d);
            }
        });
        let mut least = c(DISTANCES2[1]);
        let mut close = R::zero();
        // The same order for each planet as with i in the outer loop, and more pairs beside each other.
        each_planet!(count, 1, |j| {
            each_planet!(before j, |i| {
                let d = places[j] - places[i];
                let d2 = d.dot(d);
                let (a, b) = (self.planets.of(i), self.planets.of(j));
                if F::ADAPTIVE {
                    let (of_a, of_b) = (places[i].dot(places[i]), places[j].dot(places[j]));
                    close = R::select(d2.at_most(a.reach2 * of_a), c(1.0), close);
                    close = R::select(d2.at_most(b.reach2 * of_b), c(1.0), close);
                }
                least = R::select(d2.at_most(least), d2, least);
                let (w, ri2) = pull(d2);
                let (on_a, on_b) = (b.mass * w, -(a.mass * w));
                let of = &mut self.accelerations;
                of[i] = of[i].add_scaled(on_a, d);
                of[j] = of[j].add_scaled(on_b, d);
                if F::TANGENT {
                    let t = turned(d, dplaces[j] - dplaces[i], ri2);
                    let of = &mut self.tangent_accelerations;
                    of[i] = of[i].add_scaled(on_a, t);
                    of[j] = of[j].add_scaled(on_b, t);
                }
            });
        });
        let met = least.at_most(self.course.met2);
        let apart = c(1.0).at_most(R::select(met, R::zero(), c(1.0)));
        self.course.outcome = R::zero();
        if !apart.all() {
            self.course.outcome = self.met(count);
        }
        if F::ADAPTIVE {
            self.course.close = close;
        }
        // To Jacobi coordinates, without the pulls that the Kepler orbits contain.
        let (mut sum, mut dsum) = (sum.scaled(star), dsum.scaled(star));
        if F::GENERAL && physics.has_forces() {
            let (mut centre, mut dcentre) = (zero, zero);
            each_planet!(count, 0, |i| {
                let p = self.planets.of(i);
                // Places and velocities relative to the star.
                let (mut state, mut tangent) = (*self.states.of(i), *self.tangents.of(i));
                let (v, dv) = (state.v, tangent.v);
                (state.x, state.v) = (places[i], v + centre);
                centre = centre.add_scaled(p.share, v);
                if F::TANGENT {
                    (tangent.x, tangent.v) = (dplaces[i], dv + dcentre);
                    dcentre = dcentre.add_scaled(p.share, dv);
                }
                let [own, down] = physics.forces::<R, F>(i, [star, p.mass], &state, &tangent);
                self.accelerations[i] = self.accelerations[i] + own;
                // The star's part of the momentum.
                sum = sum.add_scaled(-p.mass, own);
                if F::TANGENT {
                    self.tangent_accelerations[i] = self.tangent_accelerations[i] + down;
                    dsum = dsum.add_scaled(-p.mass, down);
                }
            });
        }
        each_planet!(count, 0, |i| {
            let p = self.planets.of(i);
            let (a, da) = (
                &mut self.accelerations[i],
                &mut self.tangent_accelerations[i],
            );
            let own = *a;
            *a = own.add_scaled(-p.reciprocal, sum);
            sum = sum.add_scaled(p.mass, own);
            if F::TANGENT {
                let own = *da;
                *da = own.add_scaled(-p.reciprocal, dsum);
                dsum = dsum.add_scaled(p.mass, own);
            }
            if i > 0 {
                let x = self.states.of(i).x;
                let (w, ri2) = pull(x.dot(x));
                let w = p.inner * w;
                *a = a.add_scaled(w, x);
                if F::TANGENT {
                    let d = turned(x, self.tangents.of(i).x, ri2);
                    *da = da.add_scaled(w, d);
                }
            }
        });
    }

    /// The outcome of two planets that are within their Hill radii, or too close for the arithmetic.
    #[cfg_attr(not(target_arch = "nvptx64"), cold)]
    #[inline(always)]
    fn met(&self, count: usize) -> R {
        let c = R::from_f64;
        let encounter = c(f64::from(Outcome::ENCOUNTER.0));
        let unsolved = c(f64::from(Outcome::UNSOLVED.0));
        let (mut near, mut solved) = (R::zero(), R::zero());
        // Larger systems need few instructions, because this happens once.
        let mut places = [Vec3::zero(); N];
        let mut centre = Vec3::zero();
        each_planet!(up to FEW, count, 0, |i| {
            let x = self.states.of(i).x;
            places[i] = x + centre;
            centre = centre.add_scaled(self.planets.of(i).share, x);
        });
        each_planet!(up to FEW, count, 1, |j| {
            each_planet!(up to FEW, before j, |i| {
                let d = places[j] - places[i];
                let d2 = d.dot(d);
                near = R::select(d2.at_most(self.planets.of(i).near2), encounter, near);
                near = R::select(d2.at_most(self.planets.of(j).near2), encounter, near);
                solved = R::select(c(DISTANCES2[0]).at_most(d2), solved, unsolved);
            });
        });
        R::select(solved.at_most(R::zero()), near, solved)
    }

    /// Half a kick.
    #[inline(always)]
    fn push<F: Follow>(&mut self, count: usize, half: R) {
        each_planet!(count, 0, |i| {
            let v = &mut self.states.of_mut(i).v;
            *v = v.add_scaled(half, self.accelerations[i]);
            if F::TANGENT {
                let dv = &mut self.tangents.of_mut(i).v;
                *dv = dv.add_scaled(half, self.tangent_accelerations[i]);
            }
        });
    }

    /// The squared length of the tangent vector.
    #[inline(always)]
    fn length2(&self, count: usize) -> R {
        let mut sum = R::zero();
        each_planet!(count, 0, |i| {
            let Phase { x, v } = *self.tangents.of(i);
            sum = sum + x.norm2_plus(v.dot(v));
        });
        sum
    }

    /// The outcomes of a planet that is out of the range of the arithmetic, and of one that has escaped; or those that are given.
    #[inline(always)]
    pub(super) fn inspect(&self, i: usize, [solved, far]: [R; 2]) -> [R; 2] {
        let c = R::from_f64;
        let unsolved = c(f64::from(Outcome::UNSOLVED.0));
        let x = self.states.of(i).x;
        let r2 = x.dot(x);
        let solved = R::select(c(DISTANCES2[0]).at_most(r2), solved, unsolved);
        let solved = R::select(r2.at_most(c(DISTANCES2[1])), solved, unsolved);
        let escape = c(f64::from(Outcome::ESCAPE.0));
        [solved, R::select(r2.at_most(self.course.far2), far, escape)]
    }

    /// Moves a planet along its Kepler orbit; returns how that ends the system, or what is given.
    #[inline(always)]
    fn drift_planet<F: Follow>(&mut self, i: usize, h: R, mut ends: [R; 2]) -> [R; 2] {
        let (state, tangent) = (self.states.of_mut(i), self.tangents.of_mut(i));
        let converged = drift::<R, F>(state, tangent, self.planets.of(i).inner, h);
        let unsolved = R::from_f64(f64::from(Outcome::UNSOLVED.0));
        ends[0] = R::select(converged, ends[0], unsolved);
        self.inspect(i, ends)
    }

    /// Takes a step of the integrator of Wisdom & Holman.
    #[inline(always)]
    pub fn wisdom_holman<F: Follow>(&mut self, count: usize, physics: &Physics) {
        let c = R::from_f64;
        let h = self.course.h;
        let half = c(0.5) * h;
        let mut ends = [R::zero(); 2];
        let drift_first = F::GENERAL && physics.drift_first != 0;
        let mut drifts = 0;
        // Drift, kick, drift is half a drift with a kick after it, and another half.
        loop {
            let over = if drift_first { half } else { h };
            if !drift_first {
                self.push::<F>(count, half);
            }
            if const { N <= FEW } {
                each_planet!(count, 0, |i| ends = self.drift_planet::<F>(i, over, ends));
            } else {
                // One copy of the code, as a GPU reads it from memory.
                let mut i = 0;
                while i < count && i < N {
                    ends = self.drift_planet::<F>(i, over, ends);
                    i += 1;
                }
            }
            self.kicks::<F>(count, physics);
            drifts += 1;
            if !drift_first {
                self.push::<F>(count, half);
                break;
            }
            if drifts == 2 {
                break;
            }
            self.push::<F>(count, h);
        }
        self.observe::<F>(count, ends, c(1.0));
    }

    /// Counts a step of this size in units of h, with its indicators of chaos, and finds whether it ends the system.
    #[inline(always)]
    pub(super) fn observe<F: Follow>(&mut self, count: usize, [solved, far]: [R; 2], size: R) {
        let c = R::from_f64;
        let t = &mut self.course;
        t.taken = t.taken + size;
        let stable = c(f64::from(Outcome::STABLE.0));
        let mut outcome = R::select(t.steps.at_most(t.taken), stable, R::zero());
        let near = t.outcome;
        if F::TANGENT {
            let length2 = self.length2(count);
            let growth = match F::ADAPTIVE {
                true => self.growth::<F>(count, length2),
                false => R::zero(),
            };
            let (long, shift) = const { lengths::<F>() };
            let t = &mut self.course;
            let now = half_logarithm(length2) + c(LN_2 * shift as f64) * t.shifts;
            let weight = c(0.5) * size;
            t.sum = weight.mul_add(now + t.now, t.sum);
            if F::ADAPTIVE {
                // The rule of Hermite, as these steps are long.
                let corrected = (t.growth - growth) * (size * size);
                t.sum = c(1.0 / 12.0).mul_add(corrected, t.sum);
                t.growth = growth;
            }
            t.now = now;
            let megno = now - t.sum * t.taken.divides(c(1.0));
            let before = t.megno;
            t.megno = megno + megno;
            t.megno_sum = match F::ADAPTIVE {
                true => weight.mul_add(before + t.megno, t.megno_sum),
                false => t.megno_sum + t.megno,
            };
            let chaotic = c(f64::from(Outcome::CHAOTIC.0));
            outcome = R::select(t.megno.at_most(t.most), outcome, chaotic);
            if !length2.at_most(c(long)).all() {
                self.shorten::<F>(count, length2);
            }
        }
        // The later ones are the more serious ones.
        outcome = R::select(far.at_most(R::zero()), outcome, far);
        outcome = R::select(near.at_most(R::zero()), outcome, near);
        self.course.outcome = R::select(solved.at_most(R::zero()), outcome, solved);
    }

    /// Ends the systems in these lanes at the limit of what is observed, unless something worse has ended them.
    #[inline(always)]
    pub(super) fn end_at(&mut self, is_beyond: R::Mask) {
        let c = R::from_f64;
        let before = self.course.outcome;
        let limit = R::select(is_beyond, c(f64::from(Outcome::LIMIT.0)), before);
        let may_end = before.at_most(c(f64::from(Outcome::STABLE.0)));
        self.course.outcome = R::select(may_end, limit, before);
    }

    /// Multiplies the tangent vectors that are too long by a power of two, in the lanes that have them.
    #[cfg_attr(not(target_arch = "nvptx64"), cold)]
    #[inline(always)]
    fn shorten<F: Follow>(&mut self, count: usize, length2: R) {
        let c = R::from_f64;
        let (long, shift) = const { lengths::<F>() };
        let factor = c(f64::from_bits((1023 - shift as u64) << 52));
        let factor = R::select(length2.at_most(c(long)), c(1.0), factor);
        let more = R::select(length2.at_most(c(long)), c(0.0), c(1.0));
        self.course.shifts = self.course.shifts + more;
        each_planet!(count, 0, |i| {
            let t = self.tangents.of_mut(i);
            (t.x, t.v) = (t.x.scaled(factor), t.v.scaled(factor));
            self.tangent_accelerations[i] = self.tangent_accelerations[i].scaled(factor);
        });
    }
}

/// r⁻³ and r⁻² from r².
#[inline(always)]
pub(super) fn pull<R: Bits>(r2: R) -> (R, R) {
    let ri = r2.reciprocal_root();
    let ri2 = ri * ri;
    (ri2 * ri, ri2)
}

/// The derivative of d |d|⁻³ along δ, times |d|³: δ - 3 d (d·δ)/d².
#[inline(always)]
pub(super) fn turned<R: Bits>(d: Vec3<R>, delta: Vec3<R>, ri2: R) -> Vec3<R> {
    delta.add_scaled((R::from_f64(-3.0) * d.dot(delta)) * ri2, d)
}

/// ln(x)/2 for a normal number above 0: the exponent, and twice the inverse hyperbolic tangent of (m - 1.5)/(m + 1.5) for the fraction m.
#[inline(always)]
fn half_logarithm<R: Bits<Alone = f64>>(x: R) -> R {
    let c = R::from_f64;
    let (fraction, exponent) = x.fraction_and_exponent();
    let y = (fraction - c(1.5)) * (fraction + c(1.5)).divides(c(1.0));
    let z = y * y;
    let mut p = c(1.0 / 19.0);
    let mut k = 8;
    while k >= 0 {
        p = p.mul_add(z, c(1.0 / (2 * k + 1) as f64));
        k -= 1;
    }
    exponent.mul_add(c(0.5 * LN_2), y.mul_add(p, c(0.202_732_554_054_082_2)))
}
