//! Pictures show the given map: with the right colours, row 0 at the top, correct axes, and notes on how it was made.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use trisolar::io::colour::{ColourMap, ColourRange};
use trisolar::io::picture::{
    Axis, Class, ClassMap, Labels, Map, PictureStyle, Theme, bare, bare_classes, plot,
};
use trisolar::io::plot::{
    Division, LinePlot, Marks, Orbits, PlotAxis, Series, Trajectory, lines, trajectories,
};
use trisolar::io::{IoError, npy};

struct Picture {
    width: usize,
    height: usize,
    rgb: Vec<[u8; 3]>,
    notes: Vec<(String, String)>,
}

impl Picture {
    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        assert!(x < self.width && y < self.height);
        self.rgb[y * self.width + x]
    }

    /// The first pixel of a colour in reading order.
    fn find(&self, colour: [u8; 3]) -> (usize, usize) {
        let i = self.rgb.iter().position(|&p| p == colour).unwrap();
        (i % self.width, i / self.width)
    }

    /// How far a colour extends from a pixel to the right and downwards.
    fn extent(&self, (x, y): (usize, usize)) -> (usize, usize) {
        let colour = self.at(x, y);
        let right = (x..self.width).take_while(|&i| self.at(i, y) == colour);
        let down = (y..self.height).take_while(|&i| self.at(x, i) == colour);
        (right.count(), down.count())
    }
}

fn decode(path: &Path) -> Picture {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path).unwrap()));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    let info = reader.info();
    let mut notes: Vec<(String, String)> = info
        .uncompressed_latin1_text
        .iter()
        .map(|t| (t.keyword.clone(), t.text.clone()))
        .collect();
    notes.extend(
        info.utf8_text
            .iter()
            .map(|t| (t.keyword.clone(), t.get_text().unwrap())),
    );
    Picture {
        width: frame.width as usize,
        height: frame.height as usize,
        rgb: bytes[..frame.buffer_size()].as_chunks::<3>().0.to_vec(),
        notes,
    }
}

fn labels(x: (f64, f64), y: (f64, f64)) -> Labels {
    let axis = |name: &str, (centre, span)| Axis {
        name: name.to_owned(),
        unit: "length".to_owned(),
        centre,
        span,
    };
    Labels {
        title: "Divergence".to_owned(),
        x: axis("x", x),
        y: axis("y", y),
        y_upwards: false,
        value: "steps after parting".to_owned(),
        unit: "steps − times".to_owned(),
    }
}

/// Entries 0, 128 and 255 of the published inferno colour map.
const DARKEST: [u8; 3] = [0x00, 0x00, 0x04];
const MIDDLE: [u8; 3] = [0xbb, 0x37, 0x54];
const BRIGHTEST: [u8; 3] = [0xfc, 0xff, 0xa4];
/// The colour of lines in the dark theme.
const FRAME: [u8; 3] = [176, 176, 186];

#[test]
fn a_bare_picture_has_the_colour_of_every_value() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.png");
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/divergence_300x300_50000.npy");
    let times = npy::read::<u32>(golden).unwrap().values;
    let map = Map::mapped(&times, 300, 300, |t| f64::from(50000 - t));
    bare(
        &path,
        &map,
        &PictureStyle::default(),
        Some("{\"steps\": 50000, \"µ\": 1}"),
    )
    .unwrap();
    let picture = decode(&path);
    assert_eq!((picture.width, picture.height), (300, 300));
    let highest = times.iter().map(|t| 50000 - t).max().unwrap();
    let inferno = ColourMap::Inferno.palette(256);
    for (i, (&t, &rgb)) in times.iter().zip(&picture.rgb).enumerate() {
        let level = (u64::from(50000 - t) * 256 / u64::from(highest)).min(255);
        assert_eq!(rgb, inferno[level as usize], "pixel {i}");
    }
    assert!(picture.rgb.contains(&DARKEST) && picture.rgb.contains(&BRIGHTEST));
    let note = |k: &str, t: &str| (k.to_owned(), t.to_owned());
    assert_eq!(
        picture.notes,
        [
            note("Software", "Trisolar"),
            note("Specification", "{\"steps\": 50000, \"µ\": 1}")
        ]
    );
}

