//! The processes that `mpirun` started as one program: the only place that names MPI.
//!
//! MPI's default error handling is kept: if a call fails because another process is lost, all processes end.

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

use trisolar_run::{Messages, Ranks};

/// The tag of the messages of [`World::send_bytes`].
const BYTES: Tag = 7;

/// All processes of this run. Only the thread that called [`join`](Self::join) may make calls.
pub struct World {
    pending: RefCell<Vec<Pending<f64>>>,
    pending_bytes: RefCell<Vec<Pending<u8>>>,
    /// This process's number among those of the same machine, and how many these are.
    here: [usize; 2],
    /// Number of these processes that can run on the same processors as this one.
    sharing_processors: usize,
    world: SimpleCommunicator,
    // The last field, because dropping it finalises MPI.
    _universe: Universe,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

/// Numbers that are being sent. They must not move until they have been delivered.
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

    /// Whether they have been delivered.
    fn has_arrived(&mut self) -> bool {
        self.request = self.request.take().and_then(|request| request.test().err());
        self.request.is_none()
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
        let world = universe.world();
        let machine = world.split_shared(world.rank());
        let own = own_processors();
        let mut processors = vec![0_u64; machine.size() as usize];
        machine.all_gather_into(&own, &mut processors[..]);
        Some(Rc::new(Self {
            pending: RefCell::default(),
            pending_bytes: RefCell::default(),
            here: [machine.rank() as usize, machine.size() as usize],
            sharing_processors: processors.iter().filter(|p| **p == own).count(),
            world,
            _universe: universe,
        }))
    }

    fn process(&self, rank: usize) -> mpi::topology::Process<'_> {
        self.world.process_at_rank(rank as Rank)
    }

    /// Sends the bytes of rank 0 to all processes.
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
}

/// The processors that this process may run on, as a hash.
fn own_processors() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("Cpus_allowed:"));
    u64::from(crc32fast::hash(line.unwrap_or_default().as_bytes()))
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others would wait for this process.
            self.abort(1);
        }
        // They must not move until they have been delivered.
        self.pending_bytes
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

    fn here(&self) -> [usize; 2] {
        self.here
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

impl Messages for World {
    fn sharing_processors(&self) -> usize {
        self.sharing_processors.max(1)
    }

    fn send_bytes(&self, to: usize, bytes: Vec<u8>) {
        let to = self.process(to);
        let pending = Pending::new(bytes, |b| to.immediate_send_with_tag(StaticScope, b, BYTES));
        self.pending_bytes.borrow_mut().push(pending);
    }

    fn receive_bytes(&self) -> Option<(usize, Vec<u8>)> {
        let any = self.world.any_process();
        let message = any.immediate_matched_probe_with_tag(BYTES)?;
        let (bytes, status) = message.matched_receive_vec::<u8>();
        Some((status.source_rank() as usize, bytes))
    }

    fn forget_delivered(&self) {
        let mut pending = self.pending_bytes.borrow_mut();
        let mut i = 0;
        while i < pending.len() {
            if pending[i].has_arrived() {
                pending.swap_remove(i).finish();
            } else {
                i += 1;
            }
        }
    }

    fn abort(&self, code: i32) -> ! {
        self.world.abort(code)
    }
}
