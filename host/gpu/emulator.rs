//! The emulator of the grid as a device: slow, for tests of kernels and engines where there is no GPU.

#[cfg(feature = "devices")]
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::time::Instant;

use cuda_std::{Code, Exported, emulator};

use crate::interface::exported;
#[cfg(feature = "devices")]
use crate::interpreter::Interpreter;
use crate::{Device, DeviceInfo, GpuError, Grid, Launch, Point, Queue, Residency, Usage};

/// Runs the code of the kernels on the CPU. All calls are synchronous.
#[derive(Debug)]
pub struct Emulator {
    info: DeviceInfo,
    seed: Option<u64>,
    resident: u32,
    stack_bytes: Option<usize>,
    #[cfg(feature = "devices")]
    interpreter: Option<Interpreter>,
}

/// The environment variable that makes every emulator of the process [compare](Emulator::compared) if it is 1.
#[cfg(feature = "devices")]
pub const COMPARE_PTX: &str = "TRISOLAR_COMPARE_PTX";

/// Most bytes of shared memory of an emulated block, as on a GPU of compute capability 9.0.
const EMULATED_SHARED_BYTES: u32 = 227 << 10;

impl Emulator {
    /// An emulator with this name.
    pub fn new(name: String) -> Self {
        Self {
            info: DeviceInfo {
                index: 0,
                name,
                compute_capability: (0, 0),
                memory_bytes: u64::MAX,
                multiprocessors: 1,
                shared_bytes_per_block: EMULATED_SHARED_BYTES,
                clock_khz: 0,
            },
            seed: Some(emulator::DEFAULT_SEED),
            resident: 1,
            stack_bytes: None,
            #[cfg(feature = "devices")]
            interpreter: std::env::var_os(COMPARE_PTX)
                .is_some_and(|value| value == "1")
                .then(|| Interpreter::comparing(true)),
        }
    }

    /// Runs the PTX of each kernel, as the driver would get it, by the interpreter of `trisolar-ptx`, instead of its Rust. A launch ends
    /// with an error after the first fault that the interpreter finds.
    #[cfg(feature = "devices")]
    #[must_use]
    pub fn interpreted(self) -> Self {
        Self {
            interpreter: Some(Interpreter::comparing(false)),
            ..self
        }
    }

    /// Runs the PTX of each kernel and its Rust, on the same memory. A launch ends with an error after a fault of either, and where a byte
    /// of the device's memory differs afterwards. A kernel that has executed approximate instructions, whose bits PTX leaves open, or has read a
    /// clock, is not compared.
    #[cfg(feature = "devices")]
    #[must_use]
    pub fn compared(self) -> Self {
        Self {
            interpreter: Some(Interpreter::comparing(true)),
            ..self
        }
    }

    /// Sets the number of the GPU in the place of which it is.
    #[must_use]
    pub fn index(mut self, index: u32) -> Self {
        self.info.index = index;
        self
    }

    /// Sets the seed of the random order in which threads run; `None` for the order of their index, which hides races.
    #[must_use]
    pub fn seed(self, seed: Option<u64>) -> Self {
        Self { seed, ..self }
    }

    /// Sets the number of blocks of a grid that run at the same time.
    #[must_use]
    pub fn resident(self, resident: u32) -> Self {
        Self { resident, ..self }
    }

    /// Sets the bytes of each thread's stack, which are 262144 otherwise.
    #[must_use]
    pub fn stack_bytes(self, bytes: usize) -> Self {
        Self {
            stack_bytes: Some(bytes),
            ..self
        }
    }

    fn room(&self, bytes: usize) -> Result<NonNull<u8>, GpuError> {
        let room = emulator::allocate(bytes).ok_or_else(|| GpuError::OutOfMemory {
            device: self.info.name.clone(),
            needed: bytes as u64,
            available: 0,
        })?;
        #[cfg(feature = "devices")]
        if let Some(interpreter) = &self.interpreter {
            // SAFETY: it has just been allocated, and `free` makes that known.
            unsafe { interpreter.add(room.as_ptr().expose_provenance() as u64, bytes) };
        }
        Ok(room)
    }

    /// Memory of the device is freed.
    fn forget(&self, start: NonNull<u8>) {
        #[cfg(feature = "devices")]
        if let Some(interpreter) = &self.interpreter {
            interpreter.free(start.as_ptr().expose_provenance() as u64);
        }
        let _ = start;
    }

    /// Memory of the device has been written by the host.
    fn written(&self, start: u64, bytes: usize) {
        #[cfg(feature = "devices")]
        if let Some(interpreter) = &self.interpreter {
            interpreter.written(start, bytes);
        }
        let _ = (start, bytes);
    }

    /// Runs the Rust of a kernel.
    ///
    /// # Safety
    /// As for [`Device::start`].
    unsafe fn emulate(
        &self,
        kernel: &Exported,
        grid: Grid,
        arguments: *const (),
    ) -> Result<(), String> {
        let mut emulated = emulator::Launch::new(grid.blocks, grid.threads)
            .shared_bytes(grid.shared_bytes as usize);
        emulated = match self.seed {
            Some(seed) => emulated.seed(seed),
            None => emulated.natural_order(),
        };
        if let Some(bytes) = self.stack_bytes {
            emulated = emulated.stack_bytes(bytes);
        }
        if grid.cooperative {
            // A block that waits for another one occupies a thread.
            emulated = emulated.workers(grid.blocks as usize);
        }
        // SAFETY: the caller guarantees that the function is the kernel of these arguments.
        let ran = unsafe { emulated.run_exported(kernel, arguments) };
        ran.map(|_| ()).map_err(|e| e.to_string())
    }
}

