//! Puts map, axes, title and colour bar on a sheet. All lengths grow with the picture, so that a large one looks the
//! same when it is scaled down.

use super::{BarNumbers, Labels, Map, PictureStyle, resample};
use crate::axes::{
    AxesStyle, MINOR_LENGTH, fitting, further_line, horizontal_axis, left_of_frame, tick,
    vertical_axis, widest,
};
use crate::canvas::{Align, Canvas, Image, PixelRect, TextStyle, text_width, wrap};
use crate::colour::{ColourScale, Rgb, Spacing};
use crate::plot::{LEAST_FRAME, TOO_SMALL};
use crate::size::PictureSize;
use crate::ticks::Ticks;

/// The ways to draw a picture, of which the first leaves out nothing and each of the others more than that before it.
const LEVELS: u8 = 4;

/// The texts of a picture, and the room that they take around the map.
struct Around {
    x_ticks: Ticks,
    y_ticks: Ticks,
    y_lines: Vec<String>,
    bar_ticks: Ticks,
    bar_lines: Vec<String>,
    title: Vec<String>,
    /// Whether the bar is beside the map, not below it.
    beside: bool,
    left: f32,
    right: f32,
    top: f32,
    below: f32,
    /// The height of the horizontal axis.
    axis_height: f32,
}

/// Whether no value can be coloured, so that a bar has the colour of the map and says what it means.
fn has_nothing(map: &Map<'_>, scale: ColourScale) -> bool {
    scale.low.is_nan() && map.has_no_finite_value()
}

impl Around {
    /// What is around a map of this size; without the label of the bar, without the bar, and without the title from `level` 1, 2 and 3 on.
    fn new(
        [wide, high]: [f32; 2],
        (scale, nothing, beyond): (ColourScale, bool, bool),
        style: &PictureStyle,
        labels: &Labels,
        s: &AxesStyle,
        level: u8,
    ) -> Self {
        let unit = s.unit;
        let x_ticks = fitting(wide, s, true, |n| {
            Ticks::linear(labels.x.centre, labels.x.span, n)
        });
        let y_ticks = fitting(high, s, false, |n| {
            Ticks::linear(labels.y.centre, labels.y.span, n)
        });
        let beside = high >= 0.4 * wide;
        let (bar_long, bar_label_space) = if beside {
            (high, s.label())
        } else {
            (wide, 0.0)
        };
        let missing = style.missing.unwrap_or("not finite");
        let bar_ticks = if nothing {
            Ticks::single(missing)
        } else {
            fitting(bar_long, s, !beside, |n| {
                value_ticks(scale, style.numbers, n)
            })
        };
        let bar_label = bar_ticks.axis_label(&labels.value, &labels.unit);
        // A label longer than the bar is broken; beside the bar, each line takes a column.
        let whole_side = if beside { high + 60.0 * unit } else { wide };
        let least = style.size.map_or(300.0 * unit, |_| 0.0);
        let mut bar_lines = wrap(&bar_label, s.label(), whole_side.max(least));
        if scale.levels < 256 && !nothing {
            bar_lines.push(format!("{}: {missing}", style.colour_map.not_finite_name()));
        }
        if let Some(numbers) = style
            .numbers
            .filter(|_| scale.low == 0.0 && scale.high > 0.0)
        {
            bar_lines.push(format!("darkest: {}", numbers.zero));
        }
        if beyond {
            bar_lines.extend(wrap(BEYOND, s.label(), whole_side.max(least)));
        }
        if level > 0 {
            bar_lines.clear();
        }

        // Of a wide and low map it would be longer than the map is high.
        let y_label = y_ticks.axis_label(&labels.y.name, &labels.y.unit);
        let y_lines = wrap(&y_label, s.label(), high.max(150.0 * unit));
        let more_lines = y_lines.len().saturating_sub(1) as f32;
        let left = s.margin() + left_of_frame(&y_ticks, s) + more_lines * further_line(s);
        let bar_column = 2.5 * s.gap()
            + s.bar()
            + s.tick()
            + s.gap()
            + widest(&bar_ticks, s.number())
            + 1.5 * s.gap()
            + bar_label_space * 1.25 * bar_lines.len() as f32;
        let has_bar = level < 2;
        let right = s.margin()
            + if beside && has_bar {
                bar_column
            } else {
                s.number()
            };
        let width = match style.size {
            Some(size) => size.width as f32,
            None => (left + wide + right).max(LEAST_WIDTH * unit).ceil(),
        };
        let mut title = wrap(&labels.title, s.title(), width - 2.0 * s.margin());
        if level > 2 {
            title.clear();
        }
        let top = s.margin() + title.len() as f32 * s.title() * 1.3 + 1.5 * s.gap();
        let axis_height = s.tick() + s.gap() + s.number() + 1.3 * s.gap() + s.label();
        let below = axis_height
            + if beside || !has_bar {
                0.0
            } else {
                2.0 * s.gap()
                    + s.bar()
                    + s.tick()
                    + s.gap()
                    + s.number()
                    + 1.3 * s.gap()
                    + s.label() * 1.25 * bar_lines.len() as f32
            };
        Self {
            x_ticks,
            y_ticks,
            y_lines,
            bar_ticks,
            bar_lines,
            title,
            beside,
            left,
            right,
            top,
            below,
            axis_height,
        }
    }
}

