//! Start states: from parameters, each of which is fixed, drawn from a distribution or an axis of a map, or from given bodies.

use core::f64::consts::PI;

use trisolar_equations::Law;
use trisolar_equations::random::uniform;

use super::Masses;
use super::orbit::eccentric_anomaly;
use super::step::Pairs;
use super::vector::{axpy, dot, scale};
use crate::number::{divide, root};

/// One degree in radians.
const DEGREE: f64 = PI / 180.0;

/// The largest number of parameters of a start.
pub const MAX_PARAMETERS: usize = 12;

/// The kinds of starts. (They are plain constants, because memory of a GPU may hold any number.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup(pub u32);

impl Setup {
    /// A binary and a single body: masses 1 to 3, semi-major axis, eccentricity, inclination, node, argument of the pericentre, mean
    /// anomaly, distance, velocity at infinity, impact parameter. A negative velocity means that the single body starts at rest.
    pub const BINARY_SINGLE: Self = Self(0);
    /// Three bodies at rest: masses 1 to 3, x and y of body 3; bodies 1 and 2 at x = -1/2 and 1/2.
    pub const FREE_FALL: Self = Self(1);
    /// Bodies 1 to 3 as given; see [`BodiesStart`].
    pub const BODIES: Self = Self(2);
}

/// Positions, velocities and masses of three bodies, in the user's units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct BodiesStart {
    /// Positions of bodies 1 to 3.
    pub positions: [[f64; 3]; 3],
    /// Velocities of bodies 1 to 3.
    pub velocities: [[f64; 3]; 3],
    /// Masses of bodies 1 to 3, all positive.
    pub masses: [f64; 3],
}

/// The starts of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Plan {
    /// See [`Setup`].
    pub setup: u32,
    /// Padding, which is 0.
    pub unused: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Columns and rows of a map.
    pub size: [u64; 2],
    /// The law of each parameter; angles are in degrees, everything else is in the user's units.
    pub laws: [Law; MAX_PARAMETERS],
    /// The start of every run of [`Setup::BODIES`], unless the starts are listed individually.
    pub bodies: BodiesStart,
}

impl Plan {
    /// The value of a parameter in a run.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn value(&self, parameter: usize, run: u64) -> f64 {
        let law = &self.laws[parameter];
        match law.kind {
            Law::REGION_X => self.region(run)[0],
            Law::REGION_Y => self.region(run)[1],
            _ => law.value(self.seed, self.size, parameter as u32, run),
        }
    }

    /// Body 3 in the region of Agekyan & Anosova (1967): x and y are at least 0, and its distance from body 1 is at most that of
    /// body 2.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    fn region(&self, run: u64) -> [f64; 2] {
        // These dimensions are beyond those of the parameters.
        let mut dimension = 16;
        loop {
            let x = 0.5 * uniform(self.seed, run, dimension);
            let y = uniform(self.seed, run, dimension + 1);
            if (x + 0.5) * (x + 0.5) + y * y <= 1.0 {
                return [x, y];
            }
            dimension += 2;
        }
    }

    /// The bodies of a run, from its parameters, in the user's units.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn bodies(&self, run: u64) -> BodiesStart {
        if self.setup == Setup::BODIES.0 {
            return self.bodies;
        }
        let value = |parameter| self.value(parameter, run);
        let masses = [value(0), value(1), value(2)];
        let mut start = BodiesStart {
            masses,
            ..BodiesStart::default()
        };
        if self.setup == Setup::FREE_FALL.0 {
            start.positions = [[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [value(3), value(4), 0.0]];
            return start;
        }
        let binary = masses[0] + masses[1];
        let total = binary + masses[2];
        let (a, e) = (value(3), value(4));
        // The binary in its plane, from its mean anomaly.
        let turns = value(8) * (1.0 / 360.0);
        let mean = 2.0 * PI * (turns - libm::floor(turns + 0.5));
        let (s, c) = libm::sincos(eccentric_anomaly(mean, e));
        let j = root(1.0 - e * e);
        let speed = divide(root(divide(binary, a)), 1.0 - e * c);
        let (p, q) = axes(value(5) * DEGREE, value(6) * DEGREE, value(7) * DEGREE);
        let x = axpy(a * j * s, &q, &scale(a * (c - e), &p));
        let v = axpy(speed * j * c, &q, &scale(-speed * s, &p));
        let (f1, f2) = (divide(masses[1], binary), divide(masses[0], binary));
        // The single body starts on the x axis and moves in the negative x direction, offset by the impact parameter towards positive
        // y.
        let (distance, v_inf, impact) = (value(9), value(10), value(11));
        let mut single_v = [0.0; 3];
        if v_inf >= 0.0 {
            let across = divide(impact * v_inf, distance);
            let square = v_inf * v_inf + divide(2.0 * total, distance) - across * across;
            single_v = [-root(square), across, 0.0];
        }
        start.positions = [scale(-f1, &x), scale(f2, &x), [distance, 0.0, 0.0]];
        start.velocities = [scale(-f1, &v), scale(f2, &v), single_v];
        start
    }
}

