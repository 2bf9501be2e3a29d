//! Puts map, axes, title and colour bar on a sheet. All lengths grow with the picture, so that a large one looks the
//! same when it is scaled down.

use super::{Labels, Look, Map, resample};
use crate::io::canvas::{Align, Canvas, Frame, Text, Theme, text_width, wrap};
use crate::io::colour::{Rgb, Scale};
use crate::io::ticks::Ticks;

/// Lengths in pixels for a map 900 pixels long; `unit` scales them.
struct Style {
    unit: f32,
    theme: Theme,
}

impl Style {
    fn title(&self) -> f32 {
        26.0 * self.unit
    }
    fn label(&self) -> f32 {
        21.0 * self.unit
    }
    fn number(&self) -> f32 {
        17.0 * self.unit
    }
    fn tick(&self) -> f32 {
        7.0 * self.unit
    }
    fn gap(&self) -> f32 {
        9.0 * self.unit
    }
    fn margin(&self) -> f32 {
        22.0 * self.unit
    }
    fn line(&self) -> f32 {
        (1.5 * self.unit).round().max(1.0)
    }
    fn bar(&self) -> f32 {
        (30.0 * self.unit).round()
    }
    fn text(&self, size: f32, align: Align) -> Text {
        Text {
            size,
            colour: self.theme.text(),
            align,
            upwards: false,
        }
    }
}

