//! Puts map, axes, title and colour bar on a sheet. All lengths grow with the picture, so that a large one looks the
//! same when it is scaled down.

use super::{BarNumbers, Labels, Map, PictureStyle, resample};
use crate::axes::{
    AxesStyle, MINOR_LENGTH, fitting, further_line, horizontal_axis, left_of_frame, tick,
    vertical_axis, widest,
};
use crate::canvas::{Align, Canvas, Image, PixelRect, TextStyle, text_width, wrap};
use crate::colour::{ColourScale, Rgb, Spacing};
use crate::ticks::Ticks;

/// Draws the whole sheet; `None` if it would be too large.
pub(super) fn draw(
    map: &Map<'_>,
    scale: ColourScale,
    style: &PictureStyle,
    labels: &Labels,
) -> Option<Canvas> {
    let (w, h) = resample::size(map.width, map.height, labels.x.span / labels.y.span);
    let unit = (w.max(h) as f32 / 900.0).max(1.0);
    let theme = style.theme;
    let s = AxesStyle { unit, theme };
    let (wide, high) = (w as f32, h as f32);

    let x_ticks = fitting(wide, &s, true, |n| {
        Ticks::linear(labels.x.centre, labels.x.span, n)
    });
    let y_ticks = fitting(high, &s, false, |n| {
        Ticks::linear(labels.y.centre, labels.y.span, n)
    });
    let beside = high >= 0.4 * wide;
    let (bar_long, bar_label_space) = if beside {
        (high, s.label())
    } else {
        (wide, 0.0)
    };
    let missing = style.missing.unwrap_or("not finite");
    // A bar without values has the colour of the map, and says what it means.
    let nothing = scale.low.is_nan() && map.has_no_finite_value();
    let bar_ticks = if nothing {
        Ticks::single(missing)
    } else {
        fitting(bar_long, &s, !beside, |n| {
            value_ticks(scale, style.numbers, n)
        })
    };
    let bar_label = bar_ticks.axis_label(&labels.value, &labels.unit);
    // A label longer than the bar is broken; beside the bar, each line takes a column.
    let whole_side = if beside { high + 60.0 * unit } else { wide };
    let mut bar_lines = wrap(&bar_label, s.label(), whole_side.max(300.0 * unit));
    if scale.levels < 256 && !nothing {
        bar_lines.push(format!("{}: {missing}", style.colour_map.not_finite_name()));
    }
    if let Some(numbers) = style
        .numbers
        .filter(|_| scale.low == 0.0 && scale.high > 0.0)
    {
        bar_lines.push(format!("darkest: {}", numbers.zero));
    }

    // Of a wide and low map it would be longer than the map is high.
    let y_label = y_ticks.axis_label(&labels.y.name, &labels.y.unit);
    let y_lines = wrap(&y_label, s.label(), high.max(150.0 * unit));
    let more_lines = y_lines.len().saturating_sub(1) as f32;
    let left = s.margin() + left_of_frame(&y_ticks, &s) + more_lines * further_line(&s);
    let bar_column = 2.5 * s.gap()
        + s.bar()
        + s.tick()
        + s.gap()
        + widest(&bar_ticks, s.number())
        + 1.5 * s.gap()
        + bar_label_space * 1.25 * bar_lines.len() as f32;
    let right = s.margin() + if beside { bar_column } else { s.number() };
    let least_width = 520.0 * unit;
    let width = (left + wide + right).max(least_width).ceil();
    let title = wrap(&labels.title, s.title(), width - 2.0 * s.margin());
    let top = s.margin() + title.len() as f32 * s.title() * 1.3 + 1.5 * s.gap();
    let axis_height = s.tick() + s.gap() + s.number() + 1.3 * s.gap() + s.label();
    let below = axis_height
        + if beside {
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
    let height = (top + high + below + s.margin()).ceil();
    let mut canvas = Canvas::new(width as u32, height as u32, theme.background())?;

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
    Some(canvas)
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
