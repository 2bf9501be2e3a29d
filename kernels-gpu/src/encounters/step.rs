//! The regularised step: the logarithmic Hamiltonian of Mikkola & Tanikawa (1999) and Preto & Tremaine (1999) in the vectors of all
//! three pairs.
//!
//! With kinetic energy T, potential U > 0 and binding energy B = -E, positions drift for dt = h/(T + B) and velocities are kicked for
//! dt = h/U; on an orbit the two are equal. Two bodies follow their exact conic section, with an error only in time, so that close
//! encounters need no special treatment. The three pair vectors, of which two are independent, keep the digits of small separations,
//! like the chains of Mikkola & Aarseth (1993), but without having to switch chains.
//!
//! The vectors are scaled by the square roots of the reduced masses, so that T needs no masses.
//!
//! The step h is proportional to U/ω. The square of the frequency ω is the sum of U³/A², with a constant action A, and of
//! Σ (M/r³/2 + v²/r²) / 4 over the pairs. The first term is the largest where three bodies of similar masses interact; alone it makes h
//! proportional to U^(-1/2), so that systems without angular momentum keep their energy in triple encounters. The other terms resolve
//! the orbit of a light body, on which U hardly depends, and fast passages, in which U is small beside T. Logarithms that are read from
//! the bits of U and ω² give their quotient, which is thus the same on every machine and needs no root.

use super::vector::dot;
use crate::number::{Bits, exact_sum, per_lane};
use crate::{PerLane, Real};

pub use trisolar_equations::scheme::ORDER_8;

/// Coefficients of the leapfrog.
pub const ORDER_2: [f64; 1] = [1.0];
/// Coefficients of the symmetric composition of order 6 with 9 stages of Kahan & Li (1997).
pub const ORDER_6: [f64; 9] = [
    0.39216144400731413928,
    0.33259913678935943860,
    -0.70624617255763935981,
    0.08221359629355080023,
    0.79854399093482996340,
    0.08221359629355080023,
    -0.70624617255763935981,
    0.33259913678935943860,
    0.39216144400731413928,
];

/// What the first half of the coefficients of order 6 have beyond the digits of `f64`: with them, the conditions of order 6 hold to 106
/// bits. They are the nearest to the published digits for which they do, by Newton's method.
const REST_6: [f64; 5] = [
    1.982609470119188e-17,
    9.998816861901094e-18,
    -3.0817257968634285e-17,
    5.551218882364133e-18,
    -9.117744953645643e-18,
];
/// The same for order 8.
const REST_8: [f64; 9] = [
    1.1160926480849635e-17,
    1.303259411965714e-17,
    -1.960641655404629e-17,
    7.801358339164295e-18,
    -1.126979043468229e-17,
    -3.914442027328778e-18,
    9.400318801532906e-18,
    2.6483903317120415e-17,
    4.4845398377981585e-17,
];

/// The number of stages of the longest composition.
pub const MAX_STAGES: usize = 17;

/// A stage of a composition. (It is aligned so that a GPU reads it with one instruction.)
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub struct Stage {
    /// The coefficient of the kick, with its sign.
    pub kick: f64,
    /// The coefficient of the drift that follows, which is merged with the first half of the next stage's drift; in the last stage it is
    /// only the second half.
    pub drift: f64,
}

/// The stages of a composition with these coefficients, and their number.
pub const fn stages(coefficients: &[f64]) -> ([Stage; MAX_STAGES], usize) {
    let mut stages = [Stage {
        kick: 0.0,
        drift: 0.0,
    }; MAX_STAGES];
    let mut j = 0;
    while j < coefficients.len() {
        let next = if j + 1 < coefficients.len() {
            coefficients[j + 1]
        } else {
            0.0
        };
        stages[j] = Stage {
            kick: -coefficients[j],
            drift: coefficients[j] + next,
        };
        j += 1;
    }
    (stages, coefficients.len())
}

/// A symmetric composition of leapfrogs.
pub trait Scheme: Copy {
    /// Number of stages.
    fn stages(&self) -> u32;
    /// Stage `j`.
    fn stage(&self, j: u32) -> Stage;

    /// What the coefficient of the kick of stage `j` has beyond the digits of `f64`, with its sign.
    #[inline(always)]
    fn kick_rest(&self, _j: u32) -> f64 {
        0.0
    }

    /// The same of the drift, whose coefficient is the exact sum of those of two kicks.
    #[inline(always)]
    fn drift_rest(&self, j: u32) -> f64 {
        if j + 1 < self.stages() {
            let [_, lost] = exact_sum(-self.stage(j).kick, -self.stage(j + 1).kick);
            lost - (self.kick_rest(j) + self.kick_rest(j + 1))
        } else {
            -self.kick_rest(j)
        }
    }
}

