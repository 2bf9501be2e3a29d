//! Vectors of `f64` and `f32` that implement [`Real`](kernels_gpu::Real), so that the physics computes several numbers at a time. The
//! program selects the instruction set at run time; every one gives the same bits.

use std::fmt;
use std::str::FromStr;

use kernels_gpu::number::Single;
use kernels_gpu::number::bits::Bits;

mod lanes;
mod lanes_single;
pub mod peak;
mod with_lanes;

/// Work that is compiled for each instruction set, and computed in one by [`Simd::run`].
pub trait OnLanes {
    /// What it returns.
    type Output;

    /// Whether it is too small for more than 4 lanes of `f64` to be worth the size of their code.
    const NARROW: bool = false;

    /// Whether it is compiled for one number at a time only, as the unit tests of packages with much to compile are.
    const ALONE: bool = false;

    /// The work in vectors of `f64` and of `f32`. Implementations are `#[inline(always)]`: the function that calls them has the
    /// instruction set.
    fn on<D: Bits<Alone = f64>, S: Single>(self) -> Self::Output;
}

/// The instruction sets, slowest first. Each row: the architecture, the modules with its lanes, its variant of [`Simd`], its name for
/// users, its name in reports, the function that has it, the features for that function, whether the machine has them, its vectors, and the function for
/// work that is [`NARROW`](OnLanes::NARROW). [`with_lanes`] and the engines that need more of a vector than [`OnLanes`] asks have rows of their
/// own.
macro_rules! instruction_sets {
    ($(
        $(#[doc = $doc:literal])*
        $arch:literal, $module:ident, $single_module:ident, $set:ident, $name:literal, $displayed:literal, $function:ident, $features:literal,
        $available:expr, $double:ident, $single:ident, $narrow:ident;
    )*) => {
        $(
            #[cfg(target_arch = $arch)]
            pub mod $module;
            #[cfg(target_arch = $arch)]
            mod $single_module;
            #[cfg(target_arch = $arch)]
            pub use $module::$double;
            #[cfg(target_arch = $arch)]
            pub use $single_module::$single;
        )*

        /// An instruction set for which the CPU engines have lanes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Simd {
            /// One number at a time, for any machine.
            Scalar,
            $(
                $(#[doc = $doc])*
                #[cfg(target_arch = $arch)]
                $set,
            )*
        }

        impl Simd {
            /// All instruction sets that this machine can run, slowest first.
            pub fn available() -> Vec<Self> {
                #[allow(unused_mut)]
                let mut list = vec![Self::Scalar];
                $(
                    #[cfg(target_arch = $arch)]
                    if $available {
                        list.push(Self::$set);
                    }
                )*
                list
            }

            /// The fastest instruction set that this machine can run.
            pub fn best() -> Self {
                *Self::available()
                    .last()
                    .expect("the scalar one is always there")
            }

            /// Number of lanes of `f64`.
            pub fn lanes(self) -> usize {
                match self {
                    Self::Scalar => 1,
                    $(
                        #[cfg(target_arch = $arch)]
                        Self::$set => <$double as kernels_gpu::Real>::LANES,
                    )*
                }
            }

            /// The names of all instruction sets, on this and on other machines, as a user writes them.
            pub const NAMES: &[&str] = &["scalar", $($name),*];

            /// The name by which a user chooses the instruction set, one of [`NAMES`](Self::NAMES).
            pub fn name(self) -> &'static str {
                match self {
                    Self::Scalar => "scalar",
                    $(
                        #[cfg(target_arch = $arch)]
                        Self::$set => $name,
                    )*
                }
            }

            /// Its name in reports.
            fn displayed(self) -> &'static str {
                match self {
                    Self::Scalar if has_fma() => "scalar",
                    Self::Scalar => "scalar, software fused multiply-add (slow)",
                    $(
                        #[cfg(target_arch = $arch)]
                        Self::$set => $displayed,
                    )*
                }
            }

            /// Does the work in this instruction set.
            ///
            /// # Panics
            /// If the machine does not have it.
            pub fn run<W: OnLanes>(self, work: W) -> W::Output {
                assert!(Self::available().contains(&self), "this machine has no {self}");
                match self {
                    _ if W::ALONE => scalar(work),
                    Self::Scalar => scalar(work),
                    $(
                        // SAFETY: the line above checks it, and a machine with AVX-512 has AVX2.
                        #[cfg(target_arch = $arch)]
                        Self::$set if W::NARROW => unsafe { $narrow(work) },
                        // SAFETY: as above.
                        #[cfg(target_arch = $arch)]
                        Self::$set => unsafe { $function(work) },
                    )*
                }
            }
        }

        $(
            #[cfg(target_arch = $arch)]
            #[target_feature(enable = $features)]
            fn $function<W: OnLanes>(work: W) -> W::Output {
                work.on::<$double, $single>()
            }
        )*
    };
}

