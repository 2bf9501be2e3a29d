//! Energy that GPUs use, by the counters that the driver keeps for NVML.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use nvml_wrapper::Nvml;

use super::{Device, Energy, Gpu};

/// Reads the energy counters of some GPUs.
pub struct EnergyMeter {
    nvml: &'static Nvml,
    /// NVML's names of the GPUs.
    ids: Vec<String>,
    start: Mutex<Option<(Instant, u64)>>,
}

impl std::fmt::Debug for EnergyMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EnergyMeter({:?})", self.ids)
    }
}

/// NVML, started once: that takes a while, and a sequence has many maps.
fn nvml() -> Result<&'static Nvml, String> {
    static NVML: OnceLock<Result<Nvml, String>> = OnceLock::new();
    // The name without a number comes with development packages only.
    let library = if cfg!(windows) {
        "nvml.dll"
    } else {
        "libnvidia-ml.so.1"
    };
    let start = || {
        let result = Nvml::builder().lib_path(library.as_ref()).init();
        result.map_err(|e| format!("NVML cannot be used: {e}"))
    };
    NVML.get_or_init(start).as_ref().map_err(String::clone)
}

impl EnergyMeter {
    /// Of these devices.
    ///
    /// # Errors
    /// Why nothing can be measured: no NVML, or a GPU (before Volta, or a part of one) without a counter.
    pub fn new<'a>(devices: impl IntoIterator<Item = &'a dyn Device>) -> Result<Self, String> {
        let gpu = |device: &'a dyn Device| device.as_gpu().ok_or("it is no GPU");
        let gpus: Vec<&Gpu> = (devices.into_iter().map(gpu)).collect::<Result<_, _>>()?;
        let ids = gpus.into_iter().map(Gpu::bus_id);
        let meter = Self {
            nvml: nvml()?,
            ids: ids.collect::<Result<_, _>>().map_err(|e| e.to_string())?,
            start: Mutex::new(None),
        };
        meter.millijoules()?;
        Ok(meter)
    }

    /// The sum of all counters.
    fn millijoules(&self) -> Result<u64, String> {
        let read = |id: &String| {
            let device = self.nvml.device_by_pci_bus_id(id.as_str())?;
            device.total_energy_consumption()
        };
        let sum: Result<u64, _> = self.ids.iter().map(read).sum();
        sum.map_err(|e| format!("the energy counter cannot be read: {e}"))
    }

    /// Begins to measure.
    pub fn start(&self) {
        let now = self.millijoules().ok().map(|sum| (Instant::now(), sum));
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// The energy since [`start`](Self::start).
    ///
    /// # Errors
    /// The counters cannot be read any more, or have not been at the start.
    pub fn stop(&self) -> Result<Energy, String> {
        let start = *self.start.lock().unwrap_or_else(PoisonError::into_inner);
        let (began, before) = start.ok_or("the energy counter could not be read at the start")?;
        let after = self.millijoules()?;
        let joules = after.saturating_sub(before) as f64 / 1000.0;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Energy {
            joules,
            watts: joules / seconds.max(1e-9),
        })
    }
}
