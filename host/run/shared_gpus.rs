//! The GPUs of processes that compute one run together: which of them belong to a rank, and whether all ranks compute on GPUs.

use crate::{Backend, EngineError, Ranks};

/// The GPUs, out of `all` of a machine, of the rank with the number `rank` among the `here` ranks of the machine. More ranks than GPUs share
/// them.
pub fn gpus_of_rank(all: &[u32], [rank, here]: [usize; 2]) -> Vec<u32> {
    if all.len() >= here {
        all.iter().skip(rank).step_by(here).copied().collect()
    } else if all.is_empty() {
        Vec::new()
    } else {
        vec![all[rank % all.len()]]
    }
}

/// The state of a rank before the ranks agree.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wish {
    /// Number of open GPUs, 0 if the rank's options choose the CPU, or -1 if it could not open its GPUs.
    gpus: f64,
    /// Whether it must not compute on a CPU instead.
    insists: bool,
}

/// What the ranks agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Gpus,
    /// All ranks compute on CPUs, because the named ones have no GPU; the list is empty if no rank has one.
    Cpus(Vec<usize>),
    /// The run cannot begin because of this rank.
    Fails(usize),
}

impl Choice {
    fn of(wishes: &[Wish]) -> Self {
        let have = |w: &Wish| w.gpus > 0.0;
        if wishes.iter().all(have) {
            return Self::Gpus;
        }
        let place = |of: &dyn Fn(&Wish) -> bool| wishes.iter().position(of);
        if wishes.iter().any(|w| w.insists) {
            // A rank whose GPUs failed has more to say than one that was told to use its CPU.
            let failed = place(&|w| w.gpus < 0.0 && w.insists).or(place(&|w| w.gpus < 0.0));
            return Self::Fails(failed.or(place(&|w| !have(w))).unwrap_or(0));
        }
        let without = |(rank, wish): (usize, &Wish)| (!have(wish)).then_some(rank);
        let without: Vec<usize> = wishes.iter().enumerate().filter_map(without).collect();
        Self::Cpus(match without.len() == wishes.len() {
            true => Vec::new(),
            false => without,
        })
    }
}

/// Agrees with the other ranks whether all compute on GPUs or all on CPUs. `opened` are this rank's open GPUs or the reason why there are
/// none, or `None` if its options choose the CPU. Returns the GPUs, or `None` if CPUs compute, and notes for the user.
///
/// # Errors
/// A rank that must use a GPU has none: the rank at fault has the error, and the others have [`EngineError::Rank`] with its number.
pub fn agree<G>(
    ranks: &dyn Ranks,
    backend: Backend,
    opened: Option<Result<Vec<G>, EngineError>>,
) -> Result<(Option<Vec<G>>, Vec<String>), EngineError> {
    let refused = matches!(&opened, Some(Err(EngineError::Refused { .. })));
    let mine = Wish {
        gpus: match &opened {
            None => 0.0,
            Some(Ok(gpus)) => gpus.len() as f64,
            Some(Err(_)) => -1.0,
        },
        insists: backend == Backend::Gpu || refused,
    };
    let mut numbers = vec![0.0; 2 * ranks.size()];
    let own = [mine.gpus, f64::from(u8::from(mine.insists))];
    ranks.gather(&own, &vec![2; ranks.size()], &mut numbers);
    let wish = |pair: &[f64; 2]| Wish {
        gpus: pair[0],
        insists: pair[1] > 0.0,
    };
    let wishes: Vec<Wish> = numbers.as_chunks().0.iter().map(wish).collect();
    match (Choice::of(&wishes), opened) {
        (Choice::Gpus, Some(Ok(gpus))) => Ok((Some(gpus), Vec::new())),
        (Choice::Fails(rank), Some(Err(error))) if rank == ranks.rank() => Err(match error {
            error @ EngineError::Refused { .. } => error,
            error => EngineError::Rank {
                rank,
                reason: error.to_string(),
            },
        }),
        (Choice::Fails(rank), _) => Err(EngineError::Rank {
            rank,
            reason: "it computes on its CPU, and another rank has --backend gpu".into(),
        }),
        (Choice::Cpus(without), _) if !without.is_empty() => Ok((None, vec![cpus(&without)])),
        (_, Some(Err(error))) => Ok((None, error.passed_over(backend)?.into_iter().collect())),
        (_, _) => Ok((None, Vec::new())),
    }
}

/// The note about ranks without a GPU.
fn cpus(without: &[usize]) -> String {
    let list: Vec<String> = without.iter().map(usize::to_string).collect();
    let who = match without.len() {
        1 => format!("rank {} has", list[0]),
        _ => format!("ranks {} have", list.join(", ")),
    };
    format!("{who} no usable GPU, so that the CPUs of all ranks compute")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks with this many GPUs each, one of which insists on them.
    fn choice(gpus: &[i32], insists: Option<usize>) -> Choice {
        let wish = |(rank, gpus): (usize, &i32)| Wish {
            gpus: f64::from(*gpus),
            insists: insists == Some(rank),
        };
        let wishes: Vec<Wish> = gpus.iter().enumerate().map(wish).collect();
        Choice::of(&wishes)
    }

    #[test]
    fn all_ranks_compute_on_gpus_or_none_does() {
        assert_eq!(choice(&[1, 2, 1], None), Choice::Gpus);
        assert_eq!(choice(&[1, -1, 0], None), Choice::Cpus(vec![1, 2]));
        assert_eq!(choice(&[-1, 0], None), Choice::Cpus(vec![]));
        assert_eq!(
            cpus(&[1, 2]),
            "ranks 1, 2 have no usable GPU, so that the CPUs of all ranks compute"
        );
    }

    #[test]
    fn a_rank_that_must_use_gpus_does_not_compute_on_cpus() {
        assert_eq!(choice(&[1, 2], Some(0)), Choice::Gpus);
        assert_eq!(choice(&[1, 0, -1], Some(0)), Choice::Fails(2));
        assert_eq!(choice(&[1, 0], Some(0)), Choice::Fails(1));
        assert_eq!(choice(&[-1, -1], Some(1)), Choice::Fails(1));
    }

    #[test]
    fn ranks_divide_or_share_the_gpus_of_a_machine() {
        assert_eq!(gpus_of_rank(&[0, 1, 2, 3], [1, 2]), [1, 3]);
        assert_eq!(gpus_of_rank(&[0, 1], [3, 4]), [1]);
        assert!(gpus_of_rank(&[], [1, 2]).is_empty());
        assert_eq!(gpus_of_rank(&[2, 5], [0, 1]), [2, 5]);
    }
}
