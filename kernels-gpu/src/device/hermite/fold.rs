//! The binary tree over partial sums (see [`partial_sums`](crate::physics::summation::partial_sums)), without an array.

use cuda_std::thread;
use cuda_std::warp::warp_shuffle_down;

use crate::number::each;

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

/// The sum of `parts` partial results, a power of two up to 256.
#[inline(always)]
fn tree(at: impl Fn(u32) -> f64, parts: u32) -> f64 {
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

/// `K` sums of `parts` partial results, a power of two up to 256, which the 32 lanes of a warp compute together. Lane 0 has the results.
///
/// # Safety
/// All lanes of the warp must call this with the same values.
#[inline(always)]
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

/// Folds `values` numbers of each of `parts` partial sums into `out`, with two numbers for each warp of the block at a time. `at` gives a
/// number of a partial sum.
///
/// # Safety
/// All threads of the block must call this with the same values, after a barrier; `out` must be valid for `values` numbers.
#[inline(always)]
pub(super) unsafe fn by_warps(
    at: impl Fn(u32, u32) -> f64,
    values: u32,
    parts: u32,
    out: *mut f64,
) {
    let warps = thread::block_dim_x() / 32;
    let lane = thread::thread_idx_x() % 32;
    let mut value = thread::thread_idx_x() / 32;
    while value < values {
        let second = value + warps;
        let which = [value, second.min(values - 1)];
        // SAFETY: whole warps call it.
        let sums = unsafe { by_warp::<2>(|k, part| at(which[k], part), parts) };
        if lane == 0 {
            // SAFETY: both are below `values`.
            unsafe {
                *out.add(value as usize) = sums[0];
                if second < values {
                    *out.add(second as usize) = sums[1];
                }
            }
        }
        value += 2 * warps;
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
            let mut out = vec![0.0; (components * count) as usize];
            for value in 0..components * count {
                let (from, to) = (partial.as_ptr(), out.as_mut_ptr());
                // SAFETY: the arrays have as many numbers as required.
                unsafe { fold_value(from, to, components, count, parts, value) };
            }
            for component in 0..components {
                for body in 0..count {
                    let at = |part| partial[((component * parts + part) * count + body) as usize];
                    let mut sums: Vec<f64> = (0..parts).map(at).collect();
                    let expected = partial_sums::fold(&mut sums);
                    let found = out[(body * components + component) as usize];
                    assert_eq!(found.to_bits(), expected.to_bits(), "{parts} sums");
                }
            }
        }
    }
}