/// The composition of order 2, 6 or 8.
#[derive(Clone, Copy, Debug)]
pub struct Composition<const ORDER: u32>;

impl<const ORDER: u32> Composition<ORDER> {
    const TABLE: &'static ([Stage; MAX_STAGES], usize) = match ORDER {
        2 => &const { stages(&ORDER_2) },
        6 => &const { stages(&ORDER_6) },
        8 => &const { stages(&ORDER_8) },
        _ => panic!("there are compositions of order 2, 6 and 8"),
    };
    const RESTS: &'static [f64] = match ORDER {
        6 => &REST_6,
        8 => &REST_8,
        _ => &[0.0],
    };
    /// Its number of stages.
    pub const STAGES: u32 = Self::TABLE.1 as u32;
}

impl<const ORDER: u32> Scheme for Composition<ORDER> {
    #[inline(always)]
    fn stages(&self) -> u32 {
        Self::STAGES
    }

    #[inline(always)]
    fn stage(&self, j: u32) -> Stage {
        Self::TABLE.0[j as usize]
    }

    #[inline(always)]
    fn kick_rest(&self, j: u32) -> f64 {
        let from_end = Self::STAGES - 1 - j;
        -Self::RESTS[if j < from_end { j } else { from_end } as usize]
    }
}

impl Scheme for &[Stage] {
    #[inline(always)]
    fn stages(&self) -> u32 {
        self.len() as u32
    }

    #[inline(always)]
    fn stage(&self, j: u32) -> Stage {
        self[j as usize]
    }
}

/// The constants of the masses that steps need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct StepMasses<R> {
    /// m₁/(m₁ + m₂) √(ν/μ).
    pub first: R,
    /// m₂/(m₁ + m₂) √(ν/μ).
    pub second: R,
    /// m_i m_j of each pair, times the scale of its vector, and divided by [`Real::STEP_ROOT`].
    pub potential: [R; 3],
    /// 1 / (8 A²), times the square of [`Real::STEP_ROOT`], with the least action A of a pair, but at least half of the greatest.
    pub rate: R,
}

per_lane!(StepMasses<R> { first, second, potential, rate });

impl<R: Real> StepMasses<R> {
    /// The same masses in every lane.
    #[inline(always)]
    pub fn of(one: &StepMasses<f64>) -> Self {
        let by = 1.0 / R::STEP_ROOT;
        Self {
            first: R::from_f64(one.first),
            second: R::from_f64(one.second),
            potential: [
                R::from_f64(one.potential[0] * by),
                R::from_f64(one.potential[1] * by),
                R::from_f64(one.potential[2] * by),
            ],
            rate: R::from_f64(one.rate * (R::STEP_ROOT * R::STEP_ROOT)),
        }
    }

    /// Replaces the masses of one lane.
    #[inline(always)]
    pub fn put(&mut self, lane: usize, one: &StepMasses<f64>) {
        self.set_lane(lane, &Self::of(one));
    }
}

/// The state of three bodies, or of three bodies in each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Pairs<R> {
    /// √μ (r₂ - r₁), √ν (r₃ - r₂), √ν (r₃ - r₁).
    pub x: [[R; 3]; 3],
    /// √μ times the velocity of body 2 relative to body 1, and √ν times that of body 3 relative to the centre of mass of bodies 1 and
    /// 2.
    pub w: [[R; 3]; 2],
    /// Time since the last reset.
    pub time: R,
}

per_lane!(Pairs<R> { x, w, time });

impl<R: Real> Pairs<R> {
    /// The same state in every lane.
    #[inline(always)]
    pub fn of(one: &Pairs<f64>) -> Self {
        let vector = |v: &[f64; 3]| [R::from_f64(v[0]), R::from_f64(v[1]), R::from_f64(v[2])];
        Self {
            x: [vector(&one.x[0]), vector(&one.x[1]), vector(&one.x[2])],
            w: [vector(&one.w[0]), vector(&one.w[1])],
            time: R::from_f64(one.time),
        }
    }

    /// The state of one lane.
    #[inline(always)]
    pub fn take(&self, lane: usize) -> Pairs<f64> {
        let vector = |v: &[R; 3]| [v[0].to_f64(lane), v[1].to_f64(lane), v[2].to_f64(lane)];
        Pairs {
            x: [vector(&self.x[0]), vector(&self.x[1]), vector(&self.x[2])],
            w: [vector(&self.w[0]), vector(&self.w[1])],
            time: self.time.to_f64(lane),
        }
    }

