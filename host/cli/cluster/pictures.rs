//! The pictures and films of a run.

use std::path::Path;

use trisolar::bodies::{ColumnDensity, Tracks};
use trisolar::hermite::{SHAPE_FRACTIONS, Star, bodies_of};
use trisolar::io::colour::{ColourMap, ColourRange, Spacing};
use trisolar::io::picture::{self, Axis, Labels, Map, PictureStyle};
use trisolar::io::plot::{
    self, Division, LinePlot, Marks, Orbits, PlotAxis, Series, Trajectory, View,
};

use super::{COLUMNS, CORE_RADIUS, Run, Stops};
use crate::{Failure, films, plots};

/// The units of a cluster with G = 1.
const UNITS: &str = "N-body units";
/// The column of the series with x of the density centre.
const CENTRE: usize = 7;
/// Cells along a side of the picture of the density.
const DENSITY_CELLS: usize = 700;
/// The range of its colours: the highest density and as much below.
const DENSITY_RATIO: f64 = 1e4;

impl Run<'_> {
    pub(super) fn draw(&self, prefix: &Path, stars: &[Star]) -> Result<(), Failure> {
        let path = |name: &str| plots::path(prefix, name, self.output.plot_format);
        let time = self.column(0);
        let particles = self.cluster.stars().len();
        let axis = |name: &str, unit: &str, division| PlotAxis {
            name: name.into(),
            unit: unit.into(),
            division,
            range: None,
        };
        let spec = self.specification();
        let line = |x, y, name| Series {
            name,
            x,
            y,
            error: None,
            marks: Marks::Both,
        };
        let [local, total] =
            [3, 4].map(|k| self.column(k).iter().map(|e| e.abs()).collect::<Vec<_>>());
        let write = |name: &str, what: &str, series: &[Series<'_>], x: PlotAxis, y: PlotAxis| {
            let plot = LinePlot {
                title: format!("{what}, {}, {particles} particles", self.start_name()),
                x,
                y,
                theme: self.output.theme,
                size: self.output.look.size,
            };
            // A plot without values that a logarithmic axis can show is not a failure.
            if series
                .iter()
                .all(|s| s.y.iter().all(|y| !(y.is_finite() && *y > 0.0)))
            {
                return Ok(());
            }
            plot::lines(path(name), series, &plot, Some(&spec))
        };
        write(
            "energy",
            plots::ENERGY_ERROR,
            &[
                line(&time, &total, "since the start"),
                line(&time, &local, "since the previous line"),
            ],
            axis("time", UNITS, Division::Linear),
            axis("|ΔE/E₀|", "", Division::Logarithmic),
        )?;
        let names = SHAPE_FRACTIONS.map(|f| format!("{} %", 100.0 * f));
        let mut columns: Vec<(&str, Vec<f64>)> = vec![("core", self.column(CORE_RADIUS))];
        // There are as many lines as colours.
        for k in [0, 2, 3, 4, 5, 7] {
            let name = names[k].as_str();
            columns.push((name, self.column(COLUMNS.len() + k)));
        }
        let radii: Vec<Series<'_>> = columns
            .iter()
            .map(|(name, y)| line(&time, y, name))
            .collect();
        write(
            "radii",
            "Core radius and Lagrange radii",
            &radii,
            axis("time", UNITS, Division::Linear),
            axis("radius", UNITS, Division::Logarithmic),
        )?;
        let counters = self.cluster.counters();
        let longest = self.cluster.specification().max_step;
        let lengths: Vec<f64> = (0..counters.lengths.len())
            .map(|k| longest * 0.5f64.powi(k as i32))
            .collect();
        let shorter = |k: usize| {
            counters.lengths[k..].iter().sum::<u64>() as f64 / counters.steps.max(1) as f64
        };
        let share: Vec<f64> = (0..lengths.len()).map(shorter).collect();
        write(
            "steps",
            "Lengths of time steps",
            &[line(&lengths, &share, "")],
            axis("time step", UNITS, Division::Logarithmic),
            axis(
                "share of steps up to this length",
                "",
                Division::Logarithmic,
            ),
        )?;
        self.draw_density(&path("density"), stars)?;
        self.draw_orbits(&path("orbits"), stars)
    }

    /// The start, for titles; without folders, so that a title does not depend on the working directory.
    fn start_name(&self) -> String {
        match &self.overrides.input {
            Some(path) => {
                let name = path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
            None => self.overrides.model.unwrap_or_default().name().into(),
        }
    }

    /// The middle and the side of a cube around the density centre that shows nearly all particles.
    fn window(&self, stars: &[Star]) -> ([f64; 3], f64) {
        let last = self.series.last();
        let centre = last.map_or([0.0; 3], |row| [0, 1, 2].map(|k| row[CENTRE + k]));
        let side = ColumnDensity::side_for(&bodies_of(stars), [centre[0], centre[1]]);
        (centre, side)
    }

    fn draw_density(&self, path: &Path, stars: &[Star]) -> Result<(), Failure> {
        let bodies = bodies_of(stars);
        let ([x, y, _], side) = self.window(stars);
        let centre = [x, y];
        let density = ColumnDensity::of(&bodies, centre, side, DENSITY_CELLS);
        let high = density.values.iter().copied().fold(0.0, f64::max);
        if !(high.is_finite() && high > 0.0) {
            return Ok(());
        }
        let range = (high / DENSITY_RATIO, high);
        let (n, inside) = (bodies.len(), density.inside);
        let shown = match inside == n {
            true => format!("{n} particles"),
            false => format!("{n} particles, {inside} of them in the picture"),
        };
        let axis = |name: &str, centre: f64| Axis {
            name: name.into(),
            unit: UNITS.into(),
            centre,
            span: side,
        };
        let labels = Labels {
            title: format!(
                "{}, {shown}, t = {}",
                self.start_name(),
                self.on_the_clock(self.until)
            ),
            x: axis("x", centre[0]),
            y: axis("y", centre[1]),
            y_upwards: true,
            value: "column density, mass per area".into(),
            unit: UNITS.into(),
        };
        let style = PictureStyle {
            colour_map: ColourMap::Inferno,
            range: ColourRange::Fixed(range.0, range.1),
            spacing: Spacing::Logarithmic,
            theme: self.output.theme,
            size: self.output.look.size,
            ..PictureStyle::default()
        };
        let map = Map::new(&density.values, DENSITY_CELLS, DENSITY_CELLS).upside_down();
        let spec = self.specification();
        Ok(picture::plot(path, &map, &style, &labels, Some(&spec))?)
    }

    /// Calls `work` with the times and paths that are drawn.
    fn with_orbits<T>(
        &self,
        (tracks, stars): (&Tracks, &[Star]),
        still: bool,
        work: impl FnOnce(&[f64], &[Trajectory<'_>], &Orbits) -> T,
    ) -> T {
        let n = self.cluster.stars().len();
        let parts = Stops::new(self.times.every, n, &self.output).points();
        let times = tracks.finer_times(parts);
        let times: Vec<f64> = times.iter().map(|time| self.on_the_clock(*time)).collect();
        let names = plots::body_names(self.cluster.specification().names.as_deref(), n);
        let (points, remark) = plots::points_of(tracks, parts, &names, still);
        let paths: Vec<Trajectory<'_>> = points
            .iter()
            .zip(&names)
            .map(|(points, name)| Trajectory { name, points })
            .collect();
        let orbits = Orbits {
            title: format!("{}, {n} particles{remark}", self.start_name()),
            unit: UNITS.into(),
            times: match &times[..] {
                [first, .., last] => Some([*first, *last]),
                _ => None,
            },
            all: n,
            // Few particles are shown wherever they go; of many, one far away would leave no room for the others.
            window: (n > plots::MAX_NAMED).then(|| self.window(stars)),
            theme: self.output.theme,
            size: self.output.look.size,
            ..Orbits::default()
        };
        work(&times, &paths, &orbits)
    }

    fn draw_orbits(&self, path: &Path, stars: &[Star]) -> Result<(), Failure> {
        let Some(tracks) = &self.tracks else {
            return Ok(());
        };
        let spec = self.specification();
        let draw = |_: &[f64], bodies: &[Trajectory<'_>], orbits: &Orbits| {
            plot::trajectories(path, bodies, orbits, Some(&spec))
        };
        Ok(self.with_orbits((tracks, stars), true, draw)?)
    }

    pub(super) fn make_films(&self, stars: &[Star]) -> Result<(), Failure> {
        let Some(tracks) = &self.tracks else {
            return Ok(());
        };
        let view = self.output.view.unwrap_or(View::Space);
        let quiet = self.args.quiet;
        for film in films::films(&self.output.film)? {
            self.with_orbits((tracks, stars), false, |times, bodies, orbits| {
                let look = &self.output.look;
                look.draw(&film, (times, bodies), orbits, view, quiet)
            })?;
        }
        Ok(())
    }
}
