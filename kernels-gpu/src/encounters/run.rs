//! One encounter from its start to its record: the checks between blocks of steps.

use core::f64::consts::PI;

use super::excursion::{Fate, MIN_RADIAL2, fate};
use super::hierarchy::{
    Glance, Hierarchy, NO_PAIR, angular_momentum, binary, energy, glance, hierarchy, pair_velocity,
};
use super::orbit::{Orbit, eccentric_anomaly};
use super::plunge::{is_close, pass, plunging_pair};
use super::start::Start;
use super::step::{Pairs, StepControl, StepMasses, kinetic_term};
use super::vector::{axpy, cross, dot, scale};
use super::{Masses, PAIRS};
use crate::number::{Bits, fma};
use crate::number::{divide, root};

/// The integration parameters of an encounter, and the conditions that end it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Settings {
    /// The time at which a run ends, in the user's units; [`NEVER`] if there is none.
    pub max_time: f64,
    /// Radii of the bodies in the user's units. Two bodies of radius 0 do not collide.
    pub radii: [f64; 3],
    /// Distance at which an unbound, receding third body has escaped, in semi-major axes of the binary.
    pub escape_radius: f64,
    /// Distance beyond which excursions are jumped over, in semi-major axes of the binary; 0 for never.
    pub jump_radius: f64,
    /// The step h for 2 U / ω = 1 (see [`step`](super::step)).
    pub step: f64,
    /// Largest change of a distance between consecutive steps around a pericentre, in semi-major axes.
    pub reach: f64,
    /// Steps after which a run ends.
    pub max_steps: u32,
    /// Steps of a block, after which a run is checked.
    pub block: u32,
}

/// A time that no run reaches.
pub const NEVER: f64 = 1e300;

/// The default number of steps of a block.
pub const STEPS_PER_BLOCK: u32 = 16;

impl Settings {
    /// Settings with this many steps per period of the fastest circular binary that has the energy of the system, if the masses are
    /// similar, without limits and collisions.
    pub fn new(steps_a_period: f64) -> Self {
        Self {
            max_time: NEVER,
            radii: [0.0; 3],
            escape_radius: 20.0,
            jump_radius: 0.0,
            // On a circular orbit, the square of the steps' frequency is 11/8 times that of the orbit. The step is multiplied by 2 U.
            step: 1.172_603_939_955_857_4 * PI / steps_a_period,
            reach: 320.0 / (steps_a_period * steps_a_period),
            max_steps: u32::MAX,
            block: STEPS_PER_BLOCK,
        }
    }
}

/// How a run ended: one of the constants of this type. (It is not an enum, because memory of a GPU may hold any number.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome(pub u8);

impl Outcome {
    /// A body escaped from the others, which are bound.
    pub const ESCAPE: Self = Self(0);
    /// All three bodies are unbound.
    pub const IONISATION: Self = Self(1);
    /// Two bodies touched.
    pub const COLLISION: Self = Self(2);
    /// The maximum time was reached.
    pub const TIME: Self = Self(3);
    /// The maximum number of steps was taken.
    pub const STEPS: Self = Self(4);
    /// The error of the energy exceeded two thousandths of the potential, or at the end 1 in units of [`Record::energy_error`].
    pub const FAILED: Self = Self(5);
    /// All outcomes.
    pub const ALL: [Self; 6] = [
        Self::ESCAPE,
        Self::IONISATION,
        Self::COLLISION,
        Self::TIME,
        Self::STEPS,
        Self::FAILED,
    ];
}

/// The value that stands for no body and for no pair.
pub const NONE: u8 = 3;

