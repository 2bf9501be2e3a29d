//! The regularised integrator of [`encounters`](crate::encounters::step) on maps: the logarithmic Hamiltonian (Mikkola & Tanikawa 1999,
//! MNRAS 310, 745; Preto & Tremaine 1999, AJ 118, 2532) by the leapfrog or by the symmetric compositions of Kahan & Li (1997, Math.
//! Comp. 66, 1089). Close encounters need no shorter time step: two bodies follow their exact conic section.
//!
//! A system has steps of its own, which are long where it moves slowly. Between them, positions follow from quintic polynomials
//! through the positions, velocities and accelerations at both ends of a step. [`Sampled`] gives the state at every step of the map.
//! Divergence instead lets each twin take its own steps ([`RegularisedTwins`]): the twin that is behind takes the next one, and then
//! the two polynomials are compared over the time that both have reached. A bound on the difference of the polynomials excludes that
//! the twins have parted; where it does not, the interval is divided until it does, or until the time of parting is known. So a twin
//! that leaves the critical distance for a moment is found, however short that moment.
//!
//! All computations are in units in which the total mass and G are 1 and the unit of length is the power of two next to the least
//! distance at the start. The unit of time of `Start` is the map's step, and so is that of [`OwnSteps`](crate::map::OwnSteps).

use super::{Integrator, MapIntegrator, TwinContext, TwinState};
use crate::encounters::PAIRS;
use crate::encounters::masses::Reduced;
use crate::encounters::step::{Composition, Pairs, StepMasses, accelerations, kinetic_term, step};
use crate::encounters::vector::dot;
use crate::map::{self, Start};
use crate::number::{Numbers, divide, each, per_lane, root};
use crate::physics::three_body::Relative;
use crate::{Mask, PerLane, Real, Vec3};

/// The regularised integrator of order 2, 6 or 8.
#[derive(Clone, Copy, Debug)]
pub struct Regularised<const ORDER: u32>;

/// Order 2: the leapfrog.
pub type Regularised2 = Regularised<2>;
/// Order 6, with 9 stages.
pub type Regularised6 = Regularised<6>;
/// Order 8, with 17 stages.
pub type Regularised8 = Regularised<8>;

impl<const ORDER: u32> Integrator for Regularised<ORDER> {
    const NAME: &'static str = match ORDER {
        2 => "regularised-2",
        6 => "regularised-6",
        _ => "regularised-8",
    };
    const HELP: &'static str = match ORDER {
        2 => {
            "order 2, regularised: steps of its own (--steps-per-period), exact in close encounters of two bodies"
        }
        6 => "order 6, regularised; the right map in the shortest time",
        _ => "order 8, regularised; for the smallest errors",
    };
    const ORDER: u32 = ORDER;
    const EVALUATIONS: u32 = Composition::<ORDER>::STAGES;
    const STEPS_PER_PERIOD: Option<f64> = match ORDER {
        2 => Some(400.0),
        6 => Some(10.0),
        _ => Some(8.0),
    };
    type OnMaps = Self;
}

/// The masses of three bodies, and constants that follow from them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Masses<R> {
    /// The constants of a step.
    step: StepMasses<R>,
    /// The step for 2 U from 1/2 to 2.
    base: R,
    /// √μ and √ν, which scale the pair vectors.
    scales: [R; 2],
    /// 1/√μ and 1/√ν.
    lengths: [R; 2],
    /// m₁/(m₀ + m₁) of the grid body 0 and body 1.
    share: R,
    /// G times the total mass, times the square of the map's step.
    strength: R,
    /// m₀ as a fraction of the total mass.
    fraction: R,
    /// The position of the grid body relative to the centre of mass, in the scaled vectors to bodies 1 and 2.
    place: [R; 2],
    /// Its velocity in the scaled velocities [`w`](Pairs::w).
    speed: [R; 2],
    /// Its acceleration in the scaled vectors divided by the cubes of their lengths.
    pull: [R; 2],
}

per_lane!(Masses<R> { step, base, scales, lengths, share, strength, fraction, place, speed, pull });

