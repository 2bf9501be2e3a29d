//! Start models, snapshots and checkpoints in files.
//!
//! - text: a particle on each line, `id mass x y z vx vy vz`, with numbers that restore the same bits; `#` begins a comment, of which
//!   `# trisolar {…}` holds the other values of the particles ([`Carried`](trisolar_bodies::files::Carried))
//! - all formats that [`bodies::files`](trisolar_bodies::files) reads and writes: N-body and cluster runs can read each other's files
//! - checkpoint: an npz with everything that a run needs to continue with the same bits

use std::path::Path;

use kernels_gpu::Vec3;
use kernels_gpu::hermite::TERMS;

use super::{Binaries, Counters, Line, Pair, Parts, Specification, Star};
use trisolar_bodies::files::{BodyFormat, write};
use trisolar_bodies::{Bodies, Tracks};
use trisolar_io::atomic::directory_of;
use trisolar_io::npz::{NpzReader, NpzWriter, SPECIFICATION};
use trisolar_run::Record;
use trisolar_time_run::History;

pub use trisolar_bodies::files::{FileError, read};

/// Reads the particles of a start model, their masses as they are in the file.
///
/// # Errors
/// As [`read()`].
pub fn read_bodies(path: &Path) -> Result<Bodies, FileError> {
    Ok(read(path)?.bodies)
}

/// The format of a file of particles with this name.
///
/// # Errors
/// A description of the allowed names.
pub fn format(path: &Path) -> Result<BodyFormat, &'static str> {
    Ok(match BodyFormat::of(path)? {
        BodyFormat::Text => BodyFormat::Particles,
        other => other,
    })
}

/// Writes particles of a run that are all at `time` of its own ([`Cluster::at`](super::Cluster::at)), in the [`format`](fn@format) of
/// the name, with their other values.
///
/// # Errors
/// [`FileError`].
pub fn write_snapshot(
    path: &Path,
    time: f64,
    stars: &[Star],
    specification: &Specification,
) -> Result<(), FileError> {
    let format = format(path).map_err(|reason| FileError::Contents {
        path: path.to_owned(),
        reason: reason.into(),
    })?;
    let time = specification.on_the_clock(time);
    let json = told(specification).to_string();
    Ok(write(
        path,
        format,
        &specification.bodies_of(stars),
        time,
        &json,
    )?)
}

/// The specification as JSON, with the gravitational constant that it leaves to the masses.
pub fn told(specification: &Specification) -> serde_json::Value {
    let mut json = serde_json::to_value(specification).expect("plain numbers and names");
    json["g"] = 1.0.into();
    json
}

/// The state of a run from which it can be resumed.
#[derive(Debug, PartialEq)]
pub struct Checkpoint {
    /// The specification of the integration.
    pub specification: Specification,
    /// The particles, each at the time of its last step.
    pub stars: Vec<Star>,
    /// The parts of their forces, see [`Cluster::parts`](super::Cluster::parts).
    pub parts: Vec<Parts>,
    /// The pairs that are integrated as single particles, see [`Cluster::pairs`](super::Cluster::pairs).
    pub pairs: Vec<Pair>,
    /// Time of the last block.
    pub time: f64,
    /// The work done so far.
    pub counters: Counters,
    /// The records until then, so that a resumed run writes the files of an uninterrupted one.
    pub history: History<Line>,
}

const STAR_NUMBERS: usize = 3 + 3 * TERMS;
const PART_NUMBERS: usize = 3 + 3 * 4;
const PAIR_NUMBERS: usize = 4 + 3 * 2;