#[test]
fn row_0_is_at_the_top_and_column_0_on_the_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.png");
    // The map is 3 pixels wide and 2 high.
    let values = [0.0, 0.0, 1.0, 0.5, 0.0, 0.0];
    bare(
        &path,
        &Map::new(&values, 3, 2),
        &PictureStyle::default(),
        None,
    )
    .unwrap();
    let picture = decode(&path);
    assert_eq!((picture.width, picture.height), (3, 2));
    assert_eq!(
        picture.rgb,
        [DARKEST, DARKEST, BRIGHTEST, MIDDLE, DARKEST, DARKEST]
    );
}

#[test]
fn the_range_can_be_fixed_and_values_that_are_not_finite_are_visible() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.png");
    let look = PictureStyle {
        range: ColourRange::Fixed(0.0, 10.0),
        colour_map: ColourMap::Grey,
        ..PictureStyle::default()
    };
    let values = [-5.0, 0.0, 10.0, 50.0];
    bare(&path, &Map::new(&values, 4, 1), &look, None).unwrap();
    let (black, white) = ([0; 3], [255; 3]);
    assert_eq!(decode(&path).rgb, [black, black, white, white]);
    let values = [0.0, f64::NAN, 10.0, f64::NEG_INFINITY];
    bare(&path, &Map::new(&values, 4, 1), &look, None).unwrap();
    let odd = ColourMap::Grey.not_finite();
    assert_eq!(decode(&path).rgb, [black, odd, white, odd]);
}

#[test]
fn a_plot_enlarges_the_map_beside_its_colour_bar() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plot.png");
    #[rustfmt::skip]
    let values = [
        9_u32, 0, 0,
        0,     0, 0,
        5,     0, 9,
    ];
    let map = Map::new(&values, 3, 3);
    plot(
        &path,
        &map,
        &PictureStyle::default(),
        &labels((0.0, 40.0), (0.0, 40.0)),
        Some("{}"),
    )
    .unwrap();
    let p = decode(&path);
    // Each cell of the map is a square of 300 pixels at its place.
    let (left, top) = p.find(BRIGHTEST);
    assert_eq!(p.extent((left, top)), (300, 300));
    for (i, &v) in values.iter().enumerate() {
        let centre = (left + 300 * (i % 3) + 150, top + 300 * (i / 3) + 150);
        let colour = match v {
            9 => BRIGHTEST,
            0 => DARKEST,
            _ => ColourMap::Inferno.palette(256)[5 * 256 / 9],
        };
        assert_eq!(p.at(centre.0, centre.1), colour, "value {i}");
    }
    // The map has a frame around it.
    for x in [left - 1, left + 900] {
        assert!((top..top + 900).all(|y| p.at(x, y) == FRAME));
    }
    // The bar is as high as the map, brightest at the top, and has every colour in order.
    let bar = (left + 905..p.width)
        .find(|&x| p.at(x, top) == BRIGHTEST)
        .expect("a colour bar");
    let mut column: Vec<_> = (top..top + 900).map(|y| p.at(bar + 5, y)).collect();
    column.dedup();
    column.reverse();
    assert_eq!(column, ColourMap::Inferno.palette(256));
    assert_eq!(p.notes.len(), 2);
}

/// For an axis from 0.2 to 0.9 downwards, the ticks at 0.2, 0.4, 0.6 and 0.8 differ from those of an axis upwards.
#[test]
fn the_second_axis_points_downwards_and_ticks_are_correct() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plot.png");
    let values = [1_u32, 0, 0, 0];
    let map = Map::new(&values, 2, 2);
    plot(
        &path,
        &map,
        &PictureStyle::default(),
        &labels((0.55, 0.7), (0.55, 0.7)),
        None,
    )
    .unwrap();
    let p = decode(&path);
    let (left, top) = p.find(BRIGHTEST);
    let runs = |pixels: Vec<[u8; 3]>| -> Vec<f64> {
        let mut middles = Vec::new();
        let mut begin = None;
        for (i, &rgb) in pixels.iter().chain([&[0; 3]]).enumerate() {
            match (rgb == FRAME, begin) {
                (true, None) => begin = Some(i),
                (false, Some(b)) => {
                    middles.push((b + i) as f64 / 2.0);
                    begin = None;
                }
                _ => {}
            }
        }
        middles
    };
    let places = |found: Vec<f64>, first: usize| {
        let fractions: Vec<f64> = found.iter().map(|m| (m - first as f64) / 900.0).collect();
        let expected = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9].map(|v| (v - 0.2) / 0.7);
        let sparse = [0.2, 0.4, 0.6, 0.8].map(|v| (v - 0.2) / 0.7);
        let close = |e: &[f64]| {
            fractions.len() == e.len()
                && fractions
                    .iter()
                    .zip(e)
                    .all(|(a, b)| (a - b).abs() < 2.0 / 900.0)
        };
        // Which of the two it is depends on the size of the font; upwards, neither set of tenths would fit.
        assert!(close(&expected) || close(&sparse), "{fractions:?}");
        fractions.len()
    };
    let y = runs((0..p.height).map(|y| p.at(left - 6, y)).collect());
    let x = runs(
        (0..p.width.min(left + 905))
            .map(|x| p.at(x, top + 900 + 5))
            .collect(),
    );
    places(y, top);
    places(x, left);
}

