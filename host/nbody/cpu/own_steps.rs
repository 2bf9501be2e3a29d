//! Steps of their own length on the CPU, by the method of Dormand & Prince of order 8: see [`Method::Adaptive`](super::super::Method).
//!
//! A step of the run is divided into as many steps as the tolerance asks for. The first of these depends only on where the bodies are, so
//! that a run that is interrupted between two steps of the run goes on with the same bits; and only sums, products and square roots decide,
//! so that all machines take the same steps.

use kernels_gpu::integrator::System as _;
use kernels_gpu::integrator::system::{Combination, Pair, Target};
use trisolar_equations::scheme::dormand_prince::{ERROR_3, ERROR_5, WEIGHTS};
use trisolar_equations::scheme::factor;

use super::{CpuRun, EngineError};

/// Slopes in a step.
const STAGES: usize = WEIGHTS.len();
/// What a step saves behind its slopes: the state at its start, the sum that is added to it, what that has added, and what rounding has left of
/// the sums of earlier steps within the same step of the run (Kahan 1965).
const START: usize = STAGES;
const SUM: usize = STAGES + 1;
const ADDED: usize = STAGES + 2;
const LEFT: usize = STAGES + 3;
pub(super) const SAVED: usize = STAGES + 4;
/// The order of the error.
const ORDER: u32 = 8;
/// The smallest part of a step of the run; bodies that need a smaller one collide.
const SMALLEST: f64 = 1.0 / (1_u64 << 52) as f64;
/// The first step in units of the tolerance's eighth root times the shortest time in which a body could fall to its neighbour.
const FIRST: f64 = 3.0;

/// The steps that a run has taken, and those that it has tried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps {
    pub taken: u64,
    pub tried: u64,
}

/// What the errors of a body are relative to.
#[derive(Clone, Copy)]
struct Scale {
    /// The reciprocal of its squared distance from the nearest body that attracts it.
    inverse_length2: f64,
    /// The reciprocal of the squared speed on a circular orbit about the body that attracts it most.
    inverse_speed2: f64,
}

impl CpuRun<'_> {
    /// Takes a step `dt` of the run, with errors of each step of at most `tolerance`.
    pub(super) fn step_by_own(&mut self, dt: f64, tolerance: f64) -> Result<(), EngineError> {
        let (mut done, mut size) = (0.0, f64::INFINITY);
        self.combine(&[Combination::of(Target::Saved(LEFT), Pair::Zero, &[])])?;
        while done < 1.0 {
            self.accelerate()?;
            self.combine(&[
                Combination::of(Target::Saved(START), Pair::State, &[]),
                Combination::of(Target::Saved(0), Pair::Rates, &[]),
            ])?;
            let (scales, shortest) = self.scales();
            if done == 0.0 {
                let root = tolerance.sqrt().sqrt().sqrt();
                size = FIRST * root * shortest / dt.abs();
            }
            loop {
                let rest = 1.0 - done;
                // No step is left that is much shorter than the one before it.
                let step = match size {
                    size if size >= 0.99 * rest => rest,
                    size => size.min(0.5 * rest),
                };
                let error = self.attempt(step * dt, &scales)? / tolerance;
                self.own_steps.tried += 1;
                size = step * factor(error, ORDER);
                if error <= 1.0 {
                    let [added, start] = [ADDED, START].map(|k| (Pair::Saved(k), -1.0));
                    self.combine(&[
                        Combination::of(Target::Saved(ADDED), Pair::State, &[start]),
                        Combination::of(Target::Saved(LEFT), Pair::Saved(SUM), &[added]),
                    ])?;
                    done = if step == rest { 1.0 } else { done + step };
                    self.own_steps.taken += 1;
                    break;
                }
                if step < SMALLEST {
                    // The run ends, and its error tells why.
                    self.x.iter_mut().for_each(|x| x[..self.n].fill(f64::NAN));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Replaces the state by that after a time `h`. Returns its error in units of [`Scale`], that of the body with the largest.
    fn attempt(&mut self, h: f64, scales: &[Scale]) -> Result<f64, EngineError> {
        for (stage, weights) in WEIGHTS.iter().enumerate() {
            let mut terms = [(Pair::Zero, 0.0); STAGES];
            let mut count = 0;
            for (slope, weight) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                terms[count] = (Pair::Saved(slope), h * weight);
                count += 1;
            }
            let all = [(Pair::Saved(SUM), 1.0)];
            self.combine(&[
                Combination::of(Target::Saved(SUM), Pair::Saved(LEFT), &terms[..count]),
                Combination::of(Target::State, Pair::Saved(START), &all),
            ])?;
            if stage + 1 < STAGES {
                self.accelerate()?;
                let slope = Target::Saved(stage + 1);
                self.combine(&[Combination::of(slope, Pair::Rates, &[])])?;
            }
        }
        let mut largest = 0.0_f64;
        for (body, scale) in scales.iter().enumerate() {
            // The squares of both errors, which are relative to distance and speed.
            let [five, three] = [&ERROR_5, &ERROR_3].map(|weights| {
                let square = |vector: usize| -> f64 {
                    let sum = |d: usize| -> f64 {
                        let slopes = self.saved[..STAGES].iter().zip(weights);
                        slopes.map(|(slope, w)| w * slope[vector][d][body]).sum()
                    };
                    (0..3).map(|d| sum(d) * sum(d)).sum()
                };
                square(0) * scale.inverse_length2 + square(1) * scale.inverse_speed2
            });
            if five > 0.0 {
                largest = largest.max(five * five / (five + 0.01 * three));
            } else if five.is_nan() {
                return Ok(f64::NAN);
            }
        }
        Ok(h.abs() * largest.sqrt())
    }

    /// The scales of the errors of all bodies, and the shortest time in which one of them could fall to its neighbour.
    fn scales(&self) -> (Vec<Scale>, f64) {
        let [x, y, z] = &self.x;
        let mut shortest2 = f64::INFINITY;
        let scale = |i: usize| {
            let (mut length2, mut speed4) = (f64::INFINITY, 0.0_f64);
            for j in (0..self.n).filter(|j| *j != i && self.g[*j] != 0.0) {
                let d = [x[j] - x[i], y[j] - y[i], z[j] - z[i]];
                let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + self.softening2;
                length2 = length2.min(r2);
                speed4 = speed4.max(self.g[j] * self.g[j] / r2);
            }
            let speed2 = speed4.sqrt();
            shortest2 = shortest2.min(length2 / speed2);
            Scale {
                inverse_length2: 1.0 / length2,
                inverse_speed2: if speed2 > 0.0 { 1.0 / speed2 } else { 0.0 },
            }
        };
        let scales = (0..self.n).map(scale).collect();
        (scales, shortest2.sqrt())
    }
}