/// Whether values lie beyond the range of the colours.
fn has_values_beyond(map: &Map<'_>, scale: ColourScale) -> bool {
    let (low, high, _) = map.extremes(scale.spacing);
    low < scale.low || high > scale.high
}

/// What the label of a colour bar says if values lie beyond its ends.
pub(super) const BEYOND: &str = "colours of the ends: also values beyond";

/// The least width of a picture without a given size, for its title.
const LEAST_WIDTH: f32 = 520.0;

/// The size of a picture of a square map, approximately, whose texts have the usual size.
const SHEET: [f32; 2] = [1160.0, 1070.0];

/// Draws the whole sheet.
///
/// # Errors
/// The reason why it is not possible.
pub(super) fn draw(
    map: &Map<'_>,
    scale: ColourScale,
    style: &PictureStyle,
    labels: &Labels,
) -> Result<Canvas, String> {
    // Axes of different units have no common scale: then pixels are square.
    let ratio = match labels.x.unit == labels.y.unit {
        true => labels.x.span / labels.y.span,
        false => map.width as f64 / map.height as f64,
    };
    let natural = resample::size(map.width, map.height, ratio);
    let natural = [natural.0 as f32, natural.1 as f32];
    let theme = style.theme;
    let unit = match style.size {
        None => (natural[0].max(natural[1]) / 900.0).max(1.0),
        Some(size) => size.legible_unit(SHEET),
    };
    let s = AxesStyle { unit, theme };
    let nothing = has_nothing(map, scale);
    let colours = (scale, nothing, has_values_beyond(map, scale));
    let around = |sides: [f32; 2], level: u8| Around::new(sides, colours, style, labels, &s, level);
    let (level, sides) = match style.size {
        None => (0, natural),
        Some(size) => fitted(size, natural, s.margin(), around)?,
    };
    let [wide, high] = sides;
    let Around {
        x_ticks,
        y_ticks,
        y_lines,
        bar_ticks,
        bar_lines,
        title,
        beside,
        left,
        right,
        top,
        below,
        axis_height,
    } = around(sides, level);
    let [width, height] = match style.size {
        None => {
            let width = (left + wide + right).max(LEAST_WIDTH * unit).ceil();
            [width, (top + high + below + s.margin()).ceil()]
        }
        Some(size) => [size.width as f32, size.height as f32],
    };
    let mut canvas = Canvas::new(width as u32, height as u32, theme.background())
        .ok_or("the picture is too large")?;
    let (w, h) = (wide as usize, high as usize);

    // Whole pixels, so that values keep sharp edges.
    let spare = width - (left + wide + right);
    let frame = PixelRect {
        x: (left + spare / 2.0).round(),
        y: top.round(),
        width: wide,
        height: high,
    };
    let palette = scale.palette(style.colour_map);
    let corner = [frame.x as usize, frame.y as usize];
    resample::draw(&mut canvas, corner, [w, h], map, scale, &palette);
    let of_bar = if nothing {
        &palette[palette.len() - 1..]
    } else {
        &palette
    };
    canvas.outline(frame, s.line(), theme.frame());

    // All lines around one axis: that of the map, moved as far as the widest line needs.
    let half = title
        .iter()
        .map(|line| text_width(line, s.title()) / 2.0)
        .fold(0.0, f32::max);
    let middle = (frame.x + wide / 2.0)
        .min(width - s.margin() - half)
        .max(s.margin() + half);
    for (i, line) in title.iter().enumerate() {
        let y = s.margin() + (i as f32 + 0.5) * s.title() * 1.3;
        canvas.text(line, [middle, y], s.text(s.title(), Align::Centre));
    }
    let x_label = x_ticks.axis_label(&labels.x.name, &labels.x.unit);
    horizontal_axis(&mut canvas, frame, &x_ticks, &[x_label], &s);

    let y_label = y_lines.join("\n");
    vertical_axis(&mut canvas, frame, &y_ticks, &y_label, &s, |at| {
        if labels.y_upwards { 1.0 - at } else { at }
    });
    let upwards = TextStyle {
        upwards: true,
        ..s.text(s.label(), Align::Centre)
    };

    if level > 1 {
        return Ok(canvas);
    }
    if beside {
        let bar = PixelRect {
            x: frame.x + wide + (2.5 * s.gap()).round(),
            width: s.bar(),
            ..frame
        };
        fill_bar(&mut canvas, bar, scale, of_bar, true);
        canvas.outline(bar, s.line(), theme.frame());
        let edge = bar.x + bar.width + s.line();
        for (at, text) in &bar_ticks.marks {
            let y = bar.y + (1.0 - *at as f32) * bar.height;
            tick(&mut canvas, [edge, y], true, 1.0, &s);
            let x = edge + s.tick() + s.gap();
            canvas.text(text, [x, y], s.text(s.number(), Align::Left));
        }
        for at in &bar_ticks.minor {
            let y = bar.y + (1.0 - *at as f32) * bar.height;
            tick(&mut canvas, [edge, y], true, MINOR_LENGTH, &s);
        }
        for (i, line) in bar_lines.iter().enumerate() {
            let x = edge
                + s.tick()
                + 2.5 * s.gap()
                + widest(&bar_ticks, s.number())
                + (0.5 + 1.25 * i as f32) * s.label();
            canvas.text(line, [x, bar.y + bar.height / 2.0], upwards);
        }
    } else {
        let bar = PixelRect {
            y: (frame.y + high + axis_height + 2.0 * s.gap()).round(),
            height: s.bar(),
            ..frame
        };
        fill_bar(&mut canvas, bar, scale, of_bar, false);
        canvas.outline(bar, s.line(), theme.frame());
        horizontal_axis(&mut canvas, bar, &bar_ticks, &bar_lines, &s);
    }
    Ok(canvas)
}