impl<R: Real> Masses<R> {
    #[inline(always)]
    fn new(masses: &map::Masses) -> Self {
        let own = &masses.own_steps;
        let [a, b, c] = own.strengths;
        let [a, b, c] = [R::from_long(a), R::from_long(b), R::from_long(c)];
        let m = Reduced::new([a, b, c]);
        let [first, second, third] = m.fractions;
        let [s, t] = m.scales;
        let [inverse_s, inverse_t] = m.lengths;
        let share = second.quotient(first + second);
        let by = R::from_f64(1.0 / (R::STEP_ROOT * R::STEP_ROOT * R::STEP_ROOT));
        let fractions = [first.to_f64(0), second.to_f64(0), third.to_f64(0)];
        Self {
            step: m.step,
            base: R::from_f64(own.step * least_action(&fractions)),
            scales: m.scales,
            lengths: m.lengths,
            share,
            strength: a + b + c,
            fraction: first,
            place: [-second * inverse_s, -third * inverse_t],
            speed: [-share * inverse_s, -third * inverse_t],
            pull: [second * (s * s) * by, third * (t * t) * by],
        }
    }
}

/// The least action (mᵢ mⱼ)^(3/2) / √(mᵢ + mⱼ) of the pairs: a step in units of it advances the fastest circular binary of a given energy by
/// a given part of its period.
#[inline(always)]
fn least_action(m: &[f64; 3]) -> f64 {
    let mut least = f64::INFINITY;
    let mut p = 0;
    while p < 3 {
        let [i, j, _] = PAIRS[p];
        let product = m[i] * m[j];
        let action = product * root(divide(product, m[i] + m[j]));
        least = if action < least { action } else { least };
        p += 1;
    }
    least
}

/// The units of a system in those of [`Start`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Units<R> {
    /// The unit of length, and its reciprocal.
    length: [R; 2],
    /// The reciprocals of the units of time and of velocity.
    rates: [R; 2],
}

impl<R: Real> Units<R> {
    /// The units for a start. All are NaN if two bodies are at the same place.
    #[inline(always)]
    fn new(start: &Start<R>, m: &Masses<R>) -> Self {
        let q = &start.positions;
        let zero = R::zero();
        let [a, b, c] = [
            q.a.norm2_plus(zero),
            q.b.norm2_plus(zero),
            (q.b - q.a).norm2_plus(zero),
        ];
        let mut length = [R::from_f64(f64::NAN); 2];
        let mut lane = 0;
        while lane < R::LANES {
            let (a, b, c) = (a.to_f64(lane), b.to_f64(lane), c.to_f64(lane));
            let least = if a < b { a } else { b };
            let least = if least < c { least } else { c };
            if least > f64::MIN_POSITIVE && least <= f64::MAX {
                // Half the exponent, rounded down.
                let half = ((least.to_bits() >> 52) as i64 - 1023) >> 1;
                let power = |n: i64| f64::from_bits(((1023 + n) as u64) << 52);
                length[0].set_lane(lane, &R::from_f64(power(half)));
                length[1].set_lane(lane, &R::from_f64(power(-half)));
            }
            lane += 1;
        }
        let velocity = m.strength.quotient(length[0]).square_root();
        Self {
            length,
            rates: [velocity * length[1], R::from_f64(1.0).quotient(velocity)],
        }
    }
}

/// k · v + l · w.
#[inline(always)]
fn combined<R: Real>([k, l]: [R; 2], v: &[R; 3], w: &[R; 3]) -> Vec3<R> {
    Vec3 {
        x: k.mul_add(v[0], l * w[0]),
        y: k.mul_add(v[1], l * w[1]),
        z: k.mul_add(v[2], l * w[2]),
    }
}

/// k · v.
#[inline(always)]
fn scaled<R: Real>(k: R, v: Vec3<R>) -> [R; 3] {
    [k * v.x, k * v.y, k * v.z]
}

/// A system between two of its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Flight<R> {
    pairs: Pairs<R>,
    /// 2 B.
    binding: R,
}

per_lane!(Flight<R> { pairs, binding });

