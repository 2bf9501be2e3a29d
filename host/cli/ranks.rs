//! The processes that `mpirun` started: rank 0 reads, writes and reports, and all compute.

use trisolar::ensemble::{Devices, Ensemble, Executor, ReadPoints};
use trisolar::run::{EngineError, Ranks, RunOptions};
#[cfg(feature = "mpi")]
use trisolar::{
    ensemble,
    run::{Backend, Messages as _, processes},
};

use super::Failure;

/// The number of processes that a launcher says it has started.
fn launched() -> usize {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
        .unwrap_or(1)
}

/// Prints a message on one of the processes that a launcher started, before any of them ends.
pub(crate) fn once(say: impl FnOnce()) {
    #[cfg(feature = "mpi")]
    if launched() > 1
        && let Ok(communicator) = Communicator::join()
    {
        let said = communicator.share(|| {
            say();
            Ok(Vec::new())
        });
        // The closure cannot fail.
        return drop(said);
    }
    say();
}

/// Refuses to run as several processes, each of which would do all of the work and write the same files.
pub(crate) fn refuse(command: &str) -> Result<(), Failure> {
    let n = launched();
    if n < 2 {
        return Ok(());
    }
    let refused = || {
        Failure::BadInput(format!(
            "trisolar {command} runs as one process, but a launcher such as mpirun started {n}"
        ))
    };
    // Printed once, if the processes can communicate.
    #[cfg(feature = "mpi")]
    Communicator::join()?.share(|| Err(refused()))?;
    Err(refused())
}

/// The processes of this run; one without a launcher.
pub(crate) struct Communicator {
    #[cfg(feature = "mpi")]
    world: Option<std::rc::Rc<trisolar::mpi::World>>,
}

#[cfg(not(feature = "mpi"))]
impl Communicator {
    /// This process alone.
    pub(crate) fn join() -> Result<Self, Failure> {
        match launched() {
            0 | 1 => Ok(Self {}),
            n => Err(Failure::BadInput(format!(
                "a launcher such as mpirun started {n} processes, but this program was built without the feature `mpi`"
            ))),
        }
    }

    pub(crate) fn size(&self) -> usize {
        1
    }

    pub(crate) fn threads(&self, given: Option<usize>) -> Option<usize> {
        given
    }

    pub(crate) fn share(
        &self,
        made: impl FnOnce() -> Result<Vec<u8>, Failure>,
    ) -> Result<Vec<u8>, Failure> {
        made()
    }

    pub(crate) fn ranks(&self) -> Option<std::rc::Rc<dyn Ranks>> {
        None
    }

    pub(crate) fn here(&self, error: EngineError) -> Result<Failure, EngineError> {
        Err(error)
    }

    pub(crate) fn compute<E: Ensemble>(
        &self,
        options: &RunOptions,
        _: bool,
        _: ReadPoints<'_>,
        lead: impl FnOnce(&dyn Executor<E>, RunOptions) -> Result<(), Failure> + Send,
    ) -> Result<(), Failure> {
        lead(&Devices::new(), *options)
    }

    pub(crate) fn end(&self, result: Result<(), Failure>) -> Result<(), Failure> {
        result
    }
}

#[cfg(feature = "mpi")]
impl Communicator {
    /// The processes that the launcher started.
    pub(crate) fn join() -> Result<Self, Failure> {
        let world = match launched() {
            0 | 1 => None,
            _ => Some(
                trisolar::mpi::World::join()
                    .ok_or_else(|| Failure::Failed("MPI has been started before".into()))?,
            ),
        };
        let communicator = Self { world };
        if let Some(world) = &communicator.world {
            super::interrupt::watch_as(format!(
                "rank {} of {} ends: the run was cancelled, or another rank was lost; files written so far are complete",
                world.rank(),
                world.size()
            ))?;
        }
        Ok(communicator)
    }

    /// The number of processes.
    pub(crate) fn size(&self) -> usize {
        self.ranks().map_or(1, |r| r.size())
    }