impl Checkpoint {
    /// Writes it.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        self.write_with(path, None)
    }

    /// As [`write`](Self::write), with the options and written files of the run, so that `--resume` can continue with all of them.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn write_with(&self, path: &Path, run: Option<&Record>) -> Result<(), FileError> {
        let mut file = NpzWriter::create(path)?;
        let json = |value: Result<String, serde_json::Error>| value.expect("plain numbers");
        file.text(
            SPECIFICATION,
            &json(serde_json::to_string(&self.specification)),
        )?;
        file.text(
            "counters.json",
            &json(serde_json::to_string(&self.counters)),
        )?;
        let numbers: Vec<f64> = (self.stars.iter())
            .flat_map(|s| {
                let terms = s.taylor.iter().flat_map(|v| [v.x, v.y, v.z]);
                [s.mass, s.time, s.step].into_iter().chain(terms)
            })
            .collect();
        file.array("stars", &[self.stars.len(), STAR_NUMBERS], &numbers)?;
        file.array("time", &[1], &[self.time])?;
        if !self.parts.is_empty() {
            self.write_parts(&mut file)?;
        }
        if !self.pairs.is_empty() {
            self.write_pairs(&mut file)?;
        }
        self.history.write_moments("series", &mut file)?;
        if !self.history.tracks.times().is_empty() {
            self.history.tracks.write(&mut file)?;
        }
        if let Some(run) = run {
            run.write(&mut file)?;
        }
        file.finish()?;
        Ok(())
    }

    fn write_parts(&self, file: &mut NpzWriter) -> Result<(), FileError> {
        let numbers: Vec<f64> = (self.parts.iter())
            .flat_map(|p| {
                let vectors = p.irregular.iter().chain(&p.regular);
                [p.radius, p.time, p.step]
                    .into_iter()
                    .chain(vectors.flat_map(|v| [v.x, v.y, v.z]).collect::<Vec<_>>())
            })
            .collect();
        let lengths: Vec<u32> = (self.parts.iter())
            .map(|p| p.neighbours.len() as u32)
            .collect();
        let places: Vec<u32> = (self.parts.iter())
            .flat_map(|p| p.neighbours.iter().copied())
            .collect();
        file.array("parts", &[self.parts.len(), PART_NUMBERS], &numbers)?;
        file.array("neighbour_counts", &[lengths.len()], &lengths)?;
        file.array("neighbours", &[places.len()], &places)?;
        Ok(())
    }

    fn write_pairs(&self, file: &mut NpzWriter) -> Result<(), FileError> {
        let pairs = &self.pairs;
        let places: Vec<u32> = pairs.iter().flat_map(|p| p.places).collect();
        let numbers: Vec<f64> = (pairs.iter())
            .flat_map(|p| {
                let [x, v] = p.relative.map(|v| [v.x, v.y, v.z]);
                let first = [p.masses[0], p.masses[1], p.time, p.reach];
                first.into_iter().chain(x).chain(v)
            })
            .collect();
        let lengths: Vec<u32> = pairs.iter().map(|p| p.perturbers.len() as u32).collect();
        let perturbers: Vec<u32> = (pairs.iter())
            .flat_map(|p| p.perturbers.iter().copied())
            .collect();
        file.array("pair_places", &[pairs.len(), 2], &places)?;
        file.array("pairs", &[pairs.len(), PAIR_NUMBERS], &numbers)?;
        file.array("perturber_counts", &[lengths.len()], &lengths)?;
        file.array("perturbers", &[perturbers.len()], &perturbers)?;
        Ok(())
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let fail = |reason: String| FileError::Contents {
            path: path.to_owned(),
            reason,
        };
        let mut file = NpzReader::open(path)?;
        let specification = serde_json::from_str(&file.text(SPECIFICATION)?)
            .map_err(|e| fail(format!("{SPECIFICATION}: {e}")))?;
        let counters = serde_json::from_str(&file.text("counters.json")?)
            .map_err(|e| fail(format!("counters.json: {e}")))?;
        let stars = file.array::<f64>("stars")?;
        if stars.shape.len() != 2 || stars.shape[1] != STAR_NUMBERS || stars.shape[0] == 0 {
            return Err(fail(format!(
                "stars must be n x {STAR_NUMBERS}, it is {:?}",
                stars.shape
            )));
        }
        let time = file.array::<f64>("time")?;
        let [time] = time.values[..] else {
            return Err(fail("time must be one number".into()));
        };
        let stars: Vec<Star> = stars.values.chunks_exact(STAR_NUMBERS).map(star).collect();
        let specification: Specification = specification;
        let parts = match specification.ahmad_cohen {
            Some(_) => read_parts(&mut file, stars.len(), &fail)?,
            None => Vec::new(),
        };
        let line = Line {
            binaries: specification.close_pairs.map(|_| Binaries::default()),
            ..Line::default()
        };
        let mut history = History::in_folder(&directory_of(path)).like(line);
        if !history.read_moments("series", &mut file)? {
            return Err(fail(
                "series has other columns than those of its run".into(),
            ));
        }
        if let Some(tracks) = Tracks::read(&mut file)? {
            history.tracks = tracks.map_err(&fail)?;
        }
        let pairs = match file.has("pairs.npy") {
            true => read_pairs(&mut file, &fail)?,
            false => Vec::new(),
        };
        let checkpoint = Self {
            specification,
            stars,
            parts,
            pairs,
            time,
            counters,
            history,
        };
        checkpoint.check().map_err(&fail)?;
        Ok(checkpoint)
    }

    /// Checks that the pairs fit the particles; returns the vacant places.
    fn check_pairs(&self) -> Result<Vec<u32>, String> {
        let n = self.stars.len() as u32;
        let mut taken: Vec<u32> = self.pairs.iter().flat_map(|p| p.places).collect();
        let vacant: Vec<u32> = self.pairs.iter().map(|p| p.places[1]).collect();
        taken.sort_unstable();
        if taken.windows(2).any(|w| w[0] == w[1]) || taken.last().is_some_and(|p| *p >= n) {
            return Err(format!("the pairs are not different ones of {n} stars"));
        }
        if !self.pairs.is_empty() && self.specification.close_pairs.is_none() {
            return Err("there are pairs, but the specification has no close_pairs".into());
        }
        for pair in &self.pairs {
            let [first, second] = pair.places;
            let perturbs = |p: &u32| *p < n && *p != first && !vacant.contains(p);
            let sorted = pair.perturbers.windows(2).all(|w| w[0] < w[1]);
            if !sorted || !pair.perturbers.iter().all(perturbs) {
                return Err(format!(
                    "the perturbers of stars {first} and {second} are wrong"
                ));
            }
            let numbers = pair.relative.iter().flat_map(|v| [v.x, v.y, v.z]);
            let finite = numbers.chain([pair.time, pair.reach]).all(f64::is_finite);
            if !finite
                || pair.reach <= 0.0
                || !pair.masses.iter().all(|m| *m >= 0.0)
                || pair.mass() <= 0.0
            {
                return Err(format!("the orbit of stars {first} and {second} is wrong"));
            }
        }
        Ok(vacant)
    }

    /// Checks that the steps fit the specification and each other.
    fn check(&self) -> Result<(), String> {
        let mut bodies = Bodies::default();
        bodies.push(0.0, [0.0; 3], [0.0; 3]);
        let valid = self
            .specification
            .clone()
            .validate(bodies)
            .map_err(|e| e.to_string())?;
        let longest = valid.specification().max_step;
        let vacant = self.check_pairs()?;
        for (i, s) in self.stars.iter().enumerate() {
            if vacant.contains(&(i as u32)) {
                continue;
            }
            let power_of_two = s.step.is_normal() && s.step.to_bits() << 12 == 0;
            let level = (longest / s.step).log2();
            if !(power_of_two && s.step > 0.0 && (0.0..60.0).contains(&level)) {
                return Err(format!("star {i} has the step {}", s.step));
            }
            if !(s.time <= self.time
                && s.time + s.step > self.time
                && (s.time / s.step).fract() == 0.0)
            {
                return Err(format!(
                    "star {i} is at {} with the step {}",
                    s.time, s.step
                ));
            }
        }
        Ok(())
    }
}

