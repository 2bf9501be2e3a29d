//! Start models from files. The name determines the format: `.npz`; `.tipsy`, `.std` or `.bin`, which are TIPSY; any other name is text.

use std::path::Path;

use glam::DVec3;
use serde_json::Value;

use super::{BodyFile, Carried, FileError, tipsy};
use crate::io::npz::{NpzReader, SPECIFICATION};
use crate::io::read::{self, Limit};
use crate::table::{
    Rows, Separator, Unreadable, Word, hint_at_comma, is_like_a_number, number, place,
};
use crate::{Bodies, MAX_BODIES};

/// The gravitational constant in SI units, which the texts of Pacheco & Malensek (2021) use.
const SI_G: f64 = 6.673e-11;

/// Reads bodies and the number of dimensions that the file gives them.
///
/// # Errors
/// As [`read()`].
pub fn read_bodies(path: &Path) -> Result<(Bodies, u8), FileError> {
    let file = read(path)?;
    Ok((file.bodies, file.dimensions))
}

/// Reads bodies and the other values of the file.
///
/// - text: a body on each line, its values between blanks, tabs, commas or semicolons. If the first line, or a comment before it, has the
///   names of the columns, these are `mass` (or `m`), `x`, `y`, `vx`, `vy`, and `z`, `vz` for three dimensions, in any order and case;
///   `name` (or `id`) names bodies; `g`, `softening` (or `eps`), `time` (or `t`) and `dt` are the same in every line. Without names, the
///   values are `mass x y vx vy`, `mass x y z vx vy vz`, or a name before these seven. A comment `# trisolar {…}` holds [`Carried`]
/// - npz: arrays `mass` (n), `position` and `velocity` (n × 3 or n × 2); `time` and `specification.json` are
///   [`Carried`]
/// - TIPSY: binary of either byte order; with gas, dark matter and stars; G = 1, the time and the softening of dark matter and
///   stars are [`Carried`]
///
/// # Errors
/// [`FileError`], with file, line and column for texts.
pub fn read(path: &Path) -> Result<BodyFile, FileError> {
    let extension = path.extension().and_then(|e| e.to_str());
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "npz" => npz(path),
        "tipsy" | "std" | "bin" => {
            let bytes = read::bytes(path, Limit::SNAPSHOT)?;
            let (bodies, carried) =
                tipsy::read(&bytes).map_err(|reason| FileError::contents(path, reason))?;
            filled(path, BodyFile::new(bodies, 3, carried, 1.0))
        }
        _ => {
            let text = read::text(path, Limit::NUMBERS)?;
            let file = TextReader::new(&text).read();
            let file = file.map_err(|(at, reason)| {
                let (line, column) = place(&text, at);
                let path = path.to_owned();
                FileError::Place {
                    path,
                    line,
                    column,
                    reason,
                }
            })?;
            filled(path, file)
        }
    }
}

const SPACE: [&str; 7] = ["mass", "x", "y", "z", "vx", "vy", "vz"];
const NAMED: [&str; 8] = ["name", "mass", "x", "y", "z", "vx", "vy", "vz"];
const PLANE: [&str; 5] = ["mass", "x", "y", "vx", "vy"];

/// Columns that have the same value in every line.
const COMMON: [&str; 4] = ["g", "softening", "time", "dt"];

/// The column that a name in a text means, if it is one of those above.
fn meaning(name: &str) -> Option<&'static str> {
    let name = match name.to_lowercase().as_str() {
        "m" => "mass".to_owned(),
        "id" => "name".to_owned(),
        "eps" | "epsilon" => "softening".to_owned(),
        "t" => "time".to_owned(),
        lower => lower.to_owned(),
    };
    let known = NAMED.iter().chain(&COMMON).find(|known| **known == name);
    known.copied()
}

/// The columns of a text.
struct Columns {
    /// The places of the columns of [`SPACE`] or [`PLANE`].
    numbers: Vec<usize>,
    /// Which of the two it is.
    names: &'static [&'static str],
    /// The places of those of [`COMMON`].
    common: [Option<usize>; COMMON.len()],
    /// The place of the bodies' names.
    name: Option<usize>,
    /// The number of columns.
    count: usize,
    /// Whether the text names them.
    are_named: bool,
}

