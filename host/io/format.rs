//! The format of a file, by the extension of its name. The command line calls this for every `--out`.

use std::path::Path;

use super::IoError;
use super::picture_file::PictureFormat;
use super::zarr;

/// A format a map can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A picture of pixels ([`picture`](super::picture)).
    Png,
    /// A picture with axes, of lines and texts ([`picture::plot`](super::picture::plot)).
    Svg,
    /// The same on a page.
    Pdf,
    /// A picture without axes, TIFF or, from 2³¹ pixels on, BigTIFF ([`picture::tiff`](super::picture::tiff)).
    Tiff,
    /// One array ([`npy`](super::npy)).
    Npy,
    /// Named arrays and the specification that made them ([`npz`](super::npz)).
    Npz,
    /// Arrays with coordinates and the specification that made them ([`zarr`]).
    Zarr,
}

impl Format {
    /// Every format, in the order in which messages list them.
    pub const ALL: [Self; 7] = [
        Self::Png,
        Self::Svg,
        Self::Pdf,
        Self::Tiff,
        Self::Npy,
        Self::Npz,
        Self::Zarr,
    ];
    const ALLOWED: &'static str = ".png, .svg, .pdf, .tif (or .tiff), .npy, .npz and .zarr.zip";

    /// The extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => PictureFormat::Png.extension(),
            Self::Svg => PictureFormat::Svg.extension(),
            Self::Pdf => PictureFormat::Pdf.extension(),
            Self::Tiff => "tif",
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Zarr => zarr::EXTENSION,
        }
    }

    /// The format of `path`; upper and lower case are the same.
    ///
    /// # Errors
    /// [`IoError::UnknownFormat`], which lists the allowed extensions.
    pub fn of(path: &Path) -> Result<Self, IoError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_lowercase();
        // Without a name before the dot there is no extension.
        let ends = |extension: &str| {
            let stem = name.strip_suffix(extension);
            stem.is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
        };
        Self::ALL
            .into_iter()
            .find(|f| ends(f.extension()) || *f == Self::Tiff && ends("tiff"))
            .ok_or_else(|| IoError::UnknownFormat {
                path: path.to_owned(),
                extension: path.extension().map(|e| e.to_string_lossy().into_owned()),
                allowed: Self::ALLOWED,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_in_any_case() {
        for (name, format) in [
            ("a.png", Format::Png),
            ("talk.SVG", Format::Svg),
            ("paper.pdf", Format::Pdf),
            ("dir.npz/b.NPY", Format::Npy),
            ("x.y.Npz", Format::Npz),
            ("wide.tif", Format::Tiff),
            ("a.b.Zarr.ZIP", Format::Zarr),
            ("wide.TIFF", Format::Tiff),
        ] {
            assert_eq!(Format::of(Path::new(name)).unwrap(), format);
        }
    }

    #[test]
    fn an_unknown_extension_names_the_path_and_what_is_allowed() {
        for (name, said) in [
            ("maps/a.jpg", "unknown extension .jpg"),
            ("a", "no extension"),
            (".png", "no extension"),
            ("a.zip", "unknown extension .zip"),
            (".zarr.zip", "unknown extension .zip"),
            ("a.", "unknown extension ."),
        ] {
            let message = Format::of(Path::new(name)).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
            assert!(message.contains(said), "{message}");
            for format in Format::ALL {
                assert!(
                    message.contains(&format!(".{}", format.extension())),
                    "{message}"
                );
            }
        }
    }
}
