//! Draws a sheet in pixels, with smooth edges.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::OutlineBuilder;

use super::font::text_width;
use super::font::{self, FONT};
use super::shapes::{Align, Image, Shape, Sheet, TextStyle};
use crate::colour::Rgb;

/// The whole sheet; `None` if it is too large.
pub(super) fn draw(sheet: &Sheet) -> Option<Pixmap> {
    let mut pixmap = Pixmap::new(sheet.width, sheet.height)?;
    pixmap.fill(opaque(sheet.background));
    for shape in &sheet.shapes {
        draw_shape(&mut pixmap, shape);
    }
    Some(pixmap)
}

fn draw_shape(pixmap: &mut Pixmap, shape: &Shape) {
    let here = Transform::identity();
    match shape {
        Shape::Fill { frame, colour } => {
            if let Some(r) = Rect::from_xywh(frame.x, frame.y, frame.width, frame.height) {
                pixmap.fill_rect(r, &paint(*colour), here, None);
            }
        }
        Shape::Lines {
            lines,
            thickness,
            dashes,
            colour,
        } => {
            let mut path = PathBuilder::new();
            for line in lines {
                for (i, [x, y]) in line.iter().enumerate() {
                    if i == 0 {
                        path.move_to(*x, *y);
                    } else {
                        path.line_to(*x, *y);
                    }
                }
            }
            let stroke = Stroke {
                width: *thickness,
                line_cap: LineCap::Round,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(dashes.clone(), 0.0),
                ..Stroke::default()
            };
            if let Some(path) = path.finish() {
                pixmap.stroke_path(&path, &paint(*colour), &stroke, here, None);
            }
        }
        Shape::Circle {
            centre: [x, y],
            radius,
            thickness,
            colour,
        } => {
            let Some(path) = PathBuilder::from_circle(*x, *y, *radius) else {
                return;
            };
            match thickness {
                None => fill_path(pixmap, &path, *colour),
                Some(width) => {
                    let stroke = Stroke {
                        width: *width,
                        ..Stroke::default()
                    };
                    pixmap.stroke_path(&path, &paint(*colour), &stroke, here, None);
                }
            }
        }
        Shape::Text { text, at, style } => draw_text(pixmap, text, *at, *style),
        Shape::Image { at, size, image } => draw_image(pixmap, *at, *size, image),
    }
}

fn draw_text(pixmap: &mut Pixmap, text: &str, [x, y]: [f32; 2], style: TextStyle) {
    let width = text_width(text, style.size);
    let back = match style.align {
        Align::Left => 0.0,
        Align::Centre => width / 2.0,
        Align::Right => width,
    };
    let scale = style.size / f32::from(FONT.units_per_em());
    let drop = font::drop(style.size);
    let place = if style.upwards {
        Transform::from_row(0.0, -scale, -scale, 0.0, x + drop, y + back)
    } else {
        Transform::from_row(scale, 0.0, 0.0, -scale, x - back, y + drop)
    };
    let mut pen = Pen {
        path: PathBuilder::new(),
        shift: 0.0,
    };
    for c in text.chars() {
        let glyph = font::glyph(c);
        FONT.outline_glyph(glyph, &mut pen);
        pen.shift += f32::from(font::advance(glyph));
    }
    if let Some(path) = pen.path.finish().and_then(|p| p.transform(place)) {
        fill_path(pixmap, &path, style.colour);
    }
}

/// Repeats the pixels of an image where it is enlarged. What lies outside of the sheet is left out.
fn draw_image(pixmap: &mut Pixmap, [x, y]: [usize; 2], [w, h]: [usize; 2], image: &Image) {
    let (width, height) = (pixmap.width() as usize, pixmap.height() as usize);
    let (right, bottom) = ((x + w).min(width), (y + h).min(height));
    for row in y..bottom {
        let from = image.row((row - y) * image.height / h);
        let data = &mut pixmap.data_mut()[4 * row * width..4 * (row + 1) * width];
        for column in x..right {
            let source = 3 * ((column - x) * image.width / w);
            data[4 * column..4 * column + 3].copy_from_slice(&from[source..source + 3]);
        }
    }
}

fn fill_path(pixmap: &mut Pixmap, path: &Path, colour: Rgb) {
    let (rule, here) = (FillRule::Winding, Transform::identity());
    pixmap.fill_path(path, &paint(colour), rule, here, None);
}

/// Collects the outlines of glyphs side by side, in units of the font.
struct Pen {
    path: PathBuilder,
    shift: f32,
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(x + self.shift, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(x + self.shift, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(x1 + self.shift, y1, x + self.shift, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let s = self.shift;
        self.path.cubic_to(x1 + s, y1, x2 + s, y2, x + s, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}

fn opaque([r, g, b]: Rgb) -> Color {
    Color::from_rgba8(r, g, b, 255)
}

fn paint(colour: Rgb) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(opaque(colour));
    paint.anti_alias = true;
    paint
}
