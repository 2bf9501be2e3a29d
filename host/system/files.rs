//! Writes the columns of items as `.npz` and `.npy`, and maps as pictures.

use std::path::Path;

pub use trisolar_equations::job::STIFF;
use trisolar_equations::{Column, Kind};
use trisolar_io::colour::ColourRange;
use trisolar_io::npz::{Member, NpzReader, NpzWriter, OUTCOMES, SPECIFICATION};
use trisolar_io::picture::{
    self, Axis, Class, ClassMap, Labels, Map, PictureStyle, Theme, YDirection,
};
use trisolar_io::{IoError, PictureFormat, npy};

use crate::{About, Equations, Specification, Validated};

/// The format of a file, which its extension determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An array for each column.
    Npz,
    /// The first column.
    Npy,
    /// The picture of a map of the first column, as PNG, SVG or PDF.
    Picture,
}

/// The colours of outcomes: those of Okabe and Ito (2008), which people with any vision can tell apart.
const COLOURS: [[u8; 3]; 7] = [
    [0, 114, 178],
    [230, 159, 0],
    [0, 158, 115],
    [204, 121, 167],
    [86, 180, 233],
    [213, 94, 0],
    [240, 228, 66],
];
/// The colours of items that reached no outcome, and of those that failed.
const OPEN: [u8; 3] = [90, 90, 90];
const FAILED: [[u8; 3]; 2] = [[160, 160, 160], [30, 30, 30]];

impl Format {
    /// The format that the extension of a file name selects.
    ///
    /// # Errors
    /// The allowed extensions, for another extension or for a picture of items that are not a map.
    pub fn of<Q: Equations>(path: &Path, spec: &Validated<Q>) -> Result<Self, &'static str> {
        if PictureFormat::of(path).is_some() {
            return match spec.specification().axes() {
                [Some(_), Some(_)] => Ok(Self::Picture),
                _ => Err("only a map of two parameters (--map) has a picture"),
            };
        }
        match path.extension().and_then(|e| e.to_str()) {
            Some("npz") => Ok(Self::Npz),
            Some("npy") => Ok(Self::Npy),
            _ => Err("the name must end in .npz, .npy, .png, .svg or .pdf"),
        }
    }

    /// Writes a file of this format, of the columns of all items, those of item 0 first.
    ///
    /// # Errors
    /// The file cannot be written. No part of it remains.
    pub fn write<Q: Equations>(
        self,
        path: &Path,
        spec: &Validated<Q>,
        numbers: &[f64],
    ) -> Result<(), IoError> {
        let shape = match (spec.specification().axes(), spec.specification().size) {
            ([_, Some(_)], Some([w, h])) => vec![h as usize, w as usize],
            _ => vec![spec.count() as usize],
        };
        let column = |k: usize| numbers.iter().skip(k).step_by(spec.width()).copied();
        match self {
            Self::Npz => {
                let names = spec.columns();
                let members = names.iter().enumerate();
                let members = members.map(|(k, name)| Member::new(name, &shape, move || column(k)));
                let members: Vec<Member<'_>> =
                    (members.collect::<Result<_, _>>()).map_err(|reason| IoError::Data {
                        path: path.to_owned(),
                        reason,
                    })?;
                let mut file = NpzWriter::create(path)?;
                file.arrays(&members)?;
                file.text(SPECIFICATION, &spec.specification().json())?;
                file.text(
                    OUTCOMES,
                    &serde_json::to_string(&spec.about().outcomes).unwrap_or_default(),
                )?;
                file.finish()
            }
            Self::Npy => npy::write(path, &shape, &column(0).collect::<Vec<f64>>()),
            Self::Picture => {
                let look = (Theme::default(), YDirection::default());
                picture(path, spec, &column(0).collect::<Vec<f64>>(), look, true)
            }
        }
    }
}

/// Reads the items of these equations, and their columns, from an `.npz` file that [`Format::write`] has written.
///
/// # Errors
/// Those of reading, and [`IoError::Data`] if the file is that of other equations.
pub fn read<Q: Equations>(path: &Path, equations: Q) -> Result<(Validated<Q>, Vec<f64>), IoError> {
    let refuse = |reason: String| IoError::Data {
        path: path.to_owned(),
        reason,
    };
    let mut file = NpzReader::open(path)?;
    let text = file.text(SPECIFICATION)?;
    let specification: Specification = serde_json::from_str(&text)
        .map_err(|e| refuse(format!("it is no result of own equations: {e}")))?;
    let [own, there] = [equations.source(), specification.system.clone()];
    if own != there {
        return Err(refuse(format!("it is a result of {there}, not of {own}")));
    }
    let spec = Validated::new(equations, specification).map_err(|e| refuse(e.to_string()))?;
    let count = spec.count() as usize;
    let mut columns = Vec::new();
    for name in spec.columns() {
        let column = file.array_of::<f64>(name, count)?.values;
        if column.len() != count {
            return Err(refuse(format!("{name} has not {count} numbers")));
        }
        columns.push(column);
    }
    let numbers = (0..count).flat_map(|i| columns.iter().map(move |column| column[i]));
    let numbers = numbers.collect();
    Ok((spec, numbers))
}