impl<R: Real> Flight<R> {
    #[inline(always)]
    fn begin(start: &Start<R>, m: &Masses<R>, units: &Units<R>) -> Self {
        let Start { positions, steps } = start;
        let [s, t] = m.scales;
        let [along_s, along_t] = [s * units.length[1], t * units.length[1]];
        let (c, v) = (
            positions.b - positions.a,
            steps.b.add_scaled(-m.share, steps.a),
        );
        let pairs = Pairs {
            x: [
                scaled(along_s, positions.a),
                scaled(along_t, c),
                scaled(along_t, positions.b),
            ],
            w: [
                scaled(s * units.rates[1], steps.a),
                scaled(t * units.rates[1], v),
            ],
            time: R::zero(),
        };
        let u = potential(&pairs, &m.step);
        Self {
            binding: -kinetic_term(&pairs.w, -(u + u)),
            pairs,
        }
    }

    /// Takes one step. A step that does not advance the time makes it NaN.
    #[inline(always)]
    fn step<const ORDER: u32>(&mut self, m: &Masses<R>) {
        let before = self.pairs.time;
        step(
            &mut self.pairs,
            &m.step,
            self.binding,
            m.base,
            Composition::<ORDER>,
        );
        let after = self.pairs.time;
        self.pairs.time = R::select(after.at_most(before), R::from_f64(f64::NAN), after);
    }

    /// Position, velocity and acceleration of the grid body relative to the centre of mass.
    #[inline(always)]
    fn grid_body(&self, m: &Masses<R>) -> [Vec3<R>; 3] {
        let Pairs { x, w, .. } = &self.pairs;
        let (i, j) = (dot(&x[0], &x[0]).step_root(), dot(&x[2], &x[2]).step_root());
        let pull = [m.pull[0] * (i * i * i), m.pull[1] * (j * j * j)];
        [
            combined(m.place, &x[0], &x[2]),
            combined(m.speed, &w[0], &w[1]),
            combined(pull, &x[0], &x[2]),
        ]
    }

    /// Positions, velocities and accelerations of bodies 1 and 2 relative to the grid body.
    #[inline(always)]
    fn relative(&self, m: &Masses<R>) -> [[Vec3<R>; 3]; 2] {
        let Pairs { x, w, .. } = &self.pairs;
        let f = accelerations(&self.pairs, &m.step, potential(&self.pairs, &m.step));
        let first = [m.lengths[0], R::zero()];
        let second = [m.lengths[1] * m.step.second, m.lengths[1]];
        [
            [
                combined(first, &x[0], &x[0]),
                combined(first, &w[0], &w[1]),
                combined(first, &f[0], &f[1]),
            ],
            [
                combined([m.lengths[1], R::zero()], &x[2], &x[2]),
                combined(second, &w[0], &w[1]),
                combined(second, &f[0], &f[1]),
            ],
        ]
    }
}

/// The potential U.
#[inline(always)]
fn potential<R: Real>(s: &Pairs<R>, m: &StepMasses<R>) -> R {
    let a = m.potential[0] * dot(&s.x[0], &s.x[0]).step_root();
    let b = m.potential[1] * dot(&s.x[1], &s.x[1]).step_root();
    let c = m.potential[2] * dot(&s.x[2], &s.x[2]).step_root();
    (a + b) + c
}

/// A vector as a polynomial of the time: the coefficients of its powers from 0 on.
type Path<R> = [Vec3<R>; 6];

/// k · d + l · e + m · f, times `by`. (It is not a closure, which might not be inlined into a function with the lanes' instruction set.)
#[inline(always)]
fn mixed<R: Real>([d, e, f]: [Vec3<R>; 3], [k, l, m]: [f64; 3], by: R) -> Vec3<R> {
    d.scaled(R::from_f64(k))
        .add_scaled(R::from_f64(l), e)
        .add_scaled(R::from_f64(m), f)
        .scaled(by)
}

/// The polynomial with these positions, velocities and accelerations at time 0 and at time `over`.
#[inline(always)]
fn path<R: Real>(from: &[Vec3<R>; 3], to: &[Vec3<R>; 3], over: R) -> Path<R> {
    let ([p, v, a], half) = (*from, R::from_f64(0.5));
    let rate = over.step_quotient(R::from_f64(1.0));
    let rate2 = rate * rate;
    let rate3 = rate2 * rate;
    // What the first three terms leave at the end of position, velocity and acceleration, in powers of the whole time.
    let drifted = p.add_scaled(over, v).add_scaled(half * (over * over), a);
    let left = [
        to[0] - drifted,
        (to[1] - v.add_scaled(over, a)).scaled(over),
        (to[2] - a).scaled(over * over),
    ];
    [
        p,
        v,
        a.scaled(half),
        mixed(left, [10.0, -4.0, 0.5], rate3),
        mixed(left, [-15.0, 7.0, -1.0], rate2 * rate2),
        mixed(left, [6.0, -3.0, 0.5], rate3 * rate2),
    ]
}