fn pointer(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address as usize)
}

impl Device for Emulator {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn is_cooperative(&self) -> Result<bool, GpuError> {
        Ok(true)
    }

    fn allocate(&self, bytes: usize) -> Result<u64, GpuError> {
        Ok(self.room(bytes)?.as_ptr().expose_provenance() as u64)
    }

    unsafe fn free(&self, address: u64, _: usize) {
        if let Some(start) = NonNull::new(pointer(address)) {
            self.forget(start);
            // SAFETY: the caller guarantees this.
            unsafe { emulator::free(start) }
        }
    }

    fn allocate_host(&self, bytes: usize) -> Result<NonNull<u8>, GpuError> {
        self.room(bytes)
    }

    unsafe fn free_host(&self, start: NonNull<u8>, _: usize) {
        self.forget(start);
        // SAFETY: the caller guarantees this.
        unsafe { emulator::free(start) }
    }

    unsafe fn fill(&self, to: u64, bytes: usize, byte: u8) -> Result<(), GpuError> {
        // SAFETY: the caller guarantees this.
        unsafe { pointer(to).write_bytes(byte, bytes) };
        self.written(to, bytes);
        Ok(())
    }

    unsafe fn upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), GpuError> {
        // SAFETY: the caller guarantees this; host memory and device memory are apart.
        unsafe { pointer(to).copy_from_nonoverlapping(from, bytes) };
        self.written(to, bytes);
        Ok(())
    }

    unsafe fn download(&self, to: *mut u8, from: u64, bytes: usize) -> Result<(), GpuError> {
        // SAFETY: as above.
        unsafe { to.copy_from_nonoverlapping(pointer(from), bytes) };
        Ok(())
    }

    unsafe fn queue_upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), GpuError> {
        // SAFETY: the caller guarantees this.
        unsafe { self.upload(to, from, bytes) }
    }

    unsafe fn queue_download(
        &self,
        _: Queue,
        to: *mut u8,
        from: u64,
        bytes: usize,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller guarantees this.
        unsafe { self.download(to, from, bytes) }
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), GpuError> {
        // SAFETY: the caller guarantees this.
        unsafe { pointer(to).copy_from_nonoverlapping(pointer(from), bytes) };
        self.written(to, bytes);
        Ok(())
    }

    unsafe fn copy_from_peer(
        &self,
        to: u64,
        _: &dyn Device,
        from: u64,
        bytes: usize,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller guarantees this; all emulators have the memory of the process.
        unsafe { self.copy(to, from, bytes) }
    }

    fn reach(&self, _: &dyn Device) -> Result<bool, GpuError> {
        Ok(true)
    }

    fn wait_for(&self, _: &dyn Device) -> Result<(), GpuError> {
        Ok(())
    }

    fn synchronise(&self) -> Result<(), GpuError> {
        Ok(())
    }

    fn record(&self, _: Queue) -> Result<Point, GpuError> {
        Ok(Point::Done(Instant::now()))
    }

    fn load(&self, code: &Code, _: Option<Residency>) -> Result<(), GpuError> {
        exported(code, &self.info).map(|_| ())
    }

    fn resident(&self, code: &Code, _: &Grid) -> Result<u32, GpuError> {
        exported(code, &self.info).map(|_| self.resident)
    }

    fn usage(&self, code: &Code, _: &Grid) -> Result<Usage, GpuError> {
        exported(code, &self.info).map(|_| Usage {
            registers: 0,
            occupancy: 1.0,
        })
    }

    fn is_asynchronous(&self) -> bool {
        false
    }

    unsafe fn start(&self, launch: &mut Launch<'_>) -> Result<(), GpuError> {
        let kernel = exported(&launch.code, &self.info)?;
        let grid = launch.grid;
        // SAFETY: the caller guarantees this.
        let emulate = || unsafe { self.emulate(&kernel, grid, launch.arguments) };
        #[cfg(feature = "devices")]
        let ran = match &self.interpreter {
            // SAFETY: the caller guarantees this.
            Some(interpreter) => unsafe { interpreter.launch(&kernel, grid, launch.each, emulate) },
            None => emulate(),
        };
        #[cfg(not(feature = "devices"))]
        let ran = emulate();
        ran.map_err(|reason| GpuError::Call {
            device: self.info.name.clone(),
            call: kernel.name,
            reason,
        })
    }

    #[cfg(feature = "devices")]
    unsafe fn start_text(
        &self,
        text: &str,
        functions: [&str; 2],
        kernel: &'static str,
        grid: Grid,
        each: &mut [*mut c_void],
    ) -> Result<(), GpuError> {
        let ran = match &self.interpreter {
            // SAFETY: the caller guarantees this.
            Some(interpreter) => unsafe {
                interpreter.launch_text(text, functions, kernel, grid, each)
            },
            None => Err("kernels that are made at run time need a GPU".into()),
        };
        ran.map_err(|reason| GpuError::Call {
            device: self.info.name.clone(),
            call: kernel,
            reason,
        })
    }

    #[cfg(feature = "devices")]
    fn keep_constant(&self, name: &'static str, value: &[u8]) {
        if let Some(interpreter) = &self.interpreter {
            interpreter.set_constant(name, value);
        }
    }
}
