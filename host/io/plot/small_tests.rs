//! Tests of small pictures: their texts can be read, and none is cut off or lies over another.

use super::*;
use crate::colour::ColourMap;
use crate::picture::{self, Axis, Labels, Map, PictureStyle};

/// The value of an attribute of an element of SVG.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

/// A text with its size and the corners of its box: left, upper, right, lower.
fn texts(svg: &str) -> Vec<(String, f32, [f32; 4])> {
    let number = |text: &str| -> f32 { text.parse().expect("a number") };
    let elements = svg.split("<text").skip(1);
    let read = |element: &str| {
        let of = |name: &str| attribute(element, name);
        let size = number(of("font-size").expect("a size"));
        let long = number(of("textLength").expect("the font has all characters"));
        let shift = match of("text-anchor") {
            Some("middle") => long / 2.0,
            Some("end") => long,
            _ => 0.0,
        };
        let (above, below) = (0.7 * size, 0.1 * size);
        let corners = match of("transform") {
            Some(moved) => {
                let place = moved.trim_start_matches("translate(");
                let place = place.split_once(')').expect("a place").0;
                let (x, y) = place.split_once(' ').expect("two numbers");
                let (x, y) = (number(x), number(y) + shift);
                [x - above, y - long, x + below, y]
            }
            None => {
                let [x, y] = ["x", "y"].map(|name| number(of(name).expect("a place")));
                let x = x - shift;
                [x, y - above, x + long, y + below]
            }
        };
        let text = element.split_once('>').expect("a text").1;
        let text = text.split('<').next().unwrap_or_default();
        (text.to_owned(), size, corners)
    };
    elements.map(read).collect()
}

fn check(svg: &str, size: PictureSize, texts_at_least: usize) {
    let found = texts(svg);
    assert!(found.len() >= texts_at_least, "{size}: {found:?}");
    for (text, font, [left, upper, right, lower]) in &found {
        assert!(*font >= 8.0, "{size}: {text} has {font} pixels");
        let inside = *left >= 0.0
            && *upper >= 0.0
            && *right <= size.width as f32
            && *lower <= size.height as f32;
        assert!(inside, "{size}: {text} is cut off");
    }
    for (i, (one, _, a)) in found.iter().enumerate() {
        for (other, _, b) in &found[..i] {
            let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
            assert!(apart, "{size}: {one} is over {other}: {a:?} {b:?}");
        }
    }
}

const SIZES: [[u32; 2]; 5] = [[200, 200], [320, 240], [240, 320], [640, 200], [1600, 1200]];

fn sizes() -> impl Iterator<Item = PictureSize> {
    SIZES
        .into_iter()
        .map(|[width, height]| PictureSize { width, height })
}

#[test]
fn texts_of_line_plots_and_orbits_can_be_read_at_any_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.svg");
    let drawn = || std::fs::read_to_string(&path).expect("an SVG");
    let x: Vec<f64> = (0..50).map(|i| f64::from(i) / 50.0).collect();
    let y: Vec<f64> = x.iter().map(|x| 1e-15 * (40.0 * x).exp()).collect();
    let series = |name| Series {
        name,
        x: &x,
        y: &y,
        error: None,
        marks: Marks::Line,
    };
    let axis = |name: &str, division| PlotAxis {
        name: name.into(),
        unit: "N-body units".into(),
        division,
        range: None,
    };
    for size in sizes() {
        let plot = LinePlot {
            title: "Relative error of the total energy, figure-eight, 3 bodies".into(),
            x: axis("time", Division::Linear),
            y: axis("|ΔE/E₀|", Division::Logarithmic),
            theme: Theme::Dark,
            size: Some(size),
        };
        for names in [&["since the start", "since the previous line"][..], &[""]] {
            let all: Vec<Series<'_>> = names.iter().map(|name| series(name)).collect();
            lines(&path, &all, &plot, None).expect("a plot");
            check(&drawn(), size, 6);
        }
        let flat: Vec<[f64; 3]> = x.iter().map(|x| [*x, x * x, 0.0]).collect();
        let round: Vec<[f64; 3]> = x.iter().map(|x| [*x, x * x, x.sin()]).collect();
        let orbits = Orbits {
            title: "plummer, 200 particles".into(),
            unit: "N-body units".into(),
            times: Some([0.0, 1.0]),
            all: 200,
            size: Some(size),
            ..Orbits::default()
        };
        for (points, least) in [(&flat, 4), (&round, 3)] {
            let name = "body 0";
            let bodies = [Trajectory { name, points }];
            trajectories(&path, &bodies, &orbits, None).expect("a plot");
            check(&drawn(), size, least);
        }
    }
}

#[test]
fn texts_around_a_map_can_be_read_at_any_size_and_the_picture_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.svg");
    let values: Vec<f64> = (1..=300 * 300).map(f64::from).collect();
    let axis = |name: &str| Axis {
        name: name.into(),
        unit: "N-body units".into(),
        centre: 0.0,
        span: 5.0,
    };
    let labels = Labels {
        title: "plummer, 200 particles, 192 of them in the picture, t = 1".into(),
        x: axis("x"),
        y: axis("y"),
        y_upwards: true,
        value: "column density, mass per area".into(),
        unit: "N-body units".into(),
    };
    for size in sizes() {
        let style = PictureStyle {
            colour_map: ColourMap::Viridis,
            size: Some(size),
            ..PictureStyle::default()
        };
        let map = Map::new(&values, 300, 300);
        picture::plot(&path, &map, &style, &labels, None).expect("a picture");
        let svg = std::fs::read_to_string(&path).expect("an SVG");
        check(&svg, size, 4);
        let sides = format!("viewBox=\"0 0 {} {}\"", size.width, size.height);
        assert!(svg.contains(&sides), "{}", &svg[..200]);
    }
    let tiny = PictureStyle {
        size: Some(PictureSize {
            width: 60,
            height: 60,
        }),
        ..PictureStyle::default()
    };
    let map = Map::new(&values, 300, 300);
    let refused = picture::plot(&path, &map, &tiny, &labels, None).expect_err("too small");
    assert!(refused.to_string().contains("--size"), "{refused}");
}
