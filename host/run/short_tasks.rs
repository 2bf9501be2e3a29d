//! Threads that share tasks of a few microseconds: between tasks they wait in a loop, because waking a thread that sleeps takes longer
//! than such a task. After a while without a task they do sleep, so that an idle or crowded machine is not kept busy.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, yield_now};

/// Number of times that a waiting thread looks for work before it offers its core to other threads: some 50 µs.
const LOOKS: u32 = 2000;
/// Number of times that a waiting thread then offers its core before it sleeps.
const YIELDS: u32 = 50;

/// A function of the number of a share. The pointer is valid while a share of its task is unfinished.
type Task = *const (dyn Fn(usize) + Sync);

/// A number with a cache line (and its neighbour, which processors fetch with it) of its own.
#[repr(align(128))]
struct Alone<T>(T);

struct Shared {
    /// Shares that no thread has taken yet: those with the lowest numbers.
    left: Alone<AtomicUsize>,
    /// Shares that are not finished.
    unfinished: Alone<AtomicUsize>,
    /// Written by the thread that owns the turn while `unfinished` is 0, and read by threads that have taken a share.
    task: UnsafeCell<Option<Task>>,
    /// Workers that sleep or are about to.
    sleeping: AtomicUsize,
    /// Whether the thread that has distributed the task sleeps, or is about to, until it is finished.
    awaited: AtomicBool,
    quit: AtomicBool,
    /// Held from the last look before sleep until the thread sleeps.
    door: Mutex<()>,
    work: Condvar,
    finished: Condvar,
    /// The first panic of a share.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: all fields but `task` may be shared. `task` is written only by the thread that holds the turn while no share is unfinished, and
// read only by threads whose share is unfinished. The store of `left` with release, and the exchange with acquire by which a thread takes
// a share, order the two; so do the release by which a share is finished and the acquire of the thread that awaits it. The function
// is `Sync`, so that several threads may call it.
unsafe impl Sync for Shared {}
// SAFETY: the pointer is the only field that is not `Send`; it refers to a function that may be called by any thread.
unsafe impl Send for Shared {}

/// A lock whose data no panic can leave half-written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `ready`: in a loop, then offering the core to other threads. Returns whether it is.
fn look_for(ready: impl Fn() -> bool) -> bool {
    for _ in 0..LOOKS {
        if ready() {
            return true;
        }
        std::hint::spin_loop();
    }
    for _ in 0..YIELDS {
        if ready() {
            return true;
        }
        yield_now();
    }
    ready()
}

impl Shared {
    /// Takes a share that nobody has taken.
    fn take(&self) -> Option<usize> {
        let next = |left: usize| left.checked_sub(1);
        let taken = (self.left.0).fetch_update(Ordering::Acquire, Ordering::Relaxed, next);
        taken.ok().map(|left| left - 1)
    }

    /// Takes shares and performs them until none is left.
    fn perform(&self) {
        while let Some(share) = self.take() {
            // SAFETY: this thread has taken a share, so that nobody writes `task` and the function exists until the share is finished.
            let call = || unsafe {
                let task = (*self.task.get()).expect("a share belongs to a task");
                (*task)(share);
            };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
                lock(&self.panic).get_or_insert(panic);
            }
            // Sequentially consistent with `awaited`: either this thread sees that it is awaited, or the other sees that all is finished.
            if self.unfinished.0.fetch_sub(1, Ordering::SeqCst) == 1
                && self.awaited.load(Ordering::SeqCst)
            {
                drop(lock(&self.door));
                self.finished.notify_one();
            }
        }
    }

    fn work(&self) {
        loop {
            let wanted =
                || self.left.0.load(Ordering::SeqCst) > 0 || self.quit.load(Ordering::SeqCst);
            if !look_for(wanted) {
                let mut door = lock(&self.door);
                self.sleeping.fetch_add(1, Ordering::SeqCst);
                while !wanted() {
                    door = self.work.wait(door).unwrap_or_else(PoisonError::into_inner);
                }
                self.sleeping.fetch_sub(1, Ordering::SeqCst);
            }
            if self.quit.load(Ordering::SeqCst) {
                return;
            }
            self.perform();
        }
    }

    fn finish(&self) {
        let finished = || self.unfinished.0.load(Ordering::SeqCst) == 0;
        if look_for(finished) {
            return;
        }
        let mut door = lock(&self.door);
        self.awaited.store(true, Ordering::SeqCst);
        while !finished() {
            door = (self.finished.wait(door)).unwrap_or_else(PoisonError::into_inner);
        }
        self.awaited.store(false, Ordering::SeqCst);
    }
}

/// Worker threads for short tasks; the thread that distributes a task works, too.
pub(crate) struct ShortTasks {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by the thread whose task is being performed.
    turn: Mutex<()>,
}

