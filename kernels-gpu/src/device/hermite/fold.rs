//! The binary tree over partial sums (see [`partial_sums`](crate::physics::summation::partial_sums)), without an array.

use cuda_std::thread;
use cuda_std::warp::warp_shuffle_down;

/// Sums of the 2, 4, … parts at `g`, `g + h`, and so on: the lowest level of the tree pairs the parts that are farthest apart.
macro_rules! level {
    ($name:ident, $half:ident) => {
        #[inline(always)]
        fn $name(at: &impl Fn(u32) -> f64, g: u32, h: u32) -> f64 {
            $half(at, g, 2 * h) + $half(at, g + h, 2 * h)
        }
    };
}

#[inline(always)]
fn of_1(at: &impl Fn(u32) -> f64, g: u32, _h: u32) -> f64 {
    at(g)
}

level!(of_2, of_1);
level!(of_4, of_2);
level!(of_8, of_4);
level!(of_16, of_8);
level!(of_32, of_16);
level!(of_64, of_32);
level!(of_128, of_64);

/// The sum of `parts` partial results, a power of two up to 128.
#[inline(always)]
fn tree(at: impl Fn(u32) -> f64, parts: u32) -> f64 {
    match parts {
        32 => of_32(&at, 0, 1),
        64 => of_64(&at, 0, 1),
        128 => of_128(&at, 0, 1),
        _ => small_tree(at, parts),
    }
}

/// The sum of `parts` partial results, a power of two up to 16.
#[inline(always)]
pub(super) fn small_tree(at: impl Fn(u32) -> f64, parts: u32) -> f64 {
    match parts {
        1 => of_1(&at, 0, 1),
        2 => of_2(&at, 0, 1),
        4 => of_4(&at, 0, 1),
        8 => of_8(&at, 0, 1),
        _ => of_16(&at, 0, 1),
    }
}

/// Folds the partial sums of [`tiles`](super::tiles::pull), with one thread per value.
///
/// # Safety
/// `partial` must be valid for components · parts · count numbers and `out` for count · components.
#[inline(always)]
pub unsafe fn fold(partial: *const f64, out: *mut f64, components: u32, count: u32, parts: u32) {
    let value = thread::index_1d();
    if value < components * count {
        // SAFETY: the caller guarantees this.
        unsafe { fold_value(partial, out, components, count, parts, value) };
    }
}

/// Folds one of the values of [`fold`].
///
/// # Safety
/// The same as for [`fold`], with value < components · count.
#[inline(always)]
pub(super) unsafe fn fold_value(
    partial: *const f64,
    out: *mut f64,
    components: u32,
    count: u32,
    parts: u32,
    value: u32,
) {
    let (component, body) = ((value / count) as usize, (value % count) as usize);
    let n = count as usize;
    // SAFETY: component < components, body < count, and the part is below `parts`.
    let from = unsafe { partial.add(component * parts as usize * n + body) };
    // SAFETY: as above.
    let sum = tree(|g| unsafe { *from.add(g as usize * n) }, parts);
    // SAFETY: as above.
    unsafe { *out.add(body * components as usize + component) = sum };
}

/// The sum of `parts` partial results, a power of two up to 256, which the 32 lanes of a warp compute together. Lane 0 has the result.
///
/// # Safety
/// All lanes of the warp must call this with the same values.
#[inline(always)]
pub(super) unsafe fn by_warp(at: impl Fn(u32) -> f64, parts: u32) -> f64 {
    let lane = thread::thread_idx_x() % 32;
    let mut sum = 0.0;
    if lane < parts {
        sum = match parts {
            256 => of_8(&at, lane, 32),
            128 => of_4(&at, lane, 32),
            64 => of_2(&at, lane, 32),
            _ => at(lane),
        };
    }
    let mut h = parts.min(32) / 2;
    while h > 0 {
        // SAFETY: all lanes of the warp call it.
        let other = unsafe { warp_shuffle_down(u32::MAX, sum, h, 32) }.0;
        sum += other;
        h /= 2;
    }
    sum
}
