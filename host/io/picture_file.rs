//! Pictures with axes and text as PNG, SVG or PDF: the extension of the name decides.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

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

impl PictureFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Png, Self::Svg, Self::Pdf];

    /// The extension of its files, and its name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
            Self::Pdf => "pdf",
        }
    }

    /// The format of a path, by its extension in upper or lower case; `None` for any other.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        let is = |format: &Self| extension.eq_ignore_ascii_case(format.extension());
        Self::ALL.into_iter().find(is)
    }
}

impl fmt::Display for PictureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

impl FromStr for PictureFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|f| f.extension() == text);
        named.ok_or_else(|| "must be png, svg or pdf".into())
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
            PictureFormat::Svg => svg::write(&mut *file, canvas, about),
            PictureFormat::Pdf => pdf::write(&mut *file, canvas, about),
        };
        written.map_err(|e| file.error(e))
    })
}