/// The size of the map in a picture of a given size, as large as what is around it allows, and what is left out so that the map has its
/// share of the picture.
fn fitted(
    size: PictureSize,
    natural: [f32; 2],
    bottom: f32,
    around: impl Fn([f32; 2], u8) -> Around,
) -> Result<(u8, [f32; 2]), String> {
    let sheet = [size.width as f32, size.height as f32];
    let inside = |room: [f32; 2]| {
        let factor = (room[0] / natural[0]).min(room[1] / natural[1]);
        natural.map(|side| (side * factor).floor())
    };
    let mut found = None;
    for level in 0..LEVELS {
        let mut sides = inside(sheet.map(|side| 0.7 * side));
        // What is around the map depends a little on its size.
        for _ in 0..4 {
            let a = around(sides.map(|side| side.max(1.0)), level);
            sides = inside([
                sheet[0] - a.left - a.right,
                sheet[1] - a.top - a.below - bottom,
            ]);
        }
        found = Some((level, sides));
        if !(size.is_too_narrow(sides[0]) && size.is_too_low(sides[1])) {
            break;
        }
    }
    match found.filter(|(_, sides)| sides[0].min(sides[1]) >= LEAST_FRAME) {
        Some(found) => Ok(found),
        None => Err(TOO_SMALL.into()),
    }
}

/// Numbers of the colour bar; a map of equal values has one, in the middle.
pub(super) fn value_ticks(scale: ColourScale, numbers: Option<BarNumbers>, wanted: usize) -> Ticks {
    let (mut low, mut high) = (scale.low, scale.high);
    if low < high && scale.spacing == Spacing::Logarithmic {
        return Ticks::of_ratios(low, high, wanted);
    }
    if let Some(BarNumbers {
        at_zero,
        per_value,
        zero,
    }) = numbers
    {
        if (low, high) == (0.0, 0.0) {
            return Ticks::single(zero);
        }
        // Without the last digits, in which the sum is rounded.
        let rounded = |x: f64| format!("{x:.12e}").parse().unwrap_or(x);
        [low, high] = [low, high].map(|value| rounded(at_zero + per_value * value));
        if low > high {
            let mut ticks = Ticks::linear(low / 2.0 + high / 2.0, low - high, wanted);
            ticks
                .marks
                .iter_mut()
                .for_each(|mark| mark.0 = 1.0 - mark.0);
            ticks.marks.reverse();
            return ticks;
        }
    }
    if low < high {
        return Ticks::linear(low / 2.0 + high / 2.0, high - low, wanted);
    }
    if low.is_nan() {
        // A logarithmic scale of values that have no logarithm.
        return Ticks::single("0 or less");
    }
    let text = if low == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e7).contains(&low.abs()) {
        format!("{low}")
    } else {
        format!("{low:e}")
    };
    Ticks::single(&text.replace('-', "−"))
}

pub(super) fn fill_bar(
    canvas: &mut Canvas,
    bar: PixelRect,
    scale: ColourScale,
    palette: &[Rgb],
    upwards: bool,
) {
    let (w, h) = (bar.width as usize, bar.height as usize);
    let last = usize::from(scale.levels) - 1;
    let colour = |i: usize, n: usize| {
        let entry = if scale.low < scale.high {
            (i * (last + 1) / n).min(last)
        } else {
            0
        };
        palette[entry]
    };
    let image = if upwards {
        Image::from_rows(1, h, |y, pixel| {
            pixel.copy_from_slice(&colour(h - 1 - y, h))
        })
    } else {
        Image::from_rows(w, 1, |_, row| {
            for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
                pixel.copy_from_slice(&colour(x, w));
            }
        })
    };
    canvas.image([bar.x as usize, bar.y as usize], [w, h], image);
}