/// The same polynomial in powers of the time since `by`.
#[inline(always)]
fn shifted<R: Real>(mut c: Path<R>, by: R) -> Path<R> {
    // Written out, so that the coefficients stay in a GPU's registers.
    macro_rules! add {
        ($($k:literal)*) => {$( c[$k] = c[$k].add_scaled(by, c[$k + 1]); )*};
    }
    add!(4 3 2 1 0  4 3 2 1  4 3 2  4 3  4);
    c
}

/// The vector after this time.
#[inline(always)]
fn at<R: Real>(c: &Path<R>, time: R) -> Vec3<R> {
    let mut p = c[5];
    each!(5, |k| p = c[4 - k].add_scaled(time, p));
    p
}

/// Whether a polynomial certainly keeps a length of at most √`critical2` from time 0 to `over`; false if anything is NaN.
///
/// |d₀ + r| ≤ |d₀| + |r| for the sum r of the five other terms, and |r|² is at most five times the sum of their squares. The condition
/// |r| ≤ (c² - d₀²)/2c, which implies |r| ≤ c - |d₀|, needs no roots.
#[inline(always)]
fn stays_within<R: Real>(d: &Path<R>, over: R, critical2: R) -> R::Mask {
    let over2 = over * over;
    let mut sum = d[5].norm2_plus(R::zero());
    each!(4, |k| sum =
        over2.mul_add(sum, d[4 - k].norm2_plus(R::zero())));
    let margin = critical2 - d[0].norm2_plus(R::zero());
    // Beyond the distance, no motion is within it, not even none.
    let limit = R::select(
        R::zero().at_most(margin),
        margin * margin,
        R::from_f64(-1.0),
    );
    (R::from_f64(20.0) * critical2 * (over2 * sum)).at_most(limit)
}

/// The time from 0 to `over` at which a polynomial is longer than √`critical2` for the first time, to within a millionth of `over`.
#[cfg_attr(not(target_arch = "nvptx64"), cold)]
#[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
// A call would require the polynomials in a GPU's local memory.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "comparisons are written so that NaN parts the twins"
)]
fn parting(d: &Path<f64>, over: f64, critical2: f64) -> Option<f64> {
    /// The part of the time within which it does not matter when the twins part.
    const FINEST: f64 = 1.0 / (1 << 20) as f64;
    let mut d = *d;
    let (mut time, mut step) = (0.0, over);
    while time < over || over.is_nan() {
        let finest = !(step > FINEST * over);
        if !stays_within(&d, step, critical2) {
            if !finest {
                step *= 0.5;
                continue;
            }
            let end = at(&d, step).norm2_plus(0.0);
            if !(end <= critical2) {
                return Some(if step.is_nan() { time } else { time + step });
            }
        }
        time += step;
        d = shifted(d, step);
        let rest = over - time;
        step = if 2.0 * step < rest { 2.0 * step } else { rest };
    }
    None
}

/// A system and its twin, each with its own steps. Neither time is before the other's last step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct RegularisedTwins<R> {
    /// The one whose time is earlier, which takes the next step.
    behind: Flight<R>,
    ahead: Flight<R>,
    /// The grid body of the one ahead during its last step, which began at `since`.
    path: Path<R>,
    since: R,
    /// The centre of mass of the one behind minus that of the one ahead.
    centre: Vec3<R>,
    /// The square of the critical distance.
    critical2: R,
    /// The time up to which the map follows them; -1 once they have parted.
    last: R,
    /// The time at which they parted: infinite until then, and -1 if they were never together.
    parted: R,
    /// The map's step.
    dt: R,
}

per_lane!(RegularisedTwins<R> { behind, ahead, path, since, centre, critical2, last, parted, dt });

