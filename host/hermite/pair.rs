//! Two bodies that are integrated as one particle of a cluster: their relative orbit, and the tide of the other particles.
//!
//! Without a tide, the relative motion is a Kepler orbit. With a tide, kicks by the tide alternate with arcs of Kepler orbits, in the
//! composition SABA₃ of Laskar & Robutel (2001), whose error is of order ε h⁶ + ε² h² in the relative strength ε of the tide. A step h
//! advances the eccentric anomaly by a fixed angle.

use std::f64::consts::PI;

use kernels_gpu::Vec3;
use kernels_gpu::encounters::orbit::{Orbit, eccentric_anomaly};
use kernels_gpu::hermite::arithmetic::{Arithmetic, Plain};
use kernels_gpu::physics::softening::softening2;

/// Advance of the eccentric anomaly in a step with a tide.
const STEP_ANGLE: f64 = 2.0 * PI / 16.0;
/// √15 / 10, the half distance of the outer nodes of the Gauss-Legendre formula with three nodes.
const NODE: f64 = 0.387_298_334_620_741_7;
/// The lengths of the arcs in SABA₃.
const ARCS: [f64; 4] = [0.5 - NODE, NODE, NODE, 0.5 - NODE];
/// The lengths of the kicks in SABA₃.
const KICKS: [f64; 3] = [5.0 / 18.0, 4.0 / 9.0, 5.0 / 18.0];
/// Largest eccentricity for which Kepler's equation is solved as that of an ellipse.
const LARGEST_ECCENTRICITY: f64 = 1.0 - f64::EPSILON;
/// Number of iterations after which Newton's method has converged.
const MAX_ITERATIONS: u32 = 100;
/// Below this |r/a| an arc is computed as a near-parabolic one, if it is short.
const NEAR_PARABOLIC: f64 = 1e-3;
/// Largest square of the difference of the eccentric anomalies, or of its hyperbolic counterpart, on a near-parabolic arc.
const LARGEST_SQUARE: f64 = 0.25;
/// If an arc ends within this part of the distance at its start, rounding errors of the end's position matter for the energy.
const DEEP: f64 = 0.01;

/// A position and a velocity.
pub(crate) type State = [Vec3<f64>; 2];

/// The particles around a pair.
pub(crate) trait TidalField {
    /// The acceleration of the relative motion of a pair by the other particles, at a time.
    fn tide(&self, pair: &Pair, time: f64) -> Vec3<f64>;
}

/// Two bodies that are integrated as one particle, which has their centre of mass and the sum of their masses.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The places of the two bodies. The particle has the first place, and the second one is vacant.
    pub places: [u32; 2],
    /// G·m of the two bodies.
    pub masses: [f64; 2],
    /// The time of the relative orbit.
    pub time: f64,
    /// Position and velocity of the second body relative to the first.
    pub relative: State,
    /// The distance up to which the two bodies are a pair. A pair whose apocentre is farther away is an open one, which exists only while
    /// its bodies pass their pericentre.
    pub reach: f64,
    /// The places of the particles whose tide is taken into account, ascending.
    pub perturbers: Vec<u32>,
}

impl Pair {
    /// G·m of both bodies.
    pub fn mass(&self) -> f64 {
        self.masses[0] + self.masses[1]
    }

    /// The osculating orbit.
    pub(crate) fn orbit(&self) -> Orbit {
        orbit(&self.relative, self.mass())
    }

    /// Relative position and velocity at a later time, without a tide since [`time`](Self::time).
    pub(crate) fn relative_at(&self, time: f64) -> State {
        if time == self.time {
            self.relative
        } else {
            kepler(&self.relative, self.mass(), time - self.time)
        }
    }

    /// Whether the two bodies can get beyond the reach.
    pub(crate) fn is_open(&self) -> bool {
        apocentre(&self.orbit()) > self.reach
    }

    /// The largest distance of the bodies while they are a pair.
    pub(crate) fn extent(&self) -> f64 {
        apocentre(&self.orbit()).min(self.reach)
    }

    /// Whether the bodies of an open pair leave it: they are beyond the reach, or on their way out beyond half of it.
    pub(crate) fn separates(&self) -> bool {
        let [x, v] = self.relative;
        let r = x.norm2_plus(0.0).sqrt();
        r > self.reach || (r > 0.5 * self.reach && x.dot(v) > 0.0)
    }