instruction_sets! {
    /// 4 lanes; AVX2 and FMA.
    "x86_64", avx2, avx2_single, Avx2, "avx2", "AVX2", on_avx2, "avx2,fma",
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"), F64x4, F32x8, on_avx2;
    /// 8 lanes; AVX-512 F.
    "x86_64", avx512, avx512_single, Avx512, "avx512", "AVX-512", on_avx512, "avx512f",
        is_x86_feature_detected!("avx512f"), F64x8, F32x16, on_avx2;
    /// 2 lanes; NEON, which includes fused multiply-adds.
    "aarch64", neon, neon_single, Neon, "neon", "NEON", on_neon, "neon",
        std::arch::is_aarch64_feature_detected!("neon"), F64x2, F32x4, on_neon;
}

/// Not inlined, because the compiler takes twice as long for a function that contains the work in every instruction set.
#[inline(never)]
fn scalar<W: OnLanes>(work: W) -> W::Output {
    work.on::<f64, f32>()
}

impl Simd {
    /// The chosen instruction set alone, or all that this machine can run, slowest first: those to measure or to check.
    pub fn chosen_or_all(chosen: Option<Self>) -> Vec<Self> {
        chosen.map_or_else(Self::available, |simd| vec![simd])
    }
}

/// One of [`Simd::NAMES`] that this machine can run.
impl FromStr for Simd {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let available = Self::available();
        if let Some(found) = available.iter().find(|simd| simd.name() == text) {
            return Ok(*found);
        }
        if Self::NAMES.contains(&text) {
            let names: Vec<&str> = available.iter().map(|simd| simd.name()).collect();
            let names = names.join(", ");
            return Err(format!(
                "this machine does not have it; it can use: {names}"
            ));
        }
        let (last, others) = Self::NAMES.split_last().expect("there are some");
        Err(format!("must be {} or {last}", others.join(", ")))
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.displayed())
    }
}

/// Whether the machine has a fused multiply-add instruction. Without it the results are the same, but computed slowly.
pub fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        cfg!(target_arch = "aarch64")
    }
}

#[cfg(test)]
mod names {
    use super::Simd;