#[test]
fn the_shape_follows_the_span() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plot.png");
    for (w, h, sx, sy, wide, high) in [
        (40, 20, 4.0, 2.0, 920, 460),
        (20, 40, 2.0, 4.0, 460, 920),
        (20, 40, 3.0, 3.0, 920, 920), // cells that are not square
        (4000, 2000, 4.0, 2.0, 2000, 1000),
    ] {
        let values = vec![0_u32; w * h];
        let map = Map::new(&values, w, h);
        plot(
            &path,
            &map,
            &PictureStyle::default(),
            &labels((0.0, sx), (0.0, sy)),
            None,
        )
        .unwrap();
        let p = decode(&path);
        let start = p.find(DARKEST);
        assert_eq!(p.extent(start), (wide, high), "{w}×{h}");
    }
}

/// Averaging preserves the mean of the map, which skipping values would not.
#[test]
fn large_maps_are_averaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plot.png");
    let n = 4000;
    let values: Vec<f32> = (0..n * n).map(|i| ((i % n + i / n) % 2) as f32).collect();
    let map = Map::new(&values, n, n);
    plot(
        &path,
        &map,
        &PictureStyle::default(),
        &labels((0.0, 1.0), (0.0, 1.0)),
        None,
    )
    .unwrap();
    let p = decode(&path);
    assert!(p.width <= 4000 && p.height <= 4000);
    let start = p.find(MIDDLE);
    assert_eq!(p.extent(start), (2000, 2000));
}

#[test]
fn odd_maps_and_axes_give_pictures_of_a_convenient_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plot.png");
    for (w, h) in [(1, 1), (1, 500), (500, 1), (7, 13)] {
        for (centre, span) in [
            (0.0, 40.0),
            (5.30031, 1e-9),
            (5.30031, 1e-16),
            (-1e12, 3.0),
            (0.0, 1e-300),
            (1e300, 1e300),
        ] {
            let themes = [Theme::Dark, Theme::Light].into_iter().cycle();
            for (value, theme) in [0.0, 50000.0, -1e-300, f64::NAN, f64::MAX]
                .into_iter()
                .zip(themes)
            {
                let values = vec![value; w * h];
                let look = PictureStyle {
                    theme,
                    ..PictureStyle::default()
                };
                let labels = labels((centre, span), (centre, span));
                plot(&path, &Map::new(&values, w, h), &look, &labels, None).unwrap();
            }
            let p = decode(&path);
            assert!((900..1600).contains(&p.width), "{}", p.width);
            assert!((900..1600).contains(&p.height), "{}", p.height);
        }
    }
}

#[test]
fn the_same_map_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let values: Vec<i32> = (-50..50).collect();
    let write = |name: &str| {
        let path = dir.path().join(name);
        let map = Map::new(&values, 10, 10);
        plot(
            &path,
            &map,
            &PictureStyle::default(),
            &labels((0.0, 1.0), (0.0, 1.0)),
            None,
        )
        .unwrap();
        fs::read(path).unwrap()
    };
    assert_eq!(write("a.png"), write("b.png"));
}

