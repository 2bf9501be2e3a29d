//! The state of a planetary system in Jacobi coordinates, and the steps of the integrator of Wisdom & Holman (1991): a kick by half a step, a
//! drift along Kepler orbits, and another kick (Rein & Tamayo 2015). Tangent vectors go through the derivatives of the same operations, from
//! which MEGNO and the Lyapunov exponent follow (Cincotta, Giordano & Simó 2003).

use core::f64::consts::LN_2;

use super::kepler::{Phase, drift};
use super::{Adaptive, Follow, General, MAX_PLANETS, Physics, WithTangent};
use crate::number::{Bits, Mask, divide, per_lane};
use crate::{PerLane, Vec3};

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
    /// Those of a system that has ended.
    pub const ENDED: [Self; 5] = [
        Self::STABLE,
        Self::CHAOTIC,
        Self::ESCAPE,
        Self::ENCOUNTER,
        Self::UNSOLVED,
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

/// A planet in Jacobi coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Planet<R> {
    /// Position and velocity.
    pub state: Phase<R>,
    /// Its part of the tangent vector.
    pub tangent: Phase<R>,
    /// The acceleration by which kicks change the velocity.
    pub(super) kick: Vec3<R>,
    /// That of the tangent vector.
    pub(super) tangent_kick: Vec3<R>,
    /// Its mass.
    pub mass: R,
    /// The mass of the star and of the planets up to this one.
    pub(super) inner: R,
    /// Its mass divided by that.
    share: R,
    /// 1 / (the mass of the star and of the planets before this one).
    reciprocal: R,
    /// The squared distance within which another planet has an encounter with it; 0 for none.
    near2: R,
    /// The square of some Hill radii, relative to its squared distance from the star.
    reach2: R,
}

per_lane!(Planet<R> {
    state, tangent, kick, tangent_kick, mass, inner, share, reciprocal, near2, reach2
});

/// Everything of a system besides its planets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Course<R> {
    /// Mass of the star.
    star: R,
    /// The squared distance beyond which a planet has escaped.
    far2: R,
    /// The step.
    pub(super) h: R,
    /// Steps to take.
    pub(super) steps: R,
    /// Largest MEGNO.
    most: R,
    /// Steps taken: the time in units of h.
    pub(super) taken: R,
    /// The logarithm of the tangent vector's length at the start.
    start: R,
    /// The same now.
    now: R,
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
    star, far2, h, steps, most, taken, start, now, sum, megno, megno_sum, shifts, energy, outcome, size, inverse, tries,
    growth, fine, close
});

/// A system with at most `N` planets, in the order of their Jacobi coordinates.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct System<R, const N: usize> {
    /// The planets; those beyond the number of planets are not used.
    pub planets: [Planet<R>; N],
    pub(super) course: Course<R>,
}

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
}

/// The number of Hill radii within which a hybrid system has steps of its own length.
const CLOSE: f64 = 4.0;

