//! The interpreter of PTX behind the emulator: runs the module that the driver would get for a launch.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_std::Exported;
use trisolar_ptx as ptx;

use crate::{Grid, module};

/// Modules that have been loaded, by their numbers, and the memory that kernels may use.
#[derive(Debug)]
pub(crate) struct Interpreter {
    /// Whether each launch also runs in the emulator, and the results are compared.
    compares: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    memory: ptx::Memory,
    machines: HashMap<usize, ptx::Machine>,
    constants: HashMap<&'static str, Vec<u8>>,
}

impl State {
    /// The bytes of all memory of the device.
    fn snapshot(&self) -> Vec<(u64, Vec<u8>)> {
        let bytes = |(start, length): (u64, usize)| {
            let mut bytes = vec![0; length];
            // SAFETY: memory of the device, which nothing else uses during a launch.
            unsafe { (start as *const u8).copy_to_nonoverlapping(bytes.as_mut_ptr(), length) };
            (start, bytes)
        };
        self.memory.pieces().map(bytes).collect()
    }

    /// Loads the module of a kernel, and returns the number of its machine.
    fn load(&mut self, kernel: &Exported) -> Result<usize, String> {
        let number = module::module_of(kernel)?;
        if !self.machines.contains_key(&number) {
            let table = module::table().map_err(|e| e.to_string())?;
            let text = table.module(number).text().map_err(|e| e.to_string())?;
            let decoded = ptx::Module::decode(&text).map_err(|e| e.to_string())?;
            let mut machine = ptx::Machine::new(decoded);
            for (name, value) in &self.constants {
                machine.set(name, value);
            }
            self.machines.insert(number, machine);
        }
        Ok(number)
    }
}

impl Interpreter {
    /// One that compares with the emulator, or does not.
    pub(crate) fn comparing(compares: bool) -> Self {
        Self {
            compares,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes new memory of the device known.
    ///
    /// # Safety
    /// It belongs to the device until it is freed.
    pub(crate) unsafe fn add(&self, start: u64, bytes: usize) {
        // SAFETY: the caller guarantees this.
        unsafe { self.state().memory.add(start, bytes, false) };
    }

    pub(crate) fn free(&self, start: u64) {
        self.state().memory.free(start);
    }

    pub(crate) fn written(&self, start: u64, bytes: usize) {
        self.state().memory.written(start, bytes);
    }

    pub(crate) fn set_constant(&self, name: &'static str, value: &[u8]) {
        let mut state = self.state();
        for machine in state.machines.values_mut() {
            machine.set(name, value);
        }
        state.constants.insert(name, value.to_vec());
    }

    /// Runs a kernel of a text that was made at run time.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub(crate) unsafe fn launch_text(
        &self,
        text: &str,
        functions: [&str; 2],
        kernel: &str,
        grid: Grid,
        each: &[*mut c_void],
    ) -> Result<(), String> {
        let whole = module::with_functions(text, functions)?;
        let decoded = ptx::Module::decode(&whole).map_err(|e| e.to_string())?;
        let (mut machine, mut state) = (ptx::Machine::new(decoded), self.state());
        // SAFETY: the caller guarantees this.
        unsafe { interpret(&mut machine, &mut state.memory, kernel, grid, each) }.map(|_| ())
    }

    /// Runs a launch and, where results are compared, `emulate` on the same memory.
    ///
    /// # Safety
    /// `each` has the addresses of the kernel's arguments.
    pub(crate) unsafe fn launch(
        &self,
        kernel: &Exported,
        grid: Grid,
        each: &[*mut c_void],
        emulate: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let mut state = self.state();
        let state = &mut *state;
        let number = state.load(kernel)?;
        let before = match self.compares {
            true => state.snapshot(),
            false => Vec::new(),
        };
        let (machine, memory) = (state.machines.get_mut(&number), &mut state.memory);
        let machine = machine.ok_or("the module is not loaded")?;
        // SAFETY: the caller guarantees this.
        let stats = unsafe { interpret(machine, memory, kernel.name, grid, each) }?;
        if !self.compares {
            return Ok(());
        }
        let interpreted = state.snapshot();
        for (start, bytes) in &before {
            // SAFETY: memory of the device, of the same size.
            unsafe { (*start as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        emulate()?;
        if stats.approximate || stats.timed {
            // No other machine gives the bits of these instructions, or has the same time.
            return Ok(());
        }
        for ((_, ours), (_, theirs)) in interpreted.iter().zip(state.snapshot()) {
            let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
            if let Some(byte) = differs {
                let word = byte / 8 * 8..ours.len().min(byte / 8 * 8 + 8);
                return Err(format!(
                    "its PTX computes other bits than its Rust: from byte {} of a buffer of {} bytes on {:02x?} instead of {:02x?}",
                    word.start,
                    ours.len(),
                    &ours[word.clone()],
                    &theirs[word.clone()]
                ));
            }
        }
        Ok(())
    }
}

/// Runs a launch.
///
/// # Safety
/// `each` has the addresses of the kernel's arguments.
unsafe fn interpret(
    machine: &mut ptx::Machine,
    memory: &mut ptx::Memory,
    kernel: &str,
    grid: Grid,
    each: &[*mut c_void],
) -> Result<ptx::Stats, String> {
    let arguments: Vec<&[u8]> = (machine.module().parameters(kernel).iter().zip(each))
        // SAFETY: the caller guarantees that these are the arguments, whose sizes the kernel's entry tells.
        .map(|(bytes, address)| unsafe {
            std::slice::from_raw_parts(address.cast::<u8>(), *bytes as usize)
        })
        .collect();
    let shape = ptx::Grid {
        shared_bytes: grid.shared_bytes,
        cooperative: grid.cooperative,
        ..ptx::Grid::new(grid.blocks, grid.threads)
    };
    (machine.launch(memory, kernel, shape, &arguments))
        .map_err(|fault| format!("the interpreter of PTX: {fault}"))
}
