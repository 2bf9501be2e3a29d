//! The GPUs and the number of threads that a rank uses.

use crate::{Backend, GpuChoice, Messages, RunOptions, gpus_of_rank};

/// The options for this rank. Unless `options` names a number of threads, the ranks that may run on the same processors divide the threads
/// of these processors. The ranks of a machine divide its GPUs by number. [`GpuChoice::All`] is not divided: every rank then uses all GPUs
/// that it sees.
pub fn share(options: &RunOptions, world: &dyn Messages) -> RunOptions {
    let threads = crate::machine::threads() / world.sharing_processors();
    RunOptions {
        threads: options.threads.or(Some(threads.max(1))),
        gpus: match options.backend {
            Backend::Cpu => options.gpus,
            _ => portion(options.gpus, &visible(), world.here()),
        },
        ..*options
    }
}

/// Whether other ranks use this rank's GPUs as well.
pub fn shared(options: &RunOptions, world: &dyn Messages) -> bool {
    let visible = visible().len();
    let [_, here] = world.here();
    options.backend != Backend::Cpu
        && here > 1
        && (options.gpus == GpuChoice::All || visible < here)
}

/// Uses the GPUs in turn, each for a whole map, because a device works best on a whole map.
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
    if choice.is_definite() {
        choice.numbers().collect()
    } else {
        visible.to_vec()
    }
}

/// The GPUs, out of those chosen, of the rank with the number `rank` among the `here` ranks of a machine ([`Ranks::here`](crate::Ranks::here)).
fn portion(choice: GpuChoice, visible: &[u32], [rank, here]: [usize; 2]) -> GpuChoice {
    let all = chosen(choice, visible);
    if choice == GpuChoice::All || here < 2 || all.is_empty() {
        return choice;
    }
    GpuChoice::of(&gpus_of_rank(&all, [rank, here])).unwrap_or(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_of_a_machine_are_shared_out_by_the_ranks_numbers_there() {
        let of = |numbers: &[u32]| GpuChoice::of(numbers).expect("possible");
        let auto = |gpus: &[u32], rank, here| portion(GpuChoice::Auto, gpus, [rank, here]);
        assert_eq!(auto(&[0, 1, 2, 3], 1, 4), of(&[1]));
        assert_eq!(auto(&[0, 1, 2, 3], 1, 2), of(&[1, 3]));
        assert_eq!(auto(&[0, 1, 2], 0, 2), of(&[0, 2]));
        assert_eq!(auto(&[0, 1], 3, 4), of(&[1]), "more ranks than GPUs");
        // A single rank on the machine, or no GPU to divide: the options are those of one process.
        assert_eq!(auto(&[0, 1], 0, 1), GpuChoice::Auto);
        assert_eq!(auto(&[], 1, 2), GpuChoice::Auto);
        // A list names GPUs of the machine. The engine reports numbers that do not exist.
        assert_eq!(portion(of(&[1, 3]), &[0, 1, 2, 3], [1, 2]), of(&[3]));
        assert_eq!(portion(of(&[7]), &[0], [1, 2]), of(&[7]));
        assert_eq!(portion(GpuChoice::All, &[0, 1], [1, 2]), GpuChoice::All);
    }
}
