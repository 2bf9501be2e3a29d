//! `unroll!`, a loop that is written out.

/// Writes the body of a loop once for each number: `#pragma unroll` of CUDA C++.
///
/// `unroll!(for i in 0..4 { … })` is the body four times, in each of which `i` is a constant of type `usize`. The compiler does that
/// by itself for small bodies only, and an array whose indices it does not know is in memory instead of registers. The loop begins at 0, and its end is a
/// literal from 1 to 16, or 32. `break` and `continue` belong to a loop around it.
///
/// ```
/// let mut sums = [1.0, 2.0, 3.0, 4.0];
/// cuda_std::unroll!(for i in 0..4 {
///     sums[i] *= 2.0;
/// });
/// assert_eq!(sums, [2.0, 4.0, 6.0, 8.0]);
/// ```
#[macro_export]
macro_rules! unroll {
    (@each $i:ident $body:block $($n:literal)*) => {{ $({ let $i: usize = $n; $body })* }};
    (for $i:ident in 0..1 $body:block) => { $crate::unroll!(@each $i $body 0) };
    (for $i:ident in 0..2 $body:block) => { $crate::unroll!(@each $i $body 0 1) };
    (for $i:ident in 0..3 $body:block) => { $crate::unroll!(@each $i $body 0 1 2) };
    (for $i:ident in 0..4 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3) };
    (for $i:ident in 0..5 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4) };
    (for $i:ident in 0..6 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5) };
    (for $i:ident in 0..7 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6) };
    (for $i:ident in 0..8 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7) };
    (for $i:ident in 0..9 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8) };
    (for $i:ident in 0..10 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8 9) };
    (for $i:ident in 0..11 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8 9 10) };
    (for $i:ident in 0..12 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8 9 10 11) };
    (for $i:ident in 0..13 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12) };
    (for $i:ident in 0..14 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13) };
    (for $i:ident in 0..15 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14) };
    (for $i:ident in 0..16 $body:block) => { $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) };
    (for $i:ident in 0..32 $body:block) => {
        $crate::unroll!(@each $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
}