impl<const N: usize> System<f64, N> {
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
            planets: [Planet::default(); N],
            course: Course {
                star,
                far2: conditions.far * conditions.far,
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
            let reciprocal = divide(1.0, inner);
            inner += mass;
            system.planets[i] = Planet {
                state,
                tangent: Phase { x: one, v: one },
                mass,
                inner,
                share: divide(mass, inner),
                reciprocal,
                near2: near * near,
                reach2: CLOSE * CLOSE * (radius * radius),
                ..Planet::default()
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

    /// The energy: motion about the centres of mass, and the potential of all pairs and of other forces.
    fn energy(&self, count: usize, physics: &Physics) -> f64 {
        let (mut energy, mut centre) = (0.0, Vec3::zero());
        let mut places = [Vec3::zero(); N];
        let mut i = 0;
        while i < count {
            let p = &self.planets[i];
            places[i] = p.state.x + centre;
            centre = centre.add_scaled(p.share, p.state.x);
            let v2 = p.state.v.dot(p.state.v);
            energy += 0.5 * divide(p.share, p.reciprocal) * v2;
            let pull = |other: Vec3<f64>, mass: f64| {
                let d = places[i] - other;
                divide(mass * p.mass, crate::number::root(d.dot(d)))
            };
            energy -= pull(Vec3::zero(), self.course.star);
            if physics.has_forces() {
                energy += p.mass
                    * physics.potential(
                        self.course.star,
                        i,
                        &Phase {
                            x: places[i],
                            v: p.state.v,
                        },
                    );
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
            steps: c.taken as u32,
            outcome: c.outcome as u32,
        };
        if record.outcome == Outcome::UNSOLVED.0 {
            return record;
        }
        let change = self.energy(count, physics) - c.energy;
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

/// The largest number of planets whose systems have code of their own for exactly that many.
pub const MAX_EXACT: usize = 4;

/// The room of systems whose planets have numbers that are constants, except in the drift, although they may be fewer.
pub const SOME: usize = 8;

/// Does something for each planet, from a given one on. Where the system has room for a few, their numbers are constants, so that a GPU keeps
/// what changes in registers.
macro_rules! each_planet {
    ($count:expr, $from:expr, |$i:ident| $what:expr) => {
        if const { N < MAX_PLANETS } {
            const { assert!(N <= MAX_EXACT || N == SOME || N == MAX_PLANETS) };
            each_planet!(@ $count, $from, $i, $what, 0 1 2 3 4 5 6 7);
        } else {
            let count = if $count > N { N } else { $count };
            let mut $i = $from;
            while $i < count {
                $what;
                $i += 1;
            }
        }
    };
    (@ $count:expr, $from:expr, $i:ident, $what:expr, $($number:literal)*) => {$(
        if const { $number < N } {
            let $i: usize = $number;
            // The last planet's copy changes what no other needs.
            #[allow(unused_assignments)]
            if $from < $i + 1 && (N <= MAX_EXACT || $i < $count) {
                $what;
            }
        }
    )*};
}

impl<R: Bits<Alone = f64>, const N: usize> System<R, N> {
    /// The same system in every lane.
    #[inline(always)]
    pub fn spread(one: &System<f64, N>) -> Self {
        let mut all = Self {
            planets: [Planet::spread(&one.planets[0]); N],
            course: Course::spread(&one.course),
        };
        let mut i = 1;
        while i < N {
            all.planets[i] = Planet::spread(&one.planets[i]);
            i += 1;
        }
        all
    }

    /// Replaces the system of a lane.
    #[inline(always)]
    pub fn put(&mut self, lane: usize, one: &System<f64, N>) {
        let mut i = 0;
        while i < N {
            self.planets[i].set_lane(lane, &Planet::spread(&one.planets[i]));
            i += 1;
        }
        self.course.set_lane(lane, &Course::spread(&one.course));
    }

    /// The system of a lane.
    #[inline(always)]
    pub fn take(&self, lane: usize) -> System<f64, N> {
        let mut one = System {
            planets: [Planet::default(); N],
            course: self.course.lane(lane),
        };
        let mut i = 0;
        while i < N {
            one.planets[i] = self.planets[i].lane(lane);
            i += 1;
        }
        one
    }

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
            let p = &mut self.planets[i];
            places[i] = p.state.x + centre;
            centre = centre.add_scaled(p.share, p.state.x);
            p.kick = zero;
            if F::TANGENT {
                dplaces[i] = p.tangent.x + dcentre;
                dcentre = dcentre.add_scaled(p.share, p.tangent.x);
                p.tangent_kick = zero;
            }
        });
        let star = self.course.star;
        let (mut sum, mut dsum) = (zero, zero);
        // The star and all planets but the first, whose pull the Kepler orbit contains.
        each_planet!(count, 1, |i| {
            let place = places[i];
            let (w, ri2) = pull(place.dot(place));
            let p = &mut self.planets[i];
            let (on_star, on_planet) = (p.mass * w, -(star * w));
            sum = sum.add_scaled(on_star, place);
            p.kick = p.kick.add_scaled(on_planet, place);
            if F::TANGENT {
                let d = turned(place, dplaces[i], ri2);
                dsum = dsum.add_scaled(on_star, d);
                p.tangent_kick = p.tangent_kick.add_scaled(on_planet, d);
            }
        });
        let mut near = R::zero();
        let mut close = R::zero();
        each_planet!(count, 0, |i| {
            each_planet!(count, i + 1, |j| {
                let d = places[j] - places[i];
                let d2 = d.dot(d);
                let (a, b) = (self.planets[i], self.planets[j]);
                if F::ADAPTIVE {
                    let (of_a, of_b) = (places[i].dot(places[i]), places[j].dot(places[j]));
                    close = R::select(d2.at_most(a.reach2 * of_a), c(1.0), close);
                    close = R::select(d2.at_most(b.reach2 * of_b), c(1.0), close);
                }
                near = R::select(
                    d2.at_most(a.near2),
                    c(f64::from(Outcome::ENCOUNTER.0)),
                    near,
                );
                near = R::select(
                    d2.at_most(b.near2),
                    c(f64::from(Outcome::ENCOUNTER.0)),
                    near,
                );
                near = R::select(
                    c(DISTANCES2[0]).at_most(d2),
                    near,
                    c(f64::from(Outcome::UNSOLVED.0)),
                );
                let (w, ri2) = pull(d2);
                let (on_a, on_b) = (b.mass * w, -(a.mass * w));
                self.planets[i].kick = a.kick.add_scaled(on_a, d);
                self.planets[j].kick = b.kick.add_scaled(on_b, d);
                if F::TANGENT {
                    let t = turned(d, dplaces[j] - dplaces[i], ri2);
                    self.planets[i].tangent_kick = a.tangent_kick.add_scaled(on_a, t);
                    self.planets[j].tangent_kick = b.tangent_kick.add_scaled(on_b, t);
                }
            });
        });
        self.course.outcome = near;
        if F::ADAPTIVE {
            self.course.close = close;
        }
        // To Jacobi coordinates, without the pulls that the Kepler orbits contain.
        let (mut sum, mut dsum) = (sum.scaled(star), dsum.scaled(star));
        if F::GENERAL && physics.has_forces() {
            let (mut centre, mut dcentre) = (zero, zero);
            each_planet!(count, 0, |i| {
                let p = &mut self.planets[i];
                // Places and velocities relative to the star.
                let (mut state, mut tangent) = (p.state, p.tangent);
                (state.x, state.v) = (places[i], state.v + centre);
                centre = centre.add_scaled(p.share, p.state.v);
                if F::TANGENT {
                    (tangent.x, tangent.v) = (dplaces[i], tangent.v + dcentre);
                    dcentre = dcentre.add_scaled(p.share, p.tangent.v);
                }
                let [own, down] = physics.forces::<R, F>(i, [star, p.mass], &state, &tangent);
                p.kick = p.kick + own;
                // The star's part of the momentum.
                sum = sum.add_scaled(-p.mass, own);
                if F::TANGENT {
                    p.tangent_kick = p.tangent_kick + down;
                    dsum = dsum.add_scaled(-p.mass, down);
                }
            });
        }
        each_planet!(count, 0, |i| {
            let p = &mut self.planets[i];
            let own = p.kick;
            p.kick = own.add_scaled(-p.reciprocal, sum);
            sum = sum.add_scaled(p.mass, own);
            if F::TANGENT {
                let own = p.tangent_kick;
                p.tangent_kick = own.add_scaled(-p.reciprocal, dsum);
                dsum = dsum.add_scaled(p.mass, own);
            }
            if i > 0 {
                let x = p.state.x;
                let (w, ri2) = pull(x.dot(x));
                let w = p.inner * w;
                p.kick = p.kick.add_scaled(w, x);
                if F::TANGENT {
                    let d = turned(x, p.tangent.x, ri2);
                    p.tangent_kick = p.tangent_kick.add_scaled(w, d);
                }
            }
        });
    }

    /// Half a kick.
    #[inline(always)]
    fn push<F: Follow>(&mut self, count: usize, half: R) {
        each_planet!(count, 0, |i| {
            let p = &mut self.planets[i];
            p.state.v = p.state.v.add_scaled(half, p.kick);
            if F::TANGENT {
                p.tangent.v = p.tangent.v.add_scaled(half, p.tangent_kick);
            }
        });
    }

    /// The squared length of the tangent vector.
    #[inline(always)]
    fn length2(&self, count: usize) -> R {
        let mut sum = R::zero();
        each_planet!(count, 0, |i| {
            let Phase { x, v } = self.planets[i].tangent;
            sum = sum + x.norm2_plus(v.dot(v));
        });
        sum
    }

    /// Takes a step. Systems that have ended must not take another one.
    #[inline(always)]
    pub fn step<F: Follow>(&mut self, count: usize, physics: &Physics) {
        match F::ADAPTIVE {
            true => self.any_step::<F>(count, physics),
            false => self.wisdom_holman::<F>(count, physics),
        }
    }

    /// The outcomes of a planet that is out of the range of the arithmetic, and of one that has escaped; or those that are given.
    #[inline(always)]
    pub(super) fn inspect(&self, i: usize, [solved, far]: [R; 2]) -> [R; 2] {
        let c = R::from_f64;
        let unsolved = c(f64::from(Outcome::UNSOLVED.0));
        let x = self.planets[i].state.x;
        let r2 = x.dot(x);
        let solved = R::select(c(DISTANCES2[0]).at_most(r2), solved, unsolved);
        let solved = R::select(r2.at_most(c(DISTANCES2[1])), solved, unsolved);
        let escape = c(f64::from(Outcome::ESCAPE.0));
        [solved, R::select(r2.at_most(self.course.far2), far, escape)]
    }

    /// Moves a planet along its Kepler orbit; returns how that ends the system, or what is given.
    #[inline(always)]
    fn drift_planet<F: Follow>(&mut self, i: usize, h: R, mut ends: [R; 2]) -> [R; 2] {
        let p = &mut self.planets[i];
        let converged = drift::<R, F>(&mut p.state, &mut p.tangent, p.inner, h);
        let unsolved = R::from_f64(f64::from(Outcome::UNSOLVED.0));
        ends[0] = R::select(converged, ends[0], unsolved);
        self.inspect(i, ends)
    }

    /// Takes a step of the integrator of Wisdom & Holman.
    #[inline(always)]
    pub(super) fn wisdom_holman<F: Follow>(&mut self, count: usize, physics: &Physics) {
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
            if const { N <= MAX_EXACT } {
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
            let p = &mut self.planets[i];
            p.tangent.x = p.tangent.x.scaled(factor);
            p.tangent.v = p.tangent.v.scaled(factor);
            p.tangent_kick = p.tangent_kick.scaled(factor);
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
