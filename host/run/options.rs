//! The devices of a run: engine, GPUs, number of threads. The types are parsed from the texts of the command line, Python and C; an
//! error describes the allowed values.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::gpu::{DeviceInfo, GpuError};
use crate::simd::Simd;
use crate::{Backend, EngineError};

/// The GPUs to use: how many, or which, by the driver's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuChoice {
    /// As many GPUs as the map can keep busy.
    #[default]
    Auto,
    /// All.
    All,
    /// This many, from number 0 on.
    First(u32),
    /// Those whose bit is set.
    These(u64),
}

impl GpuChoice {
    /// The numbers that can be chosen.
    pub const NUMBERS: Range<u32> = 0..64;

    /// These GPUs; `None` if `numbers` is empty or has a number outside of [`NUMBERS`](Self::NUMBERS).
    pub fn of(numbers: &[u32]) -> Option<Self> {
        let known = numbers.iter().all(|n| Self::NUMBERS.contains(n));
        (known && !numbers.is_empty())
            .then(|| Self::These(numbers.iter().fold(0, |bits, n| bits | 1 << n)))
    }

    /// Reads numbers of GPUs that are separated by commas, the value of `--device`.
    ///
    /// # Errors
    /// A description of the allowed values.
    pub fn by_number(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split(',').map(|n| n.trim().parse()).collect();
        let choice = numbers.ok().and_then(|numbers| Self::of(&numbers));
        choice.ok_or_else(|| {
            "must be numbers of GPUs from 0 to 63 separated by commas, such as 0,2".into()
        })
    }

    /// Whether the user says how many, or which, so that all of them must exist.
    pub fn is_definite(self) -> bool {
        matches!(self, Self::First(_) | Self::These(_))
    }

    /// The option that gives the choice.
    pub fn option(self) -> &'static str {
        match self {
            Self::These(_) => "device",
            Self::Auto | Self::All | Self::First(_) => "gpus",
        }
    }

    /// The numbers of the GPUs of a definite choice; none of the other choices.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        let bits = match self {
            Self::These(bits) => bits,
            Self::First(count) => u64::MAX
                .checked_shr(64_u32.saturating_sub(count))
                .unwrap_or(0),
            Self::Auto | Self::All => 0,
        };
        Self::NUMBERS.filter(move |n| bits >> n & 1 == 1)
    }
}

impl fmt::Display for GpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::All => f.write_str("all"),
            Self::First(count) => count.fmt(f),
            Self::These(_) => {
                let numbers: Vec<String> = self.numbers().map(|n| n.to_string()).collect();
                f.write_str(&numbers.join(","))
            }
        }
    }
}

/// The first of these GPUs that does not exist, and a description of the existing ones.
pub fn missing_gpu(
    found: Result<&[DeviceInfo], &GpuError>,
    numbers: impl IntoIterator<Item = u32>,
) -> Option<(u32, String)> {
    let there = found.map_or(0, <[_]>::len);
    let missing = numbers.into_iter().find(|n| *n as usize >= there)?;
    let reason = match (found, there) {
        (Err(error), _) => error.to_string(),
        (Ok(_), 0) => "there is no GPU".into(),
        (Ok(_), 1) => "there is only GPU 0".into(),
        (Ok(_), n) => format!("there are GPUs 0 to {}", n - 1),
    };
    Some((missing, reason))
}

/// Options of a computation, none of which changes its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// The engine.
    pub backend: Backend,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// The instruction set of the CPU engine; `None` for the fastest.
    pub simd: Option<Simd>,
    /// Whether the CPU computes together with the GPUs, if the backend has any.
    pub with_cpu: bool,
    /// The GPUs.
    pub gpus: GpuChoice,
}

impl RunOptions {
    /// Checks that the options are compatible.
    ///
    /// # Errors
    /// [`EngineError::Refused`] for the first option that contradicts another.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.backend == Backend::Cpu && self.gpus != GpuChoice::Auto {
            let reason = "--backend cpu uses no GPU; remove one of the two options";
            return Err(EngineError::refused(self.gpus.option(), self.gpus, reason));
        }
        Ok(())
    }

    /// Checks that the options are compatible, and that the GPUs which they name exist.
    ///
    /// # Errors
    /// [`EngineError::Refused`].
    pub fn check_with(&self, found: Result<&[DeviceInfo], &GpuError>) -> Result<(), EngineError> {
        self.check()?;
        match missing_gpu(found, self.gpus.numbers()) {
            Some((number, reason)) => {
                let option = self.gpus.option();
                Err(match self.gpus {
                    GpuChoice::First(count) => EngineError::refused(option, count, reason),
                    _ => EngineError::refused(option, number, reason),
                })
            }
            None => Ok(()),
        }
    }
}