impl<R: Real> RegularisedTwins<R> {
    /// Marks the lanes in which the twins part between `from` and `from + over`, if the bound does not exclude it.
    #[inline(always)]
    fn look_closely(&mut self, within: R::Mask, apart: &Path<R>, from: R, over: R) {
        let mut lane = 0;
        while lane < R::LANES {
            // Lanes may take a step after the parting of their twins.
            let parted = self.last.to_f64(lane) < 0.0;
            if !(within.lane(lane) || parted) {
                let mut d = [Vec3::zero(); 6];
                each!(6, |k| d[k] = Vec3 {
                    x: apart[k].x.to_f64(lane),
                    y: apart[k].y.to_f64(lane),
                    z: apart[k].z.to_f64(lane),
                });
                let critical2 = self.critical2.to_f64(lane);
                if let Some(time) = parting(&d, over.to_f64(lane), critical2) {
                    let parted = R::from_f64(from.to_f64(lane) + time);
                    self.parted.set_lane(lane, &parted);
                    self.last.set_lane(lane, &R::from_f64(-1.0));
                }
            }
            lane += 1;
        }
    }

    #[inline(always)]
    fn advance<const ORDER: u32>(&mut self, m: &Masses<R>) {
        let from = self.behind.pairs.time;
        let begin = self.behind.grid_body(m);
        self.behind.step::<ORDER>(m);
        let end = self.behind.grid_body(m);
        let time = self.behind.pairs.time;
        let path = path(&begin, &end, time - from);
        let passes = self.ahead.pairs.time.at_most(time);
        let until = R::select(passes, self.ahead.pairs.time, time);
        let mut apart = shifted(self.path, from - self.since);
        each!(6, |k| apart[k] = path[k] - apart[k]);
        apart[0] = apart[0] + self.centre;
        let over = until - from;
        let within = stays_within(&apart, over, self.critical2);
        if !within.all() {
            self.look_closely(within, &apart, from, over);
        }
        // The one that is behind now takes the next step.
        let (behind, ahead) = (&mut self.behind, &mut self.ahead);
        let (a, b) = (&mut behind.pairs, &mut ahead.pairs);
        each!(3, |k| {
            each!(3, |p| exchange(passes, &mut a.x[p][k], &mut b.x[p][k]));
            each!(2, |p| exchange(passes, &mut a.w[p][k], &mut b.w[p][k]));
        });
        exchange(passes, &mut a.time, &mut b.time);
        exchange(passes, &mut behind.binding, &mut ahead.binding);
        each!(6, |k| self.path[k] = either(passes, path[k], self.path[k]));
        self.since = R::select(passes, from, self.since);
        self.centre = either(passes, Vec3::zero() - self.centre, self.centre);
    }
}

/// Exchanges two numbers in the lanes where `mask` holds.
#[inline(always)]
fn exchange<R: Real>(mask: R::Mask, a: &mut R, b: &mut R) {
    (*a, *b) = (R::select(mask, *b, *a), R::select(mask, *a, *b));
}

/// `yes` in the lanes where `mask` holds, `no` in the others.
#[inline(always)]
fn either<R: Real>(mask: R::Mask, yes: Vec3<R>, no: Vec3<R>) -> Vec3<R> {
    Vec3 {
        x: R::select(mask, yes.x, no.x),
        y: R::select(mask, yes.y, no.y),
        z: R::select(mask, yes.z, no.z),
    }
}

impl<R: Real, const ORDER: u32> TwinState<R, Regularised<ORDER>> for RegularisedTwins<R> {
    #[inline(always)]
    fn begin([a, b]: [&Start<R>; 2], c: TwinContext<'_, R, Regularised<ORDER>>) -> Self {
        let m = c.masses;
        let units = Units::new(a, m);
        let shift = {
            let [x, y, z] = c.shift();
            Vec3 { x, y, z }.convert::<R>()
        };
        let inverse = units.length[1];
        let critical2 = c.terms.critical2;
        let together = shift.norm2_plus(R::zero()).at_most(critical2);
        let first = Flight::begin(a, m, &units);
        let [p, v, f] = first.grid_body(m);
        let (rest, never, dt) = (Vec3::zero(), R::from_f64(-1.0), units.rates[0]);
        // Bodies at the same place end the pixel after its first step.
        let endless = R::from_f64(f64::INFINITY);
        let parted = R::select(dt.at_most(endless), endless, R::from_f64(f64::MIN_POSITIVE));
        Self {
            behind: Flight::begin(b, m, &units),
            ahead: first,
            path: [p, v, f.scaled(R::from_f64(0.5)), rest, rest, rest],
            since: R::zero(),
            centre: shift.scaled(inverse * m.fraction),
            critical2: critical2 * (inverse * inverse),
            last: R::select(together, R::from_f64(f64::from(c.steps())) * dt, never),
            parted: R::select(together, parted, never),
            dt,
        }
    }