    /// A time within which the bodies of an open pair that do not [separate](Self::separates) do not get beyond the reach: that
    /// for the outer half of it, with the speed that they have where it begins.
    pub(crate) fn time_within_reach(&self) -> f64 {
        let half = 0.5 * self.reach;
        let speed2 = self.mass() * (2.0 / half - self.orbit().inverse_axis);
        if speed2 > 0.0 {
            half / speed2.sqrt()
        } else {
            f64::INFINITY
        }
    }

    /// The vectors of both bodies from that of their centre of mass and the relative one.
    #[inline(always)]
    pub(crate) fn members(&self, centre: Vec3<f64>, relative: Vec3<f64>) -> [Vec3<f64>; 2] {
        let [first, second] = self.masses.map(|mass| mass / self.mass());
        [
            centre.add_scaled(-second, relative),
            centre.add_scaled(first, relative),
        ]
    }

    /// Advances the orbit to a later time.
    #[inline(always)]
    pub(crate) fn advance<F: TidalField>(&mut self, time: f64, field: &F) {
        let mass = self.mass();
        if self.perturbers.is_empty() {
            self.relative = kepler(&self.relative, mass, time - self.time);
            self.time = time;
            return;
        }
        while self.time < time {
            let rest = time - self.time;
            let step = step_length(&self.relative, mass, self.reach);
            // The last two steps have equal lengths.
            let (step, last) = match step {
                s if rest <= s => (rest, true),
                s if rest < 2.0 * s => (0.5 * rest, false),
                s => (s, false),
            };
            let mut at = self.time;
            for (k, arc) in ARCS.iter().enumerate() {
                self.relative = kepler(&self.relative, mass, arc * step);
                at += arc * step;
                if let Some(kick) = KICKS.get(k) {
                    let tide = field.tide(self, at);
                    self.relative[1] = self.relative[1].add_scaled(kick * step, tide);
                }
            }
            let next = self.time + step;
            // A step that does not advance the time must not repeat for ever.
            self.time = if last || next == self.time {
                time
            } else {
                next
            };
        }
    }
}

/// Acceleration and jerk of a relative motion by the mutual attraction.
#[inline(always)]
pub(crate) fn attraction(relative: &State, mass: f64) -> [Vec3<f64>; 2] {
    let mut sum = [Vec3::zero(); 2];
    let origin = [Vec3::zero(); 2];
    pull(relative, &origin, mass, &mut sum);
    sum
}

/// The tide of a body at `position` on the relative motion of two others: the difference of the accelerations that it gives them.
#[inline(always)]
pub(crate) fn tide_of(members: &[Vec3<f64>; 2], mass: f64, position: Vec3<f64>) -> Vec3<f64> {
    let (mut on_first, mut on_second) = ([Vec3::zero(); 2], [Vec3::zero(); 2]);
    let other = [position, Vec3::zero()];
    pull(&[members[0], Vec3::zero()], &other, mass, &mut on_first);
    pull(&[members[1], Vec3::zero()], &other, mass, &mut on_second);
    on_second[0] - on_first[0]
}

/// Adds the pull of body `j` on body `i`, without softening.
#[inline(always)]
pub(crate) fn pull<const D: usize>(
    i: &[Vec3<f64>; D],
    j: &[Vec3<f64>; D],
    mass: f64,
    sum: &mut [Vec3<f64>; D],
) {
    <Plain<f64> as Arithmetic<D>>::pull(i, j, mass, softening2(0.0), sum);
}

/// The orbit of a relative position and velocity.
pub(crate) fn orbit([x, v]: &State, mass: f64) -> Orbit {
    let inverse_axis = 2.0 / x.norm2_plus(0.0).sqrt() - v.norm2_plus(0.0) / mass;
    let rv = x.dot(*v);
    let momentum2 = x.norm2_plus(0.0) * v.norm2_plus(0.0) - rv * rv;
    Orbit::new(inverse_axis, momentum2.max(0.0), mass)
}

/// Distance of the apocentre; infinite without one.
pub(crate) fn apocentre(orbit: &Orbit) -> f64 {
    if orbit.inverse_axis > 0.0 {
        (1.0 + orbit.e) / orbit.inverse_axis
    } else {
        f64::INFINITY
    }
}

