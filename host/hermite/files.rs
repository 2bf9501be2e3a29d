//! Start models, snapshots and checkpoints in files.
//!
//! - text: a particle on each line, `id mass x y z vx vy vz`, with numbers that restore the same bits; `#` begins a comment, of which
//!   `# trisolar {…}` holds the other values of the particles ([`Carried`])
//! - npz: arrays `mass` (n), `position` and `velocity` (n x 3), `time` (1), and `spec.json`
//! - all formats that [`bodies::files`](trisolar_bodies::files) reads: N-body and cluster runs can read each other's files
//! - checkpoint: an npz with everything that a run needs to continue with the same bits

use std::io::Write as _;
use std::path::{Path, PathBuf};

use kernels_gpu::Vec3;
use kernels_gpu::hermite::TERMS;

use super::{Body, Counters, Parts, Specification, Star};
use trisolar_bodies::Bodies;
use trisolar_bodies::files::{self as bodies, BodyFile, Carried};
use trisolar_io::IoError;
use trisolar_io::atomic::{AtomicFile, write_with};
use trisolar_io::npz::{NpzReader, NpzWriter};
use trisolar_io::read::{self, Limit};
use trisolar_run::Record;

/// Why a file of particles could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A line does not describe a particle.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        reason: String,
    },
    /// A file of bodies in one of the formats of N-body runs cannot be read.
    #[error(transparent)]
    Bodies(#[from] bodies::FileError),
    /// The contents are inconsistent.
    #[error("{}: {reason}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// The error.
        reason: String,
    },
}

/// Whether a path is an npz file, by its extension, `.npz` or `.txt`.
///
/// # Errors
/// A description of the allowed extensions.
pub fn is_npz(path: &Path) -> Result<bool, String> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("npz") => Ok(true),
        Some("txt") => Ok(false),
        _ => Err("the name must end in .npz or .txt".into()),
    }
}

/// Reads the particles of a start model, their masses as they are in the file.
///
/// # Errors
/// As [`read()`].
pub fn read_bodies(path: &Path) -> Result<Vec<Body>, FileError> {
    Ok(particles(&read(path)?.bodies, 1.0))
}

/// Reads a start model with all other values of the file: the formats of [`bodies::read`], and text with a particle on each line.
///
/// # Errors
/// [`FileError`].
pub fn read(path: &Path) -> Result<BodyFile, FileError> {
    let extension = path.extension().and_then(|e| e.to_str());
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    if ["npz", "csv", "tipsy", "bin"].contains(&extension.as_str()) {
        return Ok(bodies::read(path)?);
    }
    let text = read::text(path, Limit::NUMBERS)?;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        // The first particle decides. Plane particles, and lines that are not particles, are refused here.
        match line.split_whitespace().count() {
            0 => {}
            7 | 8 => break,
            n => {
                return Err(FileError::Line {
                    path: path.to_owned(),
                    line: number + 1,
                    reason: format!("must be id mass x y z vx vy vz, 8 numbers; it has {n}"),
                });
            }
        }
    }
    let mut file = bodies::parse(path, &text)?;
    file.usual_g = 1.0;
    Ok(file)
}

/// Bodies as particles, whose masses are G times those of the bodies.
pub(super) fn particles(bodies: &Bodies, g: f64) -> Vec<Body> {
    (0..bodies.len())
        .map(|i| Body {
            mass: g * bodies.mass[i],
            position: bodies.position[i],
            velocity: bodies.velocity[i],
        })
        .collect()
}

fn flat(vectors: impl Iterator<Item = Vec3<f64>>) -> Vec<f64> {
    vectors.flat_map(|v| [v.x, v.y, v.z]).collect()
}