    /// Replaces the state of one lane.
    #[inline(always)]
    pub fn put(&mut self, lane: usize, one: &Pairs<f64>) {
        self.set_lane(lane, &Self::of(one));
    }
}

/// 2 T + 2 B, from the velocities and 2 B.
#[inline(always)]
pub fn kinetic_term<R: Real>(w: &[[R; 3]; 2], binding: R) -> R {
    let mut sum = binding;
    sum = w[0][0].mul_add(w[0][0], sum);
    sum = w[0][1].mul_add(w[0][1], sum);
    sum = w[0][2].mul_add(w[0][2], sum);
    sum = w[1][0].mul_add(w[1][0], sum);
    sum = w[1][1].mul_add(w[1][1], sum);
    w[1][2].mul_add(w[1][2], sum)
}

/// The potential U of each pair.
#[inline(always)]
pub fn potentials(s: &Pairs<f64>, m: &StepMasses<f64>) -> [f64; 3] {
    [
        m.potential[0] * dot(&s.x[0], &s.x[0]).reciprocal_root(),
        m.potential[1] * dot(&s.x[1], &s.x[1]).reciprocal_root(),
        m.potential[2] * dot(&s.x[2], &s.x[2]).reciprocal_root(),
    ]
}

/// The potential U.
#[inline(always)]
pub fn potential(s: &Pairs<f64>, m: &StepMasses<f64>) -> f64 {
    let [a, b, c] = potentials(s, m);
    (a + b) + c
}

#[inline(always)]
fn drift<R: Real>(s: &mut Pairs<R>, m: &StepMasses<R>, dt: R) {
    let minus_first = -m.first;
    let mut k = 0;
    while k < 3 {
        let (a, b) = (s.w[0][k], s.w[1][k]);
        s.x[0][k] = dt.mul_add(a, s.x[0][k]);
        s.x[1][k] = dt.mul_add(minus_first.mul_add(a, b), s.x[1][k]);
        s.x[2][k] = dt.mul_add(m.second.mul_add(a, b), s.x[2][k]);
        k += 1;
    }
    s.time = s.time + dt;
}

/// What a kick computes of the distances, for the next step: the squares of the scaled distances; their reciprocals, and the potential
/// of each pair times the reciprocal, both times the square of [`Real::STEP_ROOT`].
type Distances<R> = ([R; 3], [R; 3], [R; 3]);

/// The square of the frequency that determines the steps, times the square of [`Real::STEP_ROOT`]; see the module's documentation.
/// `term` is 2 U.
#[inline(always)]
fn frequency2<R: Real>(
    s: &Pairs<R>,
    m: &StepMasses<R>,
    (_, inverse, pull): &Distances<R>,
    term: R,
) -> R {
    // M/r³ of each pair. The pull of a pair other than the first changes both scaled velocities.
    let k0 = pull[0];
    let k1 = m.first.mul_add(m.first * pull[1], pull[1]);
    let k2 = m.second.mul_add(m.second * pull[2], pull[2]);
    let mut sum = R::from_f64(0.5) * ((k0 + k1) + k2);
    let zero = R::from_f64(0.0);
    let (mut v0, mut v1, mut v2) = (zero, zero, zero);
    let mut k = 0;
    while k < 3 {
        let (a, b) = (s.w[0][k], s.w[1][k]);
        let (c, d) = ((-m.first).mul_add(a, b), m.second.mul_add(a, b));
        v0 = a.mul_add(a, v0);
        v1 = c.mul_add(c, v1);
        v2 = d.mul_add(d, v2);
        k += 1;
    }
    sum = v0.mul_add(inverse[0], sum);
    sum = v1.mul_add(inverse[1], sum);
    sum = v2.mul_add(inverse[2], sum);
    let potential = m.rate * term * (term * term);
    R::from_f64(0.25).mul_add(sum, potential)
}

/// What a kick needs of the distances, and the potential of each pair.
#[inline(always)]
fn distances<R: Real>(s: &Pairs<R>, m: &StepMasses<R>) -> (Distances<R>, R) {
    let r0 = dot(&s.x[0], &s.x[0]);
    let r1 = dot(&s.x[1], &s.x[1]);
    let r2 = dot(&s.x[2], &s.x[2]);
    let (i0, i1, i2) = (r0.step_root(), r1.step_root(), r2.step_root());
    let (u0, u1, u2) = (
        m.potential[0] * i0,
        m.potential[1] * i1,
        m.potential[2] * i2,
    );
    let inverse = [i0 * i0, i1 * i1, i2 * i2];
    let pull = [u0 * inverse[0], u1 * inverse[1], u2 * inverse[2]];
    (([r0, r1, r2], inverse, pull), (u0 + u1) + u2)
}

