//! Makes the problem of a run from its options: from a model, a file or a checkpoint.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trisolar::bodies::{numbers, vectors};
use trisolar::nbody::files::{Checkpoint, FileError, History};
use trisolar::nbody::{
    Bodies, Energies, EnergyLooks, Integrator, LowerParts, Overrides, OverridesError, Snapshot,
    SpecError, Specification, Validated,
};
use trisolar::spec::Parameters as _;

use super::super::Failure;
use super::super::resume::Typed;
use super::options::{Args, OutputArgs, OutputFormat};
use super::overrides;
use super::plan::RecordPlan;

/// A problem, and the state from which the run begins.
pub(super) struct Start {
    pub problem: Validated,
    pub from: Snapshot,
    /// The lower parts of pairs, which `f64` numbers cannot hold.
    pub lower: Option<LowerParts>,
    pub start_energy: Option<Energies>,
    /// The records so far.
    pub history: History,
    /// The start in words.
    pub name: String,
    /// All values of the run, given or default, for files.
    pub overrides: Overrides,
}

impl Args {
    /// The largest allowed energy error, if one is given.
    pub(super) fn max_error(&self) -> Result<Option<f64>, Failure> {
        let overrides = &self.overrides.values;
        let checked = overrides.check_max_error();
        checked.map_err(|error| refused(error, |option| format!("--{option}")))?;
        Ok(overrides.max_error)
    }

    /// Whether the displacements by the errors of the steps are reported or limited.
    pub(super) fn checks_steps(&self, overrides: &Overrides) -> bool {
        let reported = !self.quiet || self.json || overrides.max_error.is_some();
        reported && overrides.energy != Some(EnergyLooks::Never)
    }

    /// The folder in which a model that is known for something shows itself, if nothing but the model and devices are given.
    pub(super) fn shown_in(&self, typed: &Typed) -> Option<PathBuf> {
        let values = &self.overrides.values;
        let model = values.model?;
        let alone = typed.let_models_show() && self.config.is_none() && !self.quiet;
        (alone && values.is_of_known_time()).then(|| model.name().into())
    }

    /// The start from the options and the configuration file.
    pub(super) fn start(&self) -> Result<Start, Failure> {
        let here = &self.overrides.values;
        let mut overrides = match &self.config {
            Some(path) => here.clone().merged_over(overrides::load(path)?),
            None => here.clone(),
        };
        if self.output.format == OutputFormat::Textbook {
            overrides
                .integrator
                .get_or_insert(Integrator::ExplicitEuler);
        }
        let place = |option: &str| match &self.config {
            Some(path) if !here.has(option) => {
                format!("{} in {}", option.replace('-', "_"), path.display())
            }
            _ => format!("--{option}"),
        };
        let (problem, overrides) = overrides.problem().map_err(|error| refused(error, place))?;
        let name = overrides.start_name();
        let from = Snapshot {
            step: 0,
            time: problem.specification().time(0),
            bodies: problem.bodies().clone(),
        };
        Ok(Start {
            problem,
            from,
            lower: None,
            start_energy: None,
            history: History::in_folder(&self.output.records_folder()),
            name,
            overrides,
        })
    }
}

/// An error of the library, with the names that the user knows.
fn refused(error: OverridesError, place: impl Fn(&str) -> String) -> Failure {
    match error {
        OverridesError::Value {
            option,
            given,
            allowed,
        } => Failure::value(&given, &place(option), &allowed),
        error => Failure::BadInput(error.to_string()),
    }
}