/// The result of a run, in the user's units. A value that does not exist is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Record {
    /// The time of the end. An escape ends at the first check, after a block of steps, that finds an escaping body beyond the escape
    /// radius. A collision ends at the contact of the two bodies.
    pub time: f64,
    /// Semi-major axis of the remaining binary, or of the most bound pair.
    pub a: f64,
    /// Its eccentricity.
    pub e: f64,
    /// Velocity of the escaper relative to the binary at infinity.
    pub v_inf: f64,
    /// Least distance of two bodies in the time of the run: at the pericentre of a passage, at the start, at the end, or at the contact.
    pub least_distance: f64,
    /// The time of the least distance.
    pub least_distance_time: f64,
    /// (E - E₀) / E₁, where E₁ is |E₀|, but at least the binding energy of the most bound pair at the start (or the potential, if no
    /// pair is bound), because E₀ may be 0.
    pub energy_error: f64,
    /// |L - L₀| in units of G M^(5/2) / √(2 E₁) with the total mass M, because L₀ may be 0.
    pub momentum_error: f64,
    /// Steps taken.
    pub steps: u32,
    /// How often the third body went beyond [`EXCURSION_RADIUS`] and came back.
    pub excursions: u32,
    /// How many excursions were jumped over.
    pub jumps: u32,
    /// See [`Outcome`].
    pub outcome: u8,
    /// The escaper, or the body that is not part of a collision: 0, 1, 2, or [`NONE`].
    pub body: u8,
    /// The pair of the least distance, an index of [`PAIRS`].
    pub least_distance_pair: u8,
    /// How often a different pair became the most bound one, at most 255.
    pub exchanges: u8,
}

/// An encounter in progress, without its [`Pairs`]. The fields that every block of steps needs come first, because GPUs read them from
/// memory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Encounter {
    /// The binding energy B at the start.
    pub binding: f64,
    /// Time at the last check.
    time: f64,
    /// Time at which the run ends.
    end: f64,
    least: f64,
    /// How far above the least distance a sampled local minimum may be.
    reach: f64,
    steps: u32,
    /// 1 while the third body is beyond [`EXCURSION_RADIUS`].
    away: u32,
    excursions: u32,
    least_pair: u8,
    pair: u8,
    exchanges: u8,
    touched: u8,
    /// The energy E₁ of [`Record::energy_error`].
    energy_scale: f64,
    /// The masses of the bodies.
    pub masses: Masses,
    /// The run's number.
    pub run: u64,
    /// Units of length, time and velocity in the user's units.
    units: [f64; 3],
    momentum: [f64; 3],
    /// The sum of the radii of each pair.
    contact: [f64; 3],
    /// The time of the least distance, unless `least_since` determines it.
    least_time: f64,
    least_since: Since,
    /// Number of jumps so far.
    pub jumps: u32,
    unused: u32,
}

/// A local minimum of a pair's distance.
#[derive(Clone, Copy, Debug)]
pub struct Minimum {
    /// Scaled vector of the pair.
    x: [f64; 3],
    /// Its scaled velocity.
    w: [f64; 3],
    /// The time since the previous check.
    when: f64,
    /// The pair, or [`NO_PAIR`] if there is no minimum.
    pub pair: u32,
}

impl Minimum {
    /// No local minimum.
    pub const NONE: Self = Self {
        x: [0.0; 3],
        w: [0.0; 3],
        when: 0.0,
        pair: NO_PAIR as u32,
    };

    /// A local minimum of pair `p`, where `until` is the time from the positions of `s` to its velocities.
    #[inline(always)]
    pub fn of(s: &Pairs<f64>, m: &StepMasses<f64>, until: f64, p: usize) -> Self {
        let w = [
            pair_velocity(s, m, p, 0),
            pair_velocity(s, m, p, 1),
            pair_velocity(s, m, p, 2),
        ];
        let from = &s.x[p];
        Self {
            x: [
                fma(until, w[0], from[0]),
                fma(until, w[1], from[1]),
                fma(until, w[2], from[2]),
            ],
            w,
            when: s.time + until,
            pair: p as u32,
        }
    }
}

/// The data from which the time of the least distance follows. Its evaluation is postponed, because most instances are replaced before
/// the time is needed.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Since {
    inverse_axis: f64,
    /// Mass of the pair, or 0 if there are no data.
    mass: f64,
    /// A distance near the pericentre.
    r: f64,
    /// Scalar product of position and velocity there.
    rv: f64,
    /// The time of the previous check.
    before: f64,
    /// The time at `r`, counted from `before`.
    when: f64,
}

/// Whether a run continues after a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The run continues.
    GoOn,
    /// The run continues from another state.
    Moved,
    /// Its record is complete.
    Ended,
}

/// Distance from which on the third body counts as on an excursion, in semi-major axes of the binary.
pub const EXCURSION_RADIUS: f64 = 20.0;

/// Error of the energy, in units of the potential, above which a run has failed.
const MAX_ENERGY_ERROR: f64 = 2e-3;

/// Binding energy of a pair, as a fraction of its potential, below which rounding errors dominate it, near the pair's pericentre.
const MIN_BOUND_FRACTION: f64 = 2e-3;

