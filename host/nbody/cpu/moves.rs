//! The operations of the integrators on planes of numbers. Compilers make vectors of these by themselves; a fused
//! multiply-add is one whatever the instruction set.

use std::ops::Range;

use kernels_gpu::integrator::System;

use super::CpuRun;
use crate::divergence::EngineError;

/// to += h · by, fused, in every plane, for some bodies.
fn advance(to: &mut [Vec<f64>; 3], by: &[Vec<f64>; 3], h: f64, bodies: &[Range<usize>]) {
    for (to, by) in to.iter_mut().zip(by) {
        for range in bodies {
            plane(&mut to[range.clone()], &by[range.clone()], h);
        }
    }
}

#[inline(always)]
fn plane_body(to: &mut [f64], by: &[f64], h: f64) {
    for (to, by) in to.iter_mut().zip(by) {
        *to = h.mul_add(*by, *to);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn plane_fma(to: &mut [f64], by: &[f64], h: f64) {
    plane_body(to, by, h);
}

fn plane(to: &mut [f64], by: &[f64], h: f64) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: just asked for.
        return unsafe { plane_fma(to, by, h) };
    }
    plane_body(to, by, h);
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
        advance(&mut self.v, &self.a, h, &self.own);
        Ok(())
    }

    fn drift(&mut self, h: f64) -> Result<(), EngineError> {
        advance(&mut self.x, &self.v, h, &self.own);
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
        advance(sum_x, &self.v, weight, &self.own);
        advance(sum_v, &self.a, weight, &self.own);
        copy(&mut self.x, x0, self.n);
        advance(&mut self.x, &self.v, h, &self.own);
        copy(&mut self.v, v0, self.n);
        advance(&mut self.v, &self.a, h, &self.own);
        Ok(())
    }

    fn rk_end(&mut self, h: f64) -> Result<(), EngineError> {
        let [x0, v0, sum_x, sum_v] = &mut **self.stages.as_mut().expect("made for this integrator");
        copy(&mut self.x, x0, self.n);
        advance(&mut self.x, sum_x, h, &self.own);
        copy(&mut self.v, v0, self.n);
        advance(&mut self.v, sum_v, h, &self.own);
        Ok(())
    }
}
