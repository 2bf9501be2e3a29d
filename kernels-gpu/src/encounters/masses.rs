//! Constants that follow from the masses of three bodies.

use super::PAIRS;
use super::step::StepMasses;
use crate::Real;
use crate::number::{divide, root};

/// The least value of 1 / [`Masses::pace`], where the orbit of the light body is as accurate as rounding allows.
const MOST_FINER: f64 = 8.0;

/// Three masses as fractions of the total mass, and the constants of the scaled vectors of the pairs.
#[derive(Clone, Copy, Debug)]
pub struct Reduced<R> {
    /// The masses as fractions of the total mass.
    pub fractions: [R; 3],
    /// The constants that steps need, without their rate.
    pub step: StepMasses<R>,
    /// √μ and √ν, the scales of the pair vectors.
    pub scales: [R; 2],
    /// 1/√μ and 1/√ν.
    pub lengths: [R; 2],
}

impl<R: Real> Reduced<R> {
    /// Computes the constants for three positive masses, in any unit.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline(always))]
    pub fn new(masses: [R; 3]) -> Self {
        let total = masses[0] + masses[1] + masses[2];
        let m = [
            masses[0].quotient(total),
            masses[1].quotient(total),
            masses[2].quotient(total),
        ];
        let binary = m[0] + m[1];
        let mu = (m[0] * m[1]).quotient(binary);
        let nu = (m[2] * binary).quotient(binary + m[2]);
        let (s, t) = (mu.square_root(), nu.square_root());
        let ratio = t.quotient(s);
        let (one, by) = (R::from_f64(1.0), R::from_f64(1.0 / R::STEP_ROOT));
        Self {
            fractions: m,
            step: StepMasses {
                first: m[0].quotient(binary) * ratio,
                second: m[1].quotient(binary) * ratio,
                potential: [
                    m[0] * m[1] * s * by,
                    m[1] * m[2] * t * by,
                    m[2] * m[0] * t * by,
                ],
                rate: R::zero(),
            },
            scales: [s, t],
            lengths: [one.quotient(s), one.quotient(t)],
        }
    }
}

/// Three masses as fractions of the total mass, and constants that follow from them. Arrays over pairs are in the order of [`PAIRS`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Masses {
    /// The constants that the steps need.
    pub step: StepMasses<f64>,
    /// For each pair: a length divided by the scaled length of the pair's vector.
    pub length: [f64; 3],
    /// For each pair: half its reduced mass times the square of `length`, which turns squared scaled velocities into kinetic energies.
    pub kinetic: [f64; 3],
    /// For each pair: m_j / (m_i + m_j).
    pub share: [f64; 3],
    /// For each pair: m_i m_j.
    pub product: [f64; 3],
    /// For each pair: the square of (2 m_k / (m_i + m_j))^(1/3), but at least 1. The tide of a heavy third body reaches farther, so
    /// distances in semi-major axes are multiplied by the square root of this.
    pub wideness: [f64; 3],
    /// √μ and √ν, the scales of the pair vectors.
    pub scales: [f64; 2],
    /// The factor of the steps of systems with a light body. The total potential hardly depends on the orbit of such a body, so that the
    /// steps do not follow it exactly, and have to be shorter.
    pub pace: f64,
    /// The masses as fractions of the total mass.
    pub fractions: [f64; 3],
}

impl Masses {
    /// Copies the values of another instance field by field.
    #[inline(always)]
    pub fn put(&mut self, others: &Self) {
        self.fractions = others.fractions;
        self.step = others.step;
        self.length = others.length;
        self.kinetic = others.kinetic;
        self.share = others.share;
        self.product = others.product;
        self.wideness = others.wideness;
        self.scales = others.scales;
        self.pace = others.pace;
    }

    /// Computes the constants for three positive masses, in any unit.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn new(masses: [f64; 3]) -> Self {
        let reduced = Reduced::<f64>::new(masses);
        let (m, [s, t]) = (reduced.fractions, reduced.lengths);
        let mut masses = Self {
            fractions: m,
            step: reduced.step,
            length: [s, t, t],
            scales: reduced.scales,
            ..Self::default()
        };
        // The action of a pair, (m_i m_j)^(3/2) / √(m_i + m_j): the potential of a circular binary to the power 3/2, divided by the
        // frequency of the orbit, is the action times √2.
        let (mut least, mut greatest) = (f64::INFINITY, 0.0);
        let mut p = 0;
        while p < 3 {
            let [i, j, k] = PAIRS[p];
            let (sum, product) = (m[i] + m[j], m[i] * m[j]);
            let scale = masses.length[p];
            masses.kinetic[p] = 0.5 * divide(product, sum) * (scale * scale);
            masses.share[p] = divide(m[j], sum);
            masses.product[p] = product;
            let wide = libm::cbrt(divide(2.0 * m[k], sum));
            masses.wideness[p] = if wide > 1.0 { wide * wide } else { 1.0 };
            let action = product * root(divide(product, sum));
            least = if action < least { action } else { least };
            greatest = if action > greatest { action } else { greatest };
            p += 1;
        }
        let action = if least > 0.5 * greatest {
            least
        } else {
            0.5 * greatest
        };
        let finer = root(divide(action, least));
        let finer = if finer < MOST_FINER {
            finer
        } else {
            MOST_FINER
        };
        let scaled = action * finer;
        masses.step.rate = divide(0.125, scaled * scaled);
        masses.pace = divide(1.0, finer);
        masses
    }
}
