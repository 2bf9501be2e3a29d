//! Fits a map to a number of pixels: repeats values to enlarge, averages them to shrink.

use super::Map;
use crate::canvas::{Canvas, Image};
use crate::colour::{ColourScale, Rgb};

/// The longer side a plotted map may have.
const MAX_SIDE_PIXELS: usize = 3200;
/// The longer side a plotted map shall have at least.
const MIN_SIDE_PIXELS: usize = 900;
/// A map longer than this many times its width is stretched.
const MAX_ASPECT: f64 = 8.0;

/// How many pixels wide and high a map is drawn, for the ratio `aspect` of its spans (x / y).
pub(super) fn size(width: usize, height: usize, aspect: f64) -> (usize, usize) {
    let longer = width.max(height);
    let resize = |n: usize| {
        if longer < MIN_SIDE_PIXELS {
            n * ((MIN_SIDE_PIXELS + longer / 2) / longer)
        } else {
            n.div_ceil(longer.div_ceil(MAX_SIDE_PIXELS))
        }
    };
    let own = width as f64 / height as f64;
    let limited = aspect.clamp(1.0 / MAX_ASPECT, MAX_ASPECT);
    if (own / limited - 1.0).abs() < 1e-6 {
        return (resize(width), resize(height));
    }
    let long = resize(longer) as f64;
    let (w, h) = if limited >= 1.0 {
        (long, long / limited)
    } else {
        (long * limited, long)
    };
    (w.round() as usize, h.round() as usize)
}

/// The values that pixel `i` of `pixels` shows, of `values` along an axis.
pub(super) fn sources(i: usize, pixels: usize, values: usize) -> (usize, usize) {
    let begin = i * values / pixels;
    let end = (i + 1) * values / pixels;
    (begin, end.max(begin + 1))
}

/// Draws the map with its upper left corner at `at`, over `size` pixels. A map that is enlarged keeps its own pixels in files that can
/// enlarge images.
pub(super) fn draw(
    canvas: &mut Canvas,
    at: [usize; 2],
    size: [usize; 2],
    map: &Map<'_>,
    scale: ColourScale,
    palette: &[Rgb],
) {
    let (width, height) = (size[0].min(map.width), size[1].min(map.height));
    let columns: Vec<(usize, usize)> = (0..width).map(|i| sources(i, width, map.width)).collect();
    let mut values = vec![0.0; map.width];
    let mut sums = vec![(0.0_f64, 0_u32); width];
    let image = Image::from_rows(width, height, |y, pixels| {
        let rows = sources(y, height, map.height);
        sums.fill((0.0, 0));
        for row in rows.0..rows.1 {
            (map.row)(row, &mut values);
            for (sum, &(begin, end)) in sums.iter_mut().zip(&columns) {
                for &v in values[begin..end].iter().filter(|v| v.is_finite()) {
                    sum.0 += v;
                    sum.1 += 1;
                }
            }
        }
        for (pixel, &(sum, n)) in pixels.chunks_exact_mut(3).zip(&sums) {
            // None finite: 0/0, which has its own colour.
            let entry = scale.entry(sum / f64::from(n));
            pixel.copy_from_slice(&palette[usize::from(entry)]);
        }
    });
    canvas.image(at, size, image);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_a_handy_size_and_the_shape_of_their_span() {
        for (map, aspect, picture) in [
            ((300, 300), 1.0, (900, 900)),
            ((1, 1), 1.0, (900, 900)),
            ((1000, 1000), 1.0, (1000, 1000)),
            ((10000, 10000), 1.0, (2500, 2500)),
            ((640, 480), 4.0 / 3.0, (640, 480)),
            ((100, 400), 0.25, (200, 800)),
            ((200, 100), 1.0, (1000, 1000)),
            ((1, 300), 1.0, (900, 900)),
            ((300, 1), 300.0, (900, 113)),
            ((10, 1000), 1e-300, (125, 1000)),
        ] {
            let (w, h) = size(map.0, map.1, aspect);
            assert_eq!((w, h), picture, "{map:?} {aspect}");
        }
    }

    #[test]
    fn every_value_is_shown() {
        for (pixels, values) in [(7, 7), (21, 7), (3, 7), (900, 300), (3334, 10000), (5, 1)] {
            let mut next = 0;
            for i in 0..pixels {
                let (begin, end) = sources(i, pixels, values);
                assert!(begin == next || begin + 1 == next, "{pixels} {values}");
                assert!(begin < end);
                next = end;
            }
            assert_eq!(next, values);
        }
    }
}
