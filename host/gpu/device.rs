//! A device with its context, stream and kernels.

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::cust::context::{Context, CurrentContext};
use crate::cust::device::{Device, DeviceAttribute};
use crate::cust::error::CudaError;
use crate::cust::event::{Event, EventFlags};
use crate::cust::function::Function;
use crate::cust::module::Module;
use crate::cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cuda_std::Exported;
use elsa::sync::FrozenMap;

use super::buffer_pool::BufferPool;
use super::loading::{Loading, with_notice};
use super::mark::{Mark, explain};
use super::module::{module_of, table, with_functions};
use super::{DeviceInfo, GpuError, Residency};

/// Finds the driver and starts it, once.
pub(super) fn load() -> Result<(), GpuError> {
    static LOADED: OnceLock<Result<(), String>> = OnceLock::new();
    LOADED
        .get_or_init(|| libcuda_lazy::load().map(|_| ()).map_err(|e| e.to_string()))
        .clone()
        .map_err(GpuError::Unavailable)
}

fn initialise() -> Result<(), GpuError> {
    load()?;
    let _loading = Loading::begin();
    crate::cust::init(crate::cust::CudaFlags::empty())
        .map_err(|e| GpuError::Unavailable(explain(e)))
}

/// Version of CUDA that the driver supports: major, minor.
///
/// # Errors
/// [`GpuError::Unavailable`] without a driver.
pub fn driver_version() -> Result<(u32, u32), GpuError> {
    initialise()?;
    let v = crate::cust::CudaApiVersion::get().map_err(|e| GpuError::Unavailable(explain(e)))?;
    Ok((v.major() as u32, v.minor() as u32))
}

/// All GPUs that the driver lists, in its order (fastest first unless CUDA_DEVICE_ORDER says otherwise).
///
/// # Errors
/// [`GpuError::Unavailable`] without a driver or if it lists none.
pub fn devices() -> Result<Vec<DeviceInfo>, GpuError> {
    initialise()?;
    let count = Device::num_devices().map_err(|e| GpuError::Unavailable(explain(e)))?;
    if count == 0 {
        return Err(GpuError::Unavailable("the driver finds no device".into()));
    }
    (0..count).map(|index| Ok(describe(index)?.1)).collect()
}

fn describe(index: u32) -> Result<(Device, DeviceInfo), GpuError> {
    let fail = |e| GpuError::Call {
        device: format!("GPU {index}"),
        call: "reading the device's attributes",
        reason: explain(e),
    };
    let device = Device::get_device(index).map_err(fail)?;
    let attribute = |a| device.get_attribute(a).map(|n| n as u32).map_err(fail);
    let info = DeviceInfo {
        index,
        name: device.name().map_err(fail)?,
        compute_capability: (
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        ),
        memory_bytes: device.total_memory().map_err(fail)? as u64,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        // The system keeps a KiB of a multiprocessor's memory for each block.
        shared_bytes_per_block: attribute(DeviceAttribute::MaxSharedMemoryPerMultiprocessor)?
            .saturating_sub(1 << 10),
        clock_khz: attribute(DeviceAttribute::ClockRate)?,
    };
    Ok((device, info))
}

/// A GPU with its loaded kernels and a stream on which everything is queued in order, except copies of results, which have a stream
/// of their own.
#[derive(Debug)]
pub struct Gpu {
    info: DeviceInfo,
    // Fields are dropped in this order, the context last.
    stream: Stream,
    copies: Stream,
    modules: Modules,
    constants: Constants,
    buffers: BufferPool,
    context: Context,
}

/// A module, once it has been loaded.
type Slot = OnceLock<Result<Module, GpuError>>;

/// The modules that have been used, by their numbers in the program's table, and their kernels.
#[derive(Default)]
struct Modules {
    loaded: FrozenMap<(usize, Option<Residency>), Box<Slot>>,
    functions: FrozenMap<(&'static str, &'static str, Option<Residency>), Box<Function<'static>>>,
    /// The texts that were made at run time and used last, the latest first.
    texts: Mutex<Vec<(String, Module)>>,
}

/// Texts that stay loaded.
const MAX_TEXTS: usize = 8;

/// Writes a value to a variable of a module, if it has the variable.
type Setter = Arc<dyn Fn(&Module) -> Result<(), CudaError> + Send + Sync>;

/// The values that the host has given to variables in constant memory. Every module has variables of its own.
#[derive(Default)]
pub(super) struct Constants(Mutex<HashMap<&'static str, Setter>>);

impl fmt::Debug for Constants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Constants({} set)", self.set().len())
    }
}

