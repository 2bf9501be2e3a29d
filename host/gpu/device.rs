//! A device with its context, stream and kernels.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

use crate::cust::context::{Context, CurrentContext};
use crate::cust::device::{Device, DeviceAttribute};
use crate::cust::error::CudaError;
use crate::cust::event::{Event, EventFlags};
use crate::cust::function::Function;
use crate::cust::module::Module;
use crate::cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use elsa::sync::FrozenMap;

use super::buffer_pool::BufferPool;
use super::mark::{Mark, explain};
use super::module::{ptx, unpack};
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
    static UNPACKING: Once = Once::new();
    UNPACKING.call_once(unpack);
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

/// The kernels that have been used, each from a module of its own, so that the driver compiles only these kernels.
#[derive(Default)]
struct Modules(FrozenMap<(&'static str, Option<Residency>), Box<Loaded>>);

/// A loaded kernel.
struct Loaded {
    /// The function, which belongs to the module.
    function: Function<'static>,
    module: Box<Module>,
}

/// Writes a value to a variable of a module, if it has the variable.
type Setter = Box<dyn Fn(&Module) -> Result<(), CudaError> + Send + Sync>;

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

impl fmt::Debug for Modules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Modules({} loaded)", self.0.len())
    }
}

/// A piece of PTX: a function or an entry with its body, the declaration of a function, or lines outside of any.
struct PtxPiece<'a> {
    /// The name of a function or an entry.
    name: Option<&'a str>,
    is_entry: bool,
    text: &'a str,
}

/// The pieces of a module, in their order.
fn pieces(ptx: &str) -> Vec<PtxPiece<'_>> {
    let mut list: Vec<PtxPiece<'_>> = Vec::new();
    let (mut begin, mut at) = (0, 0);
    let mut open = false;
    // Blocks of assembly inside of a body have braces of their own.
    let mut depth = 0usize;
    for line in ptx.split_inclusive('\n') {
        let next = at + line.len();
        let start = [
            ".visible .entry ",
            ".visible .func ",
            ".weak .func ",
            ".func ",
        ]
        .iter()
        .find_map(|start| line.strip_prefix(start).map(|rest| (*start, rest)));
        if let Some((start, rest)) = start {
            list.push(outside(&ptx[begin..at]));
            // A function's result stands before its name, in parentheses.
            let rest = match rest.trim_start().strip_prefix('(') {
                Some(result) => result.split_once(')').map_or("", |(_, rest)| rest),
                None => rest,
            };
            list.push(PtxPiece {
                name: rest.trim_start().split(['(', ' ', '\n']).next(),
                is_entry: start.contains("entry"),
                text: "",
            });
            (begin, open, depth) = (at, true, 0);
        }
        let code = line.split("//").next().unwrap_or_default();
        let before = depth;
        depth = (depth + code.matches('{').count()).saturating_sub(code.matches('}').count());
        let is_end = depth == 0 && (before > 0 || code.trim_end() == ";");
        if open && is_end {
            if let Some(piece) = list.last_mut() {
                piece.text = &ptx[begin..next];
            }
            (begin, open) = (next, false);
        }
        at = next;
    }
    list.push(outside(&ptx[begin..]));
    list
}

fn outside(text: &str) -> PtxPiece<'_> {
    PtxPiece {
        name: None,
        is_entry: false,
        text,
    }
}

/// The part of `ptx` that consists of this entry and the functions that it calls, directly or indirectly; `None` if there is no entry
/// of this name. The driver compiles all the code that it is given.
fn with_entry_only(ptx: &str, name: &str) -> Option<String> {
    let pieces = pieces(ptx);
    let functions: HashSet<&str> = (pieces.iter().filter(|p| !p.is_entry))
        .filter_map(|p| p.name)
        .collect();
    let entry = pieces.iter().find(|p| p.is_entry && p.name == Some(name))?;
    let mut called: HashSet<&str> = HashSet::new();
    let mut texts = vec![entry.text];
    while let Some(text) = texts.pop() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
        for word in text.split(|c| !is_part(c)) {
            if functions.contains(word) && called.insert(word) {
                let of_it = pieces
                    .iter()
                    .filter(|p| !p.is_entry && p.name == Some(word));
                texts.extend(of_it.map(|p| p.text));
            }
        }
    }
    let kept = pieces.iter().filter(|p| match p.name {
        None => true,
        Some(of_it) if p.is_entry => of_it == name,
        Some(of_it) => called.contains(of_it),
    });
    Some(kept.map(|p| p.text).collect())
}

