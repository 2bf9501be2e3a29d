//! A run on several processes: what the other ranks need of the run that rank 0 records.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::files::Checkpoint;
use super::recorded::{InitialState, PreparedCluster};
use kernels_gpu::Vec3;

use super::{Counters, Overrides, Parts, Specification, Star, Times, bodies_of};
use trisolar_time_run::{Error, Files, History, packed, unpacked};

/// The run of rank 0, as far as the engine takes part in it.
#[derive(Debug, Serialize, Deserialize)]
struct Course {
    specification: Specification,
    /// Time of the last block and the counters of a resumed run; `None` for a start model.
    resumed: Option<(f64, Counters)>,
    particles: usize,
    /// Number of neighbours of each particle in the Ahmad–Cohen scheme.
    neighbours: Vec<usize>,
    end: f64,
    every: f64,
    /// Whether paths are drawn, and whether the particles are evaluated at the end once more.
    shown: [bool; 2],
    recorded: (Option<f64>, usize),
    /// Whether the last snapshot is written again.
    again: bool,
}

impl PreparedCluster {
    /// The run as bytes for the other ranks.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (stars, parts, resumed) = match &self.state {
            InitialState::Start(start) => (Star::of(start.bodies()), &[][..], None),
            InitialState::Resumed(checkpoint, _) => (
                checkpoint.stars.clone(),
                &checkpoint.parts[..],
                Some((checkpoint.time, checkpoint.counters.clone())),
            ),
        };
        let course = Course {
            specification: self.specification().clone(),
            resumed,
            particles: stars.len(),
            neighbours: parts.iter().map(|p| p.neighbours.len()).collect(),
            end: self.times.end,
            every: self.times.every,
            shown: [self.files.want_paths(), self.files.want_last_state()],
            recorded: self.recorded,
            again: self.again,
        };
        let number = |v: &Vec3<f64>| [v.x, v.y, v.z];
        let stars = stars.iter().flat_map(|star| {
            let taylor = star.taylor.iter().flat_map(number);
            [star.mass, star.time, star.step].into_iter().chain(taylor)
        });
        let parts = parts.iter().flat_map(|part| {
            let forces = part.irregular.iter().chain(&part.regular).flat_map(number);
            let neighbours = part.neighbours.iter().map(|n| f64::from(*n));
            let times = [part.radius, part.time, part.step];
            times.into_iter().chain(forces).chain(neighbours)
        });
        packed(&course, stars.chain(parts))
    }

    /// Reads bytes that [`to_bytes`](Self::to_bytes) of the same program made. The run makes the calls to the engine that rank 0 makes,
    /// in the same order, and writes nothing.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (course, stars, parts) = unpacked(bytes, read)?;
        let state = match course.resumed {
            Some((time, counters)) => {
                let checkpoint = Checkpoint {
                    specification: course.specification,
                    stars,
                    parts,
                    pairs: Vec::new(),
                    time,
                    counters,
                    history: History::default(),
                };
                InitialState::Resumed(Box::new(checkpoint), None)
            }
            None => {
                let start = course.specification.validate(bodies_of(&stars));
                InitialState::Start(start.map_err(|e| Error::Failed(e.to_string()))?)
            }
        };
        let [paths, last] = course.shown;
        Ok(Self {
            state,
            times: Times {
                end: course.end,
                every: course.every,
            },
            overrides: Overrides::default(),
            files: Files {
                plots: paths.then(PathBuf::new),
                out: last.then(PathBuf::new).into_iter().collect(),
                ..Files::default()
            },
            notes: Vec::new(),
            warnings: Vec::new(),
            record: None,
            claim: None,
            recorded: course.recorded,
            again: course.again,
        })
    }
}

fn read(
    course: Course,
    numbers: &mut dyn Iterator<Item = f64>,
) -> Option<(Course, Vec<Star>, Vec<Parts>)> {
    let mut next = || numbers.next();
    let mut stars = Vec::with_capacity(course.particles);
    for _ in 0..course.particles {
        let (mass, time, step) = (next()?, next()?, next()?);
        let mut star = Star::new(mass, Default::default(), Default::default());
        (star.time, star.step) = (time, step);
        for v in &mut star.taylor {
            (v.x, v.y, v.z) = (next()?, next()?, next()?);
        }
        stars.push(star);
    }
    let mut parts = Vec::with_capacity(course.neighbours.len());
    for count in &course.neighbours {
        let mut part = Parts {
            radius: next()?,
            time: next()?,
            step: next()?,
            neighbours: Vec::new(),
            irregular: Default::default(),
            regular: Default::default(),
        };
        for v in part.irregular.iter_mut().chain(&mut part.regular) {
            (v.x, v.y, v.z) = (next()?, next()?, next()?);
        }
        let neighbours = (0..*count).map(|_| next().map(|n| n as u32));
        part.neighbours = neighbours.collect::<Option<_>>()?;
        parts.push(part);
    }
    Some((course, stars, parts))
}