/// The time in which the eccentric anomaly, or its hyperbolic counterpart, advances by [`STEP_ANGLE`]. For an orbit larger than the reach,
/// this angle is that of an orbit whose major axis is the reach.
fn step_length(state: &State, mass: f64, reach: f64) -> f64 {
    let [x, v] = state;
    let (r, v2) = (x.norm2_plus(0.0).sqrt(), v.norm2_plus(0.0));
    let inverse_axis = 2.0 / r - v2 / mass;
    let a = 1.0 / inverse_axis;
    if !(a > 0.0 && a < reach) {
        let axis = a.abs().min(0.5 * reach);
        let s = STEP_ANGLE * (axis / mass).sqrt();
        return Arc::new(mass * inverse_axis, s).time(r, x.dot(*v), mass);
    }
    let root = (mass * a).sqrt();
    let (sine, cosine) = (x.dot(*v) / root, 1.0 - r / a);
    let (s, c) = libm::sincos(STEP_ANGLE);
    (STEP_ANGLE - (cosine * s - sine * (1.0 - c))) * (a * a / root)
}

/// A relative position and velocity after the time `dt` on a Kepler orbit of any energy, by Gauss's functions f and g of the
/// difference of the eccentric anomalies (Danby 1988). An error of that difference is an error of the time only.
pub(crate) fn kepler(state: &State, mass: f64, dt: f64) -> State {
    let [x, v] = *state;
    let r = x.norm2_plus(0.0).sqrt();
    // r/a.
    let z = 2.0 - r * v.norm2_plus(0.0) / mass;
    if z.abs() < NEAR_PARABOLIC
        && let Some(next) = near_parabolic(state, mass, z / r, dt)
    {
        return next;
    }
    let a = r / z.abs();
    let root = (mass * a).sqrt();
    let mean_motion = root / (a * a);
    // e sin E and e cos E, or their hyperbolic counterparts.
    let (sine, cosine) = (x.dot(v) / root, 1.0 - z);
    let phase = mean_motion * dt;
    // The sine of the difference, and 1 less its cosine.
    let (s, w) = if z > 0.0 {
        let e = (sine * sine + cosine * cosine).sqrt();
        let anomaly = libm::atan2(sine, cosine);
        let mean = within_half_turn(anomaly - sine + within_half_turn(phase));
        let next = eccentric_anomaly(mean, e.min(LARGEST_ECCENTRICITY));
        let (s, c) = libm::sincos(0.5 * (next - anomaly));
        (2.0 * s * c, 2.0 * s * s)
    } else {
        let half = 0.5 * hyperbolic_difference(phase, sine, cosine);
        let (s, c) = (libm::sinh(half), libm::cosh(half));
        (2.0 * s * c, 2.0 * s * s)
    };
    let next_r = r + a * (cosine * w + sine * s);
    let f = 1.0 - w * (a / r);
    let g = ((r / a) * s + sine * w) / mean_motion;
    let f_dot = -root * s / (next_r * r);
    let g_dot = 1.0 - w * (a / next_r);
    let next = [
        x.scaled(f).add_scaled(g, v),
        x.scaled(f_dot).add_scaled(g_dot, v),
    ];
    with_energy(next, r, z / r, mass)
}

/// The end of an arc that began at the distance `r`, with the energy of the arc.
fn with_energy([x, v]: State, r: f64, inverse_axis: f64, mass: f64) -> State {
    let next_r = x.norm2_plus(0.0).sqrt();
    let v2 = mass * (2.0 / next_r - inverse_axis);
    if !(next_r < DEEP * r && v2 > 0.0) {
        return [x, v];
    }
    [x, v.scaled((v2 / v.norm2_plus(0.0)).sqrt())]
}

/// An arc of a Kepler orbit of any energy: gₙ = sⁿ cₙ(β s²) with Stumpff's functions cₙ, β = G·m/a and the regularised time s of the arc,
/// for which dt = r ds (Danby 1988).
struct Arc {
    g1: f64,
    g2: f64,
    g3: f64,
}

impl Arc {
    /// |β| s² is at most [`LARGEST_SQUARE`].
    fn new(beta: f64, s: f64) -> Self {
        let y = beta * s * s;
        // The products of two consecutive numbers by which the terms of the series for c₂ and c₃ differ.
        let series = |first: f64, products: [f64; 7]| {
            let nested = |sum: f64, product: &f64| 1.0 - y / product * sum;
            products.iter().rev().fold(1.0, nested) / first
        };
        let c2 = series(2.0, [12.0, 30.0, 56.0, 90.0, 132.0, 182.0, 240.0]);
        let c3 = series(6.0, [20.0, 42.0, 72.0, 110.0, 156.0, 210.0, 272.0]);
        Self {
            g1: s * (1.0 - y * c3),
            g2: s * s * c2,
            g3: s * s * s * c3,
        }
    }

