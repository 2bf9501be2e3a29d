//! Whole block steps of the Ahmad–Cohen scheme on a device: their buffers and launches, and the transfer of the parts of the forces.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use kernels_gpu::Vec3;
use kernels_gpu::device::hermite::irregular::MAX_TERMS;
use kernels_gpu::device::hermite::levels::LEVELS;
use kernels_gpu::device::hermite::neighbour_steps::{NeighbourSteps, PARTS_WIDTH};
use kernels_gpu::device::hermite::neighbours::{ListSize, mark_words};
use kernels_gpu::device::hermite::problem::Steps;
use kernels_gpu::device::hermite::tiles::Capacity;
use kernels_gpu::device::hermite::together::Devices;
use kernels_gpu::hermite::arithmetic::{Plain, SplitF32};
use kernels_gpu::kernels::HermiteNeighbourSteps;

use super::DeviceMemory;
use super::array::Array;
use super::steps::levels_of;
use crate::cluster::regular_accuracy;
use crate::engine::BlockStepRequest;
use crate::spec::{AhmadCohen, MAX_NEIGHBOURS};
use crate::{Parts, Precision, Star};
use trisolar_device::{Device, Entry};
use trisolar_run::EngineError;

/// Largest number of words of marks in memory: 256 MiB.
const MAX_MARK_WORDS: usize = 1 << 26;

const _: () = assert!(
    AhmadCohen::capacity_for(MAX_NEIGHBOURS) < MAX_TERMS,
    "a warp has room for the partial sums of every list"
);

/// The buffers of a device for the scheme.
pub(super) struct Split {
    /// Room of a list.
    capacity: usize,
    /// Number of particles for whose marks there is room.
    room: usize,
    next: Array<f64>,
    parts: Array<f64>,
    radii: Array<f64>,
    lists: Array<u32>,
    lengths: Array<u32>,
    due: Array<u32>,
    marks: Array<u32>,
    levels: Array<u32>,
}

impl Split {
    fn new(device: &Arc<dyn Device>, bodies: usize, capacity: usize) -> Result<Self, EngineError> {
        let numbers = |length| Array::new(device, length, false);
        let places = |length| Array::new(device, length, false);
        let words = mark_words(bodies);
        let room = bodies.min((MAX_MARK_WORDS / words).max(1));
        Ok(Self {
            capacity,
            room,
            next: numbers(bodies)?,
            parts: numbers(bodies * PARTS_WIDTH)?,
            radii: numbers(bodies)?,
            lists: places(bodies * capacity)?,
            lengths: places(bodies)?,
            due: places(bodies)?,
            marks: places(room * words)?,
            levels: places(LEVELS as usize)?,
        })
    }
}

/// The arguments of the kernels that take block steps of the scheme.
type NeighbourStepsArguments = (
    NeighbourSteps,
    *mut f64,
    *mut f64,
    *mut f64,
    *mut f64,
    *mut u32,
    *mut f64,
    *mut f64,
    *const AtomicU32,
    *const AtomicU32,
    *const AtomicU64,
    *mut f64,
    *mut f64,
    *mut f64,
    *mut u32,
    *mut u32,
    *mut u32,
    *mut u32,
    *const AtomicU32,
);

/// The kernel that takes block steps of the scheme.
fn neighbour_steps_entry(precision: Precision) -> Entry<NeighbourStepsArguments> {
    match precision {
        Precision::F64 => Entry::of::<HermiteNeighbourSteps<Plain<f64>, 2>>(),
        Precision::SplitF32 => Entry::of::<HermiteNeighbourSteps<SplitF32<f32>, 4>>(),
    }
}