    #[test]
    fn an_instruction_set_is_chosen_by_name_where_the_machine_has_it() {
        for name in Simd::NAMES {
            let found = name.parse::<Simd>();
            match Simd::available().iter().find(|simd| simd.name() == *name) {
                Some(simd) => assert_eq!(found, Ok(*simd)),
                None => {
                    let said = found.expect_err(name);
                    assert!(said.starts_with("this machine does not have it; it can use: scalar"));
                }
            }
        }
        for simd in Simd::available() {
            assert!(Simd::NAMES.contains(&simd.name()), "{simd}");
            assert_eq!(Simd::chosen_or_all(Some(simd)), [simd]);
        }
        let said = "AVX2".parse::<Simd>().expect_err("names are in lower case");
        assert!(
            said.starts_with("must be scalar, ") && said.contains(" or "),
            "{said}"
        );
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use kernels_gpu::number::{Bits, Mixed, Single};
    use kernels_gpu::{Mask as _, Real};

    #[cfg(target_arch = "aarch64")]
    use super::{F32x4, F64x2};
    #[cfg(target_arch = "x86_64")]
    use super::{F32x8, F32x16, F64x4, F64x8};
    use super::{OnLanes, Simd};

    /// The r⁻³ of every number, at each place among six vectors that also hold numbers outside of the range of the seeds, equals that of
    /// the number alone.
    macro_rules! alone_and_among_others {
        ($lanes:ty, $n:literal) => {
            let odd = [0.0, 1e-30, 3e25, f64::INFINITY, f64::NAN, 1e-210, 7.0, 2.5];
            for (at, odd) in (0..6).flat_map(|at| odd.chunks($n).map(move |odd| (at, odd))) {
                let mut r2 = [[2.0; $n]; 6];
                for (i, numbers) in r2.iter_mut().enumerate() {
                    for (lane, number) in numbers.iter_mut().enumerate() {
                        *number = 1.0 + (3 * i + lane) as f64 * 0.37;
                    }
                }
                r2[at].copy_from_slice(odd);
                let exact = <$lanes>::inv_cubes(r2.map(<$lanes>::from_array));
                let mixed = Mixed::<$lanes>::inv_cubes(r2.map(|x| Mixed(<$lanes>::from_array(x))));
                let one = Mixed(<$lanes>::from_array(r2[at])).inv_cube();
                for i in 0..6 {
                    for lane in 0..$n {
                        let alone = [r2[i][lane].inv_cube(), Mixed(r2[i][lane]).inv_cube().0];
                        let among = [exact[i].to_array()[lane], mixed[i].0.to_array()[lane]];
                        assert_eq!(among.map(f64::to_bits), alone.map(f64::to_bits));
                    }
                }
                assert_eq!(
                    one.0.to_array().map(f64::to_bits),
                    mixed[at].0.to_array().map(f64::to_bits)
                );
            }
        };
    }

    /// Every operation on bits gives, lane by lane, the result of the scalar operation.
    macro_rules! bits_are_those_of_one {
        ($lanes:ty, $n:literal) => {
            let numbers = |shift: usize| -> [f64; $n] {
                std::array::from_fn(|lane| {
                    let k = (7 * lane + shift) as i32;
                    (1.0 + 0.123 * f64::from(k)) * f64::powi(2.0, 9 * (k % 13) - 60)
                })
            };
            for shift in 0..40 {
                let (a, b) = (numbers(shift), numbers(shift + 3));
                let (x, y) = (<$lanes>::from_array(a), <$lanes>::from_array(b));
                let most = <$lanes>::from_f64(1.5);
                let lanes = [
                    x.reciprocal_root(),
                    x.divides(y),
                    x.times_over_root(y, <$lanes>::from_f64(0.3)),
                    x.limited(most),
                    (-x).limited(most),
                    x.fraction_and_exponent().0,
                    x.fraction_and_exponent().1,
                ];
                let difference = <$lanes>::high_difference(x.high(), y.high());
                let turns = [difference; 3].map(|d| {
                    let other = <$lanes>::high_difference(y.high(), x.high());
                    <$lanes>::high_turns(d, other, <$lanes>::spread_high(-1))
                });
                let mut any = false;
                for lane in 0..$n {
                    let (p, q) = (a[lane], b[lane]);
                    let alone = [
                        p.reciprocal_root(),
                        p.divides(q),
                        p.times_over_root(q, 0.3),
                        Bits::limited(p, 1.5),
                        Bits::limited(-p, 1.5),
                        p.fraction_and_exponent().0,
                        p.fraction_and_exponent().1,
                    ];
                    for (got, alone) in lanes.iter().zip(alone) {
                        assert_eq!(got.to_array()[lane].to_bits(), alone.to_bits());
                    }
                    let of_one = f64::high_difference(p.high(), q.high());
                    assert_eq!(<$lanes>::high_lane(&difference, lane), of_one);
                    let turned =
                        f64::high_turns(of_one, f64::high_difference(q.high(), p.high()), -1);
                    assert_eq!(<$lanes>::high_lane(&turns[0], lane) < 0, turned < 0);
                    any |= turned < 0;
                }
                assert_eq!(<$lanes>::any_negative(&turns), any);
                let mut high = x.high();
                <$lanes>::set_high_lane(&mut high, 1, -5);
                assert_eq!(<$lanes>::high_lane(&high, 1), -5);
                assert_eq!(<$lanes>::high_lane(&high, 0), a[0].high());
            }
        };
    }

    #[test]
    fn operations_on_bits_are_those_of_one_number() {
        #[cfg(target_arch = "aarch64")]
        bits_are_those_of_one!(F64x2, 2);
        #[cfg(target_arch = "x86_64")]
        if Simd::available().contains(&Simd::Avx2) {
            bits_are_those_of_one!(F64x4, 4);
        }
        #[cfg(target_arch = "x86_64")]
        if Simd::available().contains(&Simd::Avx512) {
            bits_are_those_of_one!(F64x8, 8);
        }
    }

    /// The r⁻³ whose computation is begun and completed in two calls are those of one number.
    macro_rules! in_two_parts {
        ($lanes:ty, $n:literal) => {
            let r2: [[f64; $n]; 8] = std::array::from_fn(|k| {
                std::array::from_fn(|lane| 0.013 + 1.7 * (k * $n + lane) as f64)
            });
            let vectors = r2.map(<$lanes>::from_array);
            let begun = <$lanes>::begin(&vectors);
            assert!(begun.all_ordinary);
            for (got, r2) in <$lanes>::end(&vectors, &begun).iter().zip(r2) {
                let alone = r2.map(|r2| r2.inv_cube().to_bits());
                assert_eq!(got.to_array().map(f64::to_bits), alone);
            }
        };
    }

    /// Every operation on `f32` gives, lane by lane, the result of the scalar operation.
    macro_rules! singles_are_those_of_one {
        ($lanes:ty, $n:literal) => {
            for shift in 0..40 {
                let numbers = |shift: usize| -> [f32; $n] {
                    std::array::from_fn(|lane| (0.31 + lane as f32) * 1.7f32.powi(shift as i32))
                };
                let (a, b) = (numbers(shift), numbers(39 - shift));
                let (x, y) = (<$lanes>::from_array(a), <$lanes>::from_array(b));
                let holds = x.at_most(y);
                let lanes = [
                    Real::mul_add(x, y, -x),
                    x + y,
                    x - y,
                    x * y,
                    x.inv_cube(),
                    <$lanes>::select(holds, x, y),
                ];
                for lane in 0..$n {
                    let (p, q) = (a[lane], b[lane]);
                    assert_eq!(holds.lane(lane), p <= q);
                    let alone = [
                        p.mul_add(q, -p),
                        p + q,
                        p - q,
                        p * q,
                        p.inv_cube(),
                        if p <= q { p } else { q },
                    ];
                    for (got, alone) in lanes.iter().zip(alone) {
                        assert_eq!(got.to_array()[lane].to_bits(), alone.to_bits());
                    }
                }
                assert_eq!(holds.all(), (0..$n).all(|lane| a[lane] <= b[lane]));
            }
        };
    }

    /// The numbers of lanes of `f64` and of `f32`.
    struct Lanes<const NARROW: bool>;

    impl<const NARROW: bool> OnLanes for Lanes<NARROW> {
        type Output = (usize, usize);
        const NARROW: bool = NARROW;

        #[inline(always)]
        fn on<D: Bits<Alone = f64>, S: Single>(self) -> (usize, usize) {
            (D::LANES, S::LANES)
        }
    }

    #[test]
    fn work_runs_in_the_lanes_of_its_instruction_set() {
        for simd in Simd::available() {
            let (lanes, singles) = simd.run(Lanes::<false>);
            assert_eq!(lanes, simd.lanes());
            assert_eq!(singles, if lanes == 1 { 1 } else { 2 * lanes });
            assert_eq!(simd.run(Lanes::<true>).0, lanes.min(4));
        }
    }

    #[test]
    fn inverse_cubes_in_two_parts_are_those_of_one_number() {
        #[cfg(target_arch = "aarch64")]
        in_two_parts!(F64x2, 2);
        #[cfg(target_arch = "x86_64")]
        if Simd::available().contains(&Simd::Avx2) {
            in_two_parts!(F64x4, 4);
        }
        #[cfg(target_arch = "x86_64")]
        if Simd::available().contains(&Simd::Avx512) {
            in_two_parts!(F64x8, 8);
        }
    }

    #[test]
    fn operations_on_singles_are_those_of_one_number() {
        #[cfg(target_arch = "aarch64")]
        singles_are_those_of_one!(F32x4, 4);
        #[cfg(target_arch = "x86_64")]
        if Simd::available().contains(&Simd::Avx2) {
            singles_are_those_of_one!(F32x8, 8);
        }
        #[cfg(target_arch = "x86_64")]
        if Simd::available().contains(&Simd::Avx512) {
            singles_are_those_of_one!(F32x16, 16);
        }
    }

    #[test]
    fn a_lane_does_not_feel_the_others() {
        #[cfg(target_arch = "aarch64")]
        alone_and_among_others!(F64x2, 2);
        #[cfg(target_arch = "x86_64")]
        if Simd::available().contains(&Simd::Avx2) {
            alone_and_among_others!(F64x4, 4);
        }
        #[cfg(target_arch = "x86_64")]
        if Simd::available().contains(&Simd::Avx512) {
            alone_and_among_others!(F64x8, 8);
        }
    }
}