    /// The time, from a start at the distance `r`, where `rv` is the scalar product of position and velocity.
    fn time(&self, r: f64, rv: f64, mass: f64) -> f64 {
        r * self.g1 + rv * self.g2 + mass * self.g3
    }
}

/// As [`kepler`], without the loss of digits in differences of nearly equal anomalies; `None` if the arc is too long.
fn near_parabolic(state: &State, mass: f64, inverse_axis: f64, dt: f64) -> Option<State> {
    let [x, v] = *state;
    let (r, rv, beta) = (x.norm2_plus(0.0).sqrt(), x.dot(v), mass * inverse_axis);
    let longest = (LARGEST_SQUARE / beta.abs()).sqrt();
    let excess = |s: f64| Arc::new(beta, s).time(r, rv, mass) - dt;
    let (mut low, mut high) = (0.0, (dt / r).min(longest));
    while excess(high) < 0.0 {
        if high == longest {
            return None;
        }
        (low, high) = (high, (2.0 * high).min(longest));
    }
    let slope = |s: f64| {
        let arc = Arc::new(beta, s);
        r * (1.0 - beta * arc.g2) + rv * arc.g1 + mass * arc.g2
    };
    let s = root_between(low, high, excess, slope);
    let arc = Arc::new(beta, s);
    let next_r = slope(s);
    let f = 1.0 - mass * arc.g2 / r;
    let g = r * arc.g1 + rv * arc.g2;
    let f_dot = -mass * arc.g1 / (r * next_r);
    let g_dot = 1.0 - mass * arc.g2 / next_r;
    let next = [
        x.scaled(f).add_scaled(g, v),
        x.scaled(f_dot).add_scaled(g_dot, v),
    ];
    Some(with_energy(next, r, inverse_axis, mass))
}

/// An angle, less whole turns, in [-π, π].
fn within_half_turn(angle: f64) -> f64 {
    (angle - 2.0 * PI * (angle / (2.0 * PI)).round()).clamp(-PI, PI)
}

/// The difference d of the hyperbolic anomalies for `phase` ≥ 0: cosine sinh d + sine (cosh d - 1) - d = phase.
fn hyperbolic_difference(phase: f64, sine: f64, cosine: f64) -> f64 {
    let excess = |d: f64| {
        let half = libm::sinh(0.5 * d);
        cosine * libm::sinh(d) + 2.0 * sine * half * half - d - phase
    };
    let (mut low, mut high) = (0.0, 1e-3);
    while excess(high) < 0.0 {
        (low, high) = (high, 2.0 * high);
    }
    let slope = |d: f64| cosine * libm::cosh(d) + sine * libm::sinh(d) - 1.0;
    root_between(low, high, excess, slope)
}

