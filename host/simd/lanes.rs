//! The code that the lanes of all instruction sets share: everything except the names of the intrinsics.
//!
//! Each module that calls [`lanes`] brings its registers as the types `Double`, `Single`, `Int`, `Answers` and its
//! intrinsics under the plain names used here. (A generic type cannot do this: the intrinsics share no trait.)
//!
//! Methods are `#[inline(always)]` so that they end up inside a function that enables the instruction set; only such
//! functions may use these types.
//!
//! SAFETY of every unsafe block: the intrinsics need the module's instruction set. The CPU engines use the types
//! only inside functions with that target feature, entered after asking the CPU for it.

/// Functions for processors with these features.
macro_rules! functions {
    (
        $features:literal:
        $(
            $(#[$doc:meta])*
            fn $name:ident$(<const $k:ident: $t:ty>)?($($arguments:tt)*) -> $result:ty $body:block
        )*
    ) => {$(
        $(#[$doc])*
        #[inline]
        #[target_feature(enable = $features)]
        fn $name$(<const $k: $t>)?($($arguments)*) -> $result $body
    )*};
}
pub(super) use functions;

/// Numbers side by side, `f64` or `f32`: what lanes of both have in common. `$register` holds `$n` of them, `$int` and `$of_int` reinterpret it
/// as integers and back, and the items in braces are the rest of [`Real`](kernels_gpu::Real).
macro_rules! numbers {
    (
        $(#[$doc:meta])* $name:ident, $n:literal of $number:ident in $register:ident,
        $add:ident $sub:ident $mul:ident $fmadd:ident $int:ident $of_int:ident, { $($real:item)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $name($register);

        /// The results of a comparison, lane by lane.
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct Holds(Answers);

        impl $name {
            /// The lanes.
            #[inline(always)]
            pub fn to_array(self) -> [$number; $n] {
                // SAFETY: same size, and every bit pattern is a number.
                unsafe { core::mem::transmute(self.0) }
            }

            /// From the lanes.
            #[inline(always)]
            pub fn from_array(a: [$number; $n]) -> Self {
                // SAFETY: same size.
                Self(unsafe { core::mem::transmute::<[$number; $n], $register>(a) })
            }
        }

        impl kernels_gpu::Mask for Holds {
            #[inline(always)]
            fn all(self) -> bool {
                // SAFETY: see `lanes`.
                unsafe { bits(self.0) == (1 << $n) - 1 }
            }
            #[inline(always)]
            fn lane(self, lane: usize) -> bool {
                // SAFETY: see `lanes`.
                unsafe { bits(self.0) >> lane & 1 == 1 }
            }
        }

        impl PerLane for $name {
            type One = $number;

            #[inline(always)]
            fn spread(one: &$number) -> Self {
                Self::from_f64(f64::from(*one))
            }

            #[inline(always)]
            fn lane(&self, lane: usize) -> $number {
                self.to_array()[lane]
            }

            #[inline(always)]
            fn set_lane(&mut self, lane: usize, from: &Self) {
                let mut a = self.to_array();
                a[lane] = from.to_array()[lane];
                *self = Self::from_array(a);
            }
        }

        impl Real for $name {
            type Lane = $number;
            const LANES: usize = $n;
            const TOGETHER: bool = true;
            type Mask = Holds;
            kernels_gpu::own_constants_and_forces!($n);

            #[inline(always)]
            fn to_f64(self, lane: usize) -> f64 {
                f64::from(self.lane(lane))
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { $fmadd(self.0, a.0, b.0) })
            }

            #[inline(always)]
            fn at_most(self, other: Self) -> Holds {
                // SAFETY: see `lanes`.
                Holds(unsafe { at_most_raw(self.0, other.0) })
            }

            #[inline(always)]
            fn select(mask: Holds, yes: Self, no: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { select_raw(mask.0, yes.0, no.0) })
            }

            $($real)*
        }

        impl core::ops::Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { $add(self.0, o.0) })
            }
        }

        impl core::ops::Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { $sub(self.0, o.0) })
            }
        }

        impl core::ops::Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { $mul(self.0, o.0) })
            }
        }

        impl core::ops::Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: see `lanes`. The bits of -0 are the sign.
                unsafe { Self($of_int(xor_int($int(self.0), $int(Self::from_f64(-0.0).0)))) }
            }
        }
    };
}
pub(super) use numbers;

