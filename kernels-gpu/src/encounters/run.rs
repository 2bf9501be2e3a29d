//! One encounter from its start to its record: what happens between blocks of steps.

use core::f64::consts::{PI, SQRT_2};

use super::excursion::{Fate, fate};
use super::hierarchy::{
    Glance, NO_PAIR, angular_momentum, binary, energy, glance, hierarchy, pair_velocity,
};
use super::orbit::Orbit;
use super::start::Start;
use super::step::{Pairs, kinetic_term};
use super::vector::{cross, dot};
use super::{Masses, PAIRS};
use crate::number::Bits;
use crate::number::bits::{divide, root};

/// How an encounter is integrated, and when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Settings {
    /// The time at which a run ends, in the user's units; [`NEVER`] if there is none.
    pub max_time: f64,
    /// Radii of the bodies in the user's units; two that are 0 do not collide.
    pub radii: [f64; 3],
    /// A third body that is unbound and recedes has escaped at this distance, in semi-major axes of the binary.
    pub escape_radius: f64,
    /// Excursions beyond this distance are jumped over, in semi-major axes of the binary; 0 for none.
    pub jump_radius: f64,
    /// The step of a system whose `least_action` is 1, where 2 U is from 1/2 to 2.
    pub step: f64,
    /// Largest difference of the distances at consecutive steps around a pericentre (semi-major axes).
    pub reach: f64,
    /// Steps after which a run ends, as soon as it is looked at.
    pub max_steps: u32,
    /// Steps of a block, after which a run is looked at.
    pub block: u32,
}

/// A time that no run reaches.
pub const NEVER: f64 = 1e300;

/// Steps of a block.
pub const BLOCK: u32 = 16;

impl Settings {
    /// With this many steps in a period of the fastest circular binary that has the energy of the system; no limits, no collisions.
    pub fn new(steps_a_period: f64) -> Self {
        Self {
            max_time: NEVER,
            radii: [0.0; 3],
            escape_radius: 20.0,
            jump_radius: 0.0,
            // The range of 2 U in which the step is this has its middle, in ratio, at U = 1/2.
            step: SQRT_2 * 2.0 * PI / steps_a_period,
            reach: 320.0 / (steps_a_period * steps_a_period),
            max_steps: u32::MAX - 2 * BLOCK,
            block: BLOCK,
        }
    }
}

/// How a run ended: one of this type's constants. (No enum: memory of a GPU may hold any number.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome(pub u8);

impl Outcome {
    /// A body escaped from the others, which are bound.
    pub const ESCAPE: Self = Self(0);
    /// All three bodies are unbound.
    pub const IONISATION: Self = Self(1);
    /// Two bodies touched.
    pub const COLLISION: Self = Self(2);
    /// The longest time was over.
    pub const TIME: Self = Self(3);
    /// The greatest number of steps was taken.
    pub const STEPS: Self = Self(4);
    /// The energy was wrong by more than two thousandths of the potential.
    pub const FAILED: Self = Self(5);
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ESCAPE,
        Self::IONISATION,
        Self::COLLISION,
        Self::TIME,
        Self::STEPS,
        Self::FAILED,
    ];
}

/// The number of a body or pair that does not exist.
pub const NONE: u8 = 3;

/// The record of a run at its end, in the user's units. A value that the run does not have is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Record {
    /// The time of the end. An escape ends at the first check, after a block of steps, that finds an escaping body beyond the escape
    /// radius. A collision ends at the contact of the two bodies.
    pub time: f64,
    /// Semi-major axis of the binary that is left, or of the most bound pair.
    pub a: f64,
    /// Its eccentricity.
    pub e: f64,
    /// Velocity of the escaper relative to the binary at infinity.
    pub v_inf: f64,
    /// Least distance of two bodies, of the pericentre where they passed each other.
    pub least_distance: f64,
    /// When that was.
    pub least_distance_time: f64,
    /// (E - E₀) / |E₀|.
    pub energy_error: f64,
    /// |L - L₀| in units of G M^(5/2) / √(2 |E₀|) with the total mass M, because L₀ may be 0.
    pub momentum_error: f64,
    /// Steps taken.
    pub steps: u32,
    /// How often the third body went beyond [`EXCURSION`] and came back.
    pub excursions: u32,
    /// How many of these excursions were jumped over.
    pub jumps: u32,
    /// See [`Outcome`].
    pub outcome: u8,
    /// The escaper, or the body that is not part of a collision: 0, 1, 2, or [`NONE`].
    pub body: u8,
    /// The pair of the least distance: [`PAIRS`].
    pub least_distance_pair: u8,
    /// How often another pair became the most bound one, at most 255.
    pub exchanges: u8,
}

