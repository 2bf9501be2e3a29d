//! Products of small matrices by a warp: PTX's `mma.sync` on tensor cores, and `ldmatrix`, which loads their operands.
//!
//! A warp computes D = A B + C, where A has M rows and K columns, B has K rows and N = 8 columns. Each lane holds some elements of each
//! matrix, its fragments; [`Shape`] says which. All 32 lanes make the call together, with the same shape.
//!
//! | function | A and B | C and D | bits in the emulator |
//! |---|---|---|---|
//! | [`m8n8k4_f64`], [`m16n8k4_f64`], [`m16n8k8_f64`], [`m16n8k16_f64`] | `f64` | `f64` | the GPU's: fused multiplications and additions, k = 0 first |
//! | [`m16n8k4_tf32`], [`m16n8k8_tf32`] | `f32`, of which 10 bits of the fraction count | `f32` | not the GPU's |
//! | [`m16n8k8_f16`], [`m16n8k16_f16`] | `f16` | `f32` | not the GPU's |
//! | [`m16n8k8_bf16`], [`m16n8k16_bf16`] | `bf16` | `f32` | not the GPU's |
//!
//! For the last three rows NVIDIA does not say how a GPU rounds. The emulator adds the exact products and C in `f64` and rounds the sum once
//! to `f32`; compare it with a GPU by a tolerance, of about 2⁻²² of the sum of absolute products for K = 16.
//!
//! `f64` needs compute capability 8.0 for 8 rows and 9.0 for 16; the others need 8.0. `cuda_builder` compiles for 7.0 unless
//! `CudaBuilder::arch` asks for more.

use half::{bf16, f16};

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{Together, together};
#[cfg(not(target_arch = "nvptx64"))]
use crate::warp::WARP_SIZE;

/// The numbers of rows and columns of a product, and how its elements are spread over the lanes of a warp.
///
/// N, the number of columns of B, C and D, is 8 for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of A, C and D: 8 or 16.
    pub m: u32,
    /// Columns of A and rows of B.
    pub k: u32,
    /// Elements of A or B in a register of 32 or 64 bits: 2 for `f16` and `bf16`, otherwise 1.
    pub per_register: u32,
}

impl Shape {
    /// Of [`m8n8k4_f64`].
    pub const M8N8K4_F64: Self = Self::new(8, 4, 1);
    /// Of [`m16n8k4_f64`].
    pub const M16N8K4_F64: Self = Self::new(16, 4, 1);
    /// Of [`m16n8k8_f64`].
    pub const M16N8K8_F64: Self = Self::new(16, 8, 1);
    /// Of [`m16n8k16_f64`].
    pub const M16N8K16_F64: Self = Self::new(16, 16, 1);
    /// Of [`m16n8k4_tf32`].
    pub const M16N8K4_TF32: Self = Self::new(16, 4, 1);
    /// Of [`m16n8k8_tf32`].
    pub const M16N8K8_TF32: Self = Self::new(16, 8, 1);
    /// Of [`m16n8k8_f16`] and [`m16n8k8_bf16`].
    pub const M16N8K8_F16: Self = Self::new(16, 8, 2);
    /// Of [`m16n8k16_f16`] and [`m16n8k16_bf16`].
    pub const M16N8K16_F16: Self = Self::new(16, 16, 2);

    const fn new(m: u32, k: u32, per_register: u32) -> Self {
        Self { m, k, per_register }
    }

    /// Row and column of element `i` of a lane's fragment of A.
    #[inline(always)]
    #[must_use]
    pub const fn a(self, lane: u32, i: u32) -> (u32, u32) {
        let (register, half) = (i / self.per_register, i % self.per_register);
        let rows = self.m / 8;
        (
            lane / 4 + 8 * (register % rows),
            self.per_register * (lane % 4 + 4 * (register / rows)) + half,
        )
    }

    /// Row and column of element `i` of a lane's fragment of B.
    #[inline(always)]
    #[must_use]
    pub const fn b(self, lane: u32, i: u32) -> (u32, u32) {
        let (register, half) = (i / self.per_register, i % self.per_register);
        (
            self.per_register * (lane % 4 + 4 * register) + half,
            lane / 4,
        )
    }

