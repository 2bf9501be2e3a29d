//! The binary tree over partial sums (see [`partial_sums`](crate::physics::summation::partial_sums)), without an array.

use cuda_std::thread;
use cuda_std::warp::warp_shuffle_down;

use crate::number::each;

/// Sums of the 2, 4, … parts at `g`, `g + h`, and so on: the lowest level of the tree pairs the parts that are farthest apart.
macro_rules! level {
    ($name:ident, $half:ident) => {
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
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

/// The sum of `parts` partial results, a power of two up to 256.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn tree(at: impl Fn(u32) -> f64, parts: u32) -> f64 {
    match parts {
        256 => {
            // The even and the odd parts. A loop, because the code for half of them is long.
            let (mut even, mut sum) = (0.0, 0.0);
            let mut first = 0;
            while first < 2 {
                even = sum;
                sum = of_128(&at, first, 2);
                first += 1;
            }
            even + sum
        }
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
        let (component, body) = (value / count, value % count);
        // SAFETY: the caller guarantees this.
        unsafe {
            let sum = fold_value(partial, count, parts, component, body);
            *out.add((body * components + component) as usize) = sum;
        }
    }
}

/// One of the values of [`fold`].
///
/// # Safety
/// The same as for [`fold`], with component < components and body < count.
#[inline(always)]
pub(super) unsafe fn fold_value(
    partial: *const f64,
    count: u32,
    parts: u32,
    component: u32,
    body: u32,
) -> f64 {
    let (n, component, body) = (count as usize, component as usize, body as usize);
    // SAFETY: component < components, body < count, and the part is below `parts`.
    let from = unsafe { partial.add(component * parts as usize * n + body) };
    // SAFETY: as above.
    tree(|g| unsafe { *from.add(g as usize * n) }, parts)
}

/// `K` sums of `parts` partial results, a power of two up to 256, which the 32 lanes of a warp compute together. Lane 0 has the results.
///
/// # Safety
/// All lanes of the warp must call this with the same values.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) unsafe fn by_warp<const K: usize>(
    at: impl Fn(usize, u32) -> f64,
    parts: u32,
) -> [f64; K] {
    let lane = thread::thread_idx_x() % 32;
    let mut sums = [0.0; K];
    if lane < parts {
        match parts {
            256 => {
                each!(K, |k| sums[k] = of_8(&|g| at(k, g), lane, 32));
            }
            128 => {
                each!(K, |k| sums[k] = of_4(&|g| at(k, g), lane, 32));
            }
            64 => {
                each!(K, |k| sums[k] = of_2(&|g| at(k, g), lane, 32));
            }
            _ => {
                each!(K, |k| sums[k] = at(k, lane));
            }
        }
    }
    let mut h = parts.min(32) / 2;
    while h > 0 {
        // SAFETY: all lanes of the warp call it.
        each!(K, |k| sums[k] +=
            unsafe { warp_shuffle_down(u32::MAX, sums[k], h, 32) }.0);
        h /= 2;
    }
    sums
}

/// Folds `values` numbers of each of `parts` partial sums, with `K` numbers for each warp of the block at a time. For each number, `at` returns
/// the function that reads it from a given partial sum. One thread passes the result for each number to `set`.
///
/// # Safety
/// All threads of the block must call this with the same values, after a barrier.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) unsafe fn by_warps<const K: usize, F: Fn(u32) -> f64 + Copy>(
    at: impl Fn(u32) -> F,
    values: u32,
    parts: u32,
    set: impl Fn(u32, f64),
) {
    let warps = thread::block_dim_x() / 32;
    let lane = thread::thread_idx_x() % 32;
    let mut first = thread::thread_idx_x() / 32;
    while first < values {
        let value = |k: usize| first + k as u32 * warps;
        let mut of = [at(first); K];
        each!(K, |k| of[k] = at(value(k).min(values - 1)));
        // SAFETY: whole warps call it.
        let sums = unsafe { by_warp::<K>(|k, part| of[k](part), parts) };
        if lane == 0 {
            each!(K, |k| if value(k) < values {
                set(value(k), sums[k]);
            });
        }
        first += K as u32 * warps;
    }
}

/// [`by_warps`] for the 3 `D` numbers of a force, which four warps fold at once.
///
/// # Safety
/// The same as for [`by_warps`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) unsafe fn force_by_warps<const D: usize, F: Fn(u32) -> f64 + Copy>(
    at: impl Fn(u32) -> F,
    parts: u32,
    set: impl Fn(u32, f64),
) {
    let values = const { 3 * D as u32 };
    // SAFETY: the caller guarantees this.
    unsafe {
        if D == 2 {
            by_warps::<2, F>(at, values, parts, set);
        } else {
            by_warps::<3, F>(at, values, parts, set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::summation::partial_sums;

    #[test]
    fn a_thread_folds_every_number_of_sums_in_the_order_of_summation() {
        // Two components of three bodies, with sums that depend on their order.
        let (components, count) = (2, 3);
        for parts in (0..=8).map(|k| 1u32 << k) {
            let partial: Vec<f64> = (0..components * parts * count)
                .map(|k| 1.0 / f64::from(3 * k + 1))
                .collect();
            for component in 0..components {
                for body in 0..count {
                    let at = |part| partial[((component * parts + part) * count + body) as usize];
                    let mut sums: Vec<f64> = (0..parts).map(at).collect();
                    let expected = partial_sums::fold(&mut sums);
                    let from = partial.as_ptr();
                    // SAFETY: the array has as many numbers as required.
                    let found = unsafe { fold_value(from, count, parts, component, body) };
                    assert_eq!(found.to_bits(), expected.to_bits(), "{parts} sums");
                }
            }
        }
    }
}