/// An encounter under way, but for its [`Pairs`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Encounter {
    /// The run's number.
    pub run: u64,
    /// Its masses.
    pub masses: Masses,
    /// Units of length, time and velocity in the user's units.
    units: [f64; 3],
    /// B at the start.
    pub binding: f64,
    momentum: [f64; 3],
    /// Time at the last look.
    time: f64,
    /// Time at which it ends.
    end: f64,
    /// Sums of the radii of each pair.
    contact: [f64; 3],
    least: f64,
    least_time: f64,
    /// How far above the least distance a local minimum may be sampled.
    reach: f64,
    steps: u32,
    excursions: u32,
    /// Jumps so far.
    pub jumps: u32,
    least_pair: u8,
    pair: u8,
    exchanges: u8,
    touched: u8,
    /// 1 while the third body is beyond [`EXCURSION`].
    away: u32,
    unused: u32,
}

/// Whether a run continues after a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The run continues.
    GoOn,
    /// Its record is complete.
    Ended,
}

/// Distance of an excursion in semi-major axes of the binary.
pub const EXCURSION: f64 = 20.0;

/// Relative error of the energy, in units of the potential, beyond which a run has failed.
const FAILURE: f64 = 2e-3;

/// Share of the potential below which a pair's energy is lost in rounding, near its pericentre.
const CLEAR: f64 = 2e-3;

/// How far below zero the energy of the third body without the tide may be if it still escapes with the tide (in units of its
/// potential).
const NEARLY_UNBOUND: f64 = 0.02;

impl Encounter {
    /// Begins a run.
    pub fn begin(run: u64, start: &Start, settings: &Settings) -> Self {
        let mut this = Self::default();
        this.begin_again(run, start, settings);
        this
    }

