//! The processes that `mpirun` started as one program: the only place that names MPI.
//!
//! MPI's own handling of errors is kept: if a call fails because another process is gone, all of them end.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::point_to_point::send_receive_into;
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use mpi::{Count, Rank, Tag, Threading};

use crate::nbody::Ranks;

/// What is sent between ranks and numbered by [`World::send_words`].
const WORDS: Tag = 7;

/// All processes of this run. Calls are made by the thread that [`join`](Self::join)ed them.
pub struct World {
    pending: RefCell<Vec<Pending<f64>>>,
    pending_words: RefCell<Vec<Pending<u32>>>,
    world: SimpleCommunicator,
    // The last field: dropping it takes leave of the others.
    _universe: Universe,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

/// Numbers on their way; they stay where they are until they have arrived.
struct Pending<T: Equivalence + 'static> {
    request: Option<Request<'static, [T], StaticScope>>,
    numbers: *mut [T],
}

impl<T: Equivalence + 'static> Pending<T> {
    /// `start` sends the numbers.
    fn new(
        numbers: Vec<T>,
        start: impl FnOnce(&'static [T]) -> Request<'static, [T], StaticScope>,
    ) -> Self {
        let numbers = Box::into_raw(numbers.into_boxed_slice());
        // SAFETY: the box is freed in `finish` only, after the request has been completed.
        let request = start(unsafe { &*numbers });
        Self {
            request: Some(request),
            numbers,
        }
    }

    fn finish(mut self) {
        if let Some(request) = self.request.take() {
            request.wait_without_status();
        }
        // SAFETY: it came out of a box, and the request, which alone used it, has been completed.
        drop(unsafe { Box::from_raw(self.numbers) });
    }
}

impl World {
    /// Joins the other processes. `None` if this process has done so before: MPI can be started once.
    pub fn join() -> Option<Rc<Self>> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)?;
        Some(Rc::new(Self {
            pending: RefCell::default(),
            pending_words: RefCell::default(),
            world: universe.world(),
            _universe: universe,
        }))
    }

    fn process(&self, rank: usize) -> mpi::topology::Process<'_> {
        self.world.process_at_rank(rank as Rank)
    }

    /// The bytes of rank 0 for all.
    pub fn broadcast(&self, bytes: &mut Vec<u8>) {
        let root = self.process(0);
        let mut length = bytes.len() as u64;
        root.broadcast_into(&mut length);
        bytes.resize(length as usize, 0);
        // MPI counts with 31 bits.
        for part in bytes.chunks_mut(1 << 30) {
            root.broadcast_into(part);
        }
    }

    /// Ends all processes with this exit code.
    pub fn abort(&self, code: i32) -> ! {
        self.world.abort(code)
    }

    /// Sends numbers without waiting for the receiver.
    pub fn send_words(&self, to: usize, words: Vec<u32>) {
        let to = self.process(to);
        let pending = Pending::new(words, |w| to.immediate_send_with_tag(StaticScope, w, WORDS));
        self.pending_words.borrow_mut().push(pending);
    }

    /// What some rank has sent, and which; `wait` for it if there is nothing yet.
    pub fn receive_words(&self, from: Option<usize>, wait: bool) -> Option<(usize, Vec<u32>)> {
        let probed = match (from, wait) {
            (Some(rank), true) => self.process(rank).matched_probe_with_tag(WORDS),
            (Some(rank), false) => self.process(rank).immediate_matched_probe_with_tag(WORDS)?,
            (None, true) => self.world.any_process().matched_probe_with_tag(WORDS),
            (None, false) => {
                let any = self.world.any_process();
                any.immediate_matched_probe_with_tag(WORDS)?
            }
        };
        let (words, status) = probed.matched_receive_vec::<u32>();
        Some((status.source_rank() as usize, words))
    }

    /// Waits until all words sent have been received.
    pub fn words_delivered(&self) {
        self.pending_words
            .take()
            .into_iter()
            .for_each(Pending::finish);
    }
}

impl Ranks for World {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn gather(&self, mine: &[f64], counts: &[usize], all: &mut [f64]) {
        let counts: Vec<Count> = counts.iter().map(|c| *c as Count).collect();
        let starts: Vec<Count> = counts
            .iter()
            .scan(0, |sum, count| {
                let start = *sum;
                *sum += count;
                Some(start)
            })
            .collect();
        let mut all = PartitionMut::new(all, &counts[..], &starts[..]);
        self.world.all_gather_varcount_into(mine, &mut all);
    }

    fn pass(&self, give: &[f64], take: &mut [f64]) {
        let (rank, size) = (self.rank(), self.size());
        let (below, above) = ((rank + size - 1) % size, (rank + 1) % size);
        send_receive_into(give, &self.process(below), take, &self.process(above));
    }

    fn send(&self, to: usize, numbers: Vec<f64>) {
        let to = self.process(to);
        let pending = Pending::new(numbers, |n| to.immediate_send(StaticScope, n));
        self.pending.borrow_mut().push(pending);
    }

    fn receive(&self, from: usize, numbers: &mut [f64]) {
        self.process(from).receive_into(numbers);
    }

    fn delivered(&self) {
        self.pending.take().into_iter().for_each(Pending::finish);
    }

    fn any(&self, here: bool) -> bool {
        let mut anywhere = 0_i32;
        self.world
            .all_reduce_into(&i32::from(here), &mut anywhere, SystemOperation::max());
        anywhere > 0
    }
}
