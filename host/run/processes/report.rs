//! Reports of ranks about a finished task, and the report for all of them.

use serde::{Deserialize, Serialize};

use crate::gpus::kinds;

/// A rank's report on its part of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: String,
    /// Description of its devices.
    pub device: String,
    /// Facts that the user should know.
    pub notes: Vec<String>,
    /// Devices, each with the number of items that it computed.
    pub portions: Vec<(String, u64)>,
    /// The energy that its GPUs used, if it can be measured.
    pub joules: Option<f64>,
}

/// The combined report of all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: &'static str,
    /// Description of the devices.
    pub device: String,
    /// Facts that the user should know.
    pub notes: Vec<String>,
    /// Devices with their ranks, each with the number of items that it computed.
    pub portions: Vec<(String, u64)>,
    /// The energy that the GPUs used, if it is known of all ranks with GPUs.
    pub joules: Option<f64>,
}

impl Together {
    pub(super) fn of(reports: &[Report]) -> Self {
        let portion = |rank: usize, (device, items): &(String, u64)| {
            (format!("rank {rank}: {device}"), *items)
        };
        let portions = reports.iter().enumerate();
        let portions =
            portions.flat_map(|(rank, r)| r.portions.iter().map(move |p| portion(rank, p)));
        Self {
            engine: engine(reports),
            device: devices(reports),
            notes: notes(reports),
            portions: portions.collect(),
            joules: joules(reports),
        }
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

/// The descriptions of the devices, without repetitions.
fn devices(reports: &[Report]) -> String {
    let kinds = kinds(reports.iter().map(|report| report.device.as_str()));
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

/// The notes of all ranks: those that all ranks have, once; the others with the numbers of their ranks.
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

/// The sum over the ranks that use GPUs, if all of them have measured it.
fn joules(reports: &[Report]) -> Option<f64> {
    let with_gpu = reports.iter().filter(|r| r.engine != "cpu");
    let joules: Vec<f64> = with_gpu.map(|r| r.joules).collect::<Option<_>>()?;
    (!joules.is_empty()).then(|| joules.iter().sum())
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
        let equal = Together::of(&[gpu(Some(3.0)), gpu(Some(5.0))]);
        assert_eq!(
            (equal.engine, equal.device.as_str()),
            ("gpu", "2 MPI ranks, each a GPU")
        );
        assert_eq!(equal.notes, ["same"]);
        assert_eq!(equal.portions[1].0, "rank 1: a GPU");
        assert_eq!(equal.joules, Some(8.0));

        let cpu = report("cpu", "a CPU", &["same", "slow"], None);
        let mixed = Together::of(&[cpu.clone(), gpu(Some(3.0)), gpu(Some(1.0))]);
        assert_eq!(mixed.engine, "gpu+cpu");
        assert_eq!(mixed.device, "3 MPI ranks: 1 x a CPU + 2 x a GPU");
        assert_eq!(mixed.notes, ["same", "rank 0: slow"]);
        assert_eq!(mixed.joules, Some(4.0));
        assert_eq!(Together::of(&[gpu(None), gpu(Some(1.0))]).joules, None);
        assert_eq!(Together::of(&[cpu]).joules, None);
    }
}