    /// Begins a run in the place of another. Field after field: a GPU copies a large structure byte by byte.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn begin_again(&mut self, run: u64, start: &Start, settings: &Settings) {
        let (m, s) = (&start.masses, &start.pairs);
        let this = self;
        this.run = run;
        this.masses.put(m);
        this.units = [start.length, start.time, start.velocity];
        this.binding = -energy(s, m);
        this.momentum = angular_momentum(s, m);
        this.time = 0.0;
        this.end = divide(settings.max_time, start.time);
        if !(this.end < NEVER) {
            this.end = NEVER;
        }
        (this.least, this.least_time, this.reach) = (f64::INFINITY, 0.0, f64::INFINITY);
        (this.steps, this.excursions, this.jumps) = (0, 0, 0);
        (this.least_pair, this.pair, this.exchanges, this.touched) = (0, NONE, 0, NONE);
        (this.away, this.unused) = (0, 0);
        let inverse = divide(1.0, start.length);
        let mut p = 0;
        while p < 3 {
            let [i, j, _] = PAIRS[p];
            this.contact[p] = (settings.radii[i] + settings.radii[j]) * inverse;
            let r = root(dot(&s.x[p], &s.x[p])) * m.length[p];
            if r < this.least {
                this.least = r;
                this.least_pair = p as u8;
            }
            if r < this.contact[p] {
                this.touched = p as u8;
            }
            p += 1;
        }
    }

    /// Time that is left, from where [`Pairs::time`] counts.
    #[inline(always)]
    pub fn left(&self) -> f64 {
        self.end - self.time
    }

    /// The upper half of the squared scaled distance below which a local minimum may be the least one. Of the two scales the larger one
    /// errs on the safe side.
    #[inline(always)]
    pub fn near(&self) -> i32 {
        let [s, t] = self.masses.scales;
        let r = (self.least + self.reach) * if s > t { s } else { t };
        let r2 = r * r;
        if r2 < 1e300 {
            Bits::high(r2) + 1
        } else {
            i32::MAX
        }
    }

    /// A local minimum of distances, of the pairs of which `turned` is negative. `until` is the time from the positions of `s` to its
    /// velocities.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn passage(&mut self, s: &Pairs<f64>, until: f64, turned: [i32; 3]) {
        let m = &self.masses;
        let mut p = 0;
        while p < 3 && self.touched == NONE {
            if turned[p] < 0 {
                let [i, j, _] = PAIRS[p];
                let (mut x, mut v) = ([0.0; 3], [0.0; 3]);
                let mut k = 0;
                while k < 3 {
                    let w = pair_velocity(s, m, p, k);
                    x[k] = m.length[p] * crate::number::fma(until, w, s.x[p][k]);
                    v[k] = m.length[p] * w;
                    k += 1;
                }
                let mass = m.fractions[i] + m.fractions[j];
                let c = cross(&x, &v);
                let r = root(dot(&x, &x));
                let inverse_axis = divide(2.0, r) - divide(dot(&v, &v), mass);
                let orbit = Orbit::new(inverse_axis, dot(&c, &c), mass);
                if orbit.pericentre < self.least {
                    let mut since = orbit.since_pericentre(r, dot(&x, &v));
                    self.least = orbit.pericentre;
                    let contact = self.contact[p];
                    if orbit.pericentre < contact {
                        self.touched = p as u8;
                        since += orbit.since_pericentre(contact, orbit.outwards(contact));
                    }
                    self.least_time = self.time + (s.time + until - since);
                    self.least_pair = p as u8;
                }
            }
            p += 1;
        }
    }

    /// Looks at a run after a block of steps.
    #[inline(always)]
    pub fn look(
        &mut self,
        s: &mut Pairs<f64>,
        settings: &Settings,
        record: &mut Record,
    ) -> Verdict {
        self.steps += settings.block;
        // What the sum of times rounds off stays in the state's own time.
        let time = self.time + s.time;
        s.time -= time - self.time;
        self.time = time;
        let m = &self.masses;
        let g = glance(s, m);
        let off = (kinetic_term(&s.w, 2.0 * self.binding) - 2.0 * g.potential).abs();
        let sound = off <= FAILURE * g.potential;
        let clear = g.pair != NO_PAIR && -g.energy > CLEAR * g.pair_potential;
        if clear && self.pair != g.pair as u8 {
            if self.pair != NONE && self.exchanges < 255 {
                self.exchanges += 1;
            }
            self.pair = g.pair as u8;
        }
        let size = if g.pair == NO_PAIR {
            g.potential.divides(1.0)
        } else {
            g.a
        };
        self.reach = settings.reach * size;
        let wideness = match g.pair {
            0 => m.wideness[0],
            1 => m.wideness[1],
            _ => m.wideness[2],
        };
        let wide2 = g.a * g.a * wideness;
        let far = clear && g.r2 > EXCURSION * EXCURSION * wide2;
        let outwards = g.rv > 0.0;
        if far && outwards {
            self.away = 1;
        }
        if self.away == 1 && !far && !outwards && g.pair != NO_PAIR {
            self.away = 0;
            self.excursions += 1;
        }
        let jump2 = settings.jump_radius * settings.jump_radius;
        let jumps = settings.jump_radius > 0.0;
        let ripe = clear
            && if outwards {
                (jumps && g.r2 > jump2 * wide2)
                    || (g.r2 > settings.escape_radius * settings.escape_radius * wide2
                        && nearly_unbound(&g))
            } else {
                // Not at the radius itself, where the last jump ended.
                jumps && g.r2 > 1.44 * jump2 * wide2
            };
        let over = self.left() <= 1e-14 * self.end || self.steps >= settings.max_steps;
        if !sound || self.touched != NONE || over || g.pair == NO_PAIR || ripe {
            return self.decide(s, settings, &g, sound, record);
        }
        Verdict::GoOn
    }

    /// The pericentre of the binary that revolves while the third body is away.
    fn binary_pericentre(&mut self, q: f64, pair: usize) {
        if q < self.least {
            self.least = q;
            self.least_time = self.time;
            self.least_pair = pair as u8;
            if q < self.contact[pair] {
                self.touched = pair as u8;
            }
        }
    }

    /// What follows from a look that found something: rarely called.
    #[cold]
    #[inline(never)]
    fn decide(
        &mut self,
        s: &mut Pairs<f64>,
        settings: &Settings,
        g: &Glance,
        sound: bool,
        record: &mut Record,
    ) -> Verdict {
        let nothing = [f64::NAN; 3];
        let here = self.time;
        if !sound {
            return self.end(s, Outcome::FAILED, NONE, nothing, here, record);
        }
        if self.touched != NONE {
            return self.collide(s, nothing, record);
        }
        let [a, e] = binary(s, &self.masses, g, self.binding);
        if self.left() <= 1e-14 * self.end {
            return self.end(s, Outcome::TIME, NONE, [a, e, f64::NAN], here, record);
        }
        if g.pair == NO_PAIR {
            if self.is_ionised(s, g) {
                return self.end(s, Outcome::IONISATION, NONE, nothing, here, record);
            }
        } else {
            let h = hierarchy(s, &self.masses, g);
            let wide = h.a * root(self.masses.wideness[h.pair]);
            let outwards = h.rv > 0.0;
            let jump = settings.jump_radius * wide;
            let escapes =
                outwards && h.distance > settings.escape_radius * wide && nearly_unbound(g);
            let jumps =
                settings.jump_radius > 0.0 && h.distance > if outwards { jump } else { 1.2 * jump };
            if -g.energy > CLEAR * g.pair_potential && (escapes || jumps) {
                let to = if outwards { h.distance } else { jump };
                match fate(s, &self.masses, &h, self.binding, to) {
                    Fate::Open => {}
                    Fate::Escape { v_inf, a, e } => {
                        if escapes {
                            self.binary_pericentre(a * (1.0 - e), h.pair);
                            if self.touched != NONE {
                                return self.collide(s, [a, e, v_inf], record);
                            }
                            let body = PAIRS[h.pair][2] as u8;
                            let what = Outcome::ESCAPE;
                            return self.end(s, what, body, [a, e, v_inf], here, record);
                        }
                    }
                    Fate::Return {
                        state,
                        after,
                        apocentre,
                    } => {
                        if jumps {
                            let time = self.time + after;
                            if time >= self.end {
                                let what = Outcome::TIME;
                                let values = [a, e, f64::NAN];
                                return self.end(s, what, NONE, values, self.end, record);
                            }
                            self.binary_pericentre(h.a * (1.0 - e), h.pair);
                            *s = state;
                            s.time += after - (time - self.time);
                            self.time = time;
                            let now = glance(s, &self.masses);
                            let [a, e] = binary(s, &self.masses, &now, self.binding);
                            self.binary_pericentre(a * (1.0 - e), h.pair);
                            self.jumps += 1;
                            if outwards && self.away == 0 && apocentre > EXCURSION * wide {
                                self.excursions += 1;
                            }
                        }
                    }
                }
            }
        }
        if self.steps >= settings.max_steps {
            let values = [a, e, f64::NAN];
            return self.end(s, Outcome::STEPS, NONE, values, self.time, record);
        }
        Verdict::GoOn
    }

    /// Whether all three bodies are apart for good: all pairs recede, and what binds them is a hundredth of the energy.
    fn is_ionised(&self, s: &Pairs<f64>, g: &Glance) -> bool {
        if !(self.binding < 0.0 && g.potential < -0.01 * self.binding) {
            return false;
        }
        let mut p = 0;
        while p < 3 {
            let v = |k| pair_velocity(s, &self.masses, p, k);
            if !(s.x[p][0] * v(0) + s.x[p][1] * v(1) + s.x[p][2] * v(2) > 0.0) {
                return false;
            }
            p += 1;
        }
        true
    }

    /// Ends with the collision of the pair that touched.
    fn collide(&self, s: &Pairs<f64>, values: [f64; 3], record: &mut Record) -> Verdict {
        let body = PAIRS[self.touched as usize % 3][2] as u8;
        self.end(s, Outcome::COLLISION, body, values, self.least_time, record)
    }

    /// Writes the record; `values` are semi-major axis, eccentricity and velocity at infinity.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn end(
        &self,
        s: &Pairs<f64>,
        outcome: Outcome,
        body: u8,
        values: [f64; 3],
        time: f64,
        record: &mut Record,
    ) -> Verdict {
        let m = &self.masses;
        let l = angular_momentum(s, m);
        let l0 = &self.momentum;
        let d = [l[0] - l0[0], l[1] - l0[1], l[2] - l0[2]];
        let energy_scale = self.binding.abs();
        let [length, unit_time, velocity] = self.units;
        *record = Record {
            time: time * unit_time,
            a: values[0] * length,
            e: values[1],
            v_inf: values[2] * velocity,
            least_distance: self.least * length,
            least_distance_time: self.least_time * unit_time,
            energy_error: divide(energy(s, m) + self.binding, energy_scale),
            momentum_error: root(dot(&d, &d)) * root(2.0 * energy_scale),
            steps: self.steps,
            excursions: self.excursions,
            jumps: self.jumps,
            outcome: outcome.0,
            body,
            least_distance_pair: self.least_pair,
            exchanges: self.exchanges,
        };
        Verdict::Ended
    }
}

/// Whether the third body may escape, for all that can be said without the tide.
#[inline(always)]
fn nearly_unbound(g: &Glance) -> bool {
    // v²/2 - 1/r > -0.02/r.
    let v2 = dot(&g.v, &g.v);
    0.5 * v2 > (1.0 - NEARLY_UNBOUND) * g.r2.reciprocal_root()
}
