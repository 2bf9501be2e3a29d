//! The force of a body's neighbours, which the lanes of a warp sum.

use cuda_std::thread;
use cuda_std::warp::warp_shuffle_idx;

use super::fold;
use crate::physics::hermite::ahmad_cohen::Force;
use crate::physics::hermite::arithmetic::{Arithmetic, Plain};
use crate::physics::hermite::force::terms;
use crate::physics::summation::partial_sums::partial_sums;
use crate::{Real, Vec3};

/// Position and velocity.
pub(super) type Motion = [Vec3<f64>; 2];

/// Largest number of partial sums of a lane.
const MAX_SUMS: usize = 8;

/// Largest number of bodies, with the one that they pull, whose partial sums the lanes of a warp have room for. (The number of partial
/// sums grows at powers of two.)
pub const MAX_TERMS: usize = {
    let mut n = 1;
    while partial_sums(n) <= 32 * MAX_SUMS {
        n *= 2;
    }
    n - 1
};

/// A pull on the body: the factor w and the vectors of acceleration and jerk.
type Pull = (f64, Motion);

/// The value of lane `from`.
///
/// # Safety
/// Whole warps must call this.
#[inline(always)]
unsafe fn of_lane(v: Vec3<f64>, from: u32) -> Vec3<f64> {
    // SAFETY: the caller guarantees this.
    unsafe {
        Vec3 {
            x: warp_shuffle_idx(u32::MAX, v.x, from, 32).0,
            y: warp_shuffle_idx(u32::MAX, v.y, from, 32).0,
            z: warp_shuffle_idx(u32::MAX, v.z, from, 32).0,
        }
    }
}

/// The motion of body `own`, in all lanes, and the force on it by the bodies of `list`, in lane 0. `read` gives a body's mass and motion.
///
/// The order of summation is that of all forces. The body itself comes before its neighbours, with mass 0, and as many bodies of mass 0
/// at the origin come after them as fill the partial sums.
///
/// # Safety
/// `list` must be valid for `length` places, fewer than [`MAX_TERMS`]. Whole warps must call this with the same values.
#[inline(always)]
pub(super) unsafe fn force(
    read: impl Fn(u32) -> (f64, Motion),
    own: u32,
    list: *const u32,
    length: u32,
    softening2: f64,
) -> (Motion, Force) {
    let lane = thread::thread_idx_x() % 32;
    let n = length + 1;
    let sums = partial_sums(n as usize) as u32;
    let end = n.next_multiple_of(sums);
    let i = read(own).1;
    let pull = |at: u32| -> Pull {
        let (mass, j) = if at == 0 {
            (0.0, i)
        } else if at < n {
            // SAFETY: the list has n - 1 places.
            read(unsafe { *list.add(at as usize - 1) })
        } else {
            (0.0, [Vec3::zero(); 2])
        };
        let d = <Plain<f64> as Arithmetic<2>>::difference(&i, &j);
        let r2 = d[0].norm2_plus(softening2);
        terms(&d, r2, r2.inv_cube(), mass)
    };
    // The lanes compute as many pulls at a time as there are partial sums, but at least 32.
    let step = sums.max(32);
    let mut totals = [[Vec3::zero(); 2]; MAX_SUMS];
    let mut round = 0;
    while round * 32 < step {
        let mut sum = [Vec3::zero(); 2];
        let mut first = round * 32;
        while first < end {
            let (w, t) = pull(first + lane);
            if sums >= 32 {
                <Plain<f64> as Arithmetic<2>>::add(w, &t, &mut sum);
            } else {
                // Each lane adds the pulls of one partial sum, in ascending order.
                let mut term = first;
                while term < end && term < first + 32 {
                    let from = lane % sums + (term - first);
                    // SAFETY: the bounds of the loops are the same for all lanes.
                    unsafe {
                        let w = warp_shuffle_idx(u32::MAX, w, from, 32).0;
                        let t = [of_lane(t[0], from), of_lane(t[1], from)];
                        <Plain<f64> as Arithmetic<2>>::add(w, &t, &mut sum);
                    }
                    term += sums;
                }
            }
            first += step;
        }
        totals[round as usize] = sum;
        round += 1;
    }
    let sum = |component: usize, part: u32| {
        let v = totals[(part / 32) as usize][component / 3];
        [v.x, v.y, v.z][component % 3]
    };
    // SAFETY: whole warps call it.
    let [x, y, z, u, v, w] = unsafe { fold::by_warp(sum, sums) };
    let force = [Vec3 { x, y, z }, Vec3 { x: u, y: v, z: w }];
    (i, force)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_has_room_for_the_partial_sums_of_long_lists() {
        assert_eq!(partial_sums(MAX_TERMS), 32 * MAX_SUMS);
        assert!(partial_sums(MAX_TERMS + 1) > 32 * MAX_SUMS);
    }
}