impl Start {
    /// The start from a checkpoint, for the total number of steps or the end in `asked`. If a run is extended, the records of its former end
    /// are kept only if a run with the new length from the start would have them.
    pub(super) fn resumed(
        path: &Path,
        overrides: Overrides,
        asked: &Overrides,
        output: &OutputArgs,
    ) -> Result<Self, Failure> {
        let Checkpoint {
            mut specification,
            step,
            start_energy,
            bodies,
            mut history,
        } = Checkpoint::read(path).map_err(file)?;
        let steps = match asked.end {
            Some(end) => Some(
                specification
                    .steps_to(end)
                    .map_err(|e| Failure::BadInput(e.to_string()))?,
            ),
            None => asked.steps,
        };
        if let Some(steps) = steps {
            if steps < step {
                let reason = format!("the checkpoint has {step} steps already");
                return Err(match asked.end {
                    Some(end) => Failure::value(&end.to_string(), "--end", &reason),
                    None => Failure::value(&steps.to_string(), "--steps", &reason),
                });
            }
            if step == specification.steps && steps > step {
                if !output
                    .spacing
                    .is_some_and(|every| step.is_multiple_of(every))
                {
                    history.forget_last();
                }
                if !step.is_multiple_of(output.track(bodies.len())) {
                    history.tracks.forget(specification.time(step));
                }
            }
            specification.steps = steps;
        }
        let time = specification.time(step);
        let invalid = |e: SpecError| Failure::BadInput(format!("{}: {e}", path.display()));
        let problem = specification.validate(bodies).map_err(invalid)?;
        let from = Snapshot {
            step,
            time,
            bodies: problem.bodies().clone(),
        };
        Ok(Self {
            problem,
            from,
            lower: Checkpoint::read_lower_parts(path).map_err(file)?,
            start_energy,
            history,
            name: path.display().to_string(),
            overrides,
        })
    }
}

fn file(error: FileError) -> Failure {
    Failure::BadInput(error.to_string())
}

/// The values of a start, besides its bodies, that the other ranks need.
#[derive(Serialize, Deserialize)]
struct StartHead {
    specification: Specification,
    step: u64,
    name: String,
    plan: RecordPlan,
    /// Whether lower parts follow the bodies.
    lower: bool,
}

impl Start {
    /// As bytes for other processes.
    pub(super) fn to_bytes(&self, plan: &RecordPlan) -> Vec<u8> {
        let head = StartHead {
            specification: self.problem.specification().clone(),
            step: self.from.step,
            name: self.name.clone(),
            plan: plan.clone(),
            lower: self.lower.is_some(),
        };
        let head = serde_json::to_vec(&head).expect("plain numbers and names");
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        let bodies = &self.from.bodies;
        for part in [
            &bodies.mass,
            numbers(&bodies.position),
            numbers(&bodies.velocity),
        ] {
            bytes.extend(part.iter().flat_map(|number| number.to_le_bytes()));
        }
        if let Some(LowerParts { position, velocity }) = &self.lower {
            for number in position.iter().chain(velocity).flatten() {
                bytes.extend(f64::from(*number).to_le_bytes());
            }
        }
        bytes
    }

    /// Reads bytes that [`to_bytes`](Self::to_bytes) of the same program made.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<(Self, RecordPlan), Failure> {
        let broken = || Failure::Failed("what rank 0 sent is incomplete".into());
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
        let (head, numbers) = rest
            .split_at_checked(u64::from_le_bytes(*length) as usize)
            .ok_or_else(broken)?;
        let head: StartHead = serde_json::from_slice(head).map_err(|_| broken())?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let numbers: Vec<f64> = numbers.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let n = numbers.len() / if head.lower { 13 } else { 7 };
        let (numbers, rest) = numbers.split_at(7 * n);
        let (lower, _) = rest.as_chunks::<3>();
        let lower: Vec<[f32; 3]> = lower.iter().map(|x| x.map(|x| x as f32)).collect();
        let lower = head.lower.then(|| LowerParts {
            position: lower[..n].to_vec(),
            velocity: lower[n..2 * n].to_vec(),
        });
        let vectors = vectors(&numbers[n..]);
        let bodies = Bodies {
            mass: numbers[..n].to_vec(),
            position: vectors[..n].to_vec(),
            velocity: vectors[n..].to_vec(),
        };
        let time = head.specification.time(head.step);
        let problem = head
            .specification
            .validate(bodies)
            .map_err(|e| Failure::Failed(e.to_string()))?;
        let from = Snapshot {
            step: head.step,
            time,
            bodies: problem.bodies().clone(),
        };
        let start = Self {
            problem,
            from,
            lower,
            start_energy: None,
            history: History::default(),
            name: head.name,
            overrides: Overrides::default(),
        };
        Ok((start, head.plan))
    }
}