/// Kicks by `h` times the square of [`Real::STEP_ROOT`]; `h` is negative for a step forwards.
#[inline(always)]
fn kick<R: Real>(s: &mut Pairs<R>, m: &StepMasses<R>, h: R) -> Distances<R> {
    let (d, potential) = distances(s, m);
    let dt = potential.step_quotient(h);
    let k0 = d.2[0] * dt;
    let k1 = d.2[1] * dt;
    let k2 = d.2[2] * dt;
    let n1 = -(m.first * k1);
    let n2 = m.second * k2;
    let mut k = 0;
    while k < 3 {
        let outer = k2.mul_add(s.x[2][k], s.w[1][k]);
        s.w[1][k] = k1.mul_add(s.x[1][k], outer);
        let inner = k0.mul_add(s.x[0][k], s.w[0][k]);
        s.w[0][k] = n2.mul_add(s.x[2][k], n1.mul_add(s.x[1][k], inner));
        k += 1;
    }
    d
}

/// The parameters of the steps of an encounter, or of one encounter in each lane.
#[derive(Clone, Copy, Debug)]
pub struct StepControl<R: Bits> {
    /// 2 B.
    pub binding: R,
    /// The step h for 2 U / ω = 1.
    pub step: R,
    /// Time until the end of the run, counted from where [`Pairs::time`] starts.
    pub left: R,
    /// Upper halves of the bits of the squared distances at the last kick of the previous step.
    pub distances: [R::High; 3],
    /// Negative if they became smaller during that step, and the step was forwards in time.
    pub growth: [R::High; 3],
    /// A local minimum of a distance is of interest if the upper half of the bits of its square is below this.
    pub near: R::High,
}

impl<R: Bits> StepControl<R> {
    /// The state of lanes without an encounter.
    #[inline(always)]
    pub fn new() -> Self {
        let none = R::spread_high(0);
        Self {
            binding: R::from_f64(1.0),
            step: R::from_f64(0.0),
            left: R::from_f64(0.0),
            distances: [none; 3],
            growth: [none; 3],
            near: none,
        }
    }

    /// The parameters of one lane in every lane.
    #[inline(always)]
    pub fn spread(&self, lane: usize) -> Self {
        let number = |x: R| R::from_f64(x.to_f64(lane));
        let high = |x: R::High| R::spread_high(R::high_lane(&x, lane));
        let three = |[a, b, c]: [R::High; 3]| [high(a), high(b), high(c)];
        Self {
            binding: number(self.binding),
            step: number(self.step),
            left: number(self.left),
            distances: three(self.distances),
            growth: three(self.growth),
            near: high(self.near),
        }
    }

    /// Replaces what does not depend on the distances, for one lane.
    #[inline(always)]
    pub fn put(&mut self, lane: usize, one: &StepControl<f64>) {
        self.binding.set_lane(lane, &R::from_f64(one.binding));
        self.step.set_lane(lane, &R::from_f64(one.step));
        self.left.set_lane(lane, &R::from_f64(one.left));
    }

    /// Starts to observe the distances of one lane.
    #[inline(always)]
    pub fn watch_from(&mut self, lane: usize, s: &Pairs<f64>) {
        let mut p = 0;
        while p < 3 {
            let r = Bits::high(dot(&s.x[p], &s.x[p]));
            R::set_high_lane(&mut self.distances[p], lane, r);
            R::set_high_lane(&mut self.growth[p], lane, 0);
            p += 1;
        }
    }
}

impl<R: Bits> Default for StepControl<R> {
    fn default() -> Self {
        Self::new()
    }
}

/// Receives the local minima of the pairs' distances.
pub trait Watch<R: Bits> {
    /// The distance of pair p had a local minimum in the lanes where `turned[p]` is negative. `until` is the time from the positions
    /// of the state to its velocities. The function updates `near` of [`StepControl`].
    fn passage(&mut self, s: &Pairs<R>, until: R, turned: &[R::High; 3], near: &mut R::High);
}

/// Number of `f64` operations (a fused multiply-add counts as one) of a kick, with the drift before it and the kinetic energy after
/// it, in `f64`.
pub const KICK_OPERATIONS: f64 = 87.0;
/// The same number in [`Fast`](crate::number::Fast): two less for each of three roots, and one for each of two quotients.
pub const FAST_KICK_OPERATIONS: f64 = KICK_OPERATIONS - 8.0;