#[test]
fn bad_maps_and_ranges_are_rejected_and_leave_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.png");
    let refused = |result: Result<(), IoError>, said: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error, IoError::Data { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    };
    let values = [1_u32; 6];
    let good = labels((0.0, 1.0), (0.0, 1.0));
    let fixed = |low, high| PictureStyle {
        range: ColourRange::Fixed(low, high),
        ..PictureStyle::default()
    };
    let look = PictureStyle::default();
    refused(
        bare(&path, &Map::new(&values, 2, 2), &look, None),
        "6 were given",
    );
    refused(bare(&path, &Map::new(&values, 0, 6), &look, None), "0×6");
    refused(
        bare(&path, &Map::new(&values, usize::MAX, 6), &look, None),
        "not possible",
    );
    let map = Map::new(&values, 3, 2);
    refused(bare(&path, &map, &fixed(2.0, 2.0), None), "the lower first");
    refused(
        plot(&path, &map, &fixed(0.0, f64::NAN), &good, None),
        "the lower first",
    );
    for (centre, span) in [
        (0.0, 0.0),
        (0.0, -1.0),
        (f64::NAN, 1.0),
        (0.0, f64::INFINITY),
    ] {
        let bad = labels((0.0, 1.0), (centre, span));
        refused(plot(&path, &map, &look, &bad, None), "the axis y");
    }
    let (x, y) = ([1.0, 2.0], [1.0]);
    let series = |y, error| Series {
        name: "a",
        x: &x,
        y,
        error,
        marks: Marks::Line,
    };
    let line_plot = LinePlot::default();
    refused(
        lines(&path, &[series(&y, None)], &line_plot, None),
        "as many",
    );
    refused(
        lines(&path, &[series(&x, Some(&[[0.0, 1.0]]))], &line_plot, None),
        "as many",
    );
    refused(lines(&path, &[], &line_plot, None), "nothing to draw");
    let log = LinePlot {
        y: PlotAxis {
            name: "E".to_owned(),
            division: Division::Logarithmic,
            range: Some((0.0, 1.0)),
            ..PlotAxis::default()
        },
        ..LinePlot::default()
    };
    refused(lines(&path, &[series(&x, None)], &log, None), "above zero");
    refused(
        trajectories(&path, &[], &Orbits::default(), None),
        "no position is finite",
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_when_a_picture_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.png");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let values: Vec<u32> = (0..1_000_000_u32)
        .map(|i| i.wrapping_mul(0x9e37_79b9))
        .collect();
    for side in [2, 1000] {
        let values = &values[..side * side];
        let map = Map::new(values, side, side);
        let axes = labels((0.0, 1.0), (0.0, 1.0));
        for result in [
            bare(&path, &map, &PictureStyle::default(), None),
            plot(&path, &map, &PictureStyle::default(), &axes, None),
        ] {
            let error = result.unwrap_err();
            assert!(matches!(error, IoError::DiskFull { .. }), "{error:?}");
            assert!(error.to_string().contains("map.png"), "{error}");
        }
    }
}

/// The colours of the first two lines on a dark background.
const LINES: [[u8; 3]; 2] = [Theme::Dark.colour_of_body(0), Theme::Dark.colour_of_body(1)];

#[test]
fn a_body_has_one_colour_in_all_pictures_and_in_the_explorer() {
    use trisolar::encounters::pictures::CLASSES;
    let explorer = include_str!("../../host/explore/page/style.css");
    for (body, (class, colour)) in CLASSES.iter().take(3).enumerate() {
        assert_eq!(*class, format!("body {} escapes", body + 1));
        let [r, g, b] = Theme::Dark.colour_of_body(body);
        assert_eq!(*colour, [r, g, b]);
        let hex = format!("#{r:02x}{g:02x}{b:02x}");
        assert!(explorer.contains(&hex), "body {}: {hex}", body + 1);
        // The same hue on white: the same order of red, green and blue, whatever the lightness.
        let brightest = |c: [u8; 3]| (0..3).max_by_key(|k| c[*k]);
        let light = Theme::Light.colour_of_body(body);
        assert_eq!(brightest(light), brightest([r, g, b]));
        let [r, g, b] = light;
        assert!(explorer.contains(&format!("#{r:02x}{g:02x}{b:02x}")));
    }
}