impl Columns {
    /// Those of a text without names, by their number.
    fn of_count(count: usize) -> Option<Self> {
        let all: &[&str] = match count {
            5 => &PLANE,
            7 => &SPACE,
            8 => &NAMED,
            _ => return None,
        };
        let name = (all[0] == "name").then_some(0);
        let skipped = usize::from(name.is_some());
        Some(Self {
            numbers: (skipped..count).collect(),
            names: if all.len() == 5 { &PLANE } else { &SPACE },
            common: [None; COMMON.len()],
            name,
            count,
            are_named: false,
        })
    }

    /// Those that the words of a line name, and notes about them.
    fn named(words: &[Word<'_>]) -> Result<(Self, Vec<String>), Unreadable> {
        let mut meanings: Vec<_> = words.iter().map(|word| meaning(&word.text)).collect();
        let is = |at: usize, name| words[at].text.eq_ignore_ascii_case(name);
        let all = words.iter().map(|word| &*word.text).collect::<Vec<_>>();
        for (at, meaning) in meanings.iter_mut().enumerate() {
            // Red, green and blue.
            let is_colour = at > 0 && at + 1 < words.len() && is(at - 1, "r") && is(at + 1, "b");
            // Bodies may have numbers and names.
            let is_number = is(at, "id") && (0..words.len()).any(|other| is(other, "name"));
            if (is(at, "g") && is_colour) || is_number {
                *meaning = None;
            }
        }
        for (at, meaning) in meanings.iter().enumerate() {
            let before = meanings[..at].iter().position(|other| other == meaning);
            if let (Some(name), Some(before)) = (meaning, before) {
                let reason = format!(
                    "the column {name} stands here as '{}' and before as '{}': expected it once",
                    words[at].text, words[before].text
                );
                return Err((words[at].at, reason));
            }
        }
        let of = |name: &str| meanings.iter().position(|other| *other == Some(name));
        let spatial = of("z").is_some() || of("vz").is_some();
        let names: &[&str] = if spatial { &SPACE } else { &PLANE };
        let mut numbers = Vec::new();
        for name in names {
            let Some(at) = of(name) else {
                let reason = format!(
                    "there is no column {name} among {}: expected {}, or in a plane without z and vz",
                    all.join(", "),
                    SPACE.join(", ")
                );
                return Err((words[0].at, reason));
            };
            numbers.push(at);
        }
        let unused: Vec<&Word<'_>> = (words.iter().zip(&meanings))
            .filter(|(word, meaning)| meaning.is_none() && !word.text.is_empty())
            .map(|(word, _)| word)
            .collect();
        for word in &unused {
            let lower = word.text.to_lowercase();
            let meant = [("softening", 2), ("time", 1)]
                .into_iter()
                .find(|(name, most)| {
                    of(name).is_none() && strsim::osa_distance(name, &lower) <= *most
                });
            if let Some((name, _)) = meant {
                let reason = format!(
                    "the column '{}' is not known: correct it to {name}, or give it another name",
                    word.text
                );
                return Err((word.at, reason));
            }
        }
        let mut notes = Vec::new();
        let used =
            (all.iter().zip(&meanings)).filter_map(|(word, meaning)| Some((*word, (*meaning)?)));
        let (words_used, meant): (Vec<_>, Vec<_>) = used.unzip();
        if (words_used.iter().zip(&meant)).any(|(word, meant)| !word.eq_ignore_ascii_case(meant)) {
            notes.push(format!(
                "the columns {} are read as {}",
                words_used.join(", "),
                meant.join(", ")
            ));
        }
        if !unused.is_empty() {
            let unused: Vec<_> = unused.iter().map(|word| &*word.text).collect();
            notes.push(format!("these columns are not used: {}", unused.join(", ")));
        }
        let columns = Self {
            numbers,
            names,
            common: COMMON.map(of),
            name: of("name"),
            count: words.len(),
            are_named: true,
        };
        Ok((columns, notes))
    }

    /// What a line should have, in words.
    fn expected(&self, is_first: bool) -> String {
        let before = if is_first {
            ""
        } else {
            ", as in the lines before"
        };
        match self.count {
            _ if self.are_named => format!("expected {}, one for each name", self.count),
            5 if is_first => UNNAMED.into(),
            8 => format!("expected a name and mass x y z vx vy vz{before}"),
            _ => format!(
                "expected {} numbers, {}{before}",
                self.count,
                self.names.join(" ")
            ),
        }
    }
}

/// What a line without names should have.
const UNNAMED: &str = "expected 5 numbers, mass x y vx vy, or 7, mass x y z vx vy vz, or a name before these 7; with the names of the \
                       columns in the first line, there may be others, in any order";

/// Numbers before the bodies.
#[derive(Default)]
struct Header {
    /// The first words of each line, of which there are not more than [`Header::MOST`].
    lines: Vec<Vec<String>>,
    /// The number of lines.
    count: usize,
    /// Where it begins.
    at: usize,
    /// Where its last line ends, and how many words this has.
    last: (usize, usize),
}

impl Header {
    const MOST: usize = 8;