macro_rules! lanes {
    ($(#[$doc:meta])* $name:ident, $n:literal) => {
        use core::ops::Mul;

        use kernels_gpu::number::inv_cube::{
            self, GUESS_BASE, MANTISSA_BASE, ORDINARY_BASE, ORDINARY_WIDTH, SINGLE_BASE, Seeded, Short,
            WIDEN_BASE,
        };
        use kernels_gpu::number::bits::{Bits, HALF_BIAS, RECIPROCAL_BASE};
        use kernels_gpu::{PerLane, Real};

        /// The `f32` seeds of these numbers, each in the upper half of its lane; the lower halves are 0.
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct Seed(Single);

        /// The `f32` seeds of pairs of vectors: those of the first in the upper halves of the lanes, those of the second in the lower. All
        /// pairs go through the operations side by side. With `IN_STEP`, no pair begins an operation before all pairs have begun the
        /// previous one.
        #[derive(Clone, Copy)]
        struct Packed<const M: usize, const IN_STEP: bool>([Single; M]);

        impl<const M: usize, const IN_STEP: bool> Packed<M, IN_STEP> {
            #[inline(always)]
            fn in_step(mut self) -> Self {
                if IN_STEP && M == 4 {
                    let [a, b, c, d] = &mut self.0[..] else { return self };
                    // SAFETY: see `lanes`.
                    [*a, *b, *c, *d] = unsafe { in_step([*a, *b, *c, *d]) };
                }
                self
            }
        }

        impl<const M: usize, const IN_STEP: bool> Short for Packed<M, IN_STEP> {
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                // SAFETY: see `lanes`.
                Self([unsafe { castint_ps(both(x.to_bits())) }; M])
            }

            #[inline(always)]
            fn mul_add(mut self, a: Self, b: Self) -> Self {
                for m in 0..M {
                    // SAFETY: see `lanes`.
                    self.0[m] = unsafe { fmadd_ps(self.0[m], a.0[m], b.0[m]) };
                }
                self.in_step()
            }
        }

        impl<const M: usize, const IN_STEP: bool> Mul for Packed<M, IN_STEP> {
            type Output = Self;
            #[inline(always)]
            fn mul(mut self, o: Self) -> Self {
                for m in 0..M {
                    // SAFETY: see `lanes`.
                    self.0[m] = unsafe { mul_ps(self.0[m], o.0[m]) };
                }
                self.in_step()
            }
        }

        /// The r⁻³ of eight vectors, partly computed.
        #[derive(Clone, Copy)]
        pub struct Begun {
            /// Whether r² is ordinary in every lane.
            pub all_ordinary: bool,
            seeds: Packed<4, true>,
        }

        /// `x` in both halves of each lane.
        #[inline(always)]
        fn both(x: u32) -> Int {
            // SAFETY: see `lanes`.
            unsafe { set1_epi64((u64::from(x) << 32 | u64::from(x)) as i64) }
        }

        /// `x` in the upper half of each lane, 0 in the lower.
        #[inline(always)]
        fn upper(x: u32) -> Int {
            // SAFETY: see `lanes`.
            unsafe { set1_epi64((u64::from(x) << 32) as i64) }
        }

        impl $name {
            /// Upper halves of the bits, less the base of the ordinary range.
            #[inline(always)]
            fn offset(self) -> Int {
                // SAFETY: see `lanes`.
                unsafe {
                    let high = and_int(castpd_int(self.0), upper(u32::MAX));
                    sub_epi32(high, upper(ORDINARY_BASE))
                }
            }

            /// r⁻³ of all these vectors, if all lanes are ordinary. Two, four or eight vectors share the registers of their seeds.
            #[inline(always)]
            pub fn if_ordinary<const K: usize>(r2: [Self; K]) -> Option<[Self; K]> {
                match K {
                    2 => return Self::ordinary_pairs::<K, 1>(r2),
                    4 => return Self::ordinary_pairs::<K, 2>(r2),
                    8 => return Self::ordinary_pairs::<K, 4>(r2),
                    _ => {}
                }
                // (No closures here: they would not be inlined into a function with this instruction set.)
                if !<Self as Seeded>::all_ordinary(&r2) {
                    return None;
                }
                let mut w = r2;
                for k in 0..K {
                    w[k] = inv_cube::ordinary(r2[k]);
                }
                Some(w)
            }

            /// r⁻³ of vectors some of which are not ordinary in every lane: only those are computed lane by lane, by `f`.
            #[inline(always)]
            fn one_by_one<const K: usize>(mut r2: [Self; K], f: fn(f64) -> f64) -> [Self; K] {
                for k in 0..K {
                    r2[k] = match Self::if_ordinary([r2[k]]) {
                        Some([w]) => w,
                        None => Self::by_lane([r2[k]], f)[0],
                    };
                }
                r2
            }

            /// Upper halves of the bits of two numbers, less the base of the ordinary range: side by side in each lane.
            #[inline(always)]
            fn offsets(a: Self, b: Self) -> Int {
                // SAFETY: see `lanes`.
                unsafe {
                    let a = and_int(castpd_int(a.0), upper(u32::MAX));
                    let b = srli_epi64::<32>(castpd_int(b.0));
                    sub_epi32(or_int(a, b), both(ORDINARY_BASE))
                }
            }

            /// r⁻³ of 2 `M` vectors of r², if all lanes are ordinary. The seeds of two vectors fill one register.
            #[inline(always)]
            fn ordinary_pairs<const K: usize, const M: usize>(r2: [Self; K]) -> Option<[Self; K]> {
                let (offsets, all_ordinary) = Self::all_offsets::<K, M>(&r2);
                if !all_ordinary {
                    return None;
                }
                let seeds = Self::seeds::<M, false>(offsets);
                Some(inv_cube::refine_all(r2, Self::widened(seeds)))
            }

            /// Begins the computation of r⁻³ of eight vectors with their seeds, side by side.
            #[inline(always)]
            pub fn begin(r2: &[Self; 8]) -> Begun {
                let (offsets, all_ordinary) = Self::all_offsets(r2);
                let seeds = Self::seeds(offsets);
                Begun { all_ordinary, seeds }
            }

            /// Completes r⁻³. The numbers are meaningless if an r² is not ordinary.
            #[inline(always)]
            pub fn end(r2: &[Self; 8], begun: &Begun) -> [Self; 8] {
                inv_cube::refine_all(*r2, Self::widened(begun.seeds))
            }

            /// [`offsets`](Self::offsets) of two vectors each, and whether all lanes are ordinary.
            #[inline(always)]
            fn all_offsets<const K: usize, const M: usize>(r2: &[Self; K]) -> ([Int; M], bool) {
                assert!(K == 2 * M);
                let mut offsets = [both(0); M];
                let mut any = both(0);
                for m in 0..M {
                    offsets[m] = Self::offsets(r2[2 * m], r2[2 * m + 1]);
                    // SAFETY: see `lanes`.
                    any = unsafe { or_int(any, offsets[m]) };
                }
                // SAFETY: see `lanes`. ORDINARY_WIDTH is a power of two.
                (offsets, unsafe { none(any, both(!(ORDINARY_WIDTH - 1))) })
            }

            /// The seeds that belong to [`offsets`](Self::offsets).
            #[inline(always)]
            fn seeds<const M: usize, const IN_STEP: bool>(t: [Int; M]) -> Packed<M, IN_STEP> {
                // SAFETY: see `lanes`.
                let zero = unsafe { castint_ps(both(0)) };
                let (mut r2, mut guess) = ([zero; M], [zero; M]);
                for m in 0..M {
                    // SAFETY: see `lanes`.
                    unsafe {
                        r2[m] = castint_ps(add_epi32(slli_epi32::<3>(t[m]), both(MANTISSA_BASE)));
                        guess[m] = castint_ps(sub_epi32(both(GUESS_BASE), slli_epi32::<2>(t[m])));
                    }
                }
                inv_cube::seed(Packed(r2), Packed(guess))
            }

            /// The seeds as numbers of this type.
            #[inline(always)]
            fn widened<const K: usize, const M: usize, const IN_STEP: bool>(
                seeds: Packed<M, IN_STEP>,
            ) -> [Self; K] {
                assert!(K == 2 * M);
                // SAFETY: see `lanes`.
                let mut y = [Self(unsafe { set1_pd(0.0) }); K];
                for m in 0..M {
                    // SAFETY: see `lanes`.
                    unsafe {
                        let bits = castps_int(seeds.0[m]);
                        y[2 * m] = Self::widen(Seed(castint_ps(and_int(bits, upper(u32::MAX)))));
                        y[2 * m + 1] = Self::widen(Seed(castint_ps(slli_epi64::<32>(bits))));
                    }
                }
                y
            }

            /// 1 in the place of 0.
            #[inline(always)]
            pub fn zero_to_one(self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { blend(self.0, set1_pd(1.0), self.0) })
            }

            /// 0 where `other` is 0.
            #[inline(always)]
            pub fn zero_where_zero(self, other: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { blend(self.0, set1_pd(0.0), other.0) })
            }
        }

        crate::lanes::numbers!(
            $(#[$doc])*
            $name, $n of f64 in Double,
            add_pd sub_pd mul_pd fmadd_pd castpd_int castint_pd,
            {
            const HAS_SOFTENING_FLOOR: bool = false;

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { set1_pd(x) })
            }

            #[inline(always)]
            fn step_root(self) -> Self {
                self.reciprocal_root()
            }

            #[inline(always)]
            fn step_quotient(self, h: Self) -> Self {
                self.divides(h)
            }

            #[inline(always)]
            fn over_root_exponent(self, h: Self) -> Self {
                // SAFETY: see `lanes`. Only the upper halves change, because the lower halves of the subtrahend are 0.
                unsafe {
                    let half = slli_epi64::<52>(srli_epi64::<53>(castpd_int(self.0)));
                    let j = sub_epi32(half, upper(511 << 20));
                    Self(castint_pd(sub_epi32(castpd_int(h.0), j)))
                }
            }

            #[inline(always)]
            fn inv_cube(self) -> Self {
                Self::inv_cubes([self])[0]
            }

            #[inline(always)]
            fn inv_cubes<const K: usize>(r2: [Self; K]) -> [Self; K] {
                if let Some(w) = Self::if_ordinary(r2) {
                    return w;
                }
                Self::one_by_one(r2, inv_cube::inv_cube)
            }

            #[inline(always)]
            fn inv_cube_or_zero(self) -> Self {
                Self::inv_cubes_or_zero([self])[0]
            }

            #[inline(always)]
            fn inv_cubes_or_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
                if let Some(w) = Self::if_ordinary(r2) {
                    return w;
                }
                Self::one_by_one(r2, inv_cube::inv_cube_or_zero)
            }
            }
        );

        impl Seeded for $name {
            type Alone = f64;
            type Short = Seed;

            #[inline(always)]
            fn guess(self) -> (Seed, Seed) {
                let t = self.offset();
                // SAFETY: see `lanes`.
                unsafe {
                    let m = add_epi32(slli_epi32::<3>(t), upper(MANTISSA_BASE));
                    let y = sub_epi32(upper(GUESS_BASE), slli_epi32::<2>(t));
                    (Seed(castint_ps(m)), Seed(castint_ps(y)))
                }
            }

            #[inline(always)]
            fn guess_single(self) -> (Seed, Seed) {
                let t = self.offset();
                // SAFETY: see `lanes`.
                unsafe {
                    // Each lane is shifted as one 64-bit number: bits that leave the lower half enter the upper.
                    let high = and_int(slli_epi64::<3>(castpd_int(self.0)), upper(u32::MAX));
                    let m = sub_epi32(high, upper(SINGLE_BASE));
                    let y = sub_epi32(upper(GUESS_BASE), slli_epi32::<2>(t));
                    (Seed(castint_ps(m)), Seed(castint_ps(y)))
                }
            }

            #[inline(always)]
            fn all_ordinary<const K: usize>(r2: &[Self; K]) -> bool {
                let mut any = r2[0].offset();
                for x in &r2[1..] {
                    // SAFETY: see `lanes`.
                    any = unsafe { or_int(any, x.offset()) };
                }
                // SAFETY: see `lanes`. ORDINARY_WIDTH is a power of two.
                unsafe { none(any, upper(!(ORDINARY_WIDTH - 1))) }
            }

            #[inline(always)]
            fn widen(seed: Seed) -> Self {
                // SAFETY: see `lanes`.
                unsafe {
                    // Each lane is shifted as one 64-bit number: bits that leave the upper half enter the lower.
                    let bits = srli_epi64::<3>(castps_int(seed.0));
                    Self(castint_pd(add_epi32(bits, upper(WIDEN_BASE))))
                }
            }

            #[inline(always)]
            fn by_lane<const K: usize>(r2: [Self; K], f: fn(f64) -> f64) -> [Self; K] {
                let mut lanes = [[0.0; $n]; K];
                for k in 0..K {
                    lanes[k] = r2[k].to_array();
                    each_lane(&mut lanes[k], f);
                }
                let mut w = r2;
                for k in 0..K {
                    w[k] = Self::from_array(lanes[k]);
                }
                w
            }
        }

        /// The upper halves of the bits, a signed integer in the upper half of each lane; the lower halves are 0.
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct High(Int);

        impl High {
            #[inline(always)]
            fn to_array(self) -> [u64; $n] {
                // SAFETY: same size, and every bit pattern is a number.
                unsafe { core::mem::transmute(self.0) }
            }
        }

        impl Bits for $name {
            type High = High;

            #[inline(always)]
            fn guess_reciprocal(self) -> (Seed, Seed) {
                // SAFETY: see `lanes`.
                unsafe {
                    let t = slli_epi32::<3>(self.offset());
                    let m = add_epi32(t, upper(MANTISSA_BASE));
                    let y = sub_epi32(upper(RECIPROCAL_BASE), t);
                    (Seed(castint_ps(m)), Seed(castint_ps(y)))
                }
            }

            #[inline(always)]
            fn times_over_root(self, d: Self, h: Self) -> Self {
                // SAFETY: see `lanes`. Only the upper halves of `h` change, because the lower halves of the addends are 0.
                unsafe {
                    let half = slli_epi64::<32>(srli_epi64::<33>(castpd_int(d.0)));
                    let half = add_epi32(half, upper(HALF_BIAS));
                    let by = sub_epi32(self.high().0, half);
                    Self(castint_pd(add_epi32(castpd_int(h.0), by)))
                }
            }

            #[inline(always)]
            fn fraction_and_exponent(self) -> (Self, Self) {
                // SAFETY: see `lanes`. The exponent becomes the last digits of 2^52, and so a number without a conversion.
                let (fraction, digits) = unsafe {
                    let bits = castpd_int(self.0);
                    let exponent = srli_epi64::<52>(bits);
                    let fraction = sub_epi32(bits, slli_epi64::<52>(exponent));
                    let fraction = add_epi32(fraction, upper(1023 << 20));
                    let digits = add_epi32(exponent, upper(0x4330_0000));
                    (Self(castint_pd(fraction)), Self(castint_pd(digits)))
                };
                (fraction, digits - Self::from_f64((1_u64 << 52) as f64 + 1023.0))
            }

            #[inline(always)]
            fn high(self) -> High {
                // SAFETY: see `lanes`.
                High(unsafe { and_int(castpd_int(self.0), upper(u32::MAX)) })
            }

            #[inline(always)]
            fn spread_high(x: i32) -> High {
                High(upper(x as u32))
            }

            #[inline(always)]
            fn high_lane(x: &High, lane: usize) -> i32 {
                (x.to_array()[lane] >> 32) as i32
            }

            #[inline(always)]
            fn set_high_lane(x: &mut High, lane: usize, to: i32) {
                let mut a = x.to_array();
                a[lane] = u64::from(to as u32) << 32;
                // SAFETY: same size.
                x.0 = unsafe { core::mem::transmute::<[u64; $n], Int>(a) };
            }

            #[inline(always)]
            fn high_difference(a: High, b: High) -> High {
                // SAFETY: see `lanes`.
                High(unsafe { sub_epi32(a.0, b.0) })
            }

            #[inline(always)]
            fn high_turns(a: High, b: High, c: High) -> High {
                // SAFETY: see `lanes`.
                High(unsafe { and_int(and_int(a.0, c.0), xor_int(b.0, upper(u32::MAX))) })
            }

            #[inline(always)]
            fn any_negative(x: &[High; 3]) -> bool {
                // SAFETY: see `lanes`.
                unsafe { !none(or_int(or_int(x[0].0, x[1].0), x[2].0), upper(1 << 31)) }
            }
        }

        /// `f` of each number, for vectors with very large or small numbers. This rare path goes through memory, so that the common path
        /// keeps all values in registers.
        #[cold]
        #[inline(never)]
        fn each_lane(lanes: &mut [f64; $n], f: fn(f64) -> f64) {
            for x in lanes {
                *x = f(*x);
            }
        }

        impl Short for Seed {
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { castint_ps(upper(x.to_bits())) })
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { fmadd_ps(self.0, a.0, b.0) })
            }
        }

        impl Mul for Seed {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { mul_ps(self.0, o.0) })
            }
        }
    };
}

pub(super) use lanes;
