//! The kernels on the CPU, under the emulator of the grid: slow, for tests of kernel code where there is no GPU.

use std::cell::UnsafeCell;

use cuda_std::emulator::Launch;
use kernels_gpu::kernels::{
    hermite_fold, hermite_lanes_4, hermite_lanes_4_split_f32, hermite_lanes_6,
    hermite_lanes_6_split_f32, hermite_lanes_8, hermite_lanes_8_split_f32, hermite_neighbours,
    hermite_potential, hermite_predict_4, hermite_predict_6, hermite_predict_8, hermite_scatter,
    hermite_steps_4, hermite_steps_4_split_f32, hermite_steps_6, hermite_steps_6_split_f32,
    hermite_steps_8, hermite_steps_8_split_f32, hermite_tiles_4, hermite_tiles_4_split_f32,
    hermite_tiles_6, hermite_tiles_6_split_f32, hermite_tiles_8, hermite_tiles_8_split_f32,
};

use super::device::{Call, Device, DeviceEngine};
use super::{Engine, Order, Precision};
use crate::run::EngineError;
use crate::run::Workers;

/// An engine that runs the kernels' code in emulated grids. None of what follows changes a bit: `devices` of them share the
/// work, up to `few` active particles get a block each, and more are pulled at in blocks of `block` threads.
pub fn emulator(devices: usize, few: u32, block: u32, seed: Option<u64>) -> Box<dyn Engine> {
    let emulator = || Emulator {
        few,
        seed,
        resident: 1,
    };
    let devices = (0..devices).map(|_| emulator()).collect();
    Box::new(DeviceEngine::new(devices, block, Workers::default()))
}

/// [`emulator`] of one device that makes whole block steps in grids of `resident` blocks, which wait for each other.
pub fn resident_emulator(
    resident: u32,
    few: u32,
    block: u32,
    seed: Option<u64>,
) -> Box<dyn Engine> {
    let emulator = Emulator {
        few,
        seed,
        resident,
    };
    Box::new(DeviceEngine::new(vec![emulator], block, Workers::default()))
}

struct Emulator {
    few: u32,
    seed: Option<u64>,
    /// Blocks of a grid that wait for each other.
    resident: u32,
}

/// Memory that kernels write through its address.
struct Array<T>(Box<[UnsafeCell<T>]>);

impl<T: Copy + Default> Array<T> {
    fn new(length: usize) -> Self {
        Self((0..length).map(|_| UnsafeCell::new(T::default())).collect())
    }

    fn put(&mut self, values: &[T]) {
        for (cell, value) in self.0[..values.len()].iter_mut().zip(values) {
            *cell.get_mut() = *value;
        }
    }

    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

impl Device for Emulator {
    type Numbers = Array<f64>;
    type Places = Array<u32>;

    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> String {
        format!("emulated grid, {}", crate::machine::cpu_name())
    }

    fn few(&self, _: u32) -> u32 {
        self.few
    }

    fn numbers(&self, length: usize) -> Result<Array<f64>, EngineError> {
        Ok(Array::new(length))
    }

    fn exchanged(&self, length: usize) -> Result<Array<f64>, EngineError> {
        Ok(Array::new(length))
    }

    fn places(&self, length: usize) -> Result<Array<u32>, EngineError> {
        Ok(Array::new(length))
    }

    fn put(&self, to: &mut Array<f64>, values: &[f64]) -> Result<(), EngineError> {
        to.put(values);
        Ok(())
    }

    fn put_places(&self, to: &mut Array<u32>, values: &[u32]) -> Result<(), EngineError> {
        to.put(values);
        Ok(())
    }

    fn ask(&self, _: &mut Array<f64>, _: usize) -> Result<(), EngineError> {
        Ok(())
    }

    fn get(&self, from: &mut Array<f64>, values: &mut [f64]) -> Result<(), EngineError> {
        for (value, cell) in values.iter_mut().zip(&from.0) {
            // SAFETY: launches return when all their threads have ended.
            *value = unsafe { *cell.get() };
        }
        Ok(())
    }

    fn ask_places(&self, _: &mut Array<u32>, _: usize) -> Result<(), EngineError> {
        Ok(())
    }

    fn get_places(&self, from: &mut Array<u32>, values: &mut [u32]) -> Result<(), EngineError> {
        for (value, cell) in values.iter_mut().zip(&from.0) {
            // SAFETY: launches return when all their threads have ended.
            *value = unsafe { *cell.get() };
        }
        Ok(())
    }

    fn address(&self, of: &Array<f64>) -> u64 {
        of.address()
    }

    fn places_address(&self, of: &Array<u32>) -> u64 {
        of.address()
    }

