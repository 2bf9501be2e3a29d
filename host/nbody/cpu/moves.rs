//! The operations of the integrators on planes of numbers.

use std::ops::Range;

use kernels_gpu::integrator::System;

use super::CpuRun;
use super::entries::AdvanceEntry;
use crate::divergence::EngineError;

/// Lanes of a vector at most.
const MOST_LANES: usize = 8;

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
            let whole = to.len() - to.len() % MOST_LANES;
            let (to, rest) = to.split_at_mut(whole);
            let (by, rest_by) = by.split_at(whole);
            // The last ones fill a vector with zeros: bodies that fill up planes must not move.
            let (mut last, mut last_by) = ([0.0; MOST_LANES], [0.0; MOST_LANES]);
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

/// to = from, in every plane.
fn copy(to: &mut [Vec<f64>; 3], from: &[Vec<f64>; 3], n: usize) {
    for (to, from) in to.iter_mut().zip(from) {
        to[..n].copy_from_slice(&from[..n]);
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

    fn rk_begin(&mut self) -> Result<(), EngineError> {
        let [x0, v0, sum_x, sum_v] = &mut **self.stages.as_mut().expect("made for this integrator");
        copy(x0, &self.x, self.n);
        copy(v0, &self.v, self.n);
        for sum in sum_x.iter_mut().chain(sum_v) {
            sum.fill(0.0);
        }
        Ok(())
    }

    fn rk_stage(&mut self, weight: f64, h: f64) -> Result<(), EngineError> {
        let [x0, v0, sum_x, sum_v] = &mut **self.stages.as_mut().expect("made for this integrator");
        advance(self.lanes.advance, sum_x, &self.v, weight, &self.own);
        advance(self.lanes.advance, sum_v, &self.a, weight, &self.own);
        copy(&mut self.x, x0, self.n);
        advance(self.lanes.advance, &mut self.x, &self.v, h, &self.own);
        copy(&mut self.v, v0, self.n);
        advance(self.lanes.advance, &mut self.v, &self.a, h, &self.own);
        Ok(())
    }

    fn rk_end(&mut self, h: f64) -> Result<(), EngineError> {
        let [x0, v0, sum_x, sum_v] = &mut **self.stages.as_mut().expect("made for this integrator");
        copy(&mut self.x, x0, self.n);
        advance(self.lanes.advance, &mut self.x, sum_x, h, &self.own);
        copy(&mut self.v, v0, self.n);
        advance(self.lanes.advance, &mut self.v, sum_v, h, &self.own);
        Ok(())
    }
}