impl Constants {
    fn set(&self) -> MutexGuard<'_, HashMap<&'static str, Setter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a kernel with a [`Residency`] for its only entry.
fn with_residency(ptx: &str, residency: Residency) -> String {
    let Residency { threads, blocks } = residency;
    let entry = ptx.find(".visible .entry ").unwrap_or(0);
    let body = ptx[entry..].find("\n{").map_or(ptx.len(), |i| entry + i);
    let (before, after) = ptx.split_at(body);
    format!("{before}\n.maxntid {threads}, 1, 1\n.minnctapersm {blocks}{after}")
}

/// What the driver's compiler says of a module that cannot be loaded; empty if it says nothing.
fn compiler_message(ptx: &str) -> String {
    use crate::cust::sys::{CUjit_option_enum, cuModuleLoadDataEx, cuModuleUnload};
    const LENGTH: usize = 4096;
    let Ok(text) = CString::new(ptx) else {
        return "the text has a zero byte".into();
    };
    let mut message = vec![0u8; LENGTH];
    let mut names = [
        CUjit_option_enum::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option_enum::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values = [
        message.as_mut_ptr().cast(),
        ptr::without_provenance_mut(LENGTH),
    ];
    let mut module = ptr::null_mut();
    // SAFETY: the text ends with a zero, the two options are a buffer and its length, and a context is current.
    unsafe {
        let image = text.as_ptr().cast();
        let (names, values) = (names.as_mut_ptr(), values.as_mut_ptr());
        let loaded = cuModuleLoadDataEx(&raw mut module, image, 2, names, values);
        if loaded == crate::cust::sys::cudaError_enum::CUDA_SUCCESS {
            let _ = cuModuleUnload(module);
        }
    }
    let end = message.iter().position(|&byte| byte == 0).unwrap_or(LENGTH);
    let text = String::from_utf8_lossy(&message[..end]);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("; ")
}

impl fmt::Debug for Modules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modules({} loaded)", self.loaded.len())
    }
}

impl Gpu {
    /// Opens the device with this number. Kernels are loaded when they are first used.
    ///
    /// # Errors
    /// [`GpuError::Unavailable`] without a driver or a device that is new enough; [`GpuError::Call`] otherwise.
    pub fn open(index: u32) -> Result<Self, GpuError> {
        load()?;
        let _loading = Loading::begin();
        let count = devices()?.len();
        if index as usize >= count {
            return Err(GpuError::Unavailable(format!(
                "there is no GPU {index}, only {count}"
            )));
        }
        let (device, info) = describe(index)?;
        if info.compute_capability < (7, 0) {
            let (major, minor) = info.compute_capability;
            return Err(GpuError::Unavailable(format!(
                "{} has compute capability {major}.{minor}; 7.0 is needed",
                info.name
            )));
        }
        let fail = |call, e| GpuError::Call {
            device: info.name.clone(),
            call,
            reason: explain(e),
        };
        let context = Context::new(device).map_err(|e| fail("creating a context", e))?;
        let stream = || {
            Stream::new(StreamFlags::NON_BLOCKING, None).map_err(|e| fail("creating a stream", e))
        };
        let (stream, copies) = (stream()?, stream()?);
        Ok(Self {
            info,
            stream,
            copies,
            modules: Modules::default(),
            constants: Constants::default(),
            buffers: BufferPool::default(),
            context,
        })
    }

