//! Reports of ranks about a finished task, and the report for all of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Portion, Ran, Streamed};
use trisolar_device::Energy;

/// How a rank did its part of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// As [`Streamed::engine`].
    pub engine: String,
    /// As [`Streamed::device`].
    pub device: String,
    /// As [`Ran::notes`].
    pub notes: Vec<String>,
    /// Devices, and pixels that they computed.
    pub portions: Vec<(String, u64)>,
    /// Energy that its GPUs used (J), if it can be measured.
    pub joules: Option<f64>,
}

impl Report {
    pub fn new(streamed: Streamed) -> Self {
        let ran = streamed.ran;
        Self {
            engine: streamed.engine.to_owned(),
            device: streamed.device,
            notes: ran.notes,
            portions: ran
                .portions
                .into_iter()
                .map(|p| (p.device, p.pixels))
                .collect(),
            joules: ran.energy.map(|e| e.joules),
        }
    }
}

/// The reports of all ranks as one.
pub(super) fn together(reports: &[Report], elapsed: Duration) -> Streamed {
    let portion = |rank: usize, (device, pixels): &(String, u64)| Portion {
        device: format!("rank {rank}: {device}"),
        pixels: *pixels,
    };
    let portions = reports.iter().enumerate();
    let portions = portions.flat_map(|(rank, r)| r.portions.iter().map(move |p| portion(rank, p)));
    Streamed {
        engine: engine(reports),
        device: devices(reports),
        ran: Ran {
            elapsed,
            notes: notes(reports),
            portions: portions.collect(),
            energy: energy(reports, elapsed),
        },
    }
}

fn engine(reports: &[Report]) -> &'static str {
    let all = |name| reports.iter().all(|r| r.engine == name);
    match () {
        () if all("cpu") => "cpu",
        () if all("gpu") => "gpu",
        () => "gpu+cpu",
    }
}

/// The devices in words; equal devices are listed once.
fn devices(reports: &[Report]) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for report in reports {
        match kinds.iter_mut().find(|(kind, _)| *kind == report.device) {
            Some((_, count)) => *count += 1,
            None => kinds.push((&report.device, 1)),
        }
    }
    let count = reports.len();
    if let [(device, _)] = kinds[..] {
        return format!("{count} MPI ranks, each {device}");
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, n)| format!("{n} x {kind}"))
        .collect();
    format!("{count} MPI ranks: {}", kinds.join(" + "))
}

/// Lists notes that all ranks have once, and the other notes with the numbers of their ranks.
fn notes(reports: &[Report]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for (rank, report) in reports.iter().enumerate() {
        for note in &report.notes {
            let by_all = reports.iter().all(|r| r.notes.contains(note));
            let note = if by_all {
                note.clone()
            } else {
                format!("rank {rank}: {note}")
            };
            if !told.contains(&note) {
                told.push(note);
            }
        }
    }
    told
}

/// The sum over the ranks that use GPUs, if all of them could measure it.
fn energy(reports: &[Report], elapsed: Duration) -> Option<Energy> {
    let with_gpu = reports.iter().filter(|r| r.engine != "cpu");
    let joules: Vec<f64> = with_gpu.map(|r| r.joules).collect::<Option<_>>()?;
    let total: f64 = joules.iter().sum();
    (!joules.is_empty()).then(|| Energy {
        joules: total,
        watts: total / elapsed.as_secs_f64().max(1e-9),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(engine: &str, device: &str, notes: &[&str], joules: Option<f64>) -> Report {
        Report {
            engine: engine.into(),
            device: device.into(),
            notes: notes.iter().map(|n| (*n).into()).collect(),
            portions: vec![(device.into(), 5)],
            joules,
        }
    }

    #[test]
    fn reports_of_equal_and_of_different_ranks_are_put_together() {
        let gpu = |joules| report("gpu", "a GPU", &["same"], joules);
        let second = Duration::from_secs(2);
        let equal = together(&[gpu(Some(3.0)), gpu(Some(5.0))], second);
        assert_eq!(
            (equal.engine, equal.device.as_str()),
            ("gpu", "2 MPI ranks, each a GPU")
        );
        assert_eq!(equal.ran.notes, ["same"]);
        assert_eq!(equal.ran.portions[1].device, "rank 1: a GPU");
        let energy = equal.ran.energy.expect("known");
        assert_eq!((energy.joules, energy.watts), (8.0, 4.0));

        let cpu = report("cpu", "a CPU", &["same", "slow"], None);
        let mixed = together(&[cpu.clone(), gpu(Some(3.0)), gpu(Some(1.0))], second);
        assert_eq!(mixed.engine, "gpu+cpu");
        assert_eq!(mixed.device, "3 MPI ranks: 1 x a CPU + 2 x a GPU");
        assert_eq!(mixed.ran.notes, ["same", "rank 0: slow"]);
        assert_eq!(mixed.ran.energy.map(|e| e.joules), Some(4.0));
        assert!(
            together(&[gpu(None), gpu(Some(1.0))], second)
                .ran
                .energy
                .is_none()
        );
        assert!(together(&[cpu], second).ran.energy.is_none());
    }
}
