//! One map on several MPI ranks: each computes every so manyth band of rows with its own devices, rank 0 puts them together.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::engine::{
    DivergenceMap, EngineError, GpuChoice, Monitor, Ran, RunOptions, Streamed, Task, stream,
};
use super::sink::Sink;
use super::{Specification, Validated};
use crate::mpi::World;
use crate::nbody::Ranks as _;

/// Bands that each rank has, if there are enough rows: dear and cheap parts of a map lie side by side, and several bands give
/// every rank some of both.
const BANDS: u64 = 8;
/// Numbers of a message at most: MPI counts with 31 bits.
const MESSAGE: usize = 1 << 28;

/// Computes a map together with all other ranks, each of which calls this with the same map. Rank 0 gets it, the others `None`.
///
/// With [`GpuChoice::Auto`] ranks of one machine share its GPUs out.
///
/// # Errors
/// As [`run`](super::run). The other ranks do not learn of it: end them.
pub fn run_on_ranks(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
    world: &World,
) -> Result<Option<DivergenceMap>, EngineError> {
    let (rank, size) = (world.rank(), world.size());
    let mine = bands(spec.specification(), rank, size);
    if mine.is_empty() {
        // Fewer bands than ranks.
        return Ok(None);
    }
    let options = RunOptions {
        gpus: share_of_gpus(options.gpus, world),
        ..*options
    };
    let began = Instant::now();
    let (times, streamed) = compute(spec, &mine, &options, monitor)?;
    if rank > 0 {
        for part in times.chunks(MESSAGE) {
            world.send_words(0, part.to_vec());
        }
        world.words_delivered();
        return Ok(None);
    }
    let mut map = super::sink::zeroed(spec.pixels())?;
    place(&mut map, &mine, &times);
    for other in 1..size {
        let theirs = bands(spec.specification(), other, size);
        let wanted: u64 = theirs.iter().map(|s| s.end - s.start).sum();
        let mut times = Vec::new();
        while (times.len() as u64) < wanted {
            let (_, part) = world
                .receive_words(Some(other), true)
                .expect("it has been waited for");
            times.extend(part);
        }
        place(&mut map, &theirs, &times);
    }
    let mut map = DivergenceMap::new(spec, map, streamed);
    map.elapsed = began.elapsed();
    map.device = format!("{size} MPI ranks, of which the first: {}", map.device);
    Ok(Some(map))
}

/// Band after band.
fn compute(
    spec: &Validated,
    bands: &[Range<u64>],
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<(Vec<u32>, Streamed), EngineError> {
    let mut times = Vec::new();
    let mut all: Option<Streamed> = None;
    for (number, band) in bands.iter().enumerate() {
        let results = Part::new(band);
        let task = Task {
            spec,
            spans: std::slice::from_ref(band),
            sink: &results,
        };
        let part = Step {
            monitor,
            number: number as u64,
            of: bands.len() as u64,
        };
        let mut streamed = stream(&task, options, &part)?;
        times.extend(results.into_times());
        if let Some(before) = &all {
            add(&mut streamed.ran, &before.ran);
        }
        all = Some(streamed);
    }
    let all = all.ok_or_else(|| EngineError::Sink("a rank has no band".into()))?;
    Ok((times, all))
}

/// Adds what was said and done before.
fn add(to: &mut Ran, before: &Ran) {
    for note in &before.notes {
        if !to.notes.contains(note) {
            to.notes.push(note.clone());
        }
    }
    for portion in &before.portions {
        match to.portions.iter_mut().find(|p| p.device == portion.device) {
            Some(p) => p.pixels += portion.pixels,
            None => to.portions.push(portion.clone()),
        }
    }
}

/// Progress of a band as that of all.
struct Step<'a> {
    monitor: &'a dyn Monitor,
    number: u64,
    of: u64,
}

impl Monitor for Step<'_> {
    fn progress(&self, done: u64, total: u64) {
        self.monitor
            .progress(self.number * total + done, self.of * total);
    }

    fn cancelled(&self) -> bool {
        self.monitor.cancelled()
    }
}

/// The pixels of a rank.
fn bands(specification: &Specification, rank: usize, size: usize) -> Vec<Range<u64>> {
    let [width, height] = specification.size;
    let rows = height.div_ceil(BANDS * size as u64).max(1);
    let count = height.div_ceil(rows);
    (rank as u64..count)
        .step_by(size)
        .map(|band| band * rows * width..((band + 1) * rows).min(height) * width)
        .collect()
}

/// Copies the numbers of some spans, one after the other, to their places.
fn place(map: &mut [u32], spans: &[Range<u64>], mut times: &[u32]) {
    for span in spans {
        let (part, rest) = times.split_at((span.end - span.start) as usize);
        map[span.start as usize..span.end as usize].copy_from_slice(part);
        times = rest;
    }
}

/// The GPUs of this rank: all of the machine if no other rank is there.
fn share_of_gpus(choice: GpuChoice, world: &World) -> GpuChoice {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    let here = number("OMPI_COMM_WORLD_LOCAL_SIZE").unwrap_or(world.size() as u32);
    let rank = number("OMPI_COMM_WORLD_LOCAL_RANK").unwrap_or(world.rank() as u32);
    let gpus = crate::gpu::devices().map_or(0, |list| list.len() as u32);
    if choice != GpuChoice::Auto || here < 2 || gpus == 0 {
        return choice;
    }
    let mine: Vec<u32> = if gpus >= here {
        (rank..gpus).step_by(here as usize).collect()
    } else {
        vec![rank % gpus]
    };
    GpuChoice::of(&mine).unwrap_or(choice)
}

/// Results of a band.
struct Part {
    first: u64,
    times: Mutex<Vec<u32>>,
}

impl Part {
    fn new(band: &Range<u64>) -> Self {
        Self {
            first: band.start,
            times: Mutex::new(vec![0; (band.end - band.start) as usize]),
        }
    }

    fn into_times(self) -> Vec<u32> {
        self.times
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Part {
    fn put(&self, first: u64, times: &[u32]) -> Result<(), EngineError> {
        let mut all = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = (first - self.first) as usize;
        all[begin..begin + times.len()].copy_from_slice(times);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_has_one_rank() {
        for (size, ranks) in [([7, 5], 3), ([100, 1000], 4), ([3, 1], 2), ([1, 129], 1)] {
            let specification = Specification {
                size,
                ..Specification::default()
            };
            let mut all: Vec<Range<u64>> = (0..ranks)
                .flat_map(|rank| bands(&specification, rank, ranks))
                .collect();
            all.sort_by_key(|span| span.start);
            assert_eq!(all[0].start, 0);
            assert!(all.windows(2).all(|p| p[0].end == p[1].start));
            assert_eq!(all[all.len() - 1].end, size[0] * size[1]);
        }
    }

    #[test]
    fn results_come_to_their_places_in_any_order() {
        let part = Part::new(&(10..14));
        part.put(12, &[3, 4]).unwrap();
        part.put(10, &[1, 2]).unwrap();
        assert_eq!(part.into_times(), [1, 2, 3, 4]);
    }
}