/// Where a map is computed: `auto`, `cpu`, `gpu` or `gpu+cpu`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapBackend {
    /// The engine.
    pub backend: Backend,
    /// Whether the CPU computes together with the GPUs.
    pub with_cpu: bool,
}

impl FromStr for MapBackend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let with_cpu = text == "gpu+cpu";
        let backend = if with_cpu { "gpu" } else { text };
        let backend = backend
            .parse()
            .map_err(|_| "must be auto, cpu, gpu or gpu+cpu")?;
        Ok(Self { backend, with_cpu })
    }
}

/// `all`, or how many; the value of `--gpus`.
impl FromStr for GpuChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        gpu_count(text).map(Self::First).map_err(|_| {
            let allowed = format!("must be all, or how many GPUs, from 1 to {MAX_GPUS}");
            match Self::by_number(text) {
                Ok(these) => format!("{allowed}; --device {these} chooses GPUs by number"),
                Err(_) => allowed,
            }
        })
    }
}

/// Largest number of threads that can be requested.
const MAX_THREADS: usize = 4096;

/// Parses a number of threads of the CPU engine.
///
/// # Errors
/// A description of the allowed values.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_THREADS) => Ok(n),
        _ => Err(format!("must be a whole number from 1 to {MAX_THREADS}")),
    }
}

/// Largest number of GPUs that can be requested.
const MAX_GPUS: u32 = 64;

/// Parses how many GPUs compute together.
///
/// # Errors
/// A description of the allowed values.
pub fn gpu_count(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_GPUS) => Ok(n),
        _ if text == "all" || text.contains(',') => {
            Err(format!("must be how many GPUs, from 1 to {MAX_GPUS}"))
        }
        _ => Err(format!("must be a whole number from 1 to {MAX_GPUS}")),
    }
}

/// Checks a limit of errors: the relative error of the energy, or the share of unresolved pixels of a map.
///
/// # Errors
/// A description of the allowed values.
pub fn max_error(most: f64) -> Result<(), &'static str> {
    if most.is_finite() && most >= 0.0 {
        Ok(())
    } else {
        Err("must be a finite number of at least 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_of_maps_may_have_the_cpu_beside_the_gpus() {
        let both = MapBackend {
            backend: Backend::Gpu,
            with_cpu: true,
        };
        assert_eq!("gpu+cpu".parse(), Ok(both));
        assert_eq!("auto".parse(), Ok(MapBackend::default()));
        let said = "GPU".parse::<MapBackend>().unwrap_err();
        assert_eq!(said, "must be auto, cpu, gpu or gpu+cpu");
        assert!("gpu+cpu".parse::<Backend>().is_err());
    }

    #[test]
    fn gpus_are_all_or_so_many_or_some_by_number() {
        assert_eq!("all".parse(), Ok(GpuChoice::All));
        for count in [1, 2, 63, 64] {
            let choice: GpuChoice = count.to_string().parse().expect("a count");
            assert_eq!(choice, GpuChoice::First(count));
            assert_eq!(
                choice.numbers().collect::<Vec<_>>(),
                Vec::from_iter(0..count)
            );
        }
        for bad in ["", "a", "-1", "65", "0,,1", "ALL"] {
            let said = bad.parse::<GpuChoice>().expect_err(bad);
            assert_eq!(said, "must be all, or how many GPUs, from 1 to 64");
        }
        for numbers in ["0", "0,2"] {
            let said = numbers.parse::<GpuChoice>().expect_err(numbers);
            assert!(
                said.contains(&format!("--device {numbers} chooses")),
                "{said}"
            );
        }
        assert_eq!(GpuChoice::by_number("0, 2"), Ok(GpuChoice::These(0b101)));
        for bad in ["", "a", "-1", "64", "0,,1", "all"] {
            assert!(GpuChoice::by_number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn threads_are_from_1_to_4096_and_gpus_from_1_to_64() {
        assert_eq!(threads("4096"), Ok(4096));
        for bad in ["0", "4097", "-1", "2.5", ""] {
            assert!(threads(bad).is_err(), "{bad}");
        }
        assert_eq!(gpu_count("64"), Ok(64));
        assert!(gpu_count("0").is_err() && gpu_count("65").is_err());
    }

    #[test]
    fn errors_that_are_allowed_are_numbers_from_0_on() {
        for good in [0.0, 1e-12, 7.0] {
            assert_eq!(max_error(good), Ok(()));
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(max_error(bad).is_err(), "{bad}");
        }
    }
}
