//! Pictures with axes and text as PNG, SVG or PDF: the extension of the name decides.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::IoError;
use super::atomic;
use super::canvas::{Canvas, pdf, svg};
use super::png_file::{self, About, Pixels, encoding_error};

/// The format of a picture with axes and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PictureFormat {
    /// Pixels.
    #[default]
    Png,
    /// Lines and texts in XML, for web pages and drawing programs.
    Svg,
    /// Lines and texts on a page, for papers.
    Pdf,
}

crate::names!(PictureFormat {
    Png = "png",
    Svg = "svg",
    Pdf = "pdf",
});

impl PictureFormat {
    /// The extension of its files, and its name.
    pub fn extension(self) -> &'static str {
        self.name()
    }

    /// The format of a path, by its extension in upper or lower case; `None` for any other.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        let is = |format: &Self| extension.eq_ignore_ascii_case(format.extension());
        Self::ALL.into_iter().find(is)
    }
}

/// Writes a finished canvas to `path`, in the format of its extension; as PNG if that is another one.
pub(super) fn write_canvas<'a>(
    path: &Path,
    canvas: &Canvas,
    about: impl Into<About<'a>>,
) -> Result<(), IoError> {
    let about = about.into();
    atomic::write_with(path, |file| {
        let written = match PictureFormat::of(path).unwrap_or_default() {
            PictureFormat::Png => {
                let size = (canvas.width(), canvas.height());
                let row = |y: usize, row: &mut [u8]| canvas.rgb_row(y, row);
                return png_file::encode(&mut *file, size, Pixels::Rgb, about, row)
                    .map_err(|e| encoding_error(file, e));
            }
            PictureFormat::Svg => svg::write(&mut *file, canvas.sheet(), about),
            PictureFormat::Pdf => pdf::write(&mut *file, canvas.sheet(), about),
        };
        written.map_err(|e| file.error(e))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Axis, Labels, Map, PictureStyle, Theme, plot};
    use std::io::Read as _;
    use std::path::PathBuf;

    /// Draws a map of 30 × 20 values in a format, and returns its bytes.
    fn drawn(folder: &Path, name: &str, style: &PictureStyle) -> Vec<u8> {
        let values: Vec<f64> = (0..600).map(f64::from).collect();
        let axis = |name: &str, span| Axis {
            name: name.into(),
            unit: "length".into(),
            centre: 0.0,
            span,
        };
        let labels = Labels {
            title: "Masses m₁ < m₂ & m₃".into(),
            x: axis("start x", 3e-9),
            y: axis("start y", 2e-9),
            y_upwards: true,
            value: "time".into(),
            unit: String::new(),
        };
        let path: PathBuf = folder.join(name);
        let map = Map::new(&values, 30, 20);
        plot(&path, &map, style, &labels, Some(r#"{"title":"ü < 1"}"#)).unwrap();
        std::fs::read(path).unwrap()
    }

    /// The value of an attribute of the first element of a kind.
    fn attribute<'a>(svg: &'a str, element: &str, name: &str) -> &'a str {
        let from = svg.find(&format!("<{element} ")).unwrap();
        let end = from + svg[from..].find('>').unwrap();
        let text = &svg[from..end];
        let value = text.split_once(&format!(" {name}=\"")).unwrap().1;
        value.split_once('"').unwrap().0
    }

    /// Checks that every element is closed by one of its name, and returns their names in the order of their beginnings.
    fn elements(svg: &str) -> Vec<&str> {
        let mut open: Vec<&str> = Vec::new();
        let mut all = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').unwrap();
            assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0);
            let whole = |word: &str| {
                ["&amp;", "&lt;", "&gt;"]
                    .iter()
                    .any(|e| word.starts_with(e))
            };
            assert!(
                text.match_indices('&').all(|(i, _)| whole(&text[i..])),
                "{text}"
            );
            let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.starts_with('?') {
                all.push(name);
                if !tag.ends_with('/') {
                    open.push(name);
                }
            }
        }
        assert!(open.is_empty(), "{open:?}");
        all
    }

    #[test]
    fn an_svg_has_texts_shapes_and_the_map_and_the_size_of_the_png() {
        let folder = tempfile::tempdir().unwrap();
        let style = PictureStyle::default();
        let svg = String::from_utf8(drawn(folder.path(), "a.svg", &style)).unwrap();
        let found = elements(&svg);
        let count = |name: &str| found.iter().filter(|e| **e == name).count();
        // The map and the colour bar; the background, two outlines of four edges, and ticks.
        assert_eq!(count("image"), 2);
        assert!(count("rect") > 9 + 10);
        for text in [
            ">Masses m₁ &lt; m₂ &amp; m₃</text>",
            ">start x (10⁻⁹ length)</text>",
            ">−1.5</text>",
            "image-rendering:pixelated",
            r#"<metadata id="specification">{"title":"ü &lt; 1"}</metadata>"#,
        ] {
            assert!(svg.contains(text), "{text}");
        }
        // The same bytes again, and the size of the PNG.
        assert!(drawn(folder.path(), "b.SVG", &style) == svg.as_bytes());
        let png = drawn(folder.path(), "a.png", &style);
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        let size = [16, 20].map(|at| side(at).to_string());
        let of = |name| attribute(&svg, "svg", name).to_owned();
        assert_eq!([of("width"), of("height")], size);
        assert_eq!(of("viewBox"), format!("0 0 {} {}", size[0], size[1]));
        // 192 pixels in an inch are half as large as those of CSS; the drawing is the same.
        let fine = PictureStyle {
            dpi: Some(192),
            ..style
        };
        let fine = String::from_utf8(drawn(folder.path(), "a.svg", &fine)).unwrap();
        let half = f64::from(side(16)) / 2.0;
        assert_eq!(attribute(&fine, "svg", "width").parse(), Ok(half));
        assert_eq!(attribute(&fine, "svg", "viewBox"), of("viewBox"));
        assert_eq!(
            fine.split_once("<rect").unwrap().1,
            svg.split_once("<rect").unwrap().1
        );
        // Another theme has another background.
        let light = PictureStyle {
            theme: Theme::Light,
            ..style
        };
        let light = String::from_utf8(drawn(folder.path(), "a.svg", &light)).unwrap();
        assert_eq!(attribute(&light, "rect", "fill"), "#ffffff");
    }

    #[test]
    fn a_pdf_has_its_objects_where_it_says_and_the_characters_of_its_texts() {
        let folder = tempfile::tempdir().unwrap();
        let style = PictureStyle::default();
        let pdf = drawn(folder.path(), "a.pdf", &style);
        assert!(
            drawn(folder.path(), "b.pdf", &style) == pdf,
            "the same bytes again"
        );
        let find = |from: usize, what: &[u8]| {
            let found = pdf[from..].windows(what.len()).position(|w| w == what);
            found.map(|i| from + i)
        };
        let text = |from: usize, to: usize| String::from_utf8_lossy(&pdf[from..to]).into_owned();
        let end = text(pdf.len() - 40, pdf.len());
        let table: usize = end.lines().rev().nth(1).unwrap().parse().unwrap();
        let lines = text(table, pdf.len());
        let mut lines = lines.lines();
        assert_eq!(lines.next(), Some("xref"));
        let count: usize = lines.next().unwrap()[2..].parse().unwrap();
        // Ten objects of every file, an image and a palette for the map and for the bar, and the one that is free.
        assert_eq!(count, 1 + 10 + 4);
        let mut streams = Vec::new();
        for (number, line) in lines.skip(1).take(count - 1).enumerate() {
            assert_eq!(line.len(), 19, "20 bytes with the end of the line");
            let at: usize = line[..10].parse().unwrap();
            let head = format!("{} 0 obj\n", number + 1);
            assert!(pdf[at..].starts_with(head.as_bytes()), "{number}");
            let end = find(at, b"endobj").unwrap();
            if let Some(begin) = find(at, b"stream\n").filter(|begin| *begin < end) {
                let mut data = Vec::new();
                flate2::read::ZlibDecoder::new(&pdf[begin + 7..])
                    .read_to_end(&mut data)
                    .unwrap();
                streams.push(data);
            }
        }
        // The page, the font, its characters, and images with their palettes; 900 × 600 pixels of the map.
        assert_eq!(streams.len(), 3 + 4);
        assert!(ttf_parser::Face::parse(&streams[1], 0).is_ok());
        assert_eq!(streams[3].len(), 900 * 600);
        let characters = String::from_utf8(streams[2].clone()).unwrap();
        for c in "Masm₁<−⁻⁹".chars() {
            assert!(characters.contains(&format!("<{:04x}>\n", c as u32)), "{c}");
        }
        // A pixel of CSS is 3/4 of a point.
        let png = drawn(folder.path(), "a.png", &style);
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        let [wide, high] = [16, 20].map(|at| f64::from(side(at)) * 0.75);
        let box_of_page = format!("/MediaBox [0 0 {wide} {high}]");
        assert!(find(0, box_of_page.as_bytes()).is_some(), "{box_of_page}");
    }

    #[test]
    fn a_bar_counts_other_numbers_than_the_values() {
        let folder = tempfile::tempdir().unwrap();
        let texts = |style: &PictureStyle, n: f64| {
            let path = folder.path().join("a.svg");
            let values: Vec<f64> = (0..600).map(|i| f64::from(i) * n).collect();
            let axis = Axis {
                name: String::new(),
                unit: String::new(),
                centre: 0.5,
                span: 0.1,
            };
            let labels = Labels {
                title: String::new(),
                x: axis.clone(),
                y: axis,
                y_upwards: false,
                value: "time".into(),
                unit: String::new(),
            };
            plot(&path, &Map::new(&values, 30, 20), style, &labels, None).unwrap();
            let svg = std::fs::read_to_string(path).unwrap();
            let of = |element: &str| element.split_once('>').unwrap().1.to_owned();
            let texts: Vec<String> = svg
                .split("</text>")
                .filter(|e| e.contains("<text"))
                .map(|e| of(&e[e.rfind("<text").unwrap()..]))
                .collect();
            texts
        };
        let usual = texts(&PictureStyle::default(), 1.0);
        assert!(
            usual.contains(&"500".into()) && !usual.contains(&"59".into()),
            "{usual:?}"
        );
        // A value of 0 is the time 60, and one of 599 the time 0.1: the bar counts downwards.
        let style = PictureStyle {
            numbers: Some(crate::picture::BarNumbers {
                at_zero: 60.0,
                per_value: -0.1,
                zero: "never",
            }),
            ..PictureStyle::default()
        };
        let counted = texts(&style, 1.0);
        let place = |text: &str| counted.iter().position(|t| t == text);
        // From the lower end of the bar to the upper one.
        assert!(
            place("50") < place("10") && place("50").is_some(),
            "{counted:?}"
        );
        assert!(place("500").is_none() && place("darkest: never").is_some());
        // Where all values are 0, the bar says what that means.
        let none = texts(&style, 0.0);
        assert!(none.contains(&"never".into()), "{none:?}");
    }

    #[test]
    fn formats_have_names_and_extensions() {
        for format in PictureFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            let path = format!("a.{}", format.to_string().to_uppercase());
            assert_eq!(PictureFormat::of(Path::new(&path)), Some(format));
        }
        assert!("PNG".parse::<PictureFormat>().is_err());
        assert_eq!(PictureFormat::of(Path::new("a.npy")), None);
        assert_eq!(PictureFormat::of(Path::new("svg")), None);
    }
}