/// The directions of a binary's pericentre and of the motion there. The pole for inclinations is the direction -x, in which the single
/// body approaches; nodes are measured from the y axis.
fn axes(inclination: f64, node: f64, argument: f64) -> ([f64; 3], [f64; 3]) {
    let (si, ci) = libm::sincos(inclination);
    let (sn, cn) = libm::sincos(node);
    let (sa, ca) = libm::sincos(argument);
    // The ascending node, and the direction a quarter of a turn ahead of it.
    let ascending = [0.0, cn, -sn];
    let ahead = [-si, -ci * sn, -ci * cn];
    (
        axpy(sa, &ahead, &scale(ca, &ascending)),
        axpy(ca, &ahead, &scale(-sa, &ascending)),
    )
}

/// The scaled pair vectors of bodies whose masses are in units of the total mass.
#[cfg_attr(target_arch = "nvptx64", inline(never))]
pub fn pairs(m: &Masses, positions: &[[f64; 3]; 3], velocities: &[[f64; 3]; 3]) -> Pairs<f64> {
    let mut s = Pairs::<f64>::default();
    let [f0, f1, _] = m.fractions;
    let inverse = divide(1.0, f0 + f1);
    let [mu, nu] = m.scales;
    let mut k = 0;
    while k < 3 {
        let (r0, r1, r2) = (positions[0][k], positions[1][k], positions[2][k]);
        let (v0, v1, v2) = (velocities[0][k], velocities[1][k], velocities[2][k]);
        s.x[0][k] = mu * (r1 - r0);
        s.x[1][k] = nu * (r2 - r1);
        s.x[2][k] = nu * (r2 - r0);
        s.w[0][k] = mu * (v1 - v0);
        s.w[1][k] = nu * (v2 - (f0 * v0 + f1 * v1) * inverse);
        k += 1;
    }
    s
}

/// The scaled pair vectors of a pair with this separation and relative velocity, and of a third body with this position and velocity
/// relative to the pair's centre of mass.
#[cfg_attr(target_arch = "nvptx64", inline(never))]
pub fn nested(
    m: &Masses,
    pair: usize,
    [x, v]: [&[f64; 3]; 2],
    [outer_r, outer_v]: [&[f64; 3]; 2],
) -> Pairs<f64> {
    let [i, j, k] = super::PAIRS[pair];
    let fi = divide(m.fractions[i], m.fractions[i] + m.fractions[j]);
    let fj = m.share[pair];
    let (mut positions, mut velocities) = ([[0.0; 3]; 3], [[0.0; 3]; 3]);
    positions[i] = scale(-fj, x);
    positions[j] = scale(fi, x);
    positions[k] = *outer_r;
    velocities[i] = scale(-fj, v);
    velocities[j] = scale(fi, v);
    velocities[k] = *outer_v;
    let mut state = pairs(m, &positions, &velocities);
    // Set directly, because the difference of two positions would lose digits.
    state.x[pair] = scale(divide(1.0, m.length[pair]), x);
    state
}

/// Three bodies in the units of the integrator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    /// Their masses.
    pub masses: Masses,
    /// Their state.
    pub pairs: Pairs<f64>,
    /// The unit of length, a power of two, in the user's units.
    pub length: f64,
    /// The unit of time in the user's units.
    pub time: f64,
    /// The unit of velocity in the user's units.
    pub velocity: f64,
}

impl Start {
    /// Converts bodies in the user's units, with G = 1.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn new(bodies: &BodiesStart) -> Self {
        let total = bodies.masses[0] + bodies.masses[1] + bodies.masses[2];
        let masses = Masses::new(bodies.masses);
        // The size of the system is the weighted mean of its distances for which the sum of the mass products gives the potential.
        let (mut products, mut potential) = (0.0, 0.0);
        let mut p = 0;
        while p < 3 {
            let [i, j, _] = super::PAIRS[p];
            let d = axpy(-1.0, &bodies.positions[i], &bodies.positions[j]);
            products += masses.product[p];
            potential += divide(masses.product[p], root(dot(&d, &d)));
            p += 1;
        }
        let size = divide(products, potential);
        let length = f64::from_bits(size.to_bits() & (0x7ff << 52));
        let velocity = root(divide(total, length));
        let inverse_velocity = divide(1.0, velocity);
        let inverse_length = divide(1.0, length);
        let (mut positions, mut velocities) = (bodies.positions, bodies.velocities);
        let mut i = 0;
        while i < 3 {
            positions[i] = scale(inverse_length, &positions[i]);
            velocities[i] = scale(inverse_velocity, &velocities[i]);
            i += 1;
        }
        Self {
            pairs: pairs(&masses, &positions, &velocities),
            masses,
            length,
            time: divide(length, velocity),
            velocity,
        }
    }
}

/// Whether all distances of a start keep the integrator's numbers [ordinary](crate::number::inv_cube).
pub fn is_ordinary(start: &Start) -> bool {
    let mut p = 0;
    while p < 3 {
        let r2 = dot(&start.pairs.x[p], &start.pairs.x[p]);
        if !(r2 > 1e-16 && r2 < 1e16) {
            return false;
        }
        p += 1;
    }
    start.length.is_normal() && start.velocity.is_normal() && start.time.is_normal()
}
