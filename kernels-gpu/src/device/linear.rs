//! Linear combinations of vectors of bodies, which implement [`System::combine`](crate::integrator::System::combine) on a device.

use super::{Body, DeviceNumber};
use crate::integrator::system::MAX_TERMS;
use crate::number::each;

/// A [`Combination`](crate::integrator::system::Combination) with the addresses of its vectors: to = from + Σ coefficient · term, for
/// both vectors of the pairs. G·m does not change.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Linear<S> {
    /// The vectors that are written.
    pub to: [*mut Body<S>; 2],
    /// The first terms of the sums; null stands for zeros.
    pub from: [*const Body<S>; 2],
    /// The vectors of the other terms, of which `count` are used.
    pub terms: [[*const Body<S>; 2]; MAX_TERMS],
    /// Their coefficients.
    pub coefficients: [S; MAX_TERMS],
    /// Number of terms.
    pub count: u32,
    /// Padding, so that every byte is data.
    pub unused: u32,
}

/// The number of combinations in one launch; the first is computed before the second.
pub const COMBINATIONS_PER_LAUNCH: usize = 2;

/// Writes body `i` of both vectors.
///
/// # Safety
/// The pointers in use must be valid at `i`, and nothing else may use the written memory during the launch.
#[inline(always)]
pub unsafe fn combine<S: DeviceNumber>(job: &Linear<S>, i: usize) {
    each!(2, |vector| {
        // SAFETY: the caller guarantees this.
        unsafe {
            let from = job.from[vector];
            let mut sum = if from.is_null() {
                Body::default().vector()
            } else {
                (*from.add(i)).vector()
            };
            each!(MAX_TERMS, |k| {
                if k < job.count as usize {
                    let term = (*job.terms[k][vector].add(i)).vector();
                    sum = sum.add_scaled(job.coefficients[k], term);
                }
            });
            let to = &mut *job.to[vector].add(i);
            *to = Body::new(sum, to.g);
        }
    });
}
