//! Computes and writes the unfinished frames of a sequence, several at a time.
//!
//! Several frames in flight keep every device busy: while the last pixels of one are computed, or its picture is written, the
//! next one is being computed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::finished::FrameState;
use super::folder::{Folder, remove};
use super::frame::Summary;
use super::framed::{
    CacheReport, Effort, Error, FrameFiles, FrameValues, Framed, PartProgress, Style,
};
use super::sequence::Frame;
use trisolar_device::Stopwatch;
use trisolar_ensemble::store::Store;
use trisolar_ensemble::{Ensemble, Executor, Report, Task};
use trisolar_io::IoError;
use trisolar_run::partial::working_files;
use trisolar_run::{Backend, EngineError, GpuChoice, Monitor, Part, RunOptions};

/// How a sequence is computed and written.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The appearance of the frames' files.
    pub style: Style,
    /// The devices.
    pub options: RunOptions,
    /// Frames computed at a time, at least 1.
    pub in_flight: usize,
    /// Approximate time between two records of an unfinished frame.
    pub checkpoint: Duration,
    /// The part of the frames to compute; `None` for all.
    pub part: Option<Part>,
}

/// The frames of a part of a sequence; all if there is no part.
pub(super) fn frames_of<V>(frames: &[Frame<V>], part: Option<Part>) -> &[Frame<V>] {
    part.map_or(frames, |part| {
        let span = part.span(frames.len() as u64);
        &frames[span.start as usize..span.end as usize]
    })
}

/// The result of a run of a sequence.
#[derive(Clone, Debug)]
pub struct Outcome<S = Summary> {
    /// The summaries of all frames (of a part, of its frames), including those that were finished before.
    pub summaries: Vec<S>,
    /// The number of the first of these frames.
    pub first: u32,
    /// Frames that this run finished.
    pub computed: u32,
    /// The work of these frames, with the times of all devices and frames added.
    pub effort: Effort,
    /// Time from the first frame to the last file.
    pub elapsed: Duration,
    /// The effect of the cache, if there is one.
    pub cache: Option<CacheReport>,
}

impl<S> Outcome<S> {
    /// Adds a frame that was finished before, or in this run.
    fn add(&mut self, summary: S, effort: Option<Effort>) {
        self.summaries.push(summary);
        let Some(effort) = effort else { return };
        self.computed += 1;
        let all = &mut self.effort;
        all.elapsed += effort.elapsed;
        all.steps += effort.steps;
        if all.engine.is_empty() || effort.engine != "none" {
            all.engine = effort.engine;
            all.device = effort.device;
        }
        for note in effort.notes {
            if !all.notes.contains(&note) {
                all.notes.push(note);
            }
        }
    }
}

/// A finished frame, and its work in this run.
pub(super) type Done<S = Summary> = (S, Option<Effort>);

/// The largest possible number of steps of each frame.
pub(super) fn steps<E: Ensemble>(frames: &[Frame<E>]) -> Vec<u64> {
    let total = |f: &Frame<E>| {
        f.specification
            .items()
            .saturating_mul(f.specification.steps())
    };
    frames.iter().map(total).collect()
}

/// Computes and writes the missing frames of a sequence on `executor`.
///
/// # Errors
/// The first error of any frame; finished frames and the records of the others remain.
pub fn run_on<E: Framed>(
    executor: &dyn Executor<E>,
    frames: &[Frame<E>],
    folder: &Folder,
    settings: &Settings,
    monitor: &dyn Monitor,
) -> Result<Outcome<E::Summary>, Error> {
    executor.check(&settings.options)?;
    let files = FrameFiles {
        style: &settings.style,
        most: E::most_steps(frames),
        folder,
    };
    let frames = frames_of(frames, settings.part);
    let board = Board::new(frames, steps(frames), monitor);
    let gpus = gpus(executor, settings, frames.len());
    let work = |worker: usize, frame: &Frame<E>| {
        let options = RunOptions {
            gpus: gpus[worker % gpus.len()],
            ..settings.options
        };
        let settings = Settings {
            options,
            ..*settings
        };
        let done = one(executor, frame, &files, &settings, &board.watch(frame))?;
        board.finished(frame);
        Ok(done)
    };
    in_flight(frames, settings.in_flight, &board, work)
}