impl DeviceMemory {
    /// Makes the buffers and copies the parts of the forces.
    pub(super) fn ready_parts(
        &mut self,
        options: AhmadCohen,
        longest: f64,
        stars: &[Star],
        parts: &[Parts],
    ) -> Result<(), EngineError> {
        let capacity = options.capacity();
        let mut split = match self.split.take() {
            Some(split) => split,
            None => Split::new(&self.device, self.bodies, capacity)?,
        };
        let (mut numbers, mut lists) = (Vec::new(), vec![0; self.bodies * capacity]);
        for (parts, list) in parts.iter().zip(lists.chunks_exact_mut(capacity)) {
            numbers.extend([parts.radius, parts.time, parts.step]);
            super::extend(&mut numbers, &parts.irregular);
            super::extend(&mut numbers, &parts.regular);
            list[..parts.neighbours.len()].copy_from_slice(&parts.neighbours);
        }
        let lengths: Vec<u32> = (parts.iter()).map(|p| p.neighbours.len() as u32).collect();
        let next: Vec<f64> = stars.iter().map(|s| s.time + s.step).collect();
        let steps = parts.iter().map(|p| p.step);
        split.parts.put(&numbers)?;
        split.lists.put(&lists)?;
        split.lengths.put(&lengths)?;
        split.next.put(&next)?;
        split.levels.put(&levels_of(steps, longest))?;
        self.split = Some(split);
        Ok(())
    }

    /// Performs one launch, which is ready, and returns its report.
    pub(super) fn launch_neighbour_steps(
        &mut self,
        request: &BlockStepRequest<'_>,
        options: AhmadCohen,
        alone: Devices,
        least: u32,
    ) -> Result<Vec<f64>, EngineError> {
        // The kernel overwrites the list of active places.
        self.listed.clear();
        let entry = neighbour_steps_entry(self.precision);
        let threads = self.steps_threads(least);
        let grid = self.steps_grid(entry, threads, self.tiles_bytes(threads))?;
        let steps = self.steps_job(request, alone);
        let multiprocessors = self.device.info().multiprocessors.max(1);
        let (Some(resident), Some(split)) = (&mut self.resident, &self.split) else {
            unreachable!("made ready")
        };
        let job = NeighbourSteps {
            steps: Steps {
                room: steps.room.min(split.room as u32),
                ..steps
            },
            regular: regular_accuracy(options, self.precision),
            softening2: self.softening2,
            lists: ListSize {
                wanted: options.neighbours,
                capacity: split.capacity as u32,
            },
            capacity: Capacity {
                multiprocessors: multiprocessors.min(grid.blocks),
                blocks: grid.blocks,
            },
        };
        let arguments = (
            job,
            self.stars.as_mut_ptr(),
            resident.rest.as_mut_ptr(),
            resident.moved.as_mut_ptr(),
            self.predicted.as_mut_ptr(),
            self.active.as_mut_ptr(),
            self.out[0].as_mut_ptr(),
            self.partial.as_mut_ptr(),
            resident.levels.as_ptr().cast(),
            resident.control.as_ptr().cast(),
            resident.report.as_ptr().cast(),
            split.next.as_mut_ptr(),
            split.parts.as_mut_ptr(),
            split.radii.as_mut_ptr(),
            split.lists.as_mut_ptr(),
            split.lengths.as_mut_ptr(),
            split.due.as_mut_ptr(),
            split.marks.as_mut_ptr(),
            split.levels.as_ptr().cast(),
        );
        // SAFETY: every array is as long as the kernel asks for; no more blocks than are resident at the same time.
        unsafe { self.device.launch_entry(entry, grid, arguments)? };
        resident.ask_report()?;
        resident.read_report()
    }

    /// Copies the parts of the forces after block steps on the device.
    pub(super) fn fetch_parts(&mut self, parts: &mut [Parts]) -> Result<(), EngineError> {
        let Some(split) = &mut self.split else {
            return Ok(());
        };
        let mut numbers = vec![0.0; parts.len() * PARTS_WIDTH];
        let mut lists = vec![0; parts.len() * split.capacity];
        let mut lengths = vec![0; parts.len()];
        split.parts.get(&mut numbers)?;
        split.lists.get(&mut lists)?;
        split.lengths.get(&mut lengths)?;
        let lists = lists.chunks_exact(split.capacity).zip(lengths);
        let records = numbers.chunks_exact(PARTS_WIDTH).zip(lists);
        for (parts, (numbers, (list, length))) in parts.iter_mut().zip(records) {
            let vector = |k: usize| Vec3 {
                x: numbers[3 + 3 * k],
                y: numbers[4 + 3 * k],
                z: numbers[5 + 3 * k],
            };
            parts.radius = numbers[0];
            parts.time = numbers[1];
            parts.step = numbers[2];
            parts.irregular = [vector(0), vector(1)];
            parts.regular = [vector(2), vector(3)];
            parts.neighbours.clear();
            parts.neighbours.extend_from_slice(&list[..length as usize]);
        }
        Ok(())
    }
}