impl ShortTasks {
    /// For this many threads, the caller's included.
    pub(crate) fn new(threads: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            left: Alone(AtomicUsize::new(0)),
            unfinished: Alone(AtomicUsize::new(0)),
            task: UnsafeCell::new(None),
            sleeping: AtomicUsize::new(0),
            awaited: AtomicBool::new(false),
            quit: AtomicBool::new(false),
            door: Mutex::new(()),
            work: Condvar::new(),
            finished: Condvar::new(),
            panic: Mutex::new(None),
        });
        let mut tasks = Self {
            shared,
            workers: Vec::new(),
            turn: Mutex::new(()),
        };
        for n in 1..threads {
            let shared = Arc::clone(&tasks.shared);
            let name = format!("short tasks {n}");
            let worker = std::thread::Builder::new().name(name);
            tasks.workers.push(worker.spawn(move || shared.work())?);
        }
        Ok(tasks)
    }

    /// Calls `task` for every number below `shares`, on as many of the threads as come in time. If another thread's task is being
    /// performed, the calling thread does all of this one.
    ///
    /// # Panics
    /// If `task` does, after all its shares are finished.
    pub(crate) fn perform(&self, shares: usize, task: &(dyn Fn(usize) + Sync)) {
        let turn = match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(std::sync::TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        };
        let Some(turn) = turn.filter(|_| shares > 1 && !self.workers.is_empty()) else {
            return (0..shares).for_each(task);
        };
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. The pointer is not used after this function, which returns when all shares are finished.
        let pointer =
            unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), Task>(task) };
        // SAFETY: this thread has the turn, and all shares of the previous task are finished.
        unsafe { *shared.task.get() = Some(pointer) };
        shared.unfinished.0.store(shares, Ordering::SeqCst);
        shared.left.0.store(shares, Ordering::SeqCst);
        // Sequentially consistent: either this thread sees that the worker is about to sleep, or the worker sees the shares.
        let asleep = shared.sleeping.load(Ordering::SeqCst).min(shares - 1);
        if asleep > 0 {
            drop(lock(&shared.door));
            (0..asleep).for_each(|_| shared.work.notify_one());
        }
        shared.perform();
        shared.finish();
        let panic = lock(&shared.panic).take();
        drop(turn);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for ShortTasks {
    fn drop(&mut self) {
        self.shared.quit.store(true, Ordering::SeqCst);
        drop(lock(&self.shared.door));
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            // Workers catch the panics of their shares.
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Performs a task that must call every share once.
    fn check(tasks: &ShortTasks, shares: usize) {
        let calls: Vec<AtomicUsize> = (0..shares).map(|_| AtomicUsize::new(0)).collect();
        tasks.perform(shares, &|share| {
            calls[share].fetch_add(1, Ordering::Relaxed);
        });
        assert!(calls.iter().all(|n| n.load(Ordering::Relaxed) == 1));
    }

    fn cores() -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }

    #[test]
    fn every_share_is_performed_once_with_fewer_and_more_threads_than_cores() {
        for threads in [1, 2, 3, cores(), 4 * cores() + 1] {
            let tasks = ShortTasks::new(threads).unwrap();
            for n in 0..3000 {
                check(&tasks, n % 19);
            }
        }
    }

    #[test]
    fn sleeping_workers_wake_for_a_task_and_for_the_end() {
        let tasks = ShortTasks::new(4).unwrap();
        for _ in 0..3 {
            while tasks.shared.sleeping.load(Ordering::SeqCst) < 3 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Each share waits for the others, so that all four threads must come.
            let together = std::sync::Barrier::new(4);
            tasks.perform(4, &|_| {
                together.wait();
            });
        }
        while tasks.shared.sleeping.load(Ordering::SeqCst) < 3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let shared = Arc::downgrade(&tasks.shared);
        drop(tasks);
        assert!(shared.upgrade().is_none(), "all workers have ended");
    }

    #[test]
    fn the_caller_sleeps_until_a_long_share_of_another_thread_is_finished() {
        let tasks = ShortTasks::new(2).unwrap();
        let caller = std::thread::current().id();
        let together = std::sync::Barrier::new(2);
        let slow = AtomicUsize::new(0);
        tasks.perform(2, &|_| {
            together.wait();
            if std::thread::current().id() != caller {
                std::thread::sleep(Duration::from_millis(100));
                slow.fetch_add(1, Ordering::SeqCst);
            }
        });
        assert_eq!(slow.load(Ordering::SeqCst), 1);
        check(&tasks, 7);
    }

    #[test]
    fn a_panic_in_any_share_reaches_the_caller_and_later_tasks_go_on() {
        let tasks = ShortTasks::new(3).unwrap();
        for bad in 0..8 {
            let done = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                tasks.perform(8, &|share| {
                    assert!(share != bad, "share {bad}");
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }));
            let panic = result.expect_err("a share panics");
            let said = panic.downcast_ref::<String>().unwrap();
            assert_eq!(*said, format!("share {bad}"));
            assert_eq!(done.load(Ordering::SeqCst), 7);
            check(&tasks, 8);
        }
    }

    #[test]
    fn tasks_of_several_threads_and_tasks_within_tasks_are_performed() {
        let tasks = ShortTasks::new(3).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for n in 0..500 {
                        check(&tasks, n % 9);
                    }
                });
            }
        });
        tasks.perform(5, &|share| check(&tasks, share));
    }
}
