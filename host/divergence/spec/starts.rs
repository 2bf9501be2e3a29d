//! Starts that differ in more than the grid body's place: parameters of the three bodies that are drawn, or axes of the map.

use glam::DVec3;
use trisolar_bodies::{Points, Rectangle, Starts};
use trisolar_spec::{Choice, Parameter, SpecError, UNBOUNDED, each_once, refused};

use super::Specification;

/// The keys that `map` replaces.
const REPLACED: [&str; 3] = ["center", "span", "plane"];

const fn place(name: &'static str) -> Parameter {
    Parameter::new(name, "length", [-UNBOUNDED, UNBOUNDED])
}

const fn velocity(name: &'static str) -> Parameter {
    Parameter::new(name, "length / time", [-UNBOUNDED, UNBOUNDED])
}

const fn mass(name: &'static str) -> Parameter {
    Parameter::new(name, "mass", [0.0, UNBOUNDED])
}

/// The parameters of a start in the order of the numbers of a [point](Points::new).
static PARAMETERS: [Parameter; 21] = [
    place("x1"),
    place("y1"),
    place("z1"),
    place("x2"),
    place("y2"),
    place("z2"),
    place("x3"),
    place("y3"),
    place("z3"),
    velocity("vx1"),
    velocity("vy1"),
    velocity("vz1"),
    velocity("vx2"),
    velocity("vy2"),
    velocity("vz2"),
    velocity("vx3"),
    velocity("vy3"),
    velocity("vz3"),
    mass("mass1"),
    mass("mass2"),
    mass("mass3"),
];

fn find(name: &str) -> Result<&'static Parameter, String> {
    let found = PARAMETERS.iter().find(|p| p.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = PARAMETERS.iter().map(|p| p.name).collect();
        format!(
            "there is no {name}; the parameters of a start are {}",
            names.join(", ")
        )
    })
}

/// An axis of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapAxis {
    /// The name of its coordinate, as in `x` or `mass2`.
    pub name: &'static str,
    /// What it is, as in `start x of body 1`.
    pub meaning: String,
    /// Its unit.
    pub unit: &'static str,
    /// The first value.
    pub low: f64,
    /// The distance from there to the value after the last: there are as many values as the map has columns or rows.
    pub span: f64,
}

impl MapAxis {
    fn new(parameter: &'static Parameter, low: f64, span: f64) -> Self {
        let (what, body) = parameter.name.split_at(parameter.name.len() - 1);
        let what = match what {
            "mass" => what.to_owned(),
            place => format!("start {place}"),
        };
        Self {
            name: parameter.name,
            meaning: format!("{what} of body {body}"),
            unit: parameter.unit,
            low,
            span,
        }
    }

    /// The values, of which there are `count`.
    pub fn values(&self, count: u64) -> impl Iterator<Item = f64> {
        (0..count).map(move |i| self.low + self.span * (i as f64 / count as f64))
    }
}

impl Specification {
    /// What `map` and `draw` say of the parameters of a start.
    fn varied(&self) -> Result<Vec<(&'static Parameter, Choice)>, SpecError> {
        let axes = Choice::parse_axes(&self.map, find);
        let mut choices = axes.map_err(|(given, allowed)| SpecError::new("map", given, allowed))?;
        for given in &self.draw {
            let choice = Choice::parse_draw(given, find);
            choices.push(choice.map_err(|allowed| SpecError::new("draw", given, allowed))?);
        }
        let options: [(_, &[String]); 2] = [("map", &self.map), ("draw", &self.draw)];
        each_once(&choices, &options)?;
        for (place, (parameter, choice)) in choices.iter().enumerate() {
            if !choice.range().iter().all(|x| parameter.allows(*x)) {
                let allowed = format!("{} {}", parameter.name, parameter.allowed_in_words());
                return Err(refused(place, choices.len(), &options, allowed));
            }
        }
        Ok(choices)
    }

    /// Whether `map` or `draw` says how starts differ from pixel to pixel.
    pub(crate) fn has_varied(&self) -> bool {
        !(self.map.is_empty() && self.draw.is_empty())
    }

    /// The place of a coordinate of the grid body among the parameters.
    fn of_grid(&self, k: usize) -> usize {
        3 * (usize::from(self.body) - 1) + self.plane.axes()[k]
    }

    /// The axes of the map, columns first. There are none if the numbers along them follow from no value.
    pub fn axes(&self) -> [Option<MapAxis>; 2] {
        let varied = self.varied().unwrap_or_default();
        [0, 1].map(|k| {
            let is_axis = |choice: &Choice| match k {
                0 => matches!(choice, Choice::Columns(_)),
                _ => matches!(choice, Choice::Rows(_)),
            };
            if let Some((parameter, choice)) = varied.iter().find(|(_, c)| is_axis(c)) {
                let [low, high] = choice.range();
                return Some(MapAxis::new(parameter, low, high - low));
            }
            let parameter = &PARAMETERS[self.of_grid(k)];
            let drawn = varied.iter().any(|(p, _)| p.name == parameter.name);
            let low = self.center[k] - self.span[k] / 2.0;
            (self.map.is_empty() && !drawn).then(|| MapAxis {
                name: self.plane.labels()[k],
                ..MapAxis::new(parameter, low, self.span[k])
            })
        })
    }