    /// Whether this is the process that reads, writes and reports.
    fn leads(&self) -> bool {
        self.ranks().is_none_or(|r| r.rank() == 0)
    }

    /// Threads of a process: the given number, or a share of the machine's threads.
    pub(crate) fn threads(&self, given: Option<usize>) -> Option<usize> {
        let Some(world) = self.world.as_deref() else {
            return given;
        };
        let options = RunOptions {
            backend: Backend::Cpu,
            threads: given,
            ..RunOptions::default()
        };
        processes::share(&options, world).threads
    }

    /// Runs `lead` on rank 0 with all ranks' devices; the other ranks compute for it until it ends. With `in_turn` each ensemble is
    /// computed on one of the GPUs of a rank, in turn. The devices of `options` are divided among the ranks of a machine.
    pub(crate) fn compute<E: Ensemble>(
        &self,
        options: &RunOptions,
        in_turn: bool,
        points: ReadPoints<'_>,
        lead: impl FnOnce(&dyn Executor<E>, RunOptions) -> Result<(), Failure> + Send,
    ) -> Result<(), Failure> {
        let Some(world) = self.world.as_deref() else {
            return lead(&Devices::new(), *options);
        };
        let options = processes::share(options, world);
        let local = ensemble::Local { options, points };
        let serve = || ensemble::serve::<E>(world, &local);
        self.lead(world, serve, || {
            ensemble::lead(world, in_turn, |leader| lead(leader, options))
        })
    }

    /// Runs `lead` on rank 0, and on the other ranks `serve`, which returns an exit code, until rank 0 has ended.
    fn lead(
        &self,
        world: &trisolar::mpi::World,
        serve: impl FnOnce() -> u8,
        lead: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if !self.leads() {
            return match serve() {
                0 => Ok(()),
                code => Err(Failure::Elsewhere(code)),
            };
        }
        let result = lead();
        let Err(failure) = &result else {
            processes::shutdown(world, 0);
            return result;
        };
        // This comes before the other ranks end, because the launcher then ends this one as well.
        failure.say();
        processes::shutdown(world, failure.exit_code());
        Err(Failure::Elsewhere(failure.exit_code()))
    }

    /// Sends the bytes that rank 0 has `made`, or its failure, to all ranks.
    pub(crate) fn share(
        &self,
        made: impl FnOnce() -> Result<Vec<u8>, Failure>,
    ) -> Result<Vec<u8>, Failure> {
        let Some(world) = &self.world else {
            return made();
        };
        // The last byte is 0, or the exit code of a failure.
        let mut message = Vec::new();
        if self.leads() {
            let made = made().map(|bytes| [&bytes[..], &[0]].concat());
            message = made.unwrap_or_else(|failure| {
                // This comes before the other ranks end, because the launcher then ends this one as well.
                failure.say();
                vec![failure.exit_code()]
            });
        }
        world.broadcast(&mut message);
        match message.pop() {
            Some(0) => Ok(message),
            code => Err(Failure::Elsewhere(code.unwrap_or(1))),
        }
    }

    /// The processes that share the bodies.
    pub(crate) fn ranks(&self) -> Option<std::rc::Rc<dyn Ranks>> {
        let world = self.world.clone()?;
        Some(world)
    }

    /// The failure of this rank if the error is that of another rank, which reports it; otherwise the error.
    pub(crate) fn here(&self, error: EngineError) -> Result<Failure, EngineError> {
        match (&error, self.ranks()) {
            (EngineError::Rank { rank, .. }, Some(ranks)) if *rank != ranks.rank() => {
                Ok(Failure::Elsewhere(1))
            }
            _ => Err(error),
        }
    }

    /// Ends the other processes as well if this one failed on its own, because they would wait for it.
    pub(crate) fn end(&self, result: Result<(), Failure>) -> Result<(), Failure> {
        let Some(world) = &self.world else {
            return result;
        };
        match result {
            Err(failure @ (Failure::Failed(_) | Failure::BadInput(_))) => {
                failure.say();
                world.abort(failure.exit_code().into())
            }
            result => result,
        }
    }
}