/// Draws it all; `None` if the sheet would be too large.
pub(super) fn draw(map: &Map<'_>, scale: Scale, look: &Look, labels: &Labels) -> Option<Canvas> {
    let (w, h) = resample::size(map.width, map.height, labels.x.span / labels.y.span);
    let unit = (w.max(h) as f32 / 900.0).max(1.0);
    let theme = look.theme;
    let s = Style { unit, theme };
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
    let bar_ticks = fitting(bar_long, &s, !beside, |n| value_ticks(scale, n));
    let bar_label = bar_ticks.axis_label(&labels.value, &labels.unit);
    // A label longer than the bar is broken; beside the bar, each line takes a column.
    let whole_side = if beside { high + 60.0 * unit } else { wide };
    let mut bar_lines = wrap(&bar_label, s.label(), whole_side.max(300.0 * unit));
    if scale.levels < 256 {
        bar_lines.push(look.colour_map.not_finite_note().to_owned());
    }

    let left =
        s.margin() + s.label() + s.gap() * 1.5 + widest(&y_ticks, s.number()) + s.gap() + s.tick();
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
    let frame = Frame {
        x: (left + spare / 2.0).round(),
        y: top.round(),
        width: wide,
        height: high,
    };
    let palette = scale.palette(look.colour_map);
    let corner = (frame.x as usize, frame.y as usize);
    resample::draw(&mut canvas, corner, (w, h), map, scale, &palette);
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

    let edge = frame.x - s.line();
    for (at, text) in &y_ticks.marks {
        let y = frame.y + *at as f32 * high;
        tick(&mut canvas, [edge - s.tick(), y], true, &s);
        let x = edge - s.tick() - s.gap();
        canvas.text(text, [x, y], s.text(s.number(), Align::Right));
    }
    let y_label = y_ticks.axis_label(&labels.y.name, &labels.y.unit);
    let x = edge - s.tick() - 2.5 * s.gap() - widest(&y_ticks, s.number()) - s.label() / 2.0;
    let upwards = Text {
        upwards: true,
        ..s.text(s.label(), Align::Centre)
    };
    canvas.text(&y_label, [x, frame.y + high / 2.0], upwards);

    if beside {
        let bar = Frame {
            x: frame.x + wide + (2.5 * s.gap()).round(),
            width: s.bar(),
            ..frame
        };
        fill_bar(&mut canvas, bar, scale, &palette, true);
        canvas.outline(bar, s.line(), theme.frame());
        let edge = bar.x + bar.width + s.line();
        for (at, text) in &bar_ticks.marks {
            let y = bar.y + (1.0 - *at as f32) * bar.height;
            tick(&mut canvas, [edge, y], true, &s);
            let x = edge + s.tick() + s.gap();
            canvas.text(text, [x, y], s.text(s.number(), Align::Left));
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
        let bar = Frame {
            y: (frame.y + high + axis_height + 2.0 * s.gap()).round(),
            height: s.bar(),
            ..frame
        };
        fill_bar(&mut canvas, bar, scale, &palette, false);
        canvas.outline(bar, s.line(), theme.frame());
        horizontal_axis(&mut canvas, bar, &bar_ticks, &bar_lines, &s);
    }
    Some(canvas)
}

/// Ticks, numbers and label lines below a frame.
fn horizontal_axis(canvas: &mut Canvas, frame: Frame, ticks: &Ticks, label: &[String], s: &Style) {
    let edge = frame.y + frame.height + s.line();
    let numbers = edge + s.tick() + s.gap() + s.number() * 0.4;
    for (at, text) in &ticks.marks {
        let x = frame.x + *at as f32 * frame.width;
        tick(canvas, [x, edge], false, s);
        canvas.text(text, [x, numbers], s.text(s.number(), Align::Centre));
    }
    for (i, line) in label.iter().enumerate() {
        let y = numbers + s.number() * 0.5 + 1.3 * s.gap() + (0.5 + 1.25 * i as f32) * s.label();
        let half = text_width(line, s.label()) / 2.0;
        let middle = (frame.x + frame.width / 2.0)
            .min(canvas.width() as f32 - s.gap() - half)
            .max(s.gap() + half);
        canvas.text(line, [middle, y], s.text(s.label(), Align::Centre));
    }
}

/// A tick from `at` to the right, or downwards.
fn tick(canvas: &mut Canvas, [x, y]: [f32; 2], sideways: bool, s: &Style) {
    let (half, long) = (s.line() / 2.0, s.tick());
    let frame = if sideways {
        Frame {
            x,
            y: (y - half).round(),
            width: long,
            height: s.line(),
        }
    } else {
        Frame {
            x: (x - half).round(),
            y,
            width: s.line(),
            height: long,
        }
    };
    canvas.fill(frame, s.theme.frame());
}

/// Ticks as many as fit along `length` pixels without their numbers touching.
fn fitting(length: f32, s: &Style, along: bool, ticks: impl Fn(usize) -> Ticks) -> Ticks {
    let most = if along { 45.0 } else { 65.0 } * s.unit;
    let most = ((length / most) as usize).clamp(4, 10);
    let fits = |found: &Ticks| {
        let written = found.marks.iter().filter(|m| !m.1.is_empty());
        let places: Vec<f32> = written.map(|m| m.0 as f32 * length).collect();
        let room = places
            .windows(2)
            .map(|p| p[1] - p[0])
            .fold(f32::INFINITY, f32::min);
        let needed = if along {
            widest(found, s.number()) + 1.6 * s.gap()
        } else {
            s.number() * 1.5
        };
        places.len() > 1 && room >= needed
    };
    for wanted in (2..=most).rev() {
        let found = ticks(wanted);
        if fits(&found) {
            return found;
        }
    }
    // A short axis: numbers at the outer ticks only, or at one.
    for wanted in (2..=most).rev() {
        let mut found = ticks(wanted);
        let last = found.marks.len().saturating_sub(1);
        for (_, text) in found.marks.iter_mut().take(last).skip(1) {
            text.clear();
        }
        if fits(&found) {
            return found;
        }
    }
    let mut found = ticks(2);
    found.marks.truncate(1);
    found
}

/// Numbers of the colour bar; a map of equal values has one, in the middle.
fn value_ticks(scale: Scale, wanted: usize) -> Ticks {
    let (low, high) = (scale.low, scale.high);
    if low < high {
        return Ticks::linear(low / 2.0 + high / 2.0, high - low, wanted);
    }
    if low.is_nan() {
        return Ticks {
            marks: Vec::new(),
            offset: String::new(),
            exponent: 0,
        };
    }
    let text = if low == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e7).contains(&low.abs()) {
        format!("{low}")
    } else {
        format!("{low:e}")
    };
    Ticks {
        marks: vec![(0.5, text.replace('-', "−"))],
        offset: String::new(),
        exponent: 0,
    }
}

fn fill_bar(canvas: &mut Canvas, bar: Frame, scale: Scale, palette: &[Rgb], upwards: bool) {
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
    for y in 0..h {
        let row = canvas.pixels_mut(bar.x as usize, bar.y as usize + y, w);
        for (x, pixel) in row.chunks_exact_mut(4).enumerate() {
            let rgb = if upwards {
                colour(h - 1 - y, h)
            } else {
                colour(x, w)
            };
            pixel[..3].copy_from_slice(&rgb);
        }
    }
}

fn widest(ticks: &Ticks, size: f32) -> f32 {
    ticks
        .marks
        .iter()
        .map(|(_, text)| text_width(text, size))
        .fold(0.0, f32::max)
}