    fn add(&mut self, words: &[Word<'_>]) {
        let Some(last) = words.last() else { return };
        if self.count == 0 {
            self.at = words[0].at;
        }
        self.count += 1;
        self.last = (last.at + last.text.len(), words.len());
        if self.lines.len() < Self::MOST {
            let words = words.iter().take(Self::MOST);
            self.lines
                .push(words.map(|word| word.text.to_string()).collect());
        }
    }

    /// The number in each line, if all have one.
    fn numbers(&self) -> Option<Vec<f64>> {
        let one = |words: &Vec<String>| (words.len() == 1).then(|| number(&words[0])).flatten();
        let whole = self.count == self.lines.len();
        self.lines
            .iter()
            .map(one)
            .collect::<Option<_>>()
            .filter(|_| whole)
    }

    /// The time that it gives `n` bodies, if it is one of those that have a single meaning: the number of bodies, or that of a step, of
    /// bodies and a time (phi-GPU, `data.inp`).
    fn time(&self, n: usize, are_numbered: bool) -> Result<Option<f64>, Unreadable> {
        let n = n as f64;
        match self.numbers().as_deref() {
            _ if self.count == 0 => Ok(None),
            Some([count]) if *count == n => Ok(None),
            Some([_, count, time]) if *count == n && are_numbered && time.is_finite() => {
                Ok(Some(*time))
            }
            _ => {
                let lines: Vec<String> = self.lines.iter().map(|words| words.join(" ")).collect();
                let these = match self.count {
                    1 => "the first line is no body but a header",
                    _ => "the first lines are no bodies but a header",
                };
                let reason = format!(
                    "{these} ({}), before {n} bodies: remove it, or begin each of its lines with #; a start time may stand in a comment, \
                     # trisolar {{\"time\": 0.5}}",
                    lines.join(" | ")
                );
                Err((self.at, reason))
            }
        }
    }

    /// Why a text that has nothing else has no bodies.
    fn refuse(&self, text: &str) -> Unreadable {
        let (end, words) = self.last;
        let blocks = |n: &f64| *n >= 1.0 && (self.count as f64) >= 3.0 + 3.0 * n;
        let first: Option<Vec<f64>> = (self.lines.iter().take(3))
            .map(|words| (words.len() == 1).then(|| number(&words[0])).flatten())
            .collect();
        if let Some([n, 2.0 | 3.0, _]) = first.as_deref()
            && blocks(n)
        {
            let reason = "the file has all masses, then all positions, then all velocities (NEMO's atos): expected a line for each body, \
                          mass x y z vx vy vz, as NEMO's snapprint writes them";
            return (self.at, reason.into());
        }
        let reason = format!("the line ends after {words} numbers: {UNNAMED}");
        (end.min(text.len()), reason)
    }
}

/// Reads a text of bodies.
struct TextReader<'a> {
    text: &'a str,
    separator: Separator,
    header: Header,
    columns: Option<Columns>,
    bodies: Bodies,
    carried: Carried,
    common: [Option<f64>; COMMON.len()],
    names: Vec<String>,
    notes: Vec<String>,
}

impl<'a> TextReader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            separator: Separator::of(text),
            header: Header::default(),
            columns: None,
            bodies: Bodies::default(),
            carried: Carried::default(),
            common: [None; COMMON.len()],
            names: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn read(mut self) -> Result<BodyFile, Unreadable> {
        let mut rows = Rows::new(self.text, Some(self.separator));
        // A value of a CSV may have a # in it.
        rows.comments_behind = false;
        while let Some(mut words) = rows.next()? {
            for comment in &rows.comments {
                self.comment(comment)?;
            }
            match &self.columns {
                None => self.first(words, rows.comments.last().copied())?,
                Some(columns) => {
                    if words.len() == columns.count + 1 && words[columns.count].text.is_empty() {
                        words.pop();
                    }
                    self.body(&words)?;
                }
            }
        }
        for comment in &rows.comments {
            self.comment(comment)?;
        }
        self.file()
    }