#[test]
fn lines_are_drawn_within_the_frame_and_gaps_stay_open() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lines.png");
    let x: Vec<f64> = (0..=10).map(f64::from).collect();
    let constant = [5.0; 11];
    let mut gap = [1e6; 11];
    gap[4..=6].fill(f64::NAN);
    let series = |name, y| Series {
        name,
        x: &x,
        y,
        error: None,
        marks: Marks::Line,
    };
    let axis = |range| PlotAxis {
        name: "a".to_owned(),
        range: Some(range),
        ..PlotAxis::default()
    };
    let line_plot = LinePlot {
        title: "Lines".to_owned(),
        x: axis((0.0, 10.0)),
        y: axis((0.0, 10.0)),
        theme: Theme::Dark,
        size: None,
    };
    // The second line is far out of the range and must not be visible (there is no name and no legend).
    let both = [series("", &constant), series("", &gap)];
    lines(&path, &both, &line_plot, None).unwrap();
    let p = decode(&path);
    let row = |p: &Picture, colour| {
        let (_, y) = p.find(colour);
        (0..p.width).filter(|&x| p.at(x, y) == colour).count()
    };
    assert_eq!(row(&p, LINES[0]), 960, "from edge to edge");
    assert!(!p.rgb.contains(&LINES[1]));
    let gap = gap.map(|v| v / 1e6 * 5.0);
    lines(&path, &[series("", &gap)], &line_plot, None).unwrap();
    let p = decode(&path);
    // Four of ten intervals are missing, apart from the round ends of the line.
    let drawn = row(&p, LINES[0]);
    assert!((570..=580).contains(&drawn), "{drawn}");
}

#[test]
fn a_logarithmic_axis_shows_a_power_law_as_a_straight_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lines.png");
    let x: Vec<f64> = (0..=4).map(|i| 10_f64.powi(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 1e-12 * x * x).collect();
    let axis = |name: &str| PlotAxis {
        name: name.to_owned(),
        division: Division::Logarithmic,
        ..PlotAxis::default()
    };
    let line_plot = LinePlot {
        title: String::new(),
        x: axis("N"),
        y: axis("error"),
        theme: Theme::Dark,
        size: None,
    };
    let series = Series {
        name: "",
        x: &x,
        y: &y,
        error: None,
        marks: Marks::Points,
    };
    lines(&path, &[series], &line_plot, None).unwrap();
    let p = decode(&path);
    // The centres of the five dots (there is no name and no legend).
    let mut dots: Vec<(f64, f64)> = Vec::new();
    for y in 0..p.height {
        for x in 0..p.width {
            let (fx, fy) = (x as f64, y as f64);
            let new = dots.iter().all(|d| (d.0 - fx).hypot(d.1 - fy) > 12.0);
            if p.at(x, y) == LINES[0] && new {
                dots.push((fx, fy));
            }
        }
    }
    assert_eq!(dots.len(), 5, "{dots:?}");
    for pair in dots.windows(2) {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let (dx0, dy0) = (dots[1].0 - dots[0].0, dots[1].1 - dots[0].1);
        assert!((dx - dx0).abs() < 2.1 && (dy - dy0).abs() < 2.1, "{dots:?}");
        assert!(dx < 0.0 && dy > 0.0, "rising to the right");
    }
}

#[test]
fn orbits_are_drawn_in_four_panels() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orbits.png");
    let circle: Vec<[f64; 3]> = (0..=100)
        .map(|i| std::f64::consts::TAU * f64::from(i) / 100.0)
        .map(|t| [t.cos(), t.sin(), 0.0])
        .collect();
    let still = [[0.0, 0.0, 0.5], [f64::NAN; 3], [0.0, 0.0, 0.5]];
    let bodies = [
        Trajectory {
            name: "body 1",
            points: &circle,
        },
        Trajectory {
            name: "",
            points: &still,
        },
    ];
    let orbits = Orbits {
        title: "Orbits".to_owned(),
        unit: "au".to_owned(),
        all: 2,
        ..Orbits::default()
    };
    trajectories(&path, &bodies, &orbits, Some("{}")).unwrap();
    let p = decode(&path);
    // The last positions are drawn as dots, in each panel one for each body.
    let (half_x, half_y) = (p.width / 2, p.height / 2);
    for colour in LINES {
        for (right, below) in [(false, false), (true, false), (false, true), (true, true)] {
            let found = (0..p.width * p.height)
                .map(|i| (i % p.width, i / p.width))
                .filter(|&(x, y)| (x > half_x) == right && (y > half_y) == below)
                .any(|(x, y)| p.at(x, y) == colour && p.extent((x, y)).0 >= 7);
            assert!(found, "{colour:?} {right} {below}");
        }
    }
}