/// Energy of the third body without the tide, below zero and in units of its potential, from which it may still escape with the tide.
const NEARLY_UNBOUND: f64 = 0.02;

impl Encounter {
    /// Begins a run.
    pub fn begin(run: u64, start: &Start, settings: &Settings) -> Self {
        let mut this = Self::default();
        this.begin_again(run, start, settings);
        this
    }

    /// Begins a run in the place of another. It sets field by field, because a GPU copies a large structure byte by byte.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn begin_again(&mut self, run: u64, start: &Start, settings: &Settings) {
        let (m, s) = (&start.masses, &start.pairs);
        let this = self;
        this.run = run;
        this.masses.put(m);
        this.units = [start.length, start.time, start.velocity];
        this.binding = -energy(s, m);
        let g = glance(s, m);
        let bound = if g.pair == NO_PAIR {
            g.potential
        } else {
            -g.energy
        };
        this.energy_scale = if this.binding.abs() > bound {
            this.binding.abs()
        } else {
            bound
        };
        this.momentum = angular_momentum(s, m);
        this.time = 0.0;
        this.end = divide(settings.max_time, start.time);
        if !(this.end < NEVER) {
            this.end = NEVER;
        }
        (this.least, this.least_time, this.reach) = (f64::INFINITY, 0.0, f64::INFINITY);
        this.least_since.mass = 0.0;
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

    /// The number of steps until the next check.
    #[inline(always)]
    pub fn block(&self, settings: &Settings) -> u32 {
        let left = settings.max_steps - self.steps;
        if left < settings.block {
            left
        } else {
            settings.block
        }
    }

    /// The time that is left, counted from where [`Pairs::time`] starts.
    #[inline(always)]
    pub fn left(&self) -> f64 {
        self.end - self.time
    }

    /// Whether the steps have converged to the end of the run.
    #[inline(always)]
    fn is_at_end(&self) -> bool {
        self.left().abs() <= 1e-14 * self.end
    }

    /// The parameters of the steps, without observed distances.
    #[inline(always)]
    pub fn control(&self, settings: &Settings) -> StepControl<f64> {
        StepControl {
            binding: 2.0 * self.binding,
            step: settings.step * self.masses.pace,
            left: self.left(),
            ..StepControl::new()
        }
    }

    /// The time of a state since the start, in the user's units.
    pub fn time(&self, s: &Pairs<f64>) -> f64 {
        (self.time + s.time) * self.units[1]
    }

    /// The positions of the bodies relative to the centre of mass, in the user's units.
    pub fn positions(&self, s: &Pairs<f64>) -> [[f64; 3]; 3] {
        let m = &self.masses;
        let second = scale(m.length[0] * self.units[0], &s.x[0]);
        let third = scale(m.length[2] * self.units[0], &s.x[2]);
        let first = axpy(-m.fractions[1], &second, &scale(-m.fractions[2], &third));
        [first, axpy(1.0, &second, &first), axpy(1.0, &third, &first)]
    }

    /// The [error](Record::energy_error) of the energy of a state.
    #[inline(always)]
    pub fn energy_error(&self, s: &Pairs<f64>) -> f64 {
        divide(energy(s, &self.masses) + self.binding, self.energy_scale)
    }

    /// The upper half of the bits of the squared scaled distance below which a local minimum may be the least one. Of the two scales,
    /// it uses the larger, which errs on the safe side.
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

    /// Handles a local minimum of the distances of those pairs for which `turned` is negative. `until` is the time from the positions
    /// of `s` to its velocities. Returns whether a pair came closer than any before.
    pub fn passage(&mut self, s: &Pairs<f64>, until: f64, turned: [i32; 3]) -> bool {
        let mut closer = false;
        let mut p = 0;
        while p < 3 {
            if turned[p] < 0 {
                closer |= self.look_at(&Minimum::of(s, &self.masses.step, until, p));
            }
            p += 1;
        }
        closer
    }