/// The pairs that are integrated as single particles.
fn read_pairs(
    file: &mut NpzReader,
    fail: &dyn Fn(String) -> FileError,
) -> Result<Vec<Pair>, FileError> {
    let pairs = file.array::<f64>("pairs")?;
    let places = file.array::<u32>("pair_places")?;
    let lengths = file.array::<u32>("perturber_counts")?.values;
    let perturbers = file.array::<u32>("perturbers")?.values;
    let n = lengths.len();
    let total: usize = lengths.iter().map(|l| *l as usize).sum();
    if pairs.shape != [n, PAIR_NUMBERS] || places.shape != [n, 2] || perturbers.len() != total {
        let names = "pairs, pair_places, perturber_counts and perturbers";
        return Err(fail(format!("{names} do not fit each other")));
    }
    let mut rest = &perturbers[..];
    let rows = pairs.values.chunks_exact(PAIR_NUMBERS);
    let all = rows.zip(places.values.chunks_exact(2)).zip(lengths);
    let pair = |((row, places), length): ((&[f64], &[u32]), u32)| {
        let vector = |k: usize| Vec3 {
            x: row[k],
            y: row[k + 1],
            z: row[k + 2],
        };
        let (perturbers, others) = rest.split_at(length as usize);
        rest = others;
        Pair {
            places: [places[0], places[1]],
            masses: [row[0], row[1]],
            time: row[2],
            reach: row[3],
            relative: [vector(4), vector(7)],
            perturbers: perturbers.to_vec(),
        }
    };
    Ok(all.map(pair).collect())
}

/// The parts of the forces on `n` particles.
fn read_parts(
    file: &mut NpzReader,
    n: usize,
    fail: &dyn Fn(String) -> FileError,
) -> Result<Vec<Parts>, FileError> {
    let parts = file.array::<f64>("parts")?;
    let lengths = file.array::<u32>("neighbour_counts")?.values;
    let places = file.array::<u32>("neighbours")?.values;
    let total: usize = lengths.iter().map(|l| *l as usize).sum();
    if parts.shape != [n, PART_NUMBERS] || lengths.len() != n || places.len() != total {
        return Err(fail(format!(
            "parts, neighbour_counts and neighbours do not fit {n} stars"
        )));
    }
    if let Some(place) = places.iter().find(|p| **p as usize >= n) {
        return Err(fail(format!("neighbour {place} is none of {n} stars")));
    }
    let mut first = 0;
    let mut all = Vec::with_capacity(n);
    for (numbers, length) in parts.values.chunks_exact(PART_NUMBERS).zip(lengths) {
        let vector = |k: usize| Vec3 {
            x: numbers[3 + 3 * k],
            y: numbers[4 + 3 * k],
            z: numbers[5 + 3 * k],
        };
        let last = first + length as usize;
        all.push(Parts {
            radius: numbers[0],
            time: numbers[1],
            step: numbers[2],
            neighbours: places[first..last].to_vec(),
            irregular: [vector(0), vector(1)],
            regular: [vector(2), vector(3)],
        });
        first = last;
    }
    Ok(all)
}

fn star(n: &[f64]) -> Star {
    let vector = |k: usize| Vec3 {
        x: n[3 + 3 * k],
        y: n[4 + 3 * k],
        z: n[5 + 3 * k],
    };
    Star {
        mass: n[0],
        time: n[1],
        step: n[2],
        taylor: std::array::from_fn(vector),
    }
}
