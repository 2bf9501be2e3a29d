//! Pictures of an atlas: the basins, the entropy of boxes, the power laws and the agreement of boundaries.

use std::path::{Path, PathBuf};

use trisolar_io::picture::{
    Axis, ClassMap, Labels, Map, PictureStyle, Theme, YDirection, classes, plot,
};
use trisolar_io::plot::{self, Division, LinePlot, Marks, PlotAxis, Series};
use trisolar_io::{IoError, PictureFormat};
use trisolar_run::plots;

use super::{Atlas, OutcomeMap, Scaling, Wada};

/// The appearance of pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Background and lines.
    pub theme: Theme,
    /// The direction of the vertical axis of maps.
    pub y: YDirection,
}

/// The labels of a map whose axes count pixels.
fn labels([width, height]: [usize; 2], look: Look, title: String, value: String) -> Labels {
    let axis = |name: &str, count: usize| Axis {
        name: name.to_owned(),
        unit: "pixels".into(),
        centre: count as f64 / 2.0,
        span: count as f64,
    };
    Labels {
        title,
        x: axis("column", width),
        y: axis("row", height),
        y_upwards: look.y.is_up(),
        value,
        unit: String::new(),
    }
}

/// Draws the basins with their shares in the legend.
///
/// # Errors
/// The file cannot be written. No part of it remains.
pub fn basins(path: &Path, map: &OutcomeMap, atlas: &Atlas, look: Look) -> Result<(), IoError> {
    let mut named = map.classes().to_vec();
    for (class, basin) in named.iter_mut().zip(&atlas.basins) {
        class.name = format!("{}: {:.2} %", class.name, 100.0 * basin.share);
    }
    let mut pixels = map.pixels().to_vec();
    if look.y.is_up() {
        pixels = pixels.rchunks(map.size()[0]).flatten().copied().collect();
    }
    let values = vec![1.0; pixels.len()];
    let map = ClassMap {
        size: map.size(),
        classes: &named,
        of_pixels: &pixels,
        values: &values,
    };
    let labels = labels(atlas.size, look, "basins".into(), String::new());
    classes(path, &map, &labels, look.theme, None)
}

/// Draws the entropy of the boxes of the first size, both power laws and the agreement of boundaries into a folder, and returns the
/// paths.
///
/// # Errors
/// A file cannot be written. No part of it remains.
pub fn all(
    folder: &Path,
    atlas: &Atlas,
    look: Look,
    format: PictureFormat,
) -> Result<Vec<PathBuf>, IoError> {
    let [entropy_path, uncertainty, dimension, wada] = paths(folder, format);
    entropy(&entropy_path, atlas, look)?;
    let mut drawn = vec![entropy_path];
    for (path, law, x, y) in [
        (
            uncertainty,
            &atlas.uncertainty,
            "distance of pairs",
            "share of pairs that differ",
        ),
        (
            dimension,
            &atlas.boundary,
            "extent of boxes",
            "share of boxes with a part of the boundary",
        ),
    ] {
        // A share of 0 has no place on a logarithmic axis.
        if law.points.iter().any(|point| point.share > 0.0) {
            power_law(&path, law, [x, y], look.theme)?;
            drawn.push(path);
        }
    }
    if let Some(found) = &atlas.wada {
        agreement(&wada, found, look.theme)?;
        drawn.push(wada);
    }
    Ok(drawn)
}

/// The files of [`all`].
pub fn paths(folder: &Path, format: PictureFormat) -> [PathBuf; 4] {
    ["entropy", "uncertainty", "dimension", "wada"].map(|name| plots::path(folder, name, format))
}

fn entropy(path: &Path, atlas: &Atlas, look: Look) -> Result<(), IoError> {
    let found = &atlas.entropies[0];
    let [columns, rows] = atlas.size.map(|n| n / found.side);
    let mut map = Map::new(&found.of_boxes, columns, rows);
    if look.y.is_up() {
        map = map.upside_down();
    }
    let covered = [columns, rows].map(|n| n * found.side);
    let title = format!("basin entropy, S_b = {:.4}", found.entropy);
    let value = format!("entropy of boxes of {0} × {0} pixels", found.side);
    let labels = labels(covered, look, title, value);
    let style = PictureStyle {
        theme: look.theme,
        ..PictureStyle::default()
    };
    plot(path, &map, &style, &labels, None)
}