/// The outcomes of a system from [`STIFF`] on, with their colours.
pub fn classes(about: &About) -> Vec<Class> {
    let colours = FAILED.into_iter().chain([OPEN]);
    let colours = colours.chain(COLOURS.into_iter().cycle());
    let class = |(name, colour): (&str, _)| Class {
        name: name.to_owned(),
        colour,
        shaded: false,
    };
    about.outcome_names().zip(colours).map(class).collect()
}

/// Draws a map of the first column, with axes or with one pixel for each item.
///
/// # Errors
/// [`IoError::Data`] unless the items are a map of two axes, or an error of writing.
pub fn picture<Q: Equations>(
    path: &Path,
    spec: &Validated<Q>,
    values: &[f64],
    (theme, y_direction): (Theme, YDirection),
    axes: bool,
) -> Result<(), IoError> {
    let s = spec.specification();
    let json = s.json();
    let json = Some(json.as_str());
    let ([Some((x, x_range)), Some((y, y_range))], Some(size)) = (s.axes(), s.size) else {
        return Err(IoError::Data {
            path: path.to_owned(),
            reason: "only a map of two parameters has a picture".into(),
        });
    };
    let size = size.map(|n| n as usize);
    let axis =
        |name: &str, range: [f64; 2], n: usize| Axis::around(name.into(), String::new(), range, n);
    let name = spec.columns()[0];
    let step = match (spec.about().kind, spec.job().method.is_adaptive()) {
        (Kind::Map, _) => format!("at most {} times", s.end),
        (_, true) => format!("tolerance {:e}", s.tolerance),
        (_, false) => format!("step {}", spec.job().step),
    };
    let labels = Labels {
        title: format!("{}, {}, {step}", spec.about().label, s.method),
        x: axis(x, x_range, size[0]),
        y: axis(y, y_range, size[1]),
        y_upwards: y_direction.is_up(),
        value: name.into(),
        unit: String::new(),
    };
    if !shows_outcomes(spec) {
        let map = Map::new(values, size[0], size[1]);
        let map = match y_direction.is_up() {
            true => map.upside_down(),
            false => map,
        };
        let (value, style) = colours(spec);
        let style = PictureStyle { theme, ..style };
        let labels = Labels { value, ..labels };
        return match axes {
            true => picture::plot(path, &map, &style, &labels, json),
            false => picture::bare(path, &map, &style, json),
        };
    }
    let classes = classes(spec.about());
    let mut rows: Vec<&[f64]> = values.chunks(size[0]).collect();
    if y_direction.is_up() {
        rows.reverse();
    }
    let rows = rows.into_iter().flatten();
    let of_pixels: Vec<u8> = rows.map(|outcome| (outcome - STIFF) as u8).collect();
    let map = ClassMap {
        size,
        classes: &classes,
        of_pixels: &of_pixels,
        values: &vec![1.0; values.len()],
    };
    match axes {
        true => picture::classes(path, &map, &labels, theme, json),
        false => picture::bare_classes(path, &map, json),
    }
}

/// The label and the colours of the numbers of a map.
pub fn colours<Q: Equations>(spec: &Validated<Q>) -> (String, PictureStyle) {
    let name = spec.columns()[0];
    if name != Column::NAMES[Column::MEGNO.0 as usize] {
        return (name.into(), PictureStyle::default());
    }
    // As maps of planets: chaos has larger values the longer it is followed.
    let style = PictureStyle {
        range: ColourRange::Fixed(1.0, 6.0),
        ..PictureStyle::default()
    };
    ("MEGNO (2: regular)".into(), style)
}

/// Whether maps show outcomes, not numbers.
pub fn shows_outcomes<Q: Equations>(spec: &Validated<Q>) -> bool {
    spec.columns()[0] == Column::NAMES[Column::OUTCOME.0 as usize]
}