    /// A comment, which may hold values of the bodies.
    fn comment(&mut self, comment: &str) -> Result<(), Unreadable> {
        if let Some(told) = Carried::from_comment(comment) {
            let at = comment.as_ptr() as usize - self.text.as_ptr() as usize;
            self.carried = told.map_err(|reason| (at, reason))?;
        }
        Ok(())
    }

    /// A line before it is known which columns there are, and the comment before it.
    fn first(
        &mut self,
        mut words: Vec<Word<'a>>,
        comment: Option<&'a str>,
    ) -> Result<(), Unreadable> {
        if words.len() > 1 && words.last().is_some_and(|word| word.text.is_empty()) {
            words.pop();
        }
        let are_numbers = words.iter().map(|word| is_like_a_number(&word.text));
        let numbers = are_numbers.filter(|is| *is).count();
        if numbers == 0 {
            return self.take_names(&words);
        }
        if numbers == words.len() && words.len() < PLANE.len() {
            self.header.add(&words);
            return Ok(());
        }
        if self.separator != Separator::Blanks {
            let reason = format!(
                "line {} has numbers instead of the names of the columns: expected {} there; only values between blanks, and not between \
                 {}, may go without names",
                place(self.text, words[0].at).0,
                SPACE.join(","),
                self.separator.in_words(),
            );
            return Err((words[0].at, reason));
        }
        if let Some(comment) = comment {
            self.take_names_of(comment, words.len())?;
        }
        if self.columns.is_none() {
            self.columns = Columns::of_count(words.len());
        }
        // The line is refused as one of a plane if there is no such number of columns.
        self.columns
            .get_or_insert_with(|| Columns::of_count(PLANE.len()).expect("five columns"));
        let has_header = self.header.count > 0;
        self.body(&words).map_err(|(at, reason)| match has_header {
            true => (
                at,
                format!("{reason}; remove the header before this line, too"),
            ),
            false => (at, reason),
        })
    }

