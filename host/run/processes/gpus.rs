//! Which GPUs a rank uses, and how many threads.

use crate::mpi::World;
use crate::{Backend, GpuChoice, RunOptions};

/// `options` for this rank: unless they say how many, the threads that this rank's processors can run are shared out among the
/// ranks that have the same processors, and the GPUs of a machine among its ranks, by their number there. [`GpuChoice::All`] is left:
/// every rank then uses all GPUs that it sees.
pub fn share(options: &RunOptions, world: &World) -> RunOptions {
    let threads = crate::machine::threads() / world.sharing_processors();
    RunOptions {
        threads: options.threads.or(Some(threads.max(1))),
        gpus: match options.backend {
            Backend::Cpu => options.gpus,
            _ => portion(
                options.gpus,
                &visible(),
                world.number_here(),
                world.count_here(),
            ),
        },
        ..*options
    }
}

/// Whether other ranks use this rank's GPUs as well.
pub fn shared(options: &RunOptions, world: &World) -> bool {
    let visible = visible().len();
    options.backend != Backend::Cpu
        && world.count_here() > 1
        && (options.gpus == GpuChoice::All || visible < world.count_here())
}

/// One GPU after the other, a map each: a device works best on a whole map.
pub fn in_turn(options: &RunOptions, turn: u64) -> RunOptions {
    let chosen = chosen(options.gpus, &visible());
    let one = match chosen.len() {
        0 | 1 => None,
        n => GpuChoice::of(&[chosen[(turn % n as u64) as usize]]),
    };
    RunOptions {
        gpus: one.filter(|_| !options.with_cpu).unwrap_or(options.gpus),
        ..*options
    }
}

/// Numbers of the GPUs that this process sees.
fn visible() -> Vec<u32> {
    let found = crate::gpu::devices().unwrap_or_default();
    found.iter().map(|gpu| gpu.index).collect()
}

fn chosen(choice: GpuChoice, visible: &[u32]) -> Vec<u32> {
    match choice {
        GpuChoice::These(_) => choice.numbers().collect(),
        _ => visible.to_vec(),
    }
}

/// Of the chosen GPUs those of rank number `rank` of `here` on a machine.
fn portion(choice: GpuChoice, visible: &[u32], rank: usize, here: usize) -> GpuChoice {
    let all = chosen(choice, visible);
    if choice == GpuChoice::All || here < 2 || all.is_empty() {
        return choice;
    }
    let mine: Vec<u32> = if all.len() >= here {
        all.iter().skip(rank).step_by(here).copied().collect()
    } else {
        vec![all[rank % all.len()]]
    };
    GpuChoice::of(&mine).unwrap_or(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_of_a_machine_are_shared_out_by_the_ranks_numbers_there() {
        let of = |numbers: &[u32]| GpuChoice::of(numbers).expect("possible");
        let auto = |gpus: &[u32], rank, here| portion(GpuChoice::Auto, gpus, rank, here);
        assert_eq!(auto(&[0, 1, 2, 3], 1, 4), of(&[1]));
        assert_eq!(auto(&[0, 1, 2, 3], 1, 2), of(&[1, 3]));
        assert_eq!(auto(&[0, 1, 2], 0, 2), of(&[0, 2]));
        assert_eq!(auto(&[0, 1], 3, 4), of(&[1]), "more ranks than GPUs");
        // One rank on the machine, or none to share: as without MPI.
        assert_eq!(auto(&[0, 1], 0, 1), GpuChoice::Auto);
        assert_eq!(auto(&[], 1, 2), GpuChoice::Auto);
        // A list is of the machine's GPUs; what is not there is said by the engine.
        assert_eq!(portion(of(&[1, 3]), &[0, 1, 2, 3], 1, 2), of(&[3]));
        assert_eq!(portion(of(&[7]), &[0], 1, 2), of(&[7]));
        assert_eq!(portion(GpuChoice::All, &[0, 1], 1, 2), GpuChoice::All);
    }
}
