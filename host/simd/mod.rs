//! Vectors of `f64` and `f32` that implement [`Real`](kernels_gpu::Real), so that the physics computes several numbers at a time. The
//! program selects the instruction set at run time; every one gives the same bits.

use std::fmt;
use std::str::FromStr;

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_single;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_single;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_single;
pub mod peak;
mod with_lanes;

#[cfg(target_arch = "x86_64")]
pub use avx2::F64x4;
#[cfg(target_arch = "x86_64")]
pub use avx2_single::F32x8;
#[cfg(target_arch = "x86_64")]
pub use avx512::F64x8;
#[cfg(target_arch = "x86_64")]
pub use avx512_single::F32x16;

/// An instruction set for which the CPU engines have lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simd {
    /// One number at a time, for any machine.
    Scalar,
    /// 4 lanes; AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 8 lanes; AVX-512 F.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Simd {
    /// All instruction sets that this machine can run, slowest first.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut list = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                list.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f") {
                list.push(Self::Avx512);
            }
        }
        list
    }

    /// The fastest instruction set that this machine can run.
    pub fn best() -> Self {
        *Self::available()
            .last()
            .expect("the scalar one is always there")
    }

    /// The names of all instruction sets, on this and on other machines, as a user writes them.
    pub const NAMES: &[&str] = &["scalar", "avx2", "avx512"];

    /// The name by which a user chooses the instruction set, one of [`NAMES`](Self::NAMES).
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
        }
    }

    /// The chosen instruction set alone, or all that this machine can run, slowest first: those to measure or to check.
    pub fn chosen_or_all(chosen: Option<Self>) -> Vec<Self> {
        chosen.map_or_else(Self::available, |simd| vec![simd])
    }

    /// Number of lanes.
    pub fn lanes(self) -> usize {
        match self {
            Self::Scalar => 1,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 4,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 8,
        }
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
        f.write_str(match self {
            Self::Scalar if has_fma() => "scalar",
            Self::Scalar => "scalar, software fused multiply-add (slow)",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "AVX-512",
        })
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

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use kernels_gpu::Real;
    use kernels_gpu::number::{Bits, Mixed};

    use super::{F64x4, F64x8, Simd};

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
                    x.over_root_exponent(y),
                    x.limited(most),
                    (-x).limited(most),
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
                        p.over_root_exponent(q),
                        Bits::limited(p, 1.5),
                        Bits::limited(-p, 1.5),
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
        if Simd::available().contains(&Simd::Avx2) {
            bits_are_those_of_one!(F64x4, 4);
        }
        if Simd::available().contains(&Simd::Avx512) {
            bits_are_those_of_one!(F64x8, 8);
        }
    }

    #[test]
    fn a_lane_does_not_feel_the_others() {
        if Simd::available().contains(&Simd::Avx2) {
            alone_and_among_others!(F64x4, 4);
        }
        if Simd::available().contains(&Simd::Avx512) {
            alone_and_among_others!(F64x8, 8);
        }
    }
}