    /// Evaluates a local minimum of a pair's distance; returns whether the pair came closer than any before.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn look_at(&mut self, minimum: &Minimum) -> bool {
        let &Minimum { x, w, when, pair } = minimum;
        let p = pair as usize % 3;
        // Near its end a run may go back a little, and then a distance becomes smaller and larger again without a pericentre.
        self.touched == NONE
            && dot(&x, &w) >= 0.0
            && self.may_come_closer(&x, &w, p)
            && self.comes_closer(x, w, p, when)
    }

    /// Whether the pericentre of a pair with this scaled vector and velocity may be below the least distance so far. The result may be
    /// true for a pericentre that is not, but it is never false for one that is. It takes a tenth of the time of the full evaluation,
    /// and few pericentres are the closest so far.
    ///
    /// On an orbit that reaches a distance Λ, the square of the radial velocity there, 2m/Λ - 2m/r + v² - c²/Λ², is not negative.
    #[inline(always)]
    fn may_come_closer(&self, x: &[f64; 3], w: &[f64; 3], p: usize) -> bool {
        /// Rounding errors are far smaller than this.
        const MARGIN: f64 = 1e-10;
        let m = &self.masses;
        let [i, j, _] = PAIRS[p];
        let twice = 2.0 * (m.fractions[i] + m.fractions[j]) * self.least;
        let l2 = m.length[p] * m.length[p];
        let least2 = self.least * self.least;
        let scaled_r2 = dot(x, x);
        let r2 = l2 * scaled_r2;
        let v2 = l2 * dot(w, w);
        let c = cross(x, w);
        let c2 = l2 * l2 * dot(&c, &c);
        let inverse_r = scaled_r2.reciprocal_root() * m.scales[(p != 0) as usize];
        let radial2 = twice * (1.0 - self.least * inverse_r) + (v2 * least2 - c2);
        let stays_out = r2 > (1.0 + MARGIN) * least2 && radial2 < -MARGIN * (twice + v2 * r2);
        !stays_out
    }

    /// Records a pericentre if it is the closest so far; returns whether it is.
    #[inline(always)]
    fn comes_closer(&mut self, mut x: [f64; 3], mut v: [f64; 3], p: usize, when: f64) -> bool {
        let m = &self.masses;
        let [i, j, _] = PAIRS[p];
        let mut k = 0;
        while k < 3 {
            x[k] *= m.length[p];
            v[k] *= m.length[p];
            k += 1;
        }
        let mass = m.fractions[i] + m.fractions[j];
        let c = cross(&x, &v);
        let r = root(dot(&x, &x));
        let inverse_axis = divide(2.0, r) - divide(dot(&v, &v), mass);
        let orbit = Orbit::new(inverse_axis, dot(&c, &c), mass);
        if !(orbit.pericentre < self.least) {
            return false;
        }
        let rv = dot(&x, &v);
        let here = self.time + when;
        let contact = self.contact[p];
        if orbit.pericentre < contact {
            let since = orbit.since_pericentre(r, rv)
                + orbit.since_pericentre(contact, orbit.outwards(contact));
            if here - since > self.end {
                return false;
            }
            self.touched = p as u8;
            self.come_to(contact, p, here - since);
            return true;
        }
        // The last step may lead beyond the end of the run, to where it does not get. And on an orbit that is almost circular, the
        // pericentre may be before the start; that can only be in the first half of a period.
        let half_periods2 = inverse_axis * here * (inverse_axis * here) * (inverse_axis * mass);
        if here > self.end || half_periods2 < PI * PI {
            let time = here - orbit.since_pericentre(r, rv);
            if !(time >= 0.0 && time <= self.end) {
                let is_less = here <= self.end && r < self.least;
                if is_less {
                    self.come_to(r, p, here);
                }
                return is_less;
            }
        }
        self.least = orbit.pericentre;
        self.least_pair = p as u8;
        self.least_since = Since {
            inverse_axis,
            mass,
            r,
            rv,
            before: self.time,
            when,
        };
        true
    }

    /// Records the least distance at a known time.
    fn come_to(&mut self, distance: f64, pair: usize, time: f64) {
        (self.least, self.least_pair, self.least_time) = (distance, pair as u8, time);
        self.least_since.mass = 0.0;
    }

    /// The time of the least distance.
    fn least_time(&self) -> f64 {
        let from = &self.least_since;
        if !(from.mass > 0.0) {
            return self.least_time;
        }
        let orbit = Orbit {
            pericentre: self.least,
            parameter: 0.0,
            inverse_axis: from.inverse_axis,
            e: 0.0,
            mass: from.mass,
        };
        from.before + (from.when - orbit.since_pericentre(from.r, from.rv))
    }

    /// Checks a run after a block of steps.
    #[inline(always)]
    pub fn look(
        &mut self,
        s: &mut Pairs<f64>,
        settings: &Settings,
        record: &mut Record,
    ) -> Verdict {
        if self.survey(s, settings) {
            self.settle(s, settings, record)
        } else {
            Verdict::GoOn
        }
    }

    /// The part of a [`look`](Self::look) that every block of steps needs; returns whether there is something to
    /// [`settle`](Self::settle).
    #[inline(always)]
    pub fn survey(&mut self, s: &mut Pairs<f64>, settings: &Settings) -> bool {
        self.steps += self.block(settings);
        // The rounding error of the summed time stays in the state's own time.
        let time = self.time + s.time;
        s.time -= time - self.time;
        self.time = time;
        let m = &self.masses;
        let g = glance(s, m);
        let sound = self.is_sound(s, &g);
        let clear = g.pair != NO_PAIR && -g.energy > MIN_BOUND_FRACTION * g.pair_potential;
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
        let far = clear && g.r2 > EXCURSION_RADIUS * EXCURSION_RADIUS * wide2;
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
                let jump = jumps && g.r2 > jump2 * wide2;
                let escape = g.r2 > settings.escape_radius * settings.escape_radius * wide2
                    && nearly_unbound(&g);
                (jump || escape) && self.may_leave(s, &g, jump)
            } else {
                // Not at the jump radius itself, where the last jump ended.
                jumps && g.r2 > 1.44 * jump2 * wide2 && self.may_leave(s, &g, true)
            };
        let over = self.is_at_end() || self.steps >= settings.max_steps;
        let plunges = is_close(s, m) && plunging_pair(s, m) != NO_PAIR;
        !sound || self.touched != NONE || over || g.pair == NO_PAIR || ripe || plunges
    }

    /// Whether [`fate`] may find that the third body escapes, or returns where it may `jump`. It is never false if `fate` finds so,
    /// and takes a hundredth of the time.
    ///
    /// The energy of the outer orbit is the total energy minus that of the inner orbit. The part of it that depends on the orientation
    /// of the inner orbit (the averaged tide) is at most 10 μ m a² / (4 r³), where μ, the reduced mass of the pair, is at most a
    /// quarter of the pair's mass, and m is the mass of the third body.
    #[inline(always)]
    fn may_leave(&self, s: &Pairs<f64>, g: &Glance, jump: bool) -> bool {
        let m = &self.masses.fractions;
        let [i, j, k] = match g.pair {
            0 => PAIRS[0],
            1 => PAIRS[1],
            _ => PAIRS[2],
        };
        let nu = m[k] * (m[i] + m[j]);
        let inverse_r = g.r2.reciprocal_root();
        let tide = 0.625 * (g.a * inverse_r) * (g.a * inverse_r);
        let off = 0.5 * kinetic_term(&s.w, 2.0 * self.binding) - g.potential;
        let excess = g.potential.divides(off) * g.pair_potential;
        let others = g.potential - g.pair_potential;
        // An upper bound of the outer energy, and of the square of the outer radial velocity times the distance.
        let outer = excess - self.binding - g.energy + others - nu * inverse_r * (1.0 - tide)
            + 1e-9 * g.potential;
        let r = g.r2 * inverse_r;
        let across2 = dot(&g.v, &g.v) * r - g.rv * g.rv * inverse_r;
        let radial2 = 2.0 * (nu.divides(outer) * r + 1.0) - across2;
        (jump || outer >= 0.0) && radial2 > MIN_RADIAL2 - 1e-6
    }

    /// Whether the error of the energy is acceptable.
    #[inline(always)]
    fn is_sound(&self, s: &Pairs<f64>, g: &Glance) -> bool {
        let off = (kinetic_term(&s.w, 2.0 * self.binding) - 2.0 * g.potential).abs();
        off <= MAX_ENERGY_ERROR * g.potential
    }

    /// Records the least distance of the binary on its orbit until a time, while the third body is away.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn revolve(&mut self, h: &Hierarchy, until: f64) {
        let c = cross(&h.x, &h.v);
        let r = root(dot(&h.x, &h.x));
        let orbit = Orbit::new(divide(1.0, h.a), dot(&c, &c), h.pair_mass);
        let al = orbit.inverse_axis;
        let period = divide(2.0 * PI, al * root(al * orbit.mass));
        let since = orbit.since_pericentre(r, dot(&h.x, &h.v));
        let next = self.time + if since < 0.0 { -since } else { period - since };
        let contact = self.contact[h.pair];
        if orbit.pericentre < contact {
            let time = next - orbit.since_pericentre(contact, orbit.outwards(contact));
            if time <= until {
                self.touched = h.pair as u8;
                self.come_to(contact, h.pair, time);
            }
            return;
        }
        let (distance, time) = if next <= until {
            (orbit.pericentre, next)
        } else {
            let turns = divide(since + (until - self.time), period);
            let mean = 2.0 * PI * (turns - libm::floor(turns + 0.5));
            let (_, cosine) = libm::sincos(eccentric_anomaly(mean, orbit.e));
            (h.a * (1.0 - orbit.e * cosine), until)
        };
        if distance < self.least {
            self.come_to(distance, h.pair, time);
        }
    }

    /// Records the pericentre of the binary, which has revolved while the third body was away.
    fn binary_pericentre(&mut self, q: f64, pair: usize) {
        if q < self.least {
            let contact = self.contact[pair];
            let touches = q < contact;
            self.come_to(if touches { contact } else { q }, pair, self.time);
            if touches {
                self.touched = pair as u8;
            }
        }
    }

    /// Acts on what a [`survey`](Self::survey) found, in the same state. It is rarely called.
    #[cold]
    #[inline(never)]
    pub fn settle(
        &mut self,
        s: &mut Pairs<f64>,
        settings: &Settings,
        record: &mut Record,
    ) -> Verdict {
        let g = &glance(s, &self.masses);
        let nothing = [f64::NAN; 3];
        let mut moved = false;
        let here = self.time;
        if !self.is_sound(s, g) {
            return self.end(s, Outcome::FAILED, NONE, nothing, here, record);
        }
        if self.touched != NONE {
            return self.collide(s, nothing, record);
        }
        let [a, e] = binary(s, &self.masses, g, self.binding);
        if self.is_at_end() {
            // The pericentre of two bodies that touch may still be ahead.
            let mut p = 0;
            while p < 3 {
                let minimum = Minimum::of(s, &self.masses.step, 0.0, p);
                let r = root(dot(&s.x[p], &s.x[p])) * self.masses.length[p];
                if r < self.contact[p]
                    && self.comes_closer(minimum.x, minimum.w, p, minimum.when)
                    && self.touched != NONE
                {
                    return self.collide(s, nothing, record);
                }
                p += 1;
            }
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
            if -g.energy > MIN_BOUND_FRACTION * g.pair_potential && (escapes || jumps) {
                let to = if outwards { h.distance } else { jump };
                match fate(s, &self.masses, &h, self.binding, to) {
                    Fate::Open => {}
                    Fate::Escape { v_inf, a, e } => {
                        if escapes {
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
                            let is_over = time >= self.end;
                            self.revolve(&h, if is_over { self.end } else { time });
                            if self.touched != NONE {
                                return self.collide(s, nothing, record);
                            }
                            if is_over {
                                let what = Outcome::TIME;
                                let values = [a, e, f64::NAN];
                                return self.end(s, what, NONE, values, self.end, record);
                            }
                            *s = state;
                            s.time += after - (time - self.time);
                            self.time = time;
                            let now = glance(s, &self.masses);
                            let [a, e] = binary(s, &self.masses, &now, self.binding);
                            self.binary_pericentre(a * (1.0 - e), h.pair);
                            self.jumps += 1;
                            if outwards && self.away == 0 && apocentre > EXCURSION_RADIUS * wide {
                                self.excursions += 1;
                            }
                            moved = true;
                        }
                    }
                }
            }
        }
        if !moved {
            let pair = plunging_pair(s, &self.masses);
            moved = pair != NO_PAIR && self.pass(s, pair);
        }
        if self.steps >= settings.max_steps {
            let values = [a, e, f64::NAN];
            return self.end(s, Outcome::STEPS, NONE, values, self.time, record);
        }
        if moved { Verdict::Moved } else { Verdict::GoOn }
    }

    /// Takes a [plunging pair](plunging_pair) through its pericentre to the same distance on its way out; returns whether that is before
    /// the end of the run.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn pass(&mut self, s: &mut Pairs<f64>, pair: usize) -> bool {
        let (state, after) = pass(s, &self.masses, pair);
        let time = self.time + after;
        if !(time < self.end) {
            return false;
        }
        *s = state;
        s.time += after - (time - self.time);
        self.time = time;
        self.look_at(&Minimum::of(s, &self.masses.step, 0.0, pair));
        true
    }

    /// Whether all three bodies separate for ever: all pairs recede, and the potential is less than a hundredth of the energy.
    fn is_ionised(&self, s: &Pairs<f64>, g: &Glance) -> bool {
        if !(self.binding < 0.0 && g.potential < -0.01 * self.binding) {
            return false;
        }
        let mut p = 0;
        while p < 3 {
            let v = |k| pair_velocity(s, &self.masses.step, p, k);
            if !(s.x[p][0] * v(0) + s.x[p][1] * v(1) + s.x[p][2] * v(2) > 0.0) {
                return false;
            }
            p += 1;
        }
        true
    }

    /// Ends the run with the collision of the pair that touched.
    fn collide(&mut self, s: &Pairs<f64>, values: [f64; 3], record: &mut Record) -> Verdict {
        let body = PAIRS[self.touched as usize % 3][2] as u8;
        self.end(s, Outcome::COLLISION, body, values, self.least_time, record)
    }

    /// Writes the record. `values` are the semi-major axis, the eccentricity and the velocity at infinity.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn end(
        &mut self,
        s: &Pairs<f64>,
        outcome: Outcome,
        body: u8,
        values: [f64; 3],
        time: f64,
        record: &mut Record,
    ) -> Verdict {
        let mut p = 0;
        while p < 3 && outcome != Outcome::COLLISION {
            let r = root(dot(&s.x[p], &s.x[p])) * self.masses.length[p];
            if r < self.least {
                self.come_to(r, p, self.time);
            }
            p += 1;
        }
        let energy_error = self.energy_error(s);
        let is_over = outcome == Outcome::ESCAPE || outcome == Outcome::IONISATION;
        let (outcome, body, values) = if is_over && !(energy_error.abs() < 1.0) {
            (Outcome::FAILED, NONE, [f64::NAN; 3])
        } else {
            (outcome, body, values)
        };
        let m = &self.masses;
        let l = angular_momentum(s, m);
        let l0 = &self.momentum;
        let d = [l[0] - l0[0], l[1] - l0[1], l[2] - l0[2]];
        let [length, unit_time, velocity] = self.units;
        *record = Record {
            time: time * unit_time,
            a: values[0] * length,
            e: values[1],
            v_inf: values[2] * velocity,
            least_distance: self.least * length,
            least_distance_time: self.least_time() * unit_time,
            energy_error,
            momentum_error: root(dot(&d, &d)) * root(2.0 * self.energy_scale),
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

/// Whether the third body may escape, judged without the tide.
#[inline(always)]
fn nearly_unbound(g: &Glance) -> bool {
    // v²/2 - 1/r > -0.02/r.
    let v2 = dot(&g.v, &g.v);
    0.5 * v2 > (1.0 - NEARLY_UNBOUND) * g.r2.reciprocal_root()
}

#[cfg(test)]
mod tests {
    use super::super::excursion::Fate;
    use super::super::random::uniform;
    use super::super::start::{BodiesStart, Start};
    use super::super::step::{ORDER_6, StepControl, Watch, advance, stages};
    use super::*;

    /// A binary of masses 15 and 17.5 and a single body of mass 12.5 at rest, at the phase and inclination of a run.
    fn start(run: u64) -> Start {
        let masses = [15.0, 17.5, 12.5];
        let (phase, tilt) = (2.0 * PI * uniform(1, run, 0), PI * uniform(1, run, 1));
        let x = [
            5.0 * phase.cos(),
            5.0 * phase.sin() * tilt.cos(),
            5.0 * phase.sin() * tilt.sin(),
        ];
        let speed = (32.5_f64 / 5.0).sqrt();
        let v = [
            -speed * phase.sin(),
            speed * phase.cos() * tilt.cos(),
            speed * phase.cos() * tilt.sin(),
        ];
        let part = |k: f64, x: &[f64; 3]| x.map(|x| k * x);
        let (first, second) = (-17.5 / 32.5, 15.0 / 32.5);
        Start::new(&BodiesStart {
            positions: [part(first, &x), part(second, &x), [60.0, 0.0, 0.0]],
            velocities: [part(first, &v), part(second, &v), [0.0; 3]],
            masses,
        })
    }

    #[test]
    fn every_closer_pericentre_is_found_and_few_others_are_computed() {
        let (mut closer, mut passed, mut all) = (0, 0, 0);
        for i in 0..30_000 {
            let mut encounter = Encounter::begin(i, &start(i % 7), &Settings::new(50.0));
            // Late enough for the pericentre to be after the start.
            encounter.time = 1e4;
            let u = |k| uniform(3, i, k);
            let pair = (i % 3) as usize;
            // Orbits from radial to circular, bound and unbound, near the pericentre and away from it.
            let r = 0.1 + u(0);
            let speed = (2.5 * u(1) / r).sqrt();
            let turn = PI * (0.5 + if i % 2 == 0 { 1e-4 } else { 0.5 } * (u(2) - 0.5));
            let l = encounter.masses.length[pair];
            let minimum = Minimum {
                x: [r / l, 0.0, 0.0],
                w: [speed * turn.cos() / l, speed * turn.sin() / l, 0.0],
                when: 0.0,
                pair: pair as u32,
            };
            let mut probe = encounter;
            probe.least = f64::INFINITY;
            assert!(probe.comes_closer(minimum.x, minimum.w, pair, 0.0));
            // Thresholds from just beside the pericentre to far from it.
            let beside = f64::powi(10.0, -((i % 16) as i32)) * if u(3) < 0.5 { 1.0 } else { -0.9 };
            encounter.least = probe.least * (1.0 + beside);
            let may = encounter.may_come_closer(&minimum.x, &minimum.w, pair);
            let does = encounter.comes_closer(minimum.x, minimum.w, pair, 0.0);
            assert!(may || !does, "{i}: {minimum:?}");
            all += 1;
            closer += u32::from(does);
            passed += u32::from(may);
        }
        assert!(
            closer > all / 3 && passed < 3 * all / 4,
            "{closer} {passed} {all}"
        );
    }

    #[test]
    fn every_escape_and_jump_is_found_and_few_other_states_are_examined() {
        struct Nothing;
        impl Watch<f64> for Nothing {
            fn passage(&mut self, _: &Pairs<f64>, _: f64, _: &[i32; 3], _: &mut i32) {}
        }
        let (table, count) = stages(&ORDER_6);
        let settings = Settings::new(50.0);
        let (mut asked, mut yes, mut escapes, mut returns) = (0, 0, 0, 0);
        for run in 0..60 {
            let start = start(run);
            let mut encounter = Encounter::begin(run, &start, &settings);
            let mut pairs = start.pairs;
            for _ in 0..400 {
                let mut control = StepControl::<f64> {
                    binding: 2.0 * encounter.binding,
                    step: settings.step * encounter.masses.pace,
                    left: encounter.left(),
                    ..StepControl::new()
                };
                let masses = encounter.masses.step;
                let scheme = &table[..count];
                advance(
                    &mut pairs,
                    &masses,
                    &mut control,
                    STEPS_PER_BLOCK,
                    scheme,
                    &mut Nothing,
                );
                encounter.survey(&mut pairs, &settings);
                let g = glance(&pairs, &encounter.masses);
                if g.pair == NO_PAIR || g.r2 < 20.0 * 20.0 * g.a * g.a {
                    continue;
                }
                let h = hierarchy(&pairs, &encounter.masses, &g);
                for to in [h.distance, 20.0 * g.a] {
                    let may_escape = encounter.may_leave(&pairs, &g, false);
                    let may_jump = encounter.may_leave(&pairs, &g, true);
                    match fate(&pairs, &encounter.masses, &h, encounter.binding, to) {
                        Fate::Open => {}
                        Fate::Escape { .. } => {
                            escapes += 1;
                            assert!(may_escape && may_jump, "{run}: {g:?}");
                        }
                        Fate::Return { .. } => {
                            returns += 1;
                            assert!(may_jump, "{run}: {g:?}");
                        }
                    }
                    asked += 1;
                    yes += u32::from(may_escape);
                }
            }
        }
        assert!(escapes > 100 && returns > 100, "{escapes} {returns}");
        // Some orbits are so close to a parabola that the tide decides.
        assert!(
            yes >= escapes && yes < escapes + asked / 20,
            "{yes} {escapes} {asked}"
        );
    }
}