    /// Row and column of element `i` of a lane's fragment of C or D.
    #[inline(always)]
    #[must_use]
    pub const fn c(self, lane: u32, i: u32) -> (u32, u32) {
        (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
    }
}

/// The bits of an element of A or B as assembly takes them.
#[cfg(target_arch = "nvptx64")]
macro_rules! register {
    (f64, $fragment:ident, $i:literal) => {
        $fragment[$i]
    };
    (tf32, $fragment:ident, $i:literal) => {
        $fragment[$i].to_bits()
    };
    ($half:ident, $fragment:ident, $i:literal) => {
        u32::from($fragment[2 * $i].to_bits()) | u32::from($fragment[2 * $i + 1].to_bits()) << 16
    };
}

macro_rules! products {
    ($(
        $(#[$doc:meta])*
        $name:ident, $shape:ident, $ptx:literal, $kind:ident $reg:ident, $element:ty, $sum:ident $sum_reg:ident,
        A $na:literal [$a0:ident $ia0:literal $(, $a:ident $ia:literal)*],
        B $nb:literal [$b0:ident $ib0:literal $(, $b:ident $ib:literal)*],
        C $nc:literal [$c0:ident $d0:ident $ic0:literal $(, $c:ident $d:ident $ic:literal)*];
    )*) => {$(
        $(#[$doc])*
        ///
        #[doc = concat!("The elements of the fragments are those of [`Shape::", stringify!($shape), "`].")]
        ///
        /// # Safety
        /// All 32 lanes of the warp make this call together.
        #[inline(always)]
        #[must_use]
        #[track_caller]
        pub unsafe fn $name(a: [$element; $na], b: [$element; $nb], c: [$sum; $nc]) -> [$sum; $nc] {
            #[cfg(target_arch = "nvptx64")]
            {
                let ($d0, $($d),*): ($sum, $(products!(@as $d $sum)),*);
                // SAFETY: the instruction computes from registers; the caller guarantees that the warp is complete.
                unsafe {
                    asm!(
                        concat!(
                            $ptx,
                            " {{ {", stringify!($d0), "}", $(", {", stringify!($d), "}",)* " }},",
                            " {{ {", stringify!($a0), "}", $(", {", stringify!($a), "}",)* " }},",
                            " {{ {", stringify!($b0), "}", $(", {", stringify!($b), "}",)* " }},",
                            " {{ {", stringify!($c0), "}", $(", {", stringify!($c), "}",)* " }};"
                        ),
                        $d0 = out($sum_reg) $d0, $($d = out($sum_reg) $d,)*
                        $a0 = in($reg) register!($kind, a, $ia0), $($a = in($reg) register!($kind, a, $ia),)*
                        $b0 = in($reg) register!($kind, b, $ib0), $($b = in($reg) register!($kind, b, $ib),)*
                        $c0 = in($sum_reg) c[$ic0], $($c = in($sum_reg) c[$ic],)*
                        options(nomem, nostack, preserves_flags)
                    );
                }
                [$d0, $($d),*]
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let mut part = Part { a, b, c };
                let operation = Together { name: stringify!($name), run: |parts| {
                    // SAFETY: every lane has passed a part of this type.
                    unsafe { multiply(Shape::$shape, parts.map(|part| part.cast::<Part<$element, $sum, $na, $nb, $nc>>())) }
                } };
                together(operation, &mut part, core::panic::Location::caller());
                part.c
            }
        }
    )*};
    (@as $name:ident $type:ident) => { $type };
}

products! {
    /// Multiplies 8 by 4 and 4 by 8 numbers.
    m8n8k4_f64, M8N8K4_F64, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", f64 reg64, f64, f64 reg64,
    A 1 [a0 0], B 1 [b0 0], C 2 [c0 d0 0, c1 d1 1];
    /// Multiplies 16 by 4 and 4 by 8 numbers.
    m16n8k4_f64, M16N8K4_F64, "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", f64 reg64, f64, f64 reg64,
    A 2 [a0 0, a1 1], B 1 [b0 0], C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
    /// Multiplies 16 by 8 and 8 by 8 numbers.
    m16n8k8_f64, M16N8K8_F64, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", f64 reg64, f64, f64 reg64,
    A 4 [a0 0, a1 1, a2 2, a3 3], B 2 [b0 0, b1 1], C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
    /// Multiplies 16 by 16 and 16 by 8 numbers.
    m16n8k16_f64, M16N8K16_F64, "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", f64 reg64, f64, f64 reg64,
    A 8 [a0 0, a1 1, a2 2, a3 3, a4 4, a5 5, a6 6, a7 7], B 4 [b0 0, b1 1, b2 2, b3 3],
    C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
    /// Multiplies 16 by 4 and 4 by 8 numbers. The lower 13 bits of A and B are ignored.
    m16n8k4_tf32, M16N8K4_TF32, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", tf32 reg32, f32, f32 reg32,
    A 2 [a0 0, a1 1], B 1 [b0 0], C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
    /// Multiplies 16 by 8 and 8 by 8 numbers. The lower 13 bits of A and B are ignored.
    m16n8k8_tf32, M16N8K8_TF32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", tf32 reg32, f32, f32 reg32,
    A 4 [a0 0, a1 1, a2 2, a3 3], B 2 [b0 0, b1 1], C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
    /// Multiplies 16 by 8 and 8 by 8 numbers.
    m16n8k8_f16, M16N8K8_F16, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", f16 reg32, f16, f32 reg32,
    A 4 [a0 0, a1 1], B 2 [b0 0], C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
    /// Multiplies 16 by 16 and 16 by 8 numbers.
    m16n8k16_f16, M16N8K16_F16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", f16 reg32, f16, f32 reg32,
    A 8 [a0 0, a1 1, a2 2, a3 3], B 4 [b0 0, b1 1], C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
    /// Multiplies 16 by 8 and 8 by 8 numbers.
    m16n8k8_bf16, M16N8K8_F16, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", bf16 reg32, bf16, f32 reg32,
    A 4 [a0 0, a1 1], B 2 [b0 0], C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
    /// Multiplies 16 by 16 and 16 by 8 numbers.
    m16n8k16_bf16, M16N8K16_F16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", bf16 reg32, bf16, f32 reg32,
    A 8 [a0 0, a1 1, a2 2, a3 3], B 4 [b0 0, b1 1], C 4 [c0 d0 0, c1 d1 1, c2 d2 2, c3 d3 3];
}

/// A type of two bytes, of which [`load_1`] and the like read matrices.
///
/// # Safety
/// Two bytes, every pattern of which is a value.
pub unsafe trait Half: Copy {}
// SAFETY: all of them are two bytes without a niche.
unsafe impl Half for f16 {}
// SAFETY: as above.
unsafe impl Half for bf16 {}
// SAFETY: as above.
unsafe impl Half for u16 {}
// SAFETY: as above.
unsafe impl Half for i16 {}

macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident, $count:literal, $ptx:literal, $transposed:literal, [$($word:ident),*];)*) => {$(
        $(#[$doc])*
        ///
        /// Lane 8 q + r passes the address of row r of matrix q: 8 numbers, at a multiple of 16 bytes in shared memory. The addresses of other
        /// lanes do not count. Elements 2 q and 2 q + 1 of the result belong to matrix q; they are those of row lane / 4 in columns
        /// 2 (lane mod 4) and 2 (lane mod 4) + 1, in the transposed form those of these rows and this column. Needs compute capability 7.5.
        ///
        /// # Safety
        /// All 32 lanes of the warp make this call together, and the rows are valid.
        #[inline(always)]
        #[must_use]
        #[track_caller]
        pub unsafe fn $name<T: Half>(row: *const T) -> [T; 2 * $count] {
            #[cfg(target_arch = "nvptx64")]
            {
                let ($($word,)*): ($(loads!(@word $word),)*);
                // SAFETY: the caller vouches for the rows. The memory is read, so that stores before this stay before it.
                unsafe {
                    asm!(
                        "{{",
                        ".reg .b64 a;",
                        "cvta.to.shared.u64 a, {row};",
                        concat!($ptx, " {{ ", loads!(@list $($word)*), " }}, [a];"),
                        "}}",
                        row = in(reg64) row, $($word = out(reg32) $word,)*
                        options(nostack, preserves_flags)
                    );
                    core::mem::transmute_copy::<[u32; $count], [T; 2 * $count]>(&[$($word),*])
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let mut part = LoadPart::<T, { 2 * $count }> { row, loaded: [None; 2 * $count] };
                let operation = Together { name: concat!("matrix::", stringify!($name)), run: |parts| {
                    // SAFETY: every lane has passed a part of this type and vouches for its row.
                    unsafe { load_rows($transposed, parts.map(|part| part.cast::<LoadPart<T, { 2 * $count }>>())) }
                } };
                together(operation, &mut part, core::panic::Location::caller());
                part.loaded.map(|half| half.unwrap_or_else(|| unreachable!("every element has been loaded")))
            }
        }
    )*};
    (@word $name:ident) => { u32 };
    (@list $first:ident $($word:ident)*) => { concat!("{", stringify!($first), "}" $(, ", {", stringify!($word), "}")*) };
}

loads! {
    /// Loads a matrix of 8 by 8 numbers of two bytes.
    load_1, 1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16", false, [w0];
    /// Loads two matrices of 8 by 8 numbers of two bytes.
    load_2, 2, "ldmatrix.sync.aligned.m8n8.x2.shared.b16", false, [w0, w1];
    /// Loads four matrices of 8 by 8 numbers of two bytes.
    load_4, 4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", false, [w0, w1, w2, w3];
    /// Loads a matrix of 8 by 8 numbers of two bytes and transposes it.
    load_1_transposed, 1, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", true, [w0];
    /// Loads two matrices of 8 by 8 numbers of two bytes and transposes them.
    load_2_transposed, 2, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", true, [w0, w1];
    /// Loads four matrices of 8 by 8 numbers of two bytes and transposes them.
    load_4_transposed, 4, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", true, [w0, w1, w2, w3];
}

/// A lane's fragments; the sum replaces C.
#[cfg(not(target_arch = "nvptx64"))]
struct Part<E, S, const A: usize, const B: usize, const C: usize> {
    a: [E; A],
    b: [E; B],
    c: [S; C],
}

/// A row of one lane, and what the lane loads.
#[cfg(not(target_arch = "nvptx64"))]
struct LoadPart<T, const N: usize> {
    row: *const T,
    loaded: [Option<T>; N],
}

/// How the elements of A and B, and sums of their products, are computed.
#[cfg(not(target_arch = "nvptx64"))]
trait Arithmetic<S>: Copy {
    /// c + Σ aₖ bₖ.
    fn sum(c: S, products: impl Iterator<Item = (Self, Self)>) -> S;
}

#[cfg(not(target_arch = "nvptx64"))]
impl Arithmetic<f64> for f64 {
    fn sum(c: f64, products: impl Iterator<Item = (f64, f64)>) -> f64 {
        products.fold(c, |sum, (a, b)| a.mul_add(b, sum))
    }
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! narrow {
    ($($type:ty, |$x:ident| $wide:expr;)*) => {$(
        impl Arithmetic<f32> for $type {
            fn sum(c: f32, products: impl Iterator<Item = (Self, Self)>) -> f32 {
                let wide = |$x: Self| f64::from($wide);
                products.fold(f64::from(c), |sum, (a, b)| sum + wide(a) * wide(b)) as f32
            }
        }
    )*};
}

#[cfg(not(target_arch = "nvptx64"))]
narrow! {
    f32, |x| f32::from_bits(x.to_bits() & !0x1fff);
    f16, |x| x.to_f32();
    bf16, |x| x.to_f32();
}

/// Replaces C by A B + C in the parts of all lanes.
///
/// # Safety
/// The parts are valid, and nothing else uses them.
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn multiply<E: Arithmetic<S>, S: Copy, const NA: usize, const NB: usize, const NC: usize>(
    shape: Shape,
    parts: [*mut Part<E, S, NA, NB, NC>; WARP_SIZE as usize],
) {
    // SAFETY: the caller guarantees this.
    let parts = parts.map(|part| unsafe { &mut *part });
    let (rows, columns) = (shape.m as usize, shape.k as usize);
    let mut a: Vec<Option<E>> = vec![None; rows * columns];
    let mut b: Vec<Option<E>> = vec![None; 8 * columns];
    for (lane, part) in (0..).zip(&parts) {
        for (i, &element) in (0..).zip(&part.a) {
            let (row, k) = shape.a(lane, i);
            a[row as usize * columns + k as usize] = Some(element);
        }
        for (i, &element) in (0..).zip(&part.b) {
            let (k, column) = shape.b(lane, i);
            b[column as usize * columns + k as usize] = Some(element);
        }
    }
    for (lane, part) in (0..).zip(parts) {
        for (i, c) in (0..).zip(&mut part.c) {
            let (row, column) = shape.c(lane, i);
            let a = &a[row as usize * columns..][..columns];
            let b = &b[column as usize * columns..][..columns];
            *c = E::sum(
                *c,
                a.iter().copied().flatten().zip(b.iter().copied().flatten()),
            );
        }
    }
}

/// Loads the matrices of all lanes.
///
/// # Safety
/// The parts and the rows that count are valid.
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn load_rows<T: Half, const N: usize>(
    transposed: bool,
    parts: [*mut LoadPart<T, N>; WARP_SIZE as usize],
) {
    // SAFETY: the caller guarantees this.
    let rows = parts.map(|part| unsafe { &*part }.row);
    for (lane, part) in parts.into_iter().enumerate() {
        // SAFETY: the caller guarantees this; the rows were copied before.
        let part = unsafe { &mut *part };
        for (i, loaded) in part.loaded.iter_mut().enumerate() {
            let (matrix, line, place) = (i / 2, lane / 4, 2 * (lane % 4) + i % 2);
            let (row, column) = if transposed {
                (place, line)
            } else {
                (line, place)
            };
            let row = rows[8 * matrix + row];
            assert!(
                row.addr().is_multiple_of(16),
                "a row of ldmatrix starts at a multiple of 16 bytes"
            );
            // SAFETY: the caller vouches for the row's 8 numbers.
            *loaded = Some(unsafe { *row.add(column) });
        }
    }
}