#[test]
fn orbits_in_a_plane_have_one_panel_of_equal_scales() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orbits.png");
    // An ellipse twice as long as wide, in each of the three planes.
    let ellipse = |a: usize, b: usize| -> Vec<[f64; 3]> {
        let point = |i: i32| {
            let t = std::f64::consts::PI * f64::from(i) / 100.0;
            let mut p = [3.0; 3];
            (p[a], p[b]) = (2.0 * t.cos(), t.sin());
            p
        };
        (0..=200).map(point).collect()
    };
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let points = ellipse(a, b);
        let bodies = [Trajectory {
            name: "body 0",
            points: &points,
        }];
        let orbits = Orbits {
            title: "An ellipse".to_owned(),
            all: 1,
            ..Orbits::default()
        };
        trajectories(&path, &bodies, &orbits, None).unwrap();
        let p = decode(&path);
        assert!(p.width > p.height && p.height < 800, "one panel");
        // The pixels of the line, without the legend on the right and the marks at the start.
        let right = p.width - 150;
        let of_line: Vec<(usize, usize)> = (0..p.width * p.height)
            .map(|i| (i % p.width, i / p.width))
            .filter(|&(x, y)| x < right && p.at(x, y) == LINES[0])
            .collect();
        let extent = |k: fn(&(usize, usize)) -> usize| {
            let (low, high) = (of_line.iter().map(k).min(), of_line.iter().map(k).max());
            (high.unwrap() - low.unwrap()) as f64
        };
        let ratio = extent(|p| p.0) / extent(|p| p.1);
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
    }
}

#[test]
fn after_ten_lines_the_colours_come_again_with_dashes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lines.png");
    let y = [0.5, 0.5];
    let axis = PlotAxis {
        range: Some((0.0, 1.0)),
        ..PlotAxis::default()
    };
    let plot = LinePlot {
        x: axis.clone(),
        y: axis,
        ..LinePlot::default()
    };
    // Only the last line is inside of the frame.
    let outside = [2.0, 2.0];
    let drawn = |count: usize| {
        let mut all: Vec<Series<'_>> = vec![series(&outside); count];
        all[count - 1] = series(&y);
        fn series<'a>(y: &'a [f64]) -> Series<'a> {
            Series {
                name: "",
                x: &[0.0, 1.0],
                y,
                error: None,
                marks: Marks::Line,
            }
        }
        lines(&path, &all, &plot, None).unwrap();
        let p = decode(&path);
        p.rgb.iter().filter(|p| **p == LINES[0]).count()
    };
    let solid = drawn(1);
    assert!(solid >= 960, "{solid}");
    let dashed = drawn(11);
    assert!((solid / 3..solid * 9 / 10).contains(&dashed), "{dashed}");
    assert_eq!(drawn(2), 0, "another colour");
}

#[test]
fn a_value_is_drawn_around_its_place() {
    // Places 0, 1, 2, 3: the pixel of place 0 reaches from -0.5 to 0.5.
    let axis = Axis::around("x".into(), String::new(), [0.0, 4.0], 4);
    assert_eq!((axis.centre, axis.span), (1.5, 4.0));
}

#[test]
fn classes_without_a_value_have_the_colour_of_the_legend() {
    let class = |name: &str, colour, shaded| Class {
        name: name.into(),
        colour,
        shaded,
    };
    let classes = [
        class("ended", [240, 178, 40], true),
        class("open", [120, 120, 130], false),
    ];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("classes.png");
    let map = ClassMap {
        size: [6, 1],
        classes: &classes,
        of_pixels: &[0, 0, 0, 1, 1, 1],
        values: &[1.0, 10.0, 10.0, 1.0, 1e9, f64::NAN],
    };
    bare_classes(&path, &map, None).unwrap();
    let rgb = decode(&path).rgb;
    assert_eq!(rgb[3..], [[120, 120, 130]; 3]);
    // The time of an open run does not darken others: the last that ends has the lowest brightness.
    assert_eq!(rgb[0], [240, 178, 40]);
    assert!(rgb[1][0] < 60, "{rgb:?}");
}