/// The root of a growing function, by Newton's method within an interval that contains the root.
fn root_between(
    mut low: f64,
    mut high: f64,
    function: impl Fn(f64) -> f64,
    slope: impl Fn(f64) -> f64,
) -> f64 {
    let mut x = 0.5 * (low + high);
    for _ in 0..MAX_ITERATIONS {
        let value = function(x);
        if value < 0.0 {
            low = x;
        } else {
            high = x;
        }
        let newton = x - value / slope(x);
        let next = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low + high)
        };
        if next == x {
            break;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(x: f64, y: f64, z: f64) -> Vec3<f64> {
        Vec3 { x, y, z }
    }

    fn largest_difference(a: &State, b: &State) -> f64 {
        let pairs = a.iter().zip(b);
        let of = |(a, b): (&Vec3<f64>, &Vec3<f64>)| (*a - *b).norm2_plus(0.0).sqrt();
        pairs.map(of).fold(0.0, f64::max)
    }

    #[test]
    fn an_arc_of_any_energy_is_the_sum_of_short_arcs() {
        let x = vector(0.7, -0.2, 0.1);
        for speed in [0.3, 1.0, 1.6, 1.69, 1.9, 4.0] {
            let start = [x, vector(0.1 * speed, 0.9 * speed, 0.3 * speed)];
            let mut many = start;
            for _ in 0..400 {
                many = kepler(&many, 1.1, 0.01);
            }
            let once = kepler(&start, 1.1, 4.0);
            assert!(largest_difference(&many, &once) < 1e-11, "{speed}");
            let energy = |s: &State| orbit(s, 1.1).inverse_axis;
            assert!((energy(&many) - energy(&start)).abs() < 1e-12, "{speed}");
        }
    }

    #[test]
    fn a_pass_of_a_deep_pericentre_keeps_energy_and_angular_momentum() {
        let x = vector(1.0, 0.0, 0.0);
        // A bound, a nearly parabolic and a hyperbolic orbit, with pericentres from 1e-4 to 1e-12.
        for speed2 in [0.5, 2.2 * (1.0 - 1e-9), 2.2, 2.2 * (1.0 + 1e-9), 9.0] {
            for across in [1e-2, 1e-4, 1e-6] {
                let v = vector(-f64::sqrt(speed2), across, 0.0);
                let start = [x, v];
                // Each arc ends after the pericentre, at about the distance of its start.
                let (mut state, mut time) = (start, 0.0);
                while time == 0.0 || state[0].dot(state[1]) < 0.0 {
                    state = kepler(&state, 1.1, 0.05);
                    time += 0.05;
                }
                let energy =
                    |[x, v]: &State| 0.5 * v.norm2_plus(0.0) - 1.1 / x.norm2_plus(0.0).sqrt();
                let change = (energy(&state) - energy(&start)).abs();
                assert!(change < 1e-9, "{speed2} {across}: {change}");
                let momentum = |[x, v]: &State| x.x * v.y - x.y * v.x;
                let part = momentum(&state) / momentum(&start) - 1.0;
                assert!(part.abs() < 1e-6, "{speed2} {across}: {part}");
                // Back to the start, with the velocity reversed.
                let [a, b] = kepler(&[state[0], state[1].scaled(-1.0)], 1.1, time);
                let error = largest_difference(&[a, b.scaled(-1.0)], &start);
                assert!(error < 1e-6, "{speed2} {across}: {error}");
            }
        }
    }

    #[test]
    fn a_short_arc_is_a_taylor_polynomial() {
        let (x, v) = (vector(0.7, -0.2, 0.1), vector(0.2, 0.5, -0.4));
        for dt in [1e-2, 5e-3] {
            let r = x.norm2_plus(0.0).sqrt();
            let acceleration = x.scaled(-1.1 / (r * r * r));
            let expected = x.add_scaled(dt, v).add_scaled(0.5 * dt * dt, acceleration);
            let error = (kepler(&[x, v], 1.1, dt)[0] - expected)
                .norm2_plus(0.0)
                .sqrt();
            // The next term is the jerk's.
            assert!(error < 2.0 * dt * dt * dt, "{error}");
        }
    }

    #[test]
    fn a_pair_in_the_tide_of_a_body_at_rest_keeps_its_energy() {
        let far = vector(6.0, 0.0, 1.0);
        let centre = vector(0.0, 0.0, 0.0);
        struct AtRest(Vec3<f64>, Vec3<f64>);
        impl TidalField for AtRest {
            fn tide(&self, pair: &Pair, _time: f64) -> Vec3<f64> {
                tide_of(&pair.members(self.0, pair.relative[0]), 0.5, self.1)
            }
        }
        let field = AtRest(centre, far);
        let start = Pair {
            places: [0, 1],
            masses: [0.6, 0.5],
            time: 0.0,
            relative: [vector(1.0, 0.0, 0.0), vector(0.0, 0.6, 0.3)],
            reach: 10.0,
            perturbers: vec![2],
        };
        // The perturber rests, so the energy with its potential is conserved.
        let energy = |p: &Pair| {
            let members = p.members(centre, p.relative[0]);
            let tide: f64 = (members.iter().zip(p.masses))
                .map(|(x, m)| -0.5 * m / (far - *x).norm2_plus(0.0).sqrt())
                .sum();
            -0.5 * p.masses[0] * p.masses[1] * p.orbit().inverse_axis + tide
        };
        let mut pair = start.clone();
        let before = energy(&pair);
        let mut largest = 0.0_f64;
        for k in 1..=200 {
            pair.advance(f64::from(k), &field);
            largest = largest.max(((energy(&pair) - before) / before).abs());
        }
        assert!(largest < 1e-7, "{largest}");
    }
}
