//! Single start states instead of the grid of a map, from memory or a file.

use std::borrow::Cow;
use std::path::Path;

use glam::DVec3;
use kernels_gpu::map::Grid;
use kernels_gpu::number::Long;
use trisolar_equations::Law;

use crate::io::npy;
use crate::io::npz::NpzReader;
use crate::io::read::{self, Limit};
use crate::spec::SpecError;
use crate::table::{Rows, Unreadable, Word, hint_at_comma, is_like_a_number, number, place};

/// Largest number of points.
pub const MAX_POINTS: u64 = 1 << 32;

/// A start state for each pixel. Values that the states do not contain come from the specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// How the points are arranged.
    shape: Vec<usize>,
    /// Numbers per point.
    columns: usize,
    source: Source,
    /// What the positions of the grid body have beyond the digits of given numbers; empty if nothing.
    rests: Vec<[f64; 3]>,
}

/// Where the numbers of points come from.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    /// Memory: the numbers of one point after another.
    Given(Vec<f64>),
    /// Laws, for points that are arranged in rows and columns.
    Made(Box<Starts>),
}

/// Start states that follow from the number of a point, so that they take no memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Starts {
    /// The law of each number of a point of 21 numbers; see [`Points::new`].
    pub laws: [Law; MOST],
    /// The seed of all that is drawn.
    pub seed: u64,
    /// Columns and rows.
    pub size: [u64; 2],
    /// Keys of the specification that are not used, because the laws replace them.
    pub replaced: &'static [&'static str],
    /// The coordinates that follow from a rectangle in place of a law.
    pub rectangle: Option<Rectangle>,
}

/// Coordinates of a body that follow from its place on a map, with more digits than an `f64` has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle {
    /// The places of the points.
    pub grid: Grid,
    /// The body: 0, 1 or 2.
    pub body: usize,
    /// Which of its three coordinates follow from there.
    pub follows: [bool; 3],
}

impl Rectangle {
    /// A coordinate of the body, if it follows from here.
    #[inline]
    fn coordinate(&self, i: usize, axis: usize) -> Option<Long> {
        self.follows[axis].then(|| self.grid.place(i as u64)[axis])
    }
}

/// The allowed numbers of a point, for messages.
const ALLOWED: &str = "each point needs 3 numbers (x, y, z of the grid body), 9 (x, y, z of bodies 1, 2, 3), 18 (also \
                       their velocities) or 21 (and their masses)";

/// The least of these numbers.
const FEWEST: usize = 3;
/// The greatest.
const MOST: usize = 21;

