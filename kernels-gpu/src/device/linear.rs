//! Linear combinations of vectors of bodies: the implementation of [`System::combine`](crate::integrator::System::combine) on a
//! device.

use super::{Body, DeviceNumber};
use crate::integrator::system::MOST_TERMS;
use crate::number::each;

/// A [`Combination`](crate::integrator::system::Combination), where its vectors are: to = from + Σ coefficient · term, for both vectors
/// of the pairs. G·m does not change.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Linear<S> {
    /// The vectors that are written.
    pub to: [*mut Body<S>; 2],
    /// The first terms of the sums; null pointers stand for zeros.
    pub from: [*const Body<S>; 2],
    /// The terms' vectors, of which `count` are used.
    pub terms: [[*const Body<S>; 2]; MOST_TERMS],
    /// Their coefficients.
    pub coefficients: [S; MOST_TERMS],
    /// Number of terms.
    pub count: u32,
    /// Padding, so that every byte is data.
    pub unused: u32,
}

/// Combinations for one launch, the first before the second.
pub const TOGETHER: usize = 2;

/// Writes body `i` of both vectors.
///
/// # Safety
/// The pointers in use are valid at `i`, and nothing else uses the written memory meanwhile.
#[inline(always)]
pub unsafe fn combine<S: DeviceNumber>(job: &Linear<S>, i: usize) {
    each!(2, |vector| {
        // SAFETY: the caller's promise.
        unsafe {
            let from = job.from[vector];
            let mut sum = if from.is_null() {
                Body::default().vector()
            } else {
                (*from.add(i)).vector()
            };
            each!(MOST_TERMS, |k| {
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
