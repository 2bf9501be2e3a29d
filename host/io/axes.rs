//! Axes around a frame: ticks, numbers and labels, shared by maps and line plots.

use super::canvas::{Align, Canvas, PixelRect, TextStyle, Theme, text_width};
use super::ticks::Ticks;

/// Lengths in pixels for a map 900 pixels long; `unit` scales them.
pub(super) struct AxesStyle {
    pub unit: f32,
    pub theme: Theme,
}

impl AxesStyle {
    pub fn title(&self) -> f32 {
        26.0 * self.unit
    }
    pub fn label(&self) -> f32 {
        21.0 * self.unit
    }
    pub fn number(&self) -> f32 {
        17.0 * self.unit
    }
    pub fn tick(&self) -> f32 {
        7.0 * self.unit
    }
    pub fn gap(&self) -> f32 {
        9.0 * self.unit
    }
    pub fn margin(&self) -> f32 {
        22.0 * self.unit
    }
    pub fn line(&self) -> f32 {
        (1.5 * self.unit).round().max(1.0)
    }
    pub fn bar(&self) -> f32 {
        (30.0 * self.unit).round()
    }
    pub fn text(&self, size: f32, align: Align) -> TextStyle {
        TextStyle {
            size,
            colour: self.theme.text(),
            align,
            upwards: false,
        }
    }
}

/// The width of an axis on the left.
pub(super) fn left_of_frame(ticks: &Ticks, s: &AxesStyle) -> f32 {
    s.label() + 2.5 * s.gap() + widest(ticks, s.number()) + s.tick()
}

/// The height of an axis below, with a label of one line.
pub(super) fn below_frame(s: &AxesStyle) -> f32 {
    s.tick() + 2.3 * s.gap() + s.number() + s.label()
}

/// Ticks, numbers and label on the left of a frame; `place` turns the place of a tick into a fraction from the top. Each further
/// line of the label takes [`further_line`] more to the left.
pub(super) fn vertical_axis(
    canvas: &mut Canvas,
    frame: PixelRect,
    ticks: &Ticks,
    label: &str,
    s: &AxesStyle,
    place: impl Fn(f64) -> f64,
) {
    let edge = frame.x - s.line();
    for (at, text) in &ticks.marks {
        let y = frame.y + place(*at) as f32 * frame.height;
        tick(canvas, [edge - s.tick(), y], true, 1.0, s);
        let x = edge - s.tick() - s.gap();
        canvas.text(text, [x, y], s.text(s.number(), Align::Right));
    }
    for at in &ticks.minor {
        let y = frame.y + place(*at) as f32 * frame.height;
        tick(
            canvas,
            [edge - MINOR_LENGTH * s.tick(), y],
            true,
            MINOR_LENGTH,
            s,
        );
    }
    let x = edge - s.tick() - 2.5 * s.gap() - widest(ticks, s.number()) - s.label() / 2.0;
    let upwards = TextStyle {
        upwards: true,
        ..s.text(s.label(), Align::Centre)
    };
    // A label that is longer than a low frame is moved down, so that it stays on the sheet.
    for (i, line) in label.lines().rev().enumerate() {
        let half = text_width(line, s.label()) / 2.0;
        let middle = (frame.y + frame.height / 2.0).max(half + s.margin());
        canvas.text(line, [x - i as f32 * further_line(s), middle], upwards);
    }
}

/// Distance from one line of a label to the next.
pub(super) fn further_line(s: &AxesStyle) -> f32 {
    1.25 * s.label()
}

/// Ticks, numbers and label lines below a frame.
pub(super) fn horizontal_axis(
    canvas: &mut Canvas,
    frame: PixelRect,
    ticks: &Ticks,
    label: &[String],
    s: &AxesStyle,
) {
    let edge = frame.y + frame.height + s.line();
    let numbers = edge + s.tick() + s.gap() + s.number() * 0.4;
    for (at, text) in &ticks.marks {
        let x = frame.x + *at as f32 * frame.width;
        tick(canvas, [x, edge], false, 1.0, s);
        canvas.text(text, [x, numbers], s.text(s.number(), Align::Centre));
    }
    for at in &ticks.minor {
        let x = frame.x + *at as f32 * frame.width;
        tick(canvas, [x, edge], false, MINOR_LENGTH, s);
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

/// The length of a minor tick, compared to others.
pub(super) const MINOR_LENGTH: f32 = 0.5;

/// A tick from `at` to the right, or downwards, of a length compared to others.
pub(super) fn tick(
    canvas: &mut Canvas,
    [x, y]: [f32; 2],
    sideways: bool,
    length: f32,
    s: &AxesStyle,
) {
    let (half, long) = (s.line() / 2.0, length * s.tick());
    let frame = if sideways {
        PixelRect {
            x,
            y: (y - half).round(),
            width: long,
            height: s.line(),
        }
    } else {
        PixelRect {
            x: (x - half).round(),
            y,
            width: s.line(),
            height: long,
        }
    };
    canvas.fill(frame, s.theme.frame());
}

/// As many ticks as fit along `length` pixels without overlapping numbers.
pub(super) fn fitting(
    length: f32,
    s: &AxesStyle,
    along: bool,
    ticks: impl Fn(usize) -> Ticks,
) -> Ticks {
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

pub(super) fn widest(ticks: &Ticks, size: f32) -> f32 {
    ticks
        .marks
        .iter()
        .map(|(_, text)| text_width(text, size))
        .fold(0.0, f32::max)
}