/// Writes particles of a run that are all at `time` of its own ([`Cluster::at`](super::Cluster::at)), in the format of [`is_npz`],
/// with their other values.
///
/// # Errors
/// [`FileError`].
pub fn write_snapshot(
    path: &Path,
    time: f64,
    stars: &[Star],
    specification: &Specification,
) -> Result<(), FileError> {
    let time = specification.on_the_clock(time);
    let npz = is_npz(path).map_err(|reason| FileError::Contents {
        path: path.to_owned(),
        reason,
    })?;
    if npz {
        let mut file = NpzWriter::create(path)?;
        let n = stars.len();
        let mass: Vec<f64> = stars.iter().map(|s| s.mass).collect();
        file.array("mass", &[n], &mass)?;
        file.array(
            "position",
            &[n, 3],
            &flat(stars.iter().map(|s| s.taylor[0])),
        )?;
        file.array(
            "velocity",
            &[n, 3],
            &flat(stars.iter().map(|s| s.taylor[1])),
        )?;
        file.array("time", &[1], &[time])?;
        file.text("spec.json", &told(specification).to_string())?;
        file.finish()?;
        return Ok(());
    }
    write_with(path, |file: &mut AtomicFile| {
        let written = (|| {
            writeln!(file, "# time {time:?}")?;
            let (carried, _) = Carried::from_specification(&told(specification));
            let carried = Carried {
                time: Some(time),
                ..carried
            };
            writeln!(file, "{}", carried.comment())?;
            writeln!(file, "# id mass x y z vx vy vz")?;
            for (id, s) in stars.iter().enumerate() {
                let (p, v) = (s.taylor[0], s.taylor[1]);
                writeln!(
                    file,
                    "{id} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                    s.mass, p.x, p.y, p.z, v.x, v.y, v.z
                )?;
            }
            Ok(())
        })();
        written.map_err(|e| file.error(e))
    })?;
    Ok(())
}

/// The specification as JSON, with the gravitational constant that it leaves to the masses.
pub fn told(specification: &Specification) -> serde_json::Value {
    let mut json = serde_json::to_value(specification).expect("plain numbers and names");
    json["g"] = 1.0.into();
    json
}

/// The state of a run from which it can be resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The specification of the integration.
    pub specification: Specification,
    /// The particles, each at the time of its last step.
    pub stars: Vec<Star>,
    /// The parts of their forces, see [`Cluster::parts`](super::Cluster::parts).
    pub parts: Vec<Parts>,
    /// Time of the last block.
    pub time: f64,
    /// The work done so far.
    pub counters: Counters,
    /// The recorded diagnostics, in rows of equal length.
    pub series: Vec<Vec<f64>>,
}

const STAR_NUMBERS: usize = 3 + 3 * TERMS;
const PART_NUMBERS: usize = 3 + 3 * 4;

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
            "specification.json",
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
        let width = self.series.first().map_or(0, Vec::len);
        file.array("series", &[self.series.len(), width], &self.series.concat())?;
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
        let specification = serde_json::from_str(&file.text("specification.json")?)
            .map_err(|e| fail(format!("specification.json: {e}")))?;
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
        let series = file.array::<f64>("series")?;
        let width = series.shape.get(1).copied().unwrap_or(0).max(1);
        let stars: Vec<Star> = stars.values.chunks_exact(STAR_NUMBERS).map(star).collect();
        let specification: Specification = specification;
        let parts = match specification.ahmad_cohen {
            Some(_) => read_parts(&mut file, stars.len()).map_err(|e| match e {
                PartsError::File(e) => e.into(),
                PartsError::Contents(reason) => fail(reason),
            })?,
            None => Vec::new(),
        };
        let checkpoint = Self {
            specification,
            stars,
            parts,
            time,
            counters,
            series: series
                .values
                .chunks_exact(width)
                .map(<[f64]>::to_vec)
                .collect(),
        };
        checkpoint.check().map_err(fail)?;
        Ok(checkpoint)
    }

    /// Checks that the steps fit the specification and each other.
    fn check(&self) -> Result<(), String> {
        let bodies: Vec<Body> = vec![Body::default(); 1];
        let valid = self
            .specification
            .clone()
            .validate(bodies)
            .map_err(|e| e.to_string())?;
        let longest = valid.specification().max_step;
        for (i, s) in self.stars.iter().enumerate() {
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

enum PartsError {
    File(IoError),
    Contents(String),
}

impl From<IoError> for PartsError {
    fn from(error: IoError) -> Self {
        Self::File(error)
    }
}

/// The parts of the forces on `n` particles.
fn read_parts(file: &mut NpzReader, n: usize) -> Result<Vec<Parts>, PartsError> {
    let parts = file.array::<f64>("parts")?;
    let lengths = file.array::<u32>("neighbour_counts")?.values;
    let places = file.array::<u32>("neighbours")?.values;
    let total: usize = lengths.iter().map(|l| *l as usize).sum();
    if parts.shape != [n, PART_NUMBERS] || lengths.len() != n || places.len() != total {
        return Err(PartsError::Contents(format!(
            "parts, neighbour_counts and neighbours do not fit {n} stars"
        )));
    }
    if let Some(place) = places.iter().find(|p| **p as usize >= n) {
        return Err(PartsError::Contents(format!(
            "neighbour {place} is none of {n} stars"
        )));
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
