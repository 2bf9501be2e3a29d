//! The operations of the integrators on planes of numbers.

use std::ops::Range;

use kernels_gpu::integrator::System;
use kernels_gpu::integrator::system::{Combination, Pair, Target};

use super::CpuRun;
use super::entries::AdvanceEntry;
use trisolar_run::EngineError;

/// Largest number of lanes of a vector.
const MAX_LANES: usize = 8;

/// to += h · by, fused, in every plane, for some bodies.
fn advance(
    entry: AdvanceEntry,
    to: &mut [Vec<f64>; 3],
    by: &[Vec<f64>; 3],
    h: f64,
    bodies: &[Range<usize>],
) {
    for (to, by) in to.iter_mut().zip(by) {
        for range in bodies {
            let (to, by) = (&mut to[range.clone()], &by[range.clone()]);
            let whole = to.len() - to.len() % MAX_LANES;
            let (to, rest) = to.split_at_mut(whole);
            let (by, rest_by) = by.split_at(whole);
            // The last numbers are padded to a vector with zeros, because padding bodies must not move.
            let (mut last, mut last_by) = ([0.0; MAX_LANES], [0.0; MAX_LANES]);
            last[..rest.len()].copy_from_slice(rest);
            last_by[..rest.len()].copy_from_slice(rest_by);
            // SAFETY: a CpuEngine holds only instruction sets that the machine has.
            unsafe {
                entry(to, by, h);
                entry(&mut last, &last_by, h);
            }
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

/// to = from, or 0, in every plane.
fn set(to: &mut [Vec<f64>; 3], from: Option<&[Vec<f64>; 3]>, n: usize) {
    for (d, to) in to.iter_mut().enumerate() {
        match from {
            Some(from) => to[..n].copy_from_slice(&from[d][..n]),
            None => to[..n].fill(0.0),
        }
    }
}

impl System for CpuRun<'_> {
    type Error = EngineError;

    fn accelerate(&mut self) -> Result<(), EngineError> {
        self.solve();
        Ok(())
    }

    fn kick(&mut self, h: f64) -> Result<(), EngineError> {
        advance(self.lanes.advance, &mut self.v, &self.a, h, &self.own);
        Ok(())
    }

    fn drift(&mut self, h: f64) -> Result<(), EngineError> {
        advance(self.lanes.advance, &mut self.x, &self.v, h, &self.own);
        Ok(())
    }

    fn combine(&mut self, combinations: &[Combination<'_>]) -> Result<(), EngineError> {
        for combination in combinations {
            for vector in 0..2 {
                // Taken out, because the terms borrow the other vectors.
                let mut to = std::mem::take(self.target(combination.to, vector));
                if combination.from != combination.to.into() {
                    set(&mut to, self.vector(combination.from, vector), self.n);
                }
                for (pair, h) in combination.terms {
                    if let Some(by) = self.vector(*pair, vector) {
                        advance(self.lanes.advance, &mut to, by, *h, &self.own);
                    }
                }
                *self.target(combination.to, vector) = to;
            }
        }
        Ok(())
    }
}

impl CpuRun<'_> {
    /// The first or second vector of a pair; `None` for zeros.
    fn vector(&self, pair: Pair, vector: usize) -> Option<&[Vec<f64>; 3]> {
        Some(match pair {
            Pair::State => [&self.x, &self.v][vector],
            Pair::Rates => [&self.v, &self.a][vector],
            Pair::Saved(number) => &self.saved[number][vector],
            Pair::Zero => return None,
        })
    }

    fn target(&mut self, target: Target, vector: usize) -> &mut [Vec<f64>; 3] {
        match (target, vector) {
            (Target::State, 0) => &mut self.x,
            (Target::State, _) => &mut self.v,
            (Target::Saved(number), _) => &mut self.saved[number][vector],
        }
    }
}
