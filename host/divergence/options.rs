//! Options of a run from text, as the command line, Python and C have them. An error says what is allowed.

use std::str::FromStr;

use super::engine::{Backend, Driver, GpuChoice};

/// Where a map is computed: `auto`, `cpu`, `gpu` or `gpu+cpu`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapBackend {
    /// Which engine.
    pub backend: Backend,
    /// Whether the CPU helps the GPUs.
    pub with_cpu: bool,
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu),
            _ => Err("must be auto, cpu or gpu".into()),
        }
    }
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

/// `all`, or numbers of GPUs separated by commas.
impl FromStr for GpuChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let numbers: Result<Vec<u32>, _> = text.split(',').map(|n| n.trim().parse()).collect();
        let choice = numbers.ok().and_then(|numbers| Self::of(&numbers));
        choice.ok_or_else(|| {
            "must be all, or numbers of GPUs from 0 to 63 separated by commas, such as 0,2".into()
        })
    }
}

/// `threads` or `single`.
impl FromStr for Driver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "threads" => Ok(Self::Threads),
            "single" => Ok(Self::Single),
            _ => Err("must be threads or single".into()),
        }
    }
}

/// The most threads that can be asked for.
const MAX_THREADS: usize = 4096;

/// A number of threads of the CPU engine.
///
/// # Errors
/// What is allowed.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_THREADS) => Ok(n),
        _ => Err(format!("must be a whole number from 1 to {MAX_THREADS}")),
    }
}

/// The most GPUs that can be asked for by their number.
const MAX_GPUS: u32 = 64;

/// How many GPUs compute together.
///
/// # Errors
/// What is allowed.
pub fn gpu_count(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_GPUS) => Ok(n),
        _ => Err(format!("must be a whole number from 1 to {MAX_GPUS}")),
    }
}

/// That this can be the largest error that is allowed: a relative error of the energy, or of a map the share of unresolved pixels.
///
/// # Errors
/// What is allowed.
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
    fn gpus_are_all_or_some_by_number() {
        assert_eq!("all".parse(), Ok(GpuChoice::All));
        assert_eq!("0, 2".parse(), Ok(GpuChoice::These(0b101)));
        for bad in ["", "a", "-1", "64", "0,,1", "ALL"] {
            assert!(bad.parse::<GpuChoice>().is_err(), "{bad}");
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
