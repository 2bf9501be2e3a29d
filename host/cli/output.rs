//! The files of a map, each in the format of its extension.

use std::path::{Path, PathBuf};

use trisolar::divergence::{DivergenceMap, Specification};
use trisolar::io::IoError;
use trisolar::io::colour::ColourMap;
use trisolar::io::format::Format;
use trisolar::io::npy;
use trisolar::io::npz::NpzWriter;
use trisolar::io::picture::{self, Axis, Labels, Look, Map};

/// How pictures look.
#[derive(Debug)]
pub(crate) struct Style {
    pub(crate) bare: bool,
    pub(crate) colormap: ColourMap,
    pub(crate) title: Option<String>,
}

/// A file to be written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    format: Format,
}

impl Output {
    /// A file whose extension says its format.
    pub(crate) fn new(path: &Path) -> Result<Self, IoError> {
        let format = Format::of(path)?;
        Ok(Self {
            path: path.to_owned(),
            format,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the map.
    pub(crate) fn write(&self, map: &DivergenceMap, style: &Style) -> Result<(), IoError> {
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

fn labels(specification: &Specification, title: &str) -> Labels {
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
