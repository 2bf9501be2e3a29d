//! The most bound pair, and the third body relative to it.

use super::step::{Pairs, StepMasses, kinetic_term, potential, potentials};
use super::vector::{cross, dot};
use super::{Masses, PAIRS};
use crate::number::{Bits, fma};
use crate::number::{divide, root};

/// The index that stands for no pair.
pub const NO_PAIR: usize = 3;

/// The total energy E.
pub fn energy(s: &Pairs<f64>, m: &Masses) -> f64 {
    0.5 * kinetic_term(&s.w, 0.0) - potential(s, &m.step)
}

/// The total angular momentum.
pub fn angular_momentum(s: &Pairs<f64>, m: &Masses) -> [f64; 3] {
    let mut outer = [0.0; 3];
    let mut k = 0;
    while k < 3 {
        outer[k] = fma(m.step.first, s.x[0][k], s.x[1][k]);
        k += 1;
    }
    let (a, b) = (cross(&s.x[0], &s.w[0]), cross(&outer, &s.w[1]));
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// A component of the scaled velocity of a pair.
#[inline(always)]
pub fn pair_velocity(s: &Pairs<f64>, m: &StepMasses<f64>, pair: usize, k: usize) -> f64 {
    let (a, b) = (s.w[0][k], s.w[1][k]);
    match pair {
        0 => a,
        1 => fma(-m.first, a, b),
        _ => fma(m.second, a, b),
    }
}

/// The quantities that are checked between blocks of steps.
#[derive(Clone, Copy, Debug)]
pub struct Glance {
    /// U.
    pub potential: f64,
    /// The most bound pair, or [`NO_PAIR`].
    pub pair: usize,
    /// Energy of the pair.
    pub energy: f64,
    /// Its potential energy, with the opposite sign.
    pub pair_potential: f64,
    /// Its semi-major axis.
    pub a: f64,
    /// The third body's position relative to the pair's centre of mass.
    pub r: [f64; 3],
    /// The third body's velocity relative to the pair's centre of mass.
    pub v: [f64; 3],
    /// r².
    pub r2: f64,
    /// r · v.
    pub rv: f64,
}

/// Position and velocity of the third body relative to the centre of mass of a pair.
#[inline(always)]
pub fn third_body(s: &Pairs<f64>, m: &Masses, pair: usize) -> [[f64; 3]; 2] {
    let (mut r, mut v) = ([0.0; 3], [0.0; 3]);
    let (inner, outer) = (m.length[0], m.length[1]);
    let mut k = 0;
    if pair == 0 {
        while k < 3 {
            r[k] = outer * fma(m.step.first, s.x[0][k], s.x[1][k]);
            v[k] = outer * s.w[1][k];
            k += 1;
        }
    } else if pair == 1 {
        let g = -m.share[1] * outer;
        while k < 3 {
            r[k] = fma(g, s.x[1][k], -(inner * s.x[0][k]));
            v[k] = fma(g, pair_velocity(s, &m.step, 1, k), -(inner * s.w[0][k]));
            k += 1;
        }
    } else {
        let g = -m.share[2] * outer;
        while k < 3 {
            r[k] = fma(g, s.x[2][k], inner * s.x[0][k]);
            v[k] = fma(g, pair_velocity(s, &m.step, 2, k), inner * s.w[0][k]);
            k += 1;
        }
    }
    [r, v]
}

/// Computes a [`Glance`].
#[inline(always)]
pub fn glance(s: &Pairs<f64>, m: &Masses) -> Glance {
    let (w1, w2) = (&s.w[0], &s.w[1]);
    let (mut v1, mut v2) = ([0.0; 3], [0.0; 3]);
    let mut k = 0;
    while k < 3 {
        v1[k] = fma(-m.step.first, w1[k], w2[k]);
        v2[k] = fma(m.step.second, w1[k], w2[k]);
        k += 1;
    }
    let [p0, p1, p2] = potentials(s, &m.step);
    let e0 = fma(m.kinetic[0], dot(w1, w1), -p0);
    let e1 = fma(m.kinetic[1], dot(&v1, &v1), -p1);
    let e2 = fma(m.kinetic[2], dot(&v2, &v2), -p2);
    let (mut pair, mut energy) = (NO_PAIR, 0.0);
    if e0 < energy {
        (pair, energy) = (0, e0);
    }
    if e1 < energy {
        (pair, energy) = (1, e1);
    }
    if e2 < energy {
        (pair, energy) = (2, e2);
    }
    // Selected by comparisons, because a run-time index would put the arrays into a GPU's local memory.
    let by_pair = |x: [f64; 3]| match pair {
        0 => x[0],
        1 => x[1],
        _ => x[2],
    };
    let [r, v] = third_body(s, m, pair);
    Glance {
        potential: (p0 + p1) + p2,
        pair,
        energy,
        pair_potential: by_pair([p0, p1, p2]),
        a: (-2.0 * energy).divides(by_pair(m.product)),
        r,
        v,
        r2: dot(&r, &r),
        rv: dot(&r, &v),
    }
}

/// Two nested orbits: a pair, and the third body around it.
#[derive(Clone, Copy, Debug)]
pub struct Hierarchy {
    /// The pair that is most bound.
    pub pair: usize,
    /// Its energy.
    pub energy: f64,
    /// Its semi-major axis.
    pub a: f64,
    /// Its separation.
    pub x: [f64; 3],
    /// Its relative velocity.
    pub v: [f64; 3],
    /// The third body's position relative to the pair's centre of mass.
    pub outer_r: [f64; 3],
    /// The third body's velocity relative to the pair's centre of mass.
    pub outer_v: [f64; 3],
    /// The third body's distance.
    pub distance: f64,
    /// The scalar product of its position and velocity.
    pub rv: f64,
    /// Mass of the pair.
    pub pair_mass: f64,
}

/// The hierarchy of a [`Glance`], which must have found a pair.
pub fn hierarchy(s: &Pairs<f64>, m: &Masses, g: &Glance) -> Hierarchy {
    let pair = g.pair;
    let (mut x, mut v) = ([0.0; 3], [0.0; 3]);
    let mut k = 0;
    while k < 3 {
        x[k] = m.length[pair] * s.x[pair][k];
        v[k] = m.length[pair] * pair_velocity(s, &m.step, pair, k);
        k += 1;
    }
    let [i, j, _] = PAIRS[pair];
    Hierarchy {
        pair,
        energy: g.energy,
        a: g.a,
        x,
        v,
        outer_r: g.r,
        outer_v: g.v,
        distance: root(g.r2),
        rv: g.rv,
        pair_mass: m.fractions[i] + m.fractions[j],
    }
}

/// The relative excess of G in the motion that the steps compute: T + B = (1 + excess) U. This ratio is what a logarithmic Hamiltonian
/// conserves, so that the energies of parts of the system are those of a motion with this larger G.
pub fn excess(s: &Pairs<f64>, binding: f64, potential: f64) -> f64 {
    divide(
        0.5 * kinetic_term(&s.w, 0.0) + binding - potential,
        potential,
    )
}

/// Semi-major axis and eccentricity of the most bound pair; NaN if there is none.
pub fn binary(s: &Pairs<f64>, m: &Masses, g: &Glance, binding: f64) -> [f64; 2] {
    if g.pair == NO_PAIR {
        return [f64::NAN; 2];
    }
    let h = hierarchy(s, m, g);
    let energy = g.energy - excess(s, binding, g.potential) * g.pair_potential;
    let a = divide(m.product[g.pair], -2.0 * energy);
    let c = cross(&h.x, &h.v);
    let e2 = 1.0 - divide(dot(&c, &c), h.pair_mass * a);
    [a, if e2 > 0.0 { root(e2) } else { 0.0 }]
}