    #[inline(always)]
    fn are_together(&self, _: TwinContext<'_, R, Regularised<ORDER>>) -> R::Mask {
        self.behind.pairs.time.at_most(self.last)
    }

    #[inline(always)]
    fn start(&mut self, c: TwinContext<'_, R, Regularised<ORDER>>) {
        self.advance::<ORDER>(c.masses);
    }

    #[inline(always)]
    fn step(&mut self, c: TwinContext<'_, R, Regularised<ORDER>>) {
        self.advance::<ORDER>(c.masses);
    }

    #[inline(always)]
    fn steps_together(&self, _: u32, c: TwinContext<'_, R, Regularised<ORDER>>) -> u32 {
        let steps = divide(self.parted.to_f64(0), self.dt.to_f64(0));
        // The step within which the twins part began with the twins together. The conversion limits what is too small or too large.
        let counted = if steps < 0.0 {
            0
        } else {
            (libm::ceil(steps) as u32).max(1)
        };
        counted.min(c.steps())
    }
}

/// A system at every step of the map.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Sampled<R> {
    /// The system at the end of a step that began at `since` and is not before the map's step.
    flight: Flight<R>,
    /// Bodies 1 and 2 relative to the grid body during that step (length).
    paths: [Path<R>; 2],
    since: R,
    /// Number of the map's steps so far.
    taken: R,
    /// The map's step.
    dt: R,
    /// The unit of length.
    length: R,
}

per_lane!(Sampled<R> { flight, paths, since, taken, dt, length });

impl<R: Real> Numbers<R> for Sampled<R> {
    #[inline(always)]
    fn for_each(&mut self, f: &mut impl FnMut(&mut R)) {
        let Pairs { x, w, time } = &mut self.flight.pairs;
        each!(3, |k| {
            each!(3, |p| f(&mut x[p][k]));
            each!(2, |p| f(&mut w[p][k]));
        });
        f(time);
        f(&mut self.flight.binding);
        each!(2, |b| self.paths[b].for_each(f));
        f(&mut self.since);
        f(&mut self.taken);
        f(&mut self.dt);
        f(&mut self.length);
    }
}

impl<R: Real> Sampled<R> {
    /// The time since the beginning of the step.
    #[inline(always)]
    fn elapsed(&self) -> R {
        self.taken * self.dt - self.since
    }

    #[inline(always)]
    fn advance<const ORDER: u32>(&mut self, m: &Masses<R>) {
        self.taken = self.taken + R::from_f64(1.0);
        let time = self.taken * self.dt;
        loop {
            // False also where the time is NaN.
            let behind = self.flight.pairs.time.at_most(time);
            let mut any = false;
            let mut lane = 0;
            while lane < R::LANES {
                any |= behind.lane(lane);
                lane += 1;
            }
            if !any {
                return;
            }
            let mut next = *self;
            let from = self.flight.relative(m);
            next.since = self.flight.pairs.time;
            next.flight.step::<ORDER>(m);
            let to = next.flight.relative(m);
            let over = next.flight.pairs.time - next.since;
            each!(2, |b| {
                let (mut from, mut to) = (from[b], to[b]);
                each!(3, |k| from[k] = from[k].scaled(self.length));
                each!(3, |k| to[k] = to[k].scaled(self.length));
                next.paths[b] = path(&from, &to, over);
            });
            lane = 0;
            while lane < R::LANES {
                if behind.lane(lane) {
                    self.set_lane(lane, &next);
                }
                lane += 1;
            }
        }
    }
}