fn power_law(path: &Path, law: &Scaling, names: [&str; 2], theme: Theme) -> Result<(), IoError> {
    let [x, y] = names.map(|name| PlotAxis {
        name: name.into(),
        division: Division::Logarithmic,
        ..PlotAxis::default()
    });
    let series = |used: bool| {
        let points = law.points.iter().filter(move |point| point.used == used);
        let columns = |value: fn(&super::scaling::ScalePoint) -> f64| points.clone().map(value);
        let bars: Vec<[f64; 2]> = points.clone().map(|point| point.interval).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = columns(|p| p.scale).zip(columns(|p| p.share)).unzip();
        (x, y, bars)
    };
    let sets = [series(true), series(false)];
    let mut lines = Vec::new();
    for (name, (x, y, bars)) in ["fitted", "not fitted"].into_iter().zip(&sets) {
        if !x.is_empty() {
            lines.push(Series {
                name,
                x,
                y,
                error: Some(bars),
                marks: Marks::Points,
            });
        }
    }
    let ends = [0, law.points.len() - 1].map(|i| law.points[i].scale);
    let mut drawn = None;
    if let Some(fit) = &law.fit {
        let y = ends.map(|scale| (fit.level + fit.exponent * scale.ln()).exp());
        let error = fit.jackknife_error.unwrap_or(fit.binomial_error);
        drawn = Some((format!("power {:.3} ± {error:.3}", fit.exponent), y));
    }
    if let Some((name, y)) = &drawn {
        lines.push(Series {
            name,
            x: &ends,
            y,
            error: None,
            marks: Marks::Line,
        });
    }
    let title = law.fit.as_ref().map_or("no power law".into(), |fit| {
        format!("dimension of the boundary: {:.3}", fit.dimension)
    });
    let plot = LinePlot {
        title,
        x: PlotAxis {
            unit: "pixels".into(),
            ..x
        },
        y,
        theme,
        ..LinePlot::default()
    };
    plot::lines(path, &lines, &plot, None)
}

fn agreement(path: &Path, wada: &Wada, theme: Theme) -> Result<(), IoError> {
    let (x, y): (Vec<f64>, Vec<f64>) = (wada.within.iter())
        .map(|(d, share)| (f64::from(*d), *share))
        .unzip();
    let line = Series {
        name: "",
        x: &x,
        y: &y,
        error: None,
        marks: Marks::Both,
    };
    let plot = LinePlot {
        title: format!(
            "the boundaries of {} basins agree within {} pixels",
            wada.basins, wada.distance
        ),
        x: PlotAxis {
            name: "distance".into(),
            unit: "pixels".into(),
            division: Division::Logarithmic,
            range: None,
        },
        y: PlotAxis {
            name: "share of the boundary that has all boundaries within it".into(),
            ..PlotAxis::default()
        },
        theme,
        ..LinePlot::default()
    };
    plot::lines(path, &[line], &plot, None)
}

#[cfg(test)]
mod tests {
    use trisolar_io::npz::NpzWriter;

    use super::*;
    use crate::{BOXES, files};

    #[test]
    fn a_file_of_encounters_is_read_with_its_names_and_all_its_pictures_are_drawn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.npz");
        // Bands in which body 1, body 2 and no body escapes.
        let band = |i: usize| (i % 64 + i / 64 / 7) / 9 % 3;
        let column = |value: [u32; 3]| (0..64 * 48).map(|i| value[band(i)]).collect::<Vec<u32>>();
        let mut file = NpzWriter::create(&path).unwrap();
        for (name, values) in [
            ("outcome", [0, 0, 3]),
            ("body", [1, 2, 0]),
            ("exchanges", [0; 3]),
        ] {
            file.array(name, &[48, 64], &column(values)).unwrap();
        }
        file.text("specification.json", "{}").unwrap();
        file.finish().unwrap();
        let map = files::read(&path, None, &[]).unwrap();
        let names: Vec<&str> = map.classes().iter().map(|class| &*class.name).collect();
        assert_eq!(names, ["body 1 escapes", "body 2 escapes", "open"]);
        assert_eq!(map.size(), [64, 48]);
        let other = files::read(&path, Some("body"), &[0.5]).unwrap();
        assert_eq!(other.classes()[0].name, "below 0.5");
        assert!(
            files::read(&path, Some("x"), &[])
                .unwrap_err()
                .contains("outcome, body")
        );
        let atlas = Atlas::of(&map, &BOXES).unwrap();
        let look = Look {
            theme: Theme::Dark,
            y: YDirection::Up,
        };
        let drawn = all(folder.path(), &atlas, look, PictureFormat::Svg).unwrap();
        assert_eq!(drawn.len(), 4);
        let basins_path = folder.path().join("basins.svg");
        basins(&basins_path, &map, &atlas, look).unwrap();
        for path in drawn.iter().chain([&basins_path]) {
            assert!(std::fs::metadata(path).unwrap().len() > 1000, "{path:?}");
        }
    }
}
