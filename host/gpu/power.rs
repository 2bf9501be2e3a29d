//! Energy that GPUs use, by the counters that the driver keeps for NVML.

use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use nvml_wrapper_sys::bindings::{NvmlLib, nvmlReturn_enum_NVML_SUCCESS, nvmlReturn_t};

use super::{Device, Energy, Gpu};

/// Reads the energy counters of some GPUs.
pub struct EnergyMeter {
    nvml: &'static Nvml,
    /// The PCI addresses of the GPUs, by which NVML finds them.
    ids: Vec<CString>,
    start: Mutex<Option<(Instant, u64)>>,
}

impl std::fmt::Debug for EnergyMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EnergyMeter({:?})", self.ids)
    }
}

/// NVML, initialised. It has all functions that are called here.
struct Nvml(NvmlLib);

impl Nvml {
    /// Initialises NVML once, since that takes a while and a sequence has many maps.
    fn get() -> Result<&'static Self, String> {
        static NVML: OnceLock<Result<Nvml, String>> = OnceLock::new();
        let result =
            NVML.get_or_init(|| Self::load().map_err(|e| format!("NVML cannot be used: {e}")));
        result.as_ref().map_err(String::clone)
    }

    fn load() -> Result<Self, String> {
        // The name without a number comes with development packages only.
        let library = if cfg!(windows) {
            "nvml.dll"
        } else {
            "libnvidia-ml.so.1"
        };
        // SAFETY: loading the driver's library runs its initialisers, which have no requirements.
        let nvml = unsafe { NvmlLib::new(library) }.map_err(|e| e.to_string())?;
        let missing = [
            nvml.nvmlInit_v2.as_ref().err(),
            nvml.nvmlErrorString.as_ref().err(),
            nvml.nvmlDeviceGetHandleByPciBusId_v2.as_ref().err(),
            nvml.nvmlDeviceGetTotalEnergyConsumption.as_ref().err(),
        ];
        if let Some(missing) = missing.into_iter().flatten().next() {
            return Err(missing.to_string());
        }
        let nvml = Self(nvml);
        // SAFETY: the library has the function.
        nvml.check(unsafe { nvml.0.nvmlInit_v2() })?;
        Ok(nvml)
    }

    /// The error of a function that returned this code.
    fn check(&self, code: nvmlReturn_t) -> Result<(), String> {
        if code == nvmlReturn_enum_NVML_SUCCESS {
            return Ok(());
        }
        // SAFETY: the library has the function, which returns a static string for any code.
        let text = unsafe { CStr::from_ptr(self.0.nvmlErrorString(code)) };
        Err(text.to_string_lossy().into_owned())
    }

    /// The energy that a GPU has used since the driver was loaded, in millijoules.
    fn millijoules(&self, id: &CStr) -> Result<u64, String> {
        let mut device = ptr::null_mut();
        // SAFETY: NVML is initialised; the address is a C string, and `device` a place for the handle.
        self.check(unsafe {
            self.0
                .nvmlDeviceGetHandleByPciBusId_v2(id.as_ptr(), &mut device)
        })?;
        let mut energy = 0;
        // SAFETY: `device` is a handle of NVML, and `energy` a place for the number.
        self.check(unsafe {
            self.0
                .nvmlDeviceGetTotalEnergyConsumption(device, &mut energy)
        })?;
        Ok(energy)
    }
}

impl EnergyMeter {
    /// Of these devices.
    ///
    /// # Errors
    /// Why nothing can be measured: no NVML, or a GPU (before Volta, or a part of one) without a counter.
    pub fn new<'a>(devices: impl IntoIterator<Item = &'a dyn Device>) -> Result<Self, String> {
        let gpu = |device: &'a dyn Device| device.as_gpu().ok_or("it is no GPU");
        let gpus: Vec<&Gpu> = (devices.into_iter().map(gpu)).collect::<Result<_, _>>()?;
        let id = |gpu: &Gpu| {
            let id = gpu.bus_id().map_err(|e| e.to_string())?;
            CString::new(id).map_err(|e| e.to_string())
        };
        let meter = Self {
            nvml: Nvml::get()?,
            ids: gpus.into_iter().map(id).collect::<Result<_, _>>()?,
            start: Mutex::new(None),
        };
        meter.millijoules()?;
        Ok(meter)
    }

    /// The sum of all counters.
    fn millijoules(&self) -> Result<u64, String> {
        let sum: Result<u64, _> = self.ids.iter().map(|id| self.nvml.millijoules(id)).sum();
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