    fn is_cooperative(&self) -> bool {
        true
    }

    fn resident_blocks(&self, _: &Call, _: u32, _: u32) -> Result<u32, EngineError> {
        Ok(self.resident)
    }

    unsafe fn launch(
        &self,
        call: &Call,
        blocks: u32,
        threads: u32,
        shared: u32,
    ) -> Result<(), EngineError> {
        let mut launch = Launch::new(blocks, threads).shared_bytes(shared as usize);
        if let Some(seed) = self.seed {
            launch = launch.seed(seed);
        }
        if let Call::Steps { .. } = call {
            launch = launch.workers(blocks as usize);
        }
        // SAFETY: the caller vouches for the memory; threads of these kernels write to places of their own.
        let outcome = unsafe { launch.run(|| one_thread(call)) };
        outcome.map(|_| ()).map_err(|e| EngineError::Gpu {
            device: self.device(),
            call: call.name(),
            reason: e.to_string(),
        })
    }
}

/// The kernel of one thread.
///
/// # Safety
/// As [`Device::launch`].
unsafe fn one_thread(call: &Call) {
    let read = |address: u64| address as *const f64;
    let write = |address: u64| address as *mut f64;
    let list = |address: u64| address as *const u32;
    // SAFETY: the caller's promise.
    unsafe {
        match *call {
            Call::Predict {
                order,
                stars,
                predicted,
                time,
                places,
            } => {
                let kernel = match order {
                    Order::Four => hermite_predict_4,
                    Order::Six => hermite_predict_6,
                    Order::Eight => hermite_predict_8,
                };
                kernel(read(stars), write(predicted), time, places);
            }
            Call::Scatter {
                from,
                places,
                to,
                count,
                width,
                stride,
                skip,
            } => {
                hermite_scatter(
                    read(from),
                    list(places),
                    write(to),
                    count,
                    width,
                    stride,
                    skip,
                );
            }
            Call::Force {
                many,
                order,
                precision,
                launch,
                predicted,
                places,
                partial,
            } => {
                let kernel = match (many, precision, order) {
                    (true, Precision::F64, Order::Four) => hermite_tiles_4,
                    (true, Precision::F64, Order::Six) => hermite_tiles_6,
                    (true, Precision::F64, Order::Eight) => hermite_tiles_8,
                    (false, Precision::F64, Order::Four) => hermite_lanes_4,
                    (false, Precision::F64, Order::Six) => hermite_lanes_6,
                    (false, Precision::F64, Order::Eight) => hermite_lanes_8,
                    (true, Precision::SplitF32, Order::Four) => hermite_tiles_4_split_f32,
                    (true, Precision::SplitF32, Order::Six) => hermite_tiles_6_split_f32,
                    (true, Precision::SplitF32, Order::Eight) => hermite_tiles_8_split_f32,
                    (false, Precision::SplitF32, Order::Four) => hermite_lanes_4_split_f32,
                    (false, Precision::SplitF32, Order::Six) => hermite_lanes_6_split_f32,
                    (false, Precision::SplitF32, Order::Eight) => hermite_lanes_8_split_f32,
                };
                kernel(launch, read(predicted), list(places), write(partial));
            }
            Call::Fold {
                partial,
                out,
                components,
                count,
                parts,
            } => {
                hermite_fold(read(partial), write(out), components, count, parts);
            }
            Call::Neighbours {
                launch,
                predicted,
                places,
                radii2,
                lists,
                lengths,
            } => {
                hermite_neighbours(
                    launch,
                    read(predicted),
                    list(places),
                    read(radii2),
                    lists as *mut u32,
                    lengths as *mut u32,
                );
            }
            Call::Potential {
                launch,
                predicted,
                out,
                width,
            } => {
                hermite_potential(launch, read(predicted), write(out), width);
            }
            Call::Steps {
                order,
                precision,
                job,
                state,
            } => {
                let kernel = match (precision, order) {
                    (Precision::F64, Order::Four) => hermite_steps_4,
                    (Precision::F64, Order::Six) => hermite_steps_6,
                    (Precision::F64, Order::Eight) => hermite_steps_8,
                    (Precision::SplitF32, Order::Four) => hermite_steps_4_split_f32,
                    (Precision::SplitF32, Order::Six) => hermite_steps_6_split_f32,
                    (Precision::SplitF32, Order::Eight) => hermite_steps_8_split_f32,
                };
                kernel(
                    job,
                    state.stars,
                    state.rest,
                    state.moved,
                    state.predicted,
                    state.active,
                    state.forces,
                    state.partial,
                    state.levels,
                    state.control,
                    state.report,
                );
            }
        }
    }
}