/// Calls `work` for all frames, several at a time, with the number of the worker.
///
/// # Errors
/// The first error of any of them.
pub(super) fn in_flight<V: Sync, S: Clone + Send>(
    frames: &[Frame<V>],
    workers: usize,
    board: &Board<'_>,
    work: impl Fn(usize, &Frame<V>) -> Result<Done<S>, Error> + Sync,
) -> Result<Outcome<S>, Error> {
    let start = Stopwatch::start();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Done<S>>>> = Mutex::new(vec![None; frames.len()]);
    let first_error: Mutex<Option<Error>> = Mutex::new(None);
    let run = |worker: usize| {
        while !board.cancelled()
            && let Some(frame) = frames.get(next.fetch_add(1, Ordering::Relaxed))
        {
            match work(worker, frame) {
                Ok(result) => lock(&results)[board.place(frame.index)] = Some(result),
                Err(error) => {
                    let mut first = lock(&first_error);
                    // Frames that another failure has cancelled do not hide it.
                    if matches!(*first, None | Some(Error::Engine(EngineError::Cancelled))) {
                        *first = Some(error);
                    }
                    board.failed.store(true, Ordering::Relaxed);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for worker in 1..workers.min(frames.len()) {
            let run = &run;
            scope.spawn(move || run(worker));
        }
        run(0);
    });
    if let Some(error) = lock(&first_error).take() {
        return Err(error);
    }
    let mut outcome = Outcome {
        summaries: Vec::new(),
        first: board.first,
        computed: 0,
        effort: Effort::default(),
        elapsed: Duration::ZERO,
        cache: None,
    };
    for result in lock(&results).drain(..) {
        let Some((summary, effort)) = result else {
            return Err(EngineError::Cancelled.into());
        };
        outcome.add(summary, effort);
    }
    outcome.elapsed = start.elapsed();
    Ok(outcome)
}

/// The GPUs of the frames in flight, in turn. If there are at least as many frames as GPUs, each frame has a GPU of its own, because
/// a device works best on a whole frame.
fn gpus<E: Ensemble>(
    executor: &dyn Executor<E>,
    settings: &Settings,
    frames: usize,
) -> Vec<GpuChoice> {
    let options = &settings.options;
    let asked = options.gpus;
    let all = match options.backend {
        Backend::Cpu => Vec::new(),
        _ => executor.gpus().unwrap_or_default(),
    };
    let numbers: Vec<u32> = match asked.is_definite() {
        true => asked.numbers().collect(),
        false => all.iter().map(|gpu| gpu.index).collect(),
    };
    let each: Vec<GpuChoice> = (numbers.iter())
        .filter_map(|n| GpuChoice::of(&[*n]))
        .collect();
    if settings.in_flight > 1 && each.len() > 1 && each.len() <= frames && !options.with_cpu {
        each
    } else {
        vec![asked]
    }
}

/// Locks a mutex even if another thread has panicked.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The summary of a finished frame, or what is damaged of one that must be computed again.
pub(super) fn found<E: Framed>(
    frame: &Frame<E>,
    files: &FrameFiles<'_>,
) -> Result<Result<E::Summary, Option<String>>, IoError> {
    Ok(match E::state(frame, files)? {
        FrameState::Finished(summary) => {
            // The run that finished it may have ended before this.
            let kept = working_files(&E::main(frame.index, files.folder));
            kept.iter().try_for_each(|file| remove(file))?;
            Ok(summary)
        }
        FrameState::Unfinished => Err(None),
        FrameState::Damaged(what) => Err(Some(what)),
    })
}

/// Computes what is missing of a frame, and writes its files.
fn one<E: Framed>(
    executor: &dyn Executor<E>,
    frame: &Frame<E>,
    files: &FrameFiles<'_>,
    settings: &Settings,
    monitor: &dyn Monitor,
) -> Result<Done<E::Summary>, Error> {
    let damage = match found(frame, files)? {
        Ok(summary) => return Ok((summary, None)),
        Err(damage) => damage,
    };
    let spec = &frame.specification;
    let main = E::main(frame.index, files.folder);
    let store = Store::<E>::begin_or_resume(&main, &spec.contents(), spec.layout(&main), None)?;
    let computed = store.missing();
    let compute = || match computed.is_empty() {
        true => Ok(Report::nothing("all records were there")),
        false => {
            let task = Task::new(spec, &computed, &store);
            let part = PartProgress::of(&task, monitor);
            let stream = || executor.stream(&task, &settings.options, &part);
            let (report, recorded) = store.recording(settings.checkpoint, stream);
            let report = report?;
            recorded?;
            Ok(report)
        }
    };
    let (report, found) = spec.beside(&settings.options, monitor, compute)?;
    let values = FrameValues {
        mapped: store.mapped()?,
        computed,
        found,
    };
    let (summary, steps) = E::write(frame, values, files)?;
    let mut effort = Effort::of(report, steps);
    effort.notes.extend(damage.map(|what| computed_anew(&what)));
    effort.notes.extend(store.damage());
    store.finish(&main)?;
    Ok((summary, Some(effort)))
}

/// The note about a frame whose files were damaged.
pub(super) fn computed_anew(what: &str) -> String {
    format!("{what}; the frame was computed again")
}

/// The progress of consecutive frames.
pub(super) struct Board<'a> {
    /// The number of the first one.
    first: u32,
    done: Vec<AtomicU64>,
    totals: Vec<u64>,
    total: u64,
    failed: AtomicBool,
    monitor: &'a dyn Monitor,
}

impl<'a> Board<'a> {
    /// The board of these frames, with this much work each.
    pub(super) fn new<V>(frames: &[Frame<V>], totals: Vec<u64>, monitor: &'a dyn Monitor) -> Self {
        Self {
            first: frames.first().map_or(0, |frame| frame.index),
            done: totals.iter().map(|_| AtomicU64::new(0)).collect(),
            total: totals.iter().fold(0, |a, b| a.saturating_add(*b)),
            totals,
            failed: AtomicBool::new(false),
            monitor,
        }
    }

    fn cancelled(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.monitor.cancelled()
    }

    /// The monitor of one of the frames.
    pub(super) fn watch<V>(&self, frame: &Frame<V>) -> Watch<'_, 'a> {
        Watch {
            board: self,
            index: frame.index,
        }
    }

    pub(super) fn finished<V>(&self, frame: &Frame<V>) {
        self.set(frame.index, self.totals[self.place(frame.index)]);
    }

    /// The place of a frame among these frames.
    fn place(&self, index: u32) -> usize {
        (index - self.first) as usize
    }

    fn set(&self, frame: u32, done: u64) {
        self.done[self.place(frame)].store(done, Ordering::Relaxed);
        let all = self.done.iter().map(|d| d.load(Ordering::Relaxed));
        let sum = all.fold(0, u64::saturating_add);
        self.monitor.progress(sum, self.total);
    }
}

/// Reports the progress of one frame to the board.
pub(super) struct Watch<'a, 'b> {
    board: &'a Board<'b>,
    index: u32,
}

impl Monitor for Watch<'_, '_> {
    fn progress(&self, done: u64, _: u64) {
        self.board.set(self.index, done);
    }

    fn cancelled(&self) -> bool {
        self.board.cancelled()
    }
}