    fn take_names(&mut self, words: &[Word<'_>]) -> Result<(), Unreadable> {
        let (columns, notes) = Columns::named(words)?;
        self.columns = Some(columns);
        self.notes = notes;
        Ok(())
    }

    /// Takes the names of the columns from a comment, if it has one for each and all of them mean something.
    fn take_names_of(&mut self, comment: &'a str, count: usize) -> Result<(), Unreadable> {
        let names = comment.trim_start_matches(['#', '%', '!', '/']);
        let Ok(Some(words)) = Rows::new(names, None).next() else {
            return Ok(());
        };
        let usual = match count {
            8 => &NAMED[..],
            7 => &SPACE,
            _ => &PLANE,
        };
        let meanings: Option<Vec<_>> = words.iter().map(|word| meaning(&word.text)).collect();
        if meanings.is_some_and(|found| found.len() == count && found != usual) {
            let from = names.as_ptr() as usize - self.text.as_ptr() as usize;
            self.take_names(&words)
                .map_err(|(at, reason)| (from + at, reason))?;
        }
        Ok(())
    }

    fn body(&mut self, words: &[Word<'a>]) -> Result<(), Unreadable> {
        let Some(columns) = &self.columns else {
            return Ok(());
        };
        let is_first = self.bodies.is_empty();
        if words.len() != columns.count {
            let expected = columns.expected(is_first);
            let last = words
                .last()
                .map_or(self.text.len(), |word| word.at + word.text.len());
            let surplus = words.get(columns.count);
            let at = surplus.map_or(last, |word| word.at);
            let reason = match surplus {
                _ if columns.are_named => {
                    format!("the line has {} values: {expected}", words.len())
                }
                Some(surplus) => format!("'{}' is one value too many: {expected}", surplus.text),
                None => format!("the line ends after {} numbers: {expected}", words.len()),
            };
            return Err((at, reason));
        }
        let read = |at: usize, name: &str| {
            let word = &words[at];
            let fail =
                |expected: String| (word.at, format!("'{}' for {name}: {expected}", word.text));
            match number(&word.text) {
                Some(x) if x.is_finite() => Ok(x),
                Some(_) => Err(fail("expected a finite number".into())),
                None => Err(fail(format!(
                    "expected a number{}",
                    hint_at_comma(&word.text)
                ))),
            }
        };
        let mut numbers = [0.0; SPACE.len()];
        for (at, name) in columns.numbers.iter().zip(columns.names) {
            let place = SPACE.iter().position(|other| other == name);
            numbers[place.expect("a column of space")] = read(*at, name)?;
        }
        for ((told, at), name) in self.common.iter_mut().zip(columns.common).zip(COMMON) {
            let Some(at) = at else { continue };
            let number = read(at, name)?;
            if *told.get_or_insert(number) != number {
                let reason = format!(
                    "'{}' for {name}: expected the same in every line",
                    words[at].text
                );
                return Err((words[at].at, reason));
            }
        }
        self.names
            .extend(columns.name.map(|at| words[at].text.to_string()));
        let [mass, x, y, z, vx, vy, vz] = numbers;
        self.bodies.push(mass, [x, y, z], [vx, vy, vz]);
        Ok(())
    }

    fn file(mut self) -> Result<BodyFile, Unreadable> {
        let Some(columns) = &self.columns else {
            return match self.header.count {
                0 => Ok(BodyFile::default()),
                _ => Err(self.header.refuse(self.text)),
            };
        };
        let is_numbered = columns.name.is_some();
        let time = self.header.time(self.bodies.len(), is_numbered)?;
        let [g, softening, told, dt] = self.common;
        let carried = &mut self.carried;
        carried.g = g.or(carried.g);
        carried.softening = softening.or(carried.softening);
        carried.time = told.or(carried.time).or(time);
        carried.dt = dt.or(carried.dt);
        let names = &self.names;
        // Consecutive numbers are not names.
        if (names.iter().enumerate()).any(|(i, name)| name.parse() != Ok(i))
            && carried.names.is_none()
        {
            let is_number = |name: &String| number(name).is_some();
            let is_real = |name: &String| is_number(name) && name.parse::<i64>().is_err();
            if !columns.are_named && names.iter().all(is_number) && names.iter().any(is_real) {
                let reason = format!(
                    "the first of the 8 columns ({} in the first line) is neither a name nor a number of the body, before {}: begin the file \
                     with the names of its columns, such as x y vx vy mass r g b",
                    names[0],
                    SPACE.join(", ")
                );
                return Err((0, reason));
            }
            carried.names = Some(self.names);
        }
        // The format of Pacheco & Malensek.
        let usual_g = match columns.count == PLANE.len() && !columns.are_named {
            true => SI_G,
            false => 1.0,
        };
        let dimensions = if columns.names.len() == PLANE.len() {
            2
        } else {
            3
        };
        let file = BodyFile::new(self.bodies, dimensions, self.carried, usual_g);
        Ok(BodyFile {
            notes: self.notes,
            ..file
        })
    }
}

/// Reads bodies from an npz with any name.
///
/// # Errors
/// As [`read()`].
pub fn npz(path: &Path) -> Result<BodyFile, FileError> {
    let mut file = NpzReader::open(path)?;
    let mass = file.array_of::<f64>("mass", MAX_BODIES)?;
    let n = mass.values.len();
    let fail = |reason: String| FileError::contents(path, reason);
    if mass.shape != [n] {
        return Err(fail(format!(
            "mass must have one dimension; its shape is {:?}",
            mass.shape
        )));
    }
    let mut vectors = |name: &str| -> Result<(Vec<DVec3>, usize), FileError> {
        let array = file.array_of::<f64>(name, 3 * n)?;
        let width = match array.shape[..] {
            [rows, width @ (2 | 3)] if rows == n => width,
            _ => {
                return Err(fail(format!(
                    "{name} must be {n} x 3 or {n} x 2, as mass has {n} values; its shape is {:?}",
                    array.shape
                )));
            }
        };
        let vector = |v: &[f64]| DVec3::new(v[0], v[1], v.get(2).copied().unwrap_or(0.0));
        Ok((
            array.values.chunks_exact(width).map(vector).collect(),
            width,
        ))
    };
    let (position, width) = vectors("position")?;
    let (velocity, other) = vectors("velocity")?;
    if width != other {
        return Err(fail(format!(
            "position has {width} columns and velocity {other}: expected the same number"
        )));
    }
    let bodies = Bodies {
        mass: mass.values,
        position,
        velocity,
    };
    let (carried, dimensions) = told_by_npz(&mut file, path)?;
    let dimensions = dimensions.unwrap_or(width as u8).min(width as u8);
    filled(path, BodyFile::new(bodies, dimensions, carried, 1.0))
}

/// The other values of an npz, and the number of dimensions.
fn told_by_npz(file: &mut NpzReader, path: &Path) -> Result<(Carried, Option<u8>), FileError> {
    let fail = |reason: String| FileError::contents(path, reason);
    let mut json = |name: &str| -> Result<Option<Value>, FileError> {
        if !file.has(name) {
            return Ok(None);
        }
        let text = file.text(name)?;
        let value = serde_json::from_str(&text);
        value.map(Some).map_err(|e| fail(format!("{name}: {e}")))
    };
    let (specification, checkpoint) = {
        let former = json("spec.json")?;
        (json(SPECIFICATION)?.or(former), json("checkpoint.json")?)
    };
    let of_checkpoint = checkpoint.as_ref().and_then(|c| c.get("specification"));
    let told = specification.as_ref().or(of_checkpoint);
    let (mut carried, dimensions) = told.map_or_else(Default::default, Carried::from_specification);
    carried.time = checkpoint.as_ref().and_then(time_of_checkpoint);
    if file.has("time.npy") {
        let time = file.array_of::<f64>("time", 1)?;
        let [time] = time.values[..] else {
            return Err(fail("time must be one number".into()));
        };
        carried.time = Some(time);
    }
    Ok((carried, dimensions))
}

/// The time of the bodies of a checkpoint.
fn time_of_checkpoint(checkpoint: &Value) -> Option<f64> {
    let specification = checkpoint.get("specification")?;
    let number = |key: &str| specification.get(key)?.as_f64();
    let step = checkpoint.get("step")?.as_u64()?;
    let start = number("start_time").unwrap_or_default();
    Some(time_of_step(start, step, number("dt")?))
}

/// The time after this many steps.
pub fn time_of_step(start: f64, step: u64, dt: f64) -> f64 {
    start + step as f64 * dt
}

fn filled(path: &Path, file: BodyFile) -> Result<BodyFile, FileError> {
    if file.bodies.is_empty() {
        return Err(FileError::contents(path, "it contains no bodies".into()));
    }
    let told = file.carried.check(file.bodies.len());
    told.map_err(|reason| FileError::contents(path, reason))?;
    let notes = file
        .notes
        .iter()
        .map(|note| format!("{}: {note}", path.display()));
    Ok(BodyFile {
        notes: notes.collect(),
        ..file
    })
}
