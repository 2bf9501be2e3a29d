//! A map's files, each in the format of its extension: where the command line, Python and C meet the files.

use std::path::{Path, PathBuf};

use crate::divergence::{DivergenceMap, Specification};
use crate::io::IoError;
use crate::io::colour::ColourMap;
use crate::io::format::Format;
use crate::io::npy;
use crate::io::npz::NpzWriter;
use crate::io::picture::{self, Axis, Labels, Look, Map};

/// How pictures look.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// The picture alone, a pixel of the map each, without axes and colour bar.
    pub bare: bool,
    /// Its colours.
    pub colormap: ColourMap,
    /// Written above it.
    pub title: Option<String>,
}

/// A file to be written.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    format: Format,
}

impl Output {
    /// A file whose extension says its format.
    ///
    /// # Errors
    /// [`IoError::UnknownFormat`].
    pub fn new(path: &Path) -> Result<Self, IoError> {
        let format = Format::of(path)?;
        Ok(Self {
            path: path.to_owned(),
            format,
        })
    }

    /// Its path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the map: a picture of steps - times, the array `times`, or the array with its specification.
    ///
    /// # Errors
    /// The file cannot be written; nothing of it is left.
    pub fn write(&self, map: &DivergenceMap, style: &Style) -> Result<(), IoError> {
        let json = serde_json::to_string(&map.specification)
            .expect("a specification is plain numbers and names");
        let shape = [1, 0].map(|k| map.specification.size[k] as usize);
        match self.format {
            Format::Npy => npy::write(&self.path, &shape, &map.times),
            Format::Npz => {
                let mut file = NpzWriter::create(&self.path)?;
                file.array("times", &shape, &map.times)?;
                file.text("spec.json", &json)?;
                file.finish()
            }
            Format::Png => {
                let steps = map.specification.steps as u32;
                let left = |times| f64::from(steps - times);
                let values = Map::mapped(&map.times, shape[1], shape[0], left);
                let look = Look {
                    colour_map: style.colormap,
                    ..Look::default()
                };
                if style.bare {
                    picture::bare(&self.path, &values, &look, Some(&json))
                } else {
                    let title = style.title.as_deref().unwrap_or_default();
                    let labels = labels(&map.specification, title);
                    picture::plot(&self.path, &values, &look, &labels, Some(&json))
                }
            }
        }
    }
}

/// Title, axes and the meaning of the colours of a map's picture.
pub fn labels(specification: &Specification, title: &str) -> Labels {
    let names = specification.plane.labels();
    let axis = |k: usize| Axis {
        name: format!("start {} of body {}", names[k], specification.body),
        unit: "length".into(),
        centre: specification.center[k],
        span: specification.span[k],
    };
    Labels {
        title: title.to_owned(),
        x: axis(0),
        y: axis(1),
        value: "time left when the twins part".into(),
        unit: "steps".into(),
    }
}