/// Takes one step h of a run in which `carried` of the last drift is still to be done, and afterwards that of this step. `term` is
/// 2 T + 2 B. Returns what the last kick computed of the distances.
#[inline(always)]
fn compose<R: Real, S: Scheme>(
    s: &mut Pairs<R>,
    m: &StepMasses<R>,
    [binding, h]: [R; 2],
    term: &mut R,
    carried: &mut R,
    scheme: S,
) -> Distances<R> {
    let first = R::from_long([-scheme.stage(0).kick, -scheme.kick_rest(0)]);
    let stages = scheme.stages();
    let mut d = h.mul_add(first, *carried);
    let kick_step = R::from_f64(1.0 / (R::STEP_ROOT * R::STEP_ROOT)) * h;
    let mut last = ([h; 3], [h; 3], [h; 3]);
    // A macro, because a closure is not always inlined, and then computes without the lanes' instruction set: 30 times as long.
    macro_rules! stage {
        ($j:expr) => {{
            let Stage {
                kick: kick_by,
                drift: drift_by,
            } = scheme.stage($j);
            drift(s, m, term.step_quotient(d));
            let distances = kick(
                s,
                m,
                kick_step * R::from_long([kick_by, scheme.kick_rest($j)]),
            );
            *term = kinetic_term(&s.w, binding);
            d = h * R::from_long([drift_by, scheme.drift_rest($j)]);
            distances
        }};
    }
    let mut j = 0;
    // Three at a time, for fewer instructions that only count.
    while j + 3 <= stages {
        stage!(j);
        stage!(j + 1);
        last = stage!(j + 2);
        j += 3;
    }
    while j < stages {
        last = stage!(j);
        j += 1;
    }
    *carried = d;
    last
}

/// Takes one step, whose h is `base` for 2 U from 1/2 to 2. Positions and velocities belong to the same time before and afterwards.
/// `binding` is 2 B.
#[inline(always)]
pub fn step<R: Real, S: Scheme>(
    s: &mut Pairs<R>,
    m: &StepMasses<R>,
    binding: R,
    base: R,
    scheme: S,
) {
    let mut term = kinetic_term(&s.w, binding);
    let h = term.over_root_exponent(base);
    let mut carried = R::from_f64(0.0);
    compose(s, m, [binding, h], &mut term, &mut carried, scheme);
    drift(s, m, term.step_quotient(carried));
}

/// The scaled accelerations: the rates of change of the velocities [`w`](Pairs::w). `potential` is U.
#[inline(always)]
pub fn accelerations<R: Real>(s: &Pairs<R>, m: &StepMasses<R>, potential: R) -> [[R; 3]; 2] {
    let mut rates = *s;
    rates.w = [[R::from_f64(0.0); 3]; 2];
    let by = R::from_f64(-1.0 / (R::STEP_ROOT * R::STEP_ROOT));
    kick(&mut rates, m, by * potential);
    rates.w
}

/// Takes `count` steps. Positions and velocities belong to the same time before and afterwards.
#[inline(always)]
pub fn advance<R: Bits, S: Scheme, W: Watch<R>>(
    s: &mut Pairs<R>,
    m: &StepMasses<R>,
    control: &mut StepControl<R>,
    count: u32,
    scheme: S,
    watch: &mut W,
) {
    // The last drift of a step is merged with the first of the next one.
    let mut carried = R::from_f64(0.0);
    let mut term = kinetic_term(&s.w, control.binding);
    let step = R::from_f64(R::STEP_ROOT) * control.step;
    let (mut last, _) = distances(s, m);
    let mut i = 0;
    while i < count {
        // Near the end time, the steps converge to it: Newton's iteration in h, which may go backwards.
        let rest = (control.left - s.time).mul_add(term, -carried);
        let usual = term.times_over_root(frequency2(s, m, &last, term), step);
        let h = (R::from_f64(0.5) * rest).limited(usual);
        let both = [control.binding, h];
        last = compose(s, m, both, &mut term, &mut carried, scheme);
        let r = [last.0[0].high(), last.0[1].high(), last.0[2].high()];
        let backwards = h.high();
        let mut turned = control.growth;
        let mut p = 0;
        while p < 3 {
            let grew = R::high_difference(r[p], control.distances[p]);
            let near = R::high_difference(r[p], control.near);
            turned[p] = R::high_turns(control.growth[p], grew, near);
            control.growth[p] = R::high_turns(grew, backwards, grew);
            control.distances[p] = r[p];
            p += 1;
        }
        if R::any_negative(&turned) {
            watch.passage(s, term.step_quotient(carried), &turned, &mut control.near);
        }
        i += 1;
    }
    drift(s, m, term.step_quotient(carried));
}