    /// Properties of the device.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The address of the device on the PCI bus, in NVML's form.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn bus_id(&self) -> Result<String, GpuError> {
        let fail = |e| self.fail("reading the device's attributes", e);
        let device = Device::get_device(self.info.index).map_err(fail)?;
        let attribute = |a| device.get_attribute(a).map_err(fail);
        Ok(format!(
            "{:08x}:{:02x}:{:02x}.0",
            attribute(DeviceAttribute::PciDomainId)?,
            attribute(DeviceAttribute::PciBusId)?,
            attribute(DeviceAttribute::PciDeviceId)?,
        ))
    }

    /// Makes the device current in the calling thread. This is needed once in every thread other than the one that opened it.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn enter(&self) -> Result<(), GpuError> {
        CurrentContext::set_current(&self.context).map_err(|e| self.fail("entering the context", e))
    }

    /// The function of a kernel, whose module is loaded on first use.
    pub(super) fn loaded(
        &self,
        kernel: &Exported,
        residency: Option<Residency>,
    ) -> Result<&Function<'static>, GpuError> {
        let key = (kernel.name, kernel.package, residency);
        if let Some(function) = self.modules.functions.get(&key) {
            return Ok(function);
        }
        let _loading = Loading::begin();
        let refused = |reason| self.refuse("finding a kernel", reason);
        let number = module_of(kernel).map_err(refused)?;
        // Kernels that share statics must have the same copy of them.
        let residency = residency.filter(|_| table().is_ok_and(|t| t.module(number).kernels == 1));
        let slot = self
            .modules
            .loaded
            .insert((number, residency), Box::default());
        let module = slot.get_or_init(|| self.load_module(number, kernel.name, residency));
        let module = module.as_ref().map_err(GpuError::clone)?;
        let function = module
            .get_function(kernel.name)
            .map_err(|e| self.fail("finding a kernel", e))?;
        // SAFETY: the function is a handle of the module, which stays in its box as long as the device.
        let function = unsafe { std::mem::transmute::<Function<'_>, Function<'static>>(function) };
        Ok(self.modules.functions.insert(key, Box::new(function)))
    }

    fn load_module(
        &self,
        number: usize,
        kernel: &str,
        residency: Option<Residency>,
    ) -> Result<Module, GpuError> {
        let mut ptx = (table()?.module(number).text())
            .map_err(|e| self.refuse("unpacking a kernel", e.to_string()))?;
        if let Some(residency) = residency {
            ptx = with_residency(&ptx, residency).into();
        }
        let module = self.compiled(&ptx, kernel)?;
        let constants = self.constants.set();
        for setter in constants.values() {
            setter(&module).map_err(|e| self.fail("setting a constant", e))?;
        }
        Ok(module)
    }

    /// The module of a text, which has this kernel.
    fn compiled(&self, ptx: &str, kernel: &str) -> Result<Module, GpuError> {
        with_notice(|| Module::from_ptx(ptx, &[])).map_err(|e| {
            let said = compiler_message(ptx);
            let reason = match said.is_empty() {
                true => explain(e),
                false => format!("{e:?}: the driver's compiler says: {said}"),
            };
            self.refuse("loading a kernel", format!("{kernel}: {reason}"))
        })
    }

    /// Calls `launch` with a kernel of a text that was made at run time, as for [`Device::start_text`](crate::Device::start_text).
    pub(super) fn with_text(
        &self,
        text: &str,
        functions: [&str; 2],
        kernel: &str,
        launch: impl FnOnce(&Function<'_>) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let texts = self.modules.texts.lock();
        let mut texts = texts.unwrap_or_else(PoisonError::into_inner);
        let place = match texts.iter().position(|(known, _)| known == text) {
            Some(place) => place,
            None => {
                let _loading = Loading::begin();
                if texts.len() == MAX_TEXTS {
                    // A kernel of the module that is unloaded may still run.
                    self.synchronise()?;
                    texts.pop();
                }
                let whole = with_functions(text, functions)
                    .map_err(|why| self.refuse("loading a kernel", why))?;
                texts.insert(0, (text.to_owned(), self.compiled(&whole, kernel)?));
                0
            }
        };
        texts[..=place].rotate_right(1);
        let function = texts[0].1.get_function(kernel);
        launch(&function.map_err(|e| self.fail("finding a kernel", e))?)
    }

    /// Allows a launch with this much dynamic shared memory, of which the driver gives a kernel 48 KiB unless it is asked.
    pub(super) fn allow_shared(&self, function: &Function<'_>, bytes: u32) -> Result<(), GpuError> {
        use crate::cust::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        const UNASKED: u32 = 48 << 10;
        if bytes <= UNASKED {
            return Ok(());
        }
        let attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded; the driver checks the number.
        let result = unsafe {
            crate::cust::sys::cuFuncSetAttribute(function.to_raw(), attribute, bytes as i32)
        };
        match result {
            crate::cust::sys::cudaError_enum::CUDA_SUCCESS => Ok(()),
            _ => Err(self.fail(
                "reserving shared memory for a kernel",
                CudaError::InvalidValue,
            )),
        }
    }

    /// Gives a variable in constant memory of all modules, loaded or not, a value.
    pub(super) fn keep_constant(&self, name: &'static str, setter: Setter) -> Result<(), GpuError> {
        // A module that is loaded from now on has the value; what has begun to load is waited for.
        self.constants.set().insert(name, setter.clone());
        for key in self.modules.loaded.keys_cloned() {
            if let Some(slot) = self.modules.loaded.get(&key)
                && let Ok(module) = slot.wait()
            {
                setter(module).map_err(|e| self.fail("setting a constant", e))?;
            }
        }
        Ok(())
    }

    /// Lets kernels and copies of this device access the memory of `other` directly, if the machine supports it; otherwise copies
    /// between them go through the host.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn reach(&self, other: &Self) -> Result<bool, GpuError> {
        self.enter()?;
        let raw = |gpu: &Self| {
            Device::get_device(gpu.info.index)
                .map(|device| device.as_raw())
                .map_err(|e| gpu.fail("finding a device", e))
        };
        let (mine, theirs) = (raw(self)?, raw(other)?);
        let mut can = 0;
        // SAFETY: both devices exist; the result is an integer of ours.
        let asked = unsafe { crate::cust::sys::cuDeviceCanAccessPeer(&raw mut can, mine, theirs) };
        if asked != crate::cust::sys::cudaError_enum::CUDA_SUCCESS || can == 0 {
            return Ok(false);
        }
        // SAFETY: the context of `other` lives as long as `other`, and its memory is freed before.
        let enabled = unsafe { crate::cust::sys::cuCtxEnablePeerAccess(other.context.as_raw(), 0) };
        use crate::cust::sys::cudaError_enum::{
            CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, CUDA_SUCCESS,
        };
        match enabled {
            CUDA_SUCCESS | CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            _ => Err(self.fail("reaching another GPU's memory", CudaError::UnknownError)),
        }
    }

    /// Whether blocks of a grid may wait for each other, see [`Grid::cooperative`](crate::Grid::cooperative).
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn is_cooperative(&self) -> Result<bool, GpuError> {
        let attribute =
            crate::cust::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
        let mut can = 0;
        let fail = |e| self.fail("reading the device's attributes", e);
        let device = Device::get_device(self.info.index).map_err(fail)?.as_raw();
        // SAFETY: the device exists; the result is an integer of ours.
        let asked =
            unsafe { crate::cust::sys::cuDeviceGetAttribute(&raw mut can, attribute, device) };
        match asked {
            crate::cust::sys::cudaError_enum::CUDA_SUCCESS => Ok(can != 0),
            _ => Err(self.fail("reading the device's attributes", CudaError::UnknownError)),
        }
    }

    /// Makes work that is queued here from now on wait for all work queued on `other` so far.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn wait_for(&self, other: &Self) -> Result<(), GpuError> {
        other.enter()?;
        let event = Event::new(EventFlags::DISABLE_TIMING)
            .map_err(|e| other.fail("creating an event", e))?;
        event
            .record(&other.stream)
            .map_err(|e| other.fail("recording an event", e))?;
        self.enter()?;
        self.stream
            .wait_event(event, StreamWaitEventFlags::DEFAULT)
            .map_err(|e| self.fail("waiting for another GPU", e))
    }

    /// From now on released buffers are kept for reuse instead of being freed, for a device that does the same kind of work many
    /// times. Other devices must not access them.
    pub fn keep_buffers(&mut self) {
        self.buffers.begin();
    }

    pub(super) fn buffers(&self) -> &BufferPool {
        &self.buffers
    }

    /// Waits for all queued work, including copies of results.
    pub(super) fn settle(&self) -> Result<(), GpuError> {
        self.synchronise()?;
        self.copies
            .synchronize()
            .map_err(|e| self.fail("waiting for the device", e))
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Waits until all queued work is done.
    ///
    /// # Errors
    /// [`GpuError::Call`] if any of the work failed.
    pub fn synchronise(&self) -> Result<(), GpuError> {
        self.stream
            .synchronize()
            .map_err(|e| self.fail("waiting for the device", e))
    }

    /// A mark after the work queued so far in a stream of this device.
    pub(super) fn mark_in(&self, stream: &Stream) -> Result<Mark, GpuError> {
        let event =
            Event::new(EventFlags::DEFAULT).map_err(|e| self.fail("creating an event", e))?;
        event
            .record(stream)
            .map_err(|e| self.fail("recording an event", e))?;
        Ok(Mark {
            device: self.info.name.clone(),
            event,
        })
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn copies(&self) -> &Stream {
        &self.copies
    }

    pub(super) fn fail(&self, call: &'static str, error: CudaError) -> GpuError {
        self.refuse(call, explain(error))
    }

    fn refuse(&self, call: &'static str, reason: String) -> GpuError {
        GpuError::Call {
            device: self.info.name.clone(),
            call,
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_told_how_it_is_launched() {
        const ALONE: &str = ".version 8.0\n.target sm_90\n.func f()\n{\n\tret;\n}\n.visible .entry k(\n\t.param .b64 a\n)\n{\n\tret;\n}\n";
        let residency = Residency {
            threads: 128,
            blocks: 4,
        };
        let told = with_residency(ALONE, residency);
        assert!(told.contains(".func f()\n{"), "{told}");
        assert!(
            told.contains("a\n)\n.maxntid 128, 1, 1\n.minnctapersm 4\n{"),
            "{told}"
        );
        assert_eq!(
            told.len(),
            ALONE.len() + "\n.maxntid 128, 1, 1\n.minnctapersm 4".len()
        );
    }
}