    /// The starts, if they are more than a grid of places of the grid body. Values that an axis replaces become the usual ones.
    pub(super) fn starts(&mut self) -> Result<Option<Points>, SpecError> {
        let varied = self.varied()?;
        if varied.is_empty() {
            return Ok(None);
        }
        let replaced: &[&str] = match &self.map[..] {
            [] => &[],
            _ => &REPLACED,
        };
        if !replaced.is_empty() {
            let usual = Self::default();
            (self.center, self.span, self.plane) = (usual.center, usual.span, usual.plane);
        }
        if self.map.len() == 1 {
            self.size[1] = 1;
        }
        let flat = |vectors: [DVec3; 3]| vectors.map(|v| v.to_array()).concat();
        let mut fixed = [flat(self.positions), flat(self.velocities)].concat();
        fixed.extend(self.masses);
        let mut choices: Vec<Choice> = fixed.into_iter().map(Choice::Fixed).collect();
        let mut follows = [false; 3];
        if self.map.is_empty() {
            for axis in self.plane.axes() {
                follows[axis] = true;
            }
        }
        let body = usize::from(self.body) - 1;
        for (parameter, choice) in varied {
            let k = PARAMETERS.iter().position(|p| p.name == parameter.name);
            let k = k.expect("it is one of them");
            choices[k] = choice;
            if k / 3 == body {
                follows[k % 3] = false;
            }
        }
        let grid = self.grid();
        Ok(Some(Points::made(Starts {
            laws: std::array::from_fn(|k| choices[k].law(&PARAMETERS[k])),
            seed: self.seed,
            size: self.size,
            replaced,
            rectangle: Some(Rectangle {
                grid,
                body,
                follows,
            }),
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Center, Precision};

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_grid_as_axes_has_the_starts_of_the_grid() {
        let grid = Specification {
            size: [8, 16],
            ..Specification::default()
        };
        let axes = Specification {
            map: texts(&["x1=-20:20", "y1=-20:20"]),
            ..grid.clone()
        };
        let [grid, axes] = [grid, axes].map(|s| s.validate().expect("valid"));
        for pixel in 0..grid.pixels() {
            let point = axes.point(pixel).expect("made");
            assert_eq!(point.positions[0], grid.start(pixel));
        }
    }

    #[test]
    fn masses_and_velocities_are_axes_and_draws() {
        let of = |map: &[&str], draw: &[&str]| {
            let specification = Specification {
                size: [4, 2],
                map: texts(map),
                draw: texts(draw),
                ..Specification::default()
            };
            specification.validate().expect("valid")
        };
        let map = of(&["mass2=5:25", "vx3=-1:1"], &[]);
        let points = map.points().expect("made");
        assert_eq!(points.masses(5), Some([10.0, 10.0, 30.0]));
        assert_eq!(map.point(5).expect("made").velocities[2][0], 0.0);
        let [x, y] = map.specification().axes().map(|axis| axis.expect("one"));
        assert_eq!((x.meaning.as_str(), x.unit), ("mass of body 2", "mass"));
        assert_eq!((y.name, y.values(2).last()), ("vx3", Some(0.0)));

        // What is drawn differs from pixel to pixel; the grid stays.
        let drawn = of(&[], &["mass1=uniform:1:2"]);
        let masses: Vec<f64> = (0..8)
            .map(|i| drawn.points().expect("made").masses(i).expect("own")[0])
            .collect();
        assert!(masses.iter().all(|m| (1.0..2.0).contains(m)));
        assert!(masses.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(
            drawn.specification().axes()[0].as_ref().expect("x").name,
            "x"
        );

        // With all digits of its places.
        let deep = Specification {
            size: [4, 2],
            center: Center::of([[4.9, 1e-17], [-0.5, 2e-18]]),
            span: [1e-22; 2],
            draw: texts(&["mass1=uniform:1:2", "y1=uniform:0:1"]),
            precision: Precision::DoubleDouble,
            shift: DVec3::splat(1e-25),
            ..Specification::default()
        };
        let deep = deep.validate().expect("valid");
        let points = deep.points().expect("made").chosen(&[2]);
        let [x, _, z] = deep.place(2);
        let (found, rest) = (deep.point(2).expect("made"), points.rest(0));
        assert_eq!([found.positions[0][0], found.rest[0]], x);
        assert_eq!([found.positions[0][2], found.rest[2]], z);
        assert!((0.0..1.0).contains(&found.positions[0][1]) && found.rest[1] == 0.0);
        assert_eq!(rest, found.rest);
        assert!(deep.point(3).expect("made").rest[0] > rest[0]);

        let line = of(&["vy1=0:1"], &[]);
        assert_eq!(line.specification().size, [4, 1]);
        assert_eq!(line.points().expect("made").masses(0), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (map, draw, option, said) in [
            (&["q1=0:1"][..], &[][..], "map", "vx1"),
            (&["x1"], &[], "map", "LOW:HIGH"),
            (&["x1=1:0"], &[], "map", "ascend"),
            (&["x1=0:1", "y1=0:1", "z1=0:1"], &[], "map", "one or two"),
            (&["mass1=-1:1"], &[], "map", "at least 0"),
            (
                &["mass1=-1:1"],
                &["x1=uniform:0:1"],
                "map",
                "mass1 must be a finite number of at least 0",
            ),
            (
                &["x1=0:1", "x1=0:2"],
                &["y1=uniform:0:1"],
                "map",
                "x1 is given twice",
            ),
            (
                &["x1=0:1"],
                &["x1=uniform:0:1"],
                "draw",
                "x1 is given twice",
            ),
            (&[], &["x1=thermal:0:1"], "draw", "uniform"),
        ] {
            let specification = Specification {
                map: texts(map),
                draw: texts(draw),
                ..Specification::default()
            };
            let error = specification.validate().expect_err(said);
            assert_eq!(error.option, option);
            assert!(error.allowed.contains(said), "{error}");
        }
    }
}
