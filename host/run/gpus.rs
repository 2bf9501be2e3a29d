//! Opens the GPUs of a run that can use several, and names them.

use std::panic::resume_unwind;
use std::thread;

use crate::gpu::{DeviceInfo, GpuError};
use crate::{EngineError, GpuChoice, RunOptions};

/// Items of a task per GPU if the user does not set the number of GPUs: about as many as a GPU computes at a time.
const ITEMS_PER_GPU: u64 = 1 << 16;

impl RunOptions {
    /// Opens the GPUs of these options for a task of this many items, all at the same time, by `open`, which is given a GPU's number.
    /// Also returns notes about those that cannot be used.
    ///
    /// # Errors
    /// [`EngineError::Refused`] if a named GPU does not exist; otherwise the reason why no GPU can be used.
    pub fn open_gpus<G: Send>(
        &self,
        found: Result<Vec<DeviceInfo>, GpuError>,
        items: u64,
        open: impl Fn(u32) -> Result<G, EngineError> + Sync,
    ) -> Result<(Vec<G>, Vec<String>), EngineError> {
        self.check_with(found.as_deref())?;
        let numbers = self.gpus.select(&found?, items);
        let (gpus, mut failed) = open_all(&numbers, open);
        if gpus.is_empty() && !failed.is_empty() {
            return Err(failed.swap_remove(0));
        }
        let note = |error| format!("{error}; the other devices compute instead");
        Ok((gpus, failed.iter().map(note).collect()))
    }
}

/// Opens the GPUs with these numbers at the same time; those that fail have an error instead.
pub fn open_all<G: Send>(
    numbers: &[u32],
    open: impl Fn(u32) -> Result<G, EngineError> + Sync,
) -> (Vec<G>, Vec<EngineError>) {
    let open = &open;
    let opened: Vec<Result<G, EngineError>> = thread::scope(|scope| {
        let threads: Vec<_> = (numbers.iter())
            .map(|number| scope.spawn(move || open(*number)))
            .collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|gpu| gpu.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    let (mut gpus, mut failed) = (Vec::new(), Vec::new());
    for gpu in opened {
        match gpu {
            Ok(gpu) => gpus.push(gpu),
            Err(error) => failed.push(error),
        }
    }
    (gpus, failed)
}

impl GpuChoice {
    /// Numbers of the GPUs to use, all of which exist, for a task of this many items.
    fn select(self, found: &[DeviceInfo], items: u64) -> Vec<u32> {
        let all = found.iter().map(|gpu| gpu.index);
        match self {
            Self::All => all.collect(),
            Self::Auto => {
                let enough = usize::try_from(items.div_ceil(ITEMS_PER_GPU)).unwrap_or(usize::MAX);
                all.take(enough.max(1)).collect()
            }
            Self::First(_) | Self::These(_) => self.numbers().collect(),
        }
    }
}

/// Devices in words, equal names once with their number: `2 x a + b`.
pub fn device_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names = kinds(names).into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        n => format!("{n} x {name}"),
    });
    names.collect::<Vec<_>>().join(" + ")
}

/// The different names in the order of their first occurrence, and how often each occurs.
pub(crate) fn kinds<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match kinds.iter_mut().find(|(kind, _)| *kind == name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((name, 1)),
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::listed;

    fn opened(
        gpus: GpuChoice,
        items: u64,
        broken: &[u32],
    ) -> Result<(Vec<u32>, Vec<String>), String> {
        let options = RunOptions {
            gpus,
            ..RunOptions::default()
        };
        let open = |number| match broken.contains(&number) {
            true => Err(EngineError::NoGpu(format!("GPU {number} is broken"))),
            false => Ok(number),
        };
        let opened = options.open_gpus(Ok(listed(4)), items, open);
        opened.map_err(|e| e.to_string())
    }

    #[test]
    fn small_tasks_take_few_gpus_unless_asked_otherwise() {
        let chosen = |choice, items| opened(choice, items, &[]).map(|(gpus, _)| gpus);
        assert_eq!(chosen(GpuChoice::Auto, 300 * 300), Ok(vec![0, 1]));
        assert_eq!(chosen(GpuChoice::Auto, 10), Ok(vec![0]));
        assert_eq!(chosen(GpuChoice::Auto, 1 << 24), Ok(vec![0, 1, 2, 3]));
        assert_eq!(chosen(GpuChoice::All, 10), Ok(vec![0, 1, 2, 3]));
        let these = GpuChoice::of(&[3, 1, 3]).expect("possible");
        assert_eq!(chosen(these, 10), Ok(vec![1, 3]));
        assert_eq!(chosen(GpuChoice::First(2), 10), Ok(vec![0, 1]));
        let said = chosen(GpuChoice::First(5), 10).expect_err("there are 4");
        assert_eq!(said, "--gpus 5: there are GPUs 0 to 3");
    }

    #[test]
    fn a_gpu_that_is_not_there_is_named() {
        let message = |count| {
            let options = RunOptions {
                gpus: GpuChoice::of(&[0, 7]).expect("possible"),
                ..RunOptions::default()
            };
            let refused = options.open_gpus(Ok(listed(count)), 1, |_| Ok(()));
            refused.expect_err("7 is missing").to_string()
        };
        assert_eq!(message(2), "--device 7: there are GPUs 0 to 1");
        assert_eq!(message(1), "--device 7: there is only GPU 0");
        assert_eq!(message(0), "--device 0: there is no GPU");
        assert_eq!(GpuChoice::of(&[]), None);
        assert_eq!(GpuChoice::of(&[64]), None);
    }

    #[test]
    fn gpus_that_cannot_be_opened_are_a_note_unless_there_is_no_other() {
        let (gpus, notes) = opened(GpuChoice::All, 1, &[0, 2]).expect("two are left");
        assert_eq!((gpus, notes.len()), (vec![1, 3], 2));
        assert!(notes[0].contains("GPU 0 is broken; the other devices compute instead"));
        let said = opened(GpuChoice::All, 1, &[0, 1, 2, 3]).expect_err("none is left");
        assert!(said.contains("GPU 0 is broken"), "{said}");
    }

    #[test]
    fn equal_devices_are_named_once() {
        assert_eq!(device_names(["a", "b", "a"]), "2 x a + b");
        assert_eq!(device_names(["a"]), "a");
    }
}
