//! How a map's trajectories are computed: the arithmetic, the integrator, and how multistep methods start. By name, as on the
//! command line and in files.

use std::fmt;
use std::str::FromStr;

use kernels_gpu::integrator::three_body::Start as KernelStart;
use serde::{Deserialize, Serialize};

/// The arithmetic of a map. Written as `f64` (also read as `exact`), `fast`, `mixed`, `f32`, `fixed:26` and `float-float`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Precision {
    /// f64, IEEE operations in a fixed order: the same bits on every engine.
    #[default]
    F64,
    /// f64, seeded by the GPU's approximate reciprocal root: equal to within rounding. On the CPU it is [`F64`](Self::F64).
    Fast,
    /// State in f64, r⁻³ in f32: the same bits on every engine.
    Mixed,
    /// All in f32: the same bits on every engine.
    F32,
    /// State in signed fixed point, pulls in f64: the same bits on every engine.
    Fixed {
        /// Bits after the point, in the specification's unit of length: [`FRACTION_BITS`](Self::FRACTION_BITS).
        fraction_bits: u8,
    },
    /// Sums of two f32, about 44 bits: the same bits on every engine.
    FloatFloat,
}

impl Precision {
    /// Fraction bits that [`Fixed`](Self::Fixed) can have.
    pub const FRACTION_BITS: std::ops::RangeInclusive<u8> = 8..=56;
    /// Fraction bits of `fixed` without a number: the source document's.
    pub const DEFAULT_FRACTION_BITS: u8 = 26;
    /// Every mode, fixed point with the default number of bits.
    pub const ALL: [Self; 6] = [
        Self::F64,
        Self::Fast,
        Self::Mixed,
        Self::F32,
        Self::Fixed {
            fraction_bits: Self::DEFAULT_FRACTION_BITS,
        },
        Self::FloatFloat,
    ];
    /// What can be written.
    pub const NAMES: &str =
        "f64, fast, mixed, f32, fixed, fixed:BITS (BITS from 8 to 56) or float-float";

    /// Whether every engine gives the same bits.
    pub fn is_portable(self) -> bool {
        self != Self::Fast
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F64 => f.write_str("f64"),
            Self::Fast => f.write_str("fast"),
            Self::Mixed => f.write_str("mixed"),
            Self::F32 => f.write_str("f32"),
            Self::Fixed { fraction_bits } => write!(f, "fixed:{fraction_bits}"),
            Self::FloatFloat => f.write_str("float-float"),
        }
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("must be {}", Self::NAMES);
        Ok(match text {
            "f64" | "exact" => Self::F64,
            "fast" => Self::Fast,
            "mixed" => Self::Mixed,
            "f32" => Self::F32,
            "fixed" => Self::Fixed {
                fraction_bits: Self::DEFAULT_FRACTION_BITS,
            },
            "float-float" => Self::FloatFloat,
            _ => {
                let bits = text.strip_prefix("fixed:").and_then(|n| n.parse().ok());
                let fraction_bits = bits
                    .filter(|n| Self::FRACTION_BITS.contains(n))
                    .ok_or_else(fail)?;
                Self::Fixed { fraction_bits }
            }
        })
    }
}

impl From<Precision> for String {
    fn from(precision: Precision) -> Self {
        precision.to_string()
    }
}

impl TryFrom<String> for Precision {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// The integrator of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Integrator {
    /// First order, one evaluation a step.
    #[default]
    ExplicitEuler,
    /// First order, one evaluation a step, symplectic.
    SemiImplicitEuler,
    /// Second order, one evaluation a step, symplectic.
    Leapfrog,
    /// Second order, one evaluation a step.
    #[serde(rename = "adams-bashforth-2")]
    AdamsBashforth2,
    /// Fourth order (second with [`Start::Euler`]), one evaluation a step.
    #[serde(rename = "adams-bashforth-4")]
    AdamsBashforth4,
    /// Fourth order, four evaluations a step.
    #[serde(rename = "runge-kutta-4")]
    RungeKutta4,
    /// Fourth order, one evaluation of accelerations and jerks a step.
    #[serde(rename = "hermite-4")]
    Hermite4,
}

impl Integrator {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ExplicitEuler,
        Self::SemiImplicitEuler,
        Self::Leapfrog,
        Self::AdamsBashforth2,
        Self::AdamsBashforth4,
        Self::RungeKutta4,
        Self::Hermite4,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExplicitEuler => "explicit-euler",
            Self::SemiImplicitEuler => "semi-implicit-euler",
            Self::Leapfrog => "leapfrog",
            Self::AdamsBashforth2 => "adams-bashforth-2",
            Self::AdamsBashforth4 => "adams-bashforth-4",
            Self::RungeKutta4 => "runge-kutta-4",
            Self::Hermite4 => "hermite-4",
        }
    }

    /// Whether its first steps need a [`Start`].
    pub fn is_multistep(self) -> bool {
        matches!(self, Self::AdamsBashforth2 | Self::AdamsBashforth4)
    }
}

impl fmt::Display for Integrator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Integrator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|i| i.name() == text);
        named.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let (last, others) = names.split_last().expect("there are some");
            format!("must be {} or {last}", others.join(", "))
        })
    }
}

/// How multistep methods take the steps for which they have no history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// By explicit Euler, as the source document does: the error of these steps is of second order, whatever the method's.
    #[default]
    Euler,
    /// By the Runge–Kutta method of fourth order.
    RungeKutta,
}

impl Start {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Euler => "euler",
            Self::RungeKutta => "runge-kutta",
        }
    }

    pub(super) fn for_kernel(self) -> KernelStart {
        match self {
            Self::Euler => KernelStart::Euler,
            Self::RungeKutta => KernelStart::RungeKutta,
        }
    }
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "euler" => Ok(Self::Euler),
            "runge-kutta" => Ok(Self::RungeKutta),
            _ => Err("must be euler or runge-kutta".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for precision in Precision::ALL {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        assert_eq!("fixed".parse(), Ok(Precision::Fixed { fraction_bits: 26 }));
        assert_eq!("exact".parse(), Ok(Precision::F64), "a former name");
        for wrong in [
            "",
            "fixed:",
            "fixed:7",
            "fixed:57",
            "fixed:+26x",
            "Exact",
            "float",
        ] {
            assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
        }
        for integrator in Integrator::ALL {
            assert_eq!(integrator.name().parse(), Ok(integrator));
            assert_eq!(serde_json::to_value(integrator).unwrap(), integrator.name());
        }
        for start in [Start::Euler, Start::RungeKutta] {
            assert_eq!(start.name().parse(), Ok(start));
            assert_eq!(serde_json::to_value(start).unwrap(), start.name());
        }
    }
}