/// Checks that names of columns do not contradict the order of the numbers: `x1` is no name for a mass or for a position of body 2. Names
/// that do not look like these are taken for descriptions.
fn check_names(names: &[Word<'_>], columns: usize) -> Result<(), Unreadable> {
    const AXES: [&str; 3] = ["x", "y", "z"];
    const SPEEDS: [&str; 3] = ["vx", "vy", "vz"];
    let (mut shift, mut known) = (None, false);
    for (k, word) in names.iter().enumerate() {
        let (what, body) = match k {
            18.. => ("m", k - 17),
            9.. => (SPEEDS[k % 3], k / 3 - 2),
            _ => (AXES[k % 3], k / 3 + 1),
        };
        let lower = word.text.to_lowercase();
        let letters = lower
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .trim_end_matches('_');
        let letters = if letters == "mass" { "m" } else { letters };
        if !AXES.iter().chain(&SPEEDS).any(|name| *name == letters) && letters != "m" {
            continue;
        }
        known = true;
        let digits = lower.trim_start_matches(|c: char| !c.is_ascii_digit());
        // Bodies may be counted from 0 or from 1.
        let counted = digits.parse().ok().filter(|_| columns > FEWEST);
        let away = counted.map(|number: u32| body as i64 - i64::from(number));
        let misplaced = away.is_some_and(|away| *shift.get_or_insert(away) != away);
        if letters != what || misplaced {
            let reason = format!(
                "column {} is called '{}', but holds {what} of body {body}: {ALLOWED}",
                k + 1,
                word.text
            );
            return Err((word.at, reason));
        }
    }
    if known && names.len() != columns {
        let reason = format!("there are {} names for {columns} columns", names.len());
        return Err((names[0].at, reason));
    }
    Ok(())
}

fn refuse(given: String, allowed: impl Into<String>) -> SpecError {
    SpecError::new("points", given, allowed)
}

impl Points {
    /// Points from an array (C order) whose last axis has the numbers of a point: 3 (start position of the grid body), 9
    /// (positions of bodies 1, 2, 3), 18 (also their velocities) or 21 (also their masses). The other axes are the shape in which the
    /// points are arranged.
    ///
    /// # Errors
    /// A shape or a number that is not allowed.
    pub fn new(shape: &[usize], values: Vec<f64>) -> Result<Self, SpecError> {
        let (columns, arranged) = match shape.split_last() {
            Some((columns @ (3 | 9 | 18 | 21), arranged)) if !arranged.is_empty() => {
                (*columns, arranged)
            }
            _ => return Err(refuse(format!("an array of shape {shape:?}"), ALLOWED)),
        };
        let count = arranged.iter().try_fold(1_usize, |n, m| n.checked_mul(*m));
        let fits = |n: &usize| n.checked_mul(columns) == Some(values.len());
        if !count
            .filter(fits)
            .is_some_and(|n| n > 0 && n as u64 <= MAX_POINTS)
        {
            let given = format!("{} numbers of shape {shape:?}", values.len());
            return Err(refuse(given, "there must be from 1 to 4294967296 points"));
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let given = format!("{} of point {}", values[at], at / columns);
            return Err(refuse(
                given,
                "all must be finite numbers (length, length / time, mass)",
            ));
        }
        let masses = |point: &[f64]| point.get(18..).is_some_and(|m| m.iter().any(|m| *m < 0.0));
        if let Some(at) = values.chunks_exact(columns).position(masses) {
            let given = format!("masses of point {at}");
            return Err(refuse(given, "each must be at least 0 (0 is a test body)"));
        }
        Ok(Self {
            shape: arranged.to_owned(),
            columns,
            source: Source::Given(values),
            rests: Vec::new(),
        })
    }

    /// A list of points from the positions of the grid body, with what they have beyond the digits of an `f64`.
    ///
    /// # Errors
    /// A number that is not allowed.
    pub fn of_places(places: &[[[f64; 2]; 3]]) -> Result<Self, SpecError> {
        let nearest = places.iter().flatten().map(|x| x[0]);
        let rests = places.iter().map(|place| place.map(|x| x[1])).collect();
        let points = Self::new(&[places.len(), 3], nearest.collect())?;
        Ok(Self { rests, ..points })
    }

    /// What the position of the grid body at point `i` has beyond the digits of its `f64`.
    #[inline]
    pub fn rest(&self, i: usize) -> [f64; 3] {
        match &self.source {
            Source::Made(of) => (of.rectangle.as_ref()).map_or([0.0; 3], |rectangle| {
                [0, 1, 2].map(|axis| rectangle.coordinate(i, axis).map_or(0.0, |x| x[1]))
            }),
            Source::Given(_) => self.rests.get(i).copied().unwrap_or_default(),
        }
    }

    /// Points whose numbers are made when they are needed. They have masses of their own if one of the masses varies.
    pub fn made(starts: Starts) -> Self {
        let own_masses = starts.laws[18..].iter().any(|law| law.kind != Law::FIXED);
        Self {
            shape: [1, 0].map(|k| starts.size[k] as usize).into(),
            columns: if own_masses { MOST } else { 18 },
            source: Source::Made(starts.into()),
            rests: Vec::new(),
        }
    }

    /// Whether the points are [made](Self::made) when they are needed.
    pub fn are_made(&self) -> bool {
        matches!(self.source, Source::Made(_))
    }

    /// A number of a point.
    #[inline]
    fn number(&self, i: usize, k: usize) -> f64 {
        match &self.source {
            Source::Given(values) => values[i * self.columns + k],
            Source::Made(of) => (of.rectangle.as_ref())
                .filter(|rectangle| k / 3 == rectangle.body)
                .and_then(|rectangle| rectangle.coordinate(i, k % 3))
                .map_or_else(
                    || of.laws[k].value(of.seed, of.size, k as u32, i as u64),
                    |x| x[0],
                ),
        }
    }

    /// Reads points: `.npy` (f64, as for [`new`](Self::new)), `.npz` (its array `points`), or text with a point on each
    /// line, numbers separated by commas, semicolons or blanks, also as Fortran writes them, `#` before comments, and optionally names in
    /// the first line, which may not contradict the order of the numbers.
    ///
    /// # Errors
    /// A description of the error with the name of the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let array = match extension.to_ascii_lowercase().as_str() {
            "npy" => npy::read(path),
            "npz" => NpzReader::open(path).and_then(|mut file| file.array("points")),
            _ => {
                let text = read::text(path, Limit::NUMBERS).map_err(|e| e.to_string())?;
                return Self::parse(&text).map_err(|e| format!("{}{e}", path.display()));
            }
        };
        let array = array.map_err(|e| e.to_string())?;
        Self::new(&array.shape, array.values).map_err(|e| {
            let place = path.display();
            format!("{place}: invalid value '{}': {}", e.given, e.allowed)
        })
    }

    /// Points from text, see [`read`](Self::read). An error begins with `:LINE`, or `:` if it is about all lines.
    fn parse(text: &str) -> Result<Self, String> {
        let at_line = |(at, reason): Unreadable| format!(":{}: {reason}", place(text, at).0);
        let (mut values, mut columns, mut named) = (Vec::new(), None, None);
        let mut rows = Rows::new(text, None);
        while let Some(mut words) = rows.next().map_err(at_line)? {
            if words.len() > 1 && words.last().is_some_and(|word| word.text.is_empty()) {
                words.pop();
            }
            let first = words[0].at;
            let heading = values.is_empty() && named.is_none();
            if heading && !words.iter().any(|word| is_like_a_number(&word.text)) {
                named = Some(words);
                continue;
            }
            if heading && words.len() < FEWEST {
                let reason =
                    format!("the line is no point: remove it, or begin it with #; {ALLOWED}");
                return Err(at_line((first, reason)));
            }
            let expected = *columns.get_or_insert(words.len());
            if words.len() != expected {
                let reason = format!(
                    "the line has {} numbers, but the lines before have {expected}",
                    words.len()
                );
                return Err(at_line((first, reason)));
            }
            for word in &words {
                let reason = || {
                    format!(
                        "'{}' is not a number{}",
                        word.text,
                        hint_at_comma(&word.text)
                    )
                };
                values.push(number(&word.text).ok_or_else(|| at_line((word.at, reason())))?);
            }
        }
        let Some(columns) = columns else {
            return Err(": it contains no points".into());
        };
        check_names(named.as_deref().unwrap_or_default(), columns).map_err(at_line)?;
        Self::new(&[values.len() / columns, columns], values)
            .map_err(|e| format!(": invalid value '{}': {}", e.given, e.allowed))
    }

    /// The arrangement of the points, which is also the shape of the values of the map.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Always false: there is at least one point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The array: its shape, with the numbers of a point as the last axis, and its values in C order.
    pub fn array(&self) -> (Vec<usize>, Cow<'_, [f64]>) {
        let shape = self.shape.iter().copied().chain([self.columns]).collect();
        let values = match &self.source {
            Source::Given(values) => Cow::Borrowed(&values[..]),
            Source::Made(_) => (0..self.len()).flat_map(|i| self.numbers(i)).collect(),
        };
        (shape, values)
    }

    /// The numbers of a point.
    fn numbers(&self, i: usize) -> impl Iterator<Item = f64> {
        (0..self.columns).map(move |k| self.number(i, k))
    }

    /// These points, one after another.
    ///
    /// # Panics
    /// If there is no such point.
    #[must_use]
    pub fn chosen(&self, points: &[u64]) -> Self {
        let values = points.iter().flat_map(|i| self.numbers(*i as usize));
        let mut rests: Vec<_> = points.iter().map(|i| self.rest(*i as usize)).collect();
        if rests.as_flattened().iter().all(|rest| *rest == 0.0) {
            rests.clear();
        }
        Self {
            shape: vec![points.len()],
            columns: self.columns,
            source: Source::Given(values.collect()),
            rests,
        }
    }

    /// A checksum of shape and values.
    pub fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let (shape, values) = self.array();
        shape
            .iter()
            .for_each(|n| hasher.update(&(*n as u64).to_le_bytes()));
        hasher.update(bytemuck::cast_slice(&values));
        hasher.update(bytemuck::cast_slice(&self.rests));
        hasher.finalize()
    }

    /// Width and height of the map that has the points as its pixels, in their order.
    pub fn size(&self) -> [u64; 2] {
        match self.shape[..] {
            [height, width] => [width as u64, height as u64],
            _ => [self.len() as u64, 1],
        }
    }

    /// Keys of the specification that the points replace and that are therefore not used.
    pub fn replaces(&self) -> &'static [&'static str] {
        if let Source::Made(starts) = &self.source {
            return starts.replaced;
        }
        match self.columns {
            3 => &["size", "center", "span", "plane"],
            9 => &["size", "center", "span", "plane", "positions"],
            18 => &["size", "center", "span", "plane", "positions", "velocities"],
            _ => &[
                "size",
                "center",
                "span",
                "plane",
                "masses",
                "positions",
                "velocities",
            ],
        }
    }

    /// Positions and velocities of bodies 1, 2, 3 at point `i`; `otherwise` has the values that a point does not contain: at most all
    /// values except the position of `body` (1, 2 or 3).
    #[inline]
    pub fn state(&self, otherwise: [[DVec3; 3]; 2], body: u8, i: usize) -> [[DVec3; 3]; 2] {
        let vector =
            |k: usize| DVec3::from(std::array::from_fn(|axis| self.number(i, 3 * k + axis)));
        let mut state = otherwise;
        if self.columns == 3 {
            state[0][usize::from(body) - 1] = vector(0);
        }
        for k in 0..(self.columns / 3).min(6) {
            if self.columns > 3 {
                state[k / 3][k % 3] = vector(k);
            }
        }
        state
    }

    /// Masses of bodies 1, 2, 3 at point `i`, if it has some of its own.
    #[inline]
    pub fn masses(&self, i: usize) -> Option<[f64; 3]> {
        (self.columns == MOST).then(|| std::array::from_fn(|k| self.number(i, 18 + k)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_names_comments_and_either_separator() {
        let points = Points::parse("x,y,z\n# a comment\n1, 2,3\n\n4 5\t6 # more\n").unwrap();
        let (shape, values) = points.array();
        assert_eq!(
            (shape, &values[..]),
            (vec![2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..])
        );
    }

    #[test]
    fn points_are_the_same_however_their_numbers_are_written() {
        let expected = Points::new(&[2, 3], vec![1.0, -0.25, 3.0, 4.0, 5.0, 6.0]).unwrap();
        for text in [
            "1.0D+00 -2.5d-1 3.0D0\n4 5 6\n",
            "x1;y1;z1\r\n1;-0.25;3;\r\n4;5;6;\r\n",
            "# points\n\"X\",\"Y\",\"Z\"\n\"1\",\"-.25\",3\n4,5,6 # the last\n",
            "here\tthere\tup\n1\t-0.25\t3\n4\t5\t6\n",
        ] {
            assert_eq!(Points::parse(text).as_ref(), Ok(&expected), "{text:?}");
        }
        let names = ["x0,y0,z0,x1,y1,z1,x2,y2,z2", "a,b,c,d,e,f,g,h,i"];
        for names in names {
            let text = format!("{names}\n1,2,3,4,5,6,7,8,9\n");
            assert!(Points::parse(&text).is_ok(), "{names}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_text_is_said_with_its_line() {
        for (text, said) in [
            ("", ": it contains no points"),
            ("x y z\n", ": it contains no points"),
            ("1 2 3\n1 2 b\n", ":2: 'b' is not a number"),
            ("1 2 3\n1 2\n", ":2: the line has 2 numbers"),
            ("1 2 3 4\n", "shape [1, 4]"),
            ("2\n1 2 3\n4 5 6\n", ":1: the line is no point"),
            (
                "1,5 2,5 3,5\n",
                ":1: '1,5' is not a number (its decimal places need a point, not a comma)",
            ),
            ("1,5;2,5;3,5\n", ":1: '1,5' is not a number"),
            (
                "z,y,x\n1,2,3\n",
                ":1: column 1 is called 'z', but holds x of body 1",
            ),
            ("x,y\n1,2,3\n", ":1: there are 2 names for 3 columns"),
            (
                "x2,y2,z2,x1,y1,z1,x3,y3,z3\n1,2,3,4,5,6,7,8,9\n",
                ":1: column 4 is called 'x1', but holds x of body 2",
            ),
            ("1 2 \"3\n", ":1: the quotation mark has no second one"),
            ("1 2 3\n4 nan 6\n", "NaN of point 1"),
        ] {
            let error = Points::parse(text).unwrap_err();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_state_takes_from_the_specification_what_the_point_does_not_say() {
        let positions = [3.0, 4.0, 5.0].map(DVec3::splat);
        let velocities = [6.0, 7.0, 8.0].map(DVec3::splat);
        let of = |columns: usize| {
            let values = (0..columns).map(|k| k as f64).collect();
            Points::new(&[1, columns], values)
                .unwrap()
                .state([positions, velocities], 2, 0)
        };
        let [p, v] = [DVec3::new(0.0, 1.0, 2.0), DVec3::new(9.0, 10.0, 11.0)];
        assert_eq!(of(3), [[positions[0], p, positions[2]], velocities]);
        assert_eq!(of(9)[0][0], p);
        assert_eq!(of(9)[1], velocities);
        assert_eq!(of(18)[1][0], v);
        assert_eq!(of(21), of(18));
    }

    #[test]
    fn masses_are_the_last_numbers() {
        let values: Vec<f64> = (0..42).map(f64::from).collect();
        let points = Points::new(&[2, 21], values.clone()).unwrap();
        assert_eq!(points.masses(1), Some([39.0, 40.0, 41.0]));
        assert_eq!(Points::new(&[2, 9], vec![0.0; 18]).unwrap().masses(0), None);
        let mut negative = values;
        negative[40] = -1.0;
        let error = Points::new(&[2, 21], negative).unwrap_err().to_string();
        assert!(error.contains("masses of point 1"), "{error}");
    }
}