impl Gpu {
    /// Opens the device with this number. Kernels are loaded when they are first used.
    ///
    /// # Errors
    /// [`GpuError::Unavailable`] without a driver or a device that is new enough; [`GpuError::Call`] otherwise.
    pub fn open(index: u32) -> Result<Self, GpuError> {
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

    /// The function of a kernel, which is loaded on first use.
    pub(super) fn loaded(
        &self,
        name: &'static str,
        residency: Option<Residency>,
    ) -> Result<&Function<'static>, GpuError> {
        if let Some(loaded) = self.modules.0.get(&(name, residency)) {
            return Ok(&loaded.function);
        }
        let mut ptx = (ptx()?.iter())
            .find_map(|text| with_entry_only(text, name))
            .ok_or_else(|| self.fail("finding a kernel", CudaError::NotFound))?;
        if let Some(residency) = residency {
            ptx = with_residency(&ptx, residency);
        }
        let module = Module::from_ptx(ptx, &[]).map_err(|e| self.fail("loading a kernel", e))?;
        let module = Box::new(module);
        let function = module
            .get_function(name)
            .map_err(|e| self.fail("finding a kernel", e))?;
        // SAFETY: the function is a handle of the module, which stays in its box as long as the function is here.
        let function = unsafe { std::mem::transmute::<Function<'_>, Function<'static>>(function) };
        let loaded = Loaded { function, module };
        // Held until the module is listed, so that a value that is set meanwhile reaches it, too.
        let constants = self.constants.set();
        for setter in constants.values() {
            setter(&loaded.module).map_err(|e| self.fail("setting a constant", e))?;
        }
        let kept = self.modules.0.insert((name, residency), Box::new(loaded));
        Ok(&kept.function)
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
        let is_end = |c: char| c.is_whitespace() || matches!(c, '[' | ';' | '=');
        let is_declared =
            |line: &str| line.contains(".const ") && line.split(is_end).any(|word| word == name);
        if !ptx()?.iter().any(|text| text.lines().any(is_declared)) {
            return Err(self.fail("finding a constant", CudaError::NotFound));
        }
        let mut constants = self.constants.set();
        for loaded in self.modules.0.keys_cloned() {
            if let Some(loaded) = self.modules.0.get(&loaded) {
                setter(&loaded.module).map_err(|e| self.fail("setting a constant", e))?;
            }
        }
        constants.insert(name, setter);
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
        GpuError::Call {
            device: self.info.name.clone(),
            call,
            reason: explain(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::module::tests::shipped;

    #[test]
    fn a_kernel_is_loaded_alone() {
        let shipped = shipped();
        let all = shipped.as_str();
        let names: Vec<&str> = all
            .lines()
            .filter_map(|l| l.strip_prefix(".visible .entry "))
            .filter_map(|l| l.split('(').next())
            .collect();
        assert!(
            names.contains(&"map_divergence_explicit_euler_f64")
                && names.contains(&"encounters_f64")
        );
        for name in &names {
            let alone = with_entry_only(all, name).expect("it is there");
            assert_eq!(alone.matches(".entry ").count(), 1, "{name}");
            assert!(alone.contains(&format!(".visible .entry {name}(")));
            assert!(alone.contains("\n.version") && alone.contains("\n.target"));
            assert_eq!(alone.matches('{').count(), alone.matches('}').count());
        }
        // A module contains exactly the functions that its kernel calls.
        let functions = |ptx: &str| ptx.lines().filter(|l| l.contains(".func ")).count();
        let alone = with_entry_only(all, "encounters_f64").expect("it is there");
        assert!(functions(&alone) > 20 && alone.contains("atan2"));
        let alone = with_entry_only(all, "map_divergence_explicit_euler_f64").expect("it is there");
        assert_eq!(functions(&alone), 0);
        assert_eq!(with_entry_only(all, "no_such_kernel"), None);
    }

    #[test]
    fn a_kernel_with_blocks_of_assembly_is_loaded_whole() {
        const TWO: &str = ".version 8.0\n.target sm_90\n\
            .visible .entry first(\n\t.param .b64 a\n)\n{\n\t// begin {\n\t{\n.reg .b64 a;\n}\n\tmov.b64 {%r1, %r2}, %rd1;\n\tret;\n}\n\
            .visible .entry second(\n\t.param .b64 a\n)\n{\n\tret;\n}\n";
        let begin = TWO.find(".visible .entry second").expect("it is there");
        assert_eq!(
            with_entry_only(TWO, "first").as_deref(),
            Some(&TWO[..begin])
        );
        let second = with_entry_only(TWO, "second").expect("it is there");
        assert_eq!(second.lines().count(), 2 + 6, "{second}");
        assert!(!second.contains("first") && !second.contains("mov.b64"));
    }

    #[test]
    fn a_kernel_is_told_how_it_is_launched() {
        let shipped = shipped();
        let all = shipped.as_str();
        let alone = with_entry_only(all, "nbody_reduced_f32").expect("it is there");
        let residency = Residency {
            threads: 128,
            blocks: 4,
        };
        let told = with_residency(&alone, residency);
        assert!(told.contains(")\n.maxntid 128, 1, 1\n.minnctapersm 4\n{"));
        assert_eq!(
            told.len(),
            alone.len() + "\n.maxntid 128, 1, 1\n.minnctapersm 4".len()
        );
    }
}