impl<const ORDER: u32> MapIntegrator for Regularised<ORDER> {
    type Masses<R: Real> = Masses<R>;
    type State<R: Real> = Sampled<R>;
    type Twins<R: Real> = RegularisedTwins<R>;
    const TWINS_HAVE_OWN_STEPS: bool = true;

    #[inline(always)]
    fn masses<R: Real>(masses: &map::Masses) -> Masses<R> {
        Masses::new(masses)
    }

    #[inline(always)]
    fn begin<R: Real>(start: &Start<R>, m: &Masses<R>) -> Sampled<R> {
        let units = Units::new(start, m);
        let flight = Flight::begin(start, m, &units);
        let rest = Vec3::zero();
        let (p, v) = (start.positions, start.steps);
        // In a unit of time, velocities and accelerations are longer than in a step of the map.
        let still = |p: Vec3<R>, v: Vec3<R>, f: Vec3<R>| {
            let v = v.scaled(units.rates[1] * units.length[0]);
            [
                p,
                v,
                f.scaled(R::from_f64(0.5) * units.length[0]),
                rest,
                rest,
                rest,
            ]
        };
        let [first, second] = flight.relative(m);
        Sampled {
            flight,
            paths: [still(p.a, v.a, first[2]), still(p.b, v.b, second[2])],
            since: R::zero(),
            taken: R::zero(),
            dt: units.rates[0],
            length: units.length[0],
        }
    }

    #[inline(always)]
    fn step<R: Real, const N: usize>(s: [&mut Sampled<R>; N], m: &Masses<R>) {
        each!(N, |n| s[n].advance::<ORDER>(m));
    }

    #[inline(always)]
    fn positions<R: Real>(s: &Sampled<R>) -> Relative<R> {
        let time = s.elapsed();
        Relative {
            a: at(&s.paths[0], time),
            b: at(&s.paths[1], time),
        }
    }

    #[inline(always)]
    fn velocities<R: Real>(s: &Sampled<R>, rate: R::Constant, _: &Masses<R>) -> Relative<R> {
        // No closure, which might not be inlined into a function with the lanes' instruction set.
        let (by, time) = (s.dt.scaled(rate), s.elapsed());
        Relative {
            a: shifted(s.paths[0], time)[1].scaled(by),
            b: shifted(s.paths[1], time)[1].scaled(by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first coordinate as a polynomial; the others are 0.
    fn along(c: [f64; 6]) -> Path<f64> {
        c.map(|x| Vec3 { x, y: 0.0, z: 0.0 })
    }

    #[test]
    fn a_path_has_the_positions_velocities_and_accelerations_of_both_ends() {
        let c = along([0.3, -1.2, 2.0, 0.7, -0.4, 0.9]);
        let ends = [0.0, 1.7].map(|t| {
            let s = shifted(c, t);
            [s[0], s[1], s[2].scaled(2.0)]
        });
        let found = path(&ends[0], &ends[1], 1.7);
        for (found, expected) in found.iter().zip(&c) {
            assert!(
                (found.x - expected.x).abs() < 1e-12,
                "{found:?} {expected:?}"
            );
        }
        assert!((at(&c, 1.7).x - ends[1][0].x).abs() < 1e-12);
    }

    #[test]
    fn the_first_time_beyond_a_distance_is_found_however_short_the_excursion() {
        // The greatest length is `top`, at time 0.5.
        for (top, crosses) in [
            (0.6, true),
            (0.5 + 1e-8, true),
            (0.5 - 1e-8, false),
            (0.1, false),
        ] {
            let c = along([top - 0.2, 0.8, -0.8, 0.0, 0.0, 0.0]);
            let found = parting(&c, 1.0, 0.25);
            assert_eq!(found.is_some(), crosses, "{top}: {found:?}");
            if let Some(time) = found {
                let expected = 0.5 - ((top - 0.5) / 0.8).sqrt();
                assert!((time - expected).abs() < 2e-6, "{top}: {time} {expected}");
            }
        }
        let beyond = along([0.7, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(parting(&beyond, 1.0, 0.25).is_some_and(|time| time < 2e-6));
        let nan = along([f64::NAN; 6]);
        assert_eq!(parting(&nan, 1.0, 0.25).map(|t| t < 1e-5), Some(true));
        assert_eq!(parting(&along([0.0; 6]), f64::NAN, 0.25), Some(0.0));
    }
}
