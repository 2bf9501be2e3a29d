//! Films: GIF and WebP are written by this program, MP4 by ffmpeg.

use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::IoError;
use super::atomic::{AtomicFile, check_writable};
use super::npy::data_error;
use super::size::PictureSize;

pub mod gif;
pub mod mp4;
mod webp;

pub use mp4::find_ffmpeg;

/// A format of films.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilmFormat {
    /// 256 colours in each picture.
    Gif,
    /// Lossless.
    WebP,
    /// H.264.
    Mp4,
}

/// A film to be written.
#[derive(Clone, Debug)]
pub struct Film {
    path: PathBuf,
    format: FilmFormat,
}

/// A film that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FilmError {
    /// A picture cannot be read or drawn, or the film cannot be written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// MP4 needs ffmpeg.
    #[error(
        "an .mp4 is written by ffmpeg, which is not on the search path (PATH); install it, or choose .webp or .gif"
    )]
    NoFfmpeg,
    /// ffmpeg failed.
    #[error("ffmpeg could not write {path}: {reason}")]
    Ffmpeg {
        /// The film.
        path: String,
        /// The last lines of its output.
        reason: String,
    },
    /// The caller asked to stop.
    #[error("the film was cancelled")]
    Cancelled,
}

/// The allowed pictures per second.
pub const RATES: std::ops::RangeInclusive<f64> = 0.1..=60.0;

/// The pictures of a film.
pub struct Pictures<'a> {
    /// The size of each.
    pub size: PictureSize,
    /// How many there are, at least 1.
    pub count: usize,
    /// Pictures per second, see [`RATES`].
    pub rate: f64,
    /// Picture `n` as rows of red, green and blue.
    pub draw: &'a (dyn Fn(usize) -> Result<Vec<u8>, IoError> + Sync),
    /// Called with the number of finished pictures; whether to go on.
    pub go_on: &'a mut dyn FnMut(usize) -> bool,
}

impl Film {
    /// A film whose extension determines its format, and which can be written.
    ///
    /// # Errors
    /// Another extension, a folder that accepts no file, or no ffmpeg for an MP4.
    pub fn new(path: &Path) -> Result<Self, FilmError> {
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
        let format = match extension.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("gif") => FilmFormat::Gif,
            Some("webp") => FilmFormat::WebP,
            Some("mp4") => FilmFormat::Mp4,
            _ => {
                return Err(FilmError::Io(IoError::UnknownFormat {
                    path: path.to_owned(),
                    extension,
                    allowed: ".gif, .webp and .mp4",
                }));
            }
        };
        if format == FilmFormat::Mp4 && find_ffmpeg().is_none() {
            return Err(FilmError::NoFfmpeg);
        }
        check_writable(path)?;
        Ok(Self {
            path: path.to_owned(),
            format,
        })
    }

    /// Its path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format.
    pub fn format(&self) -> FilmFormat {
        self.format
    }

    /// Writes the film, which is repeated for ever. A few pictures are drawn and encoded at a time, so that memory does not depend on
    /// their number.
    ///
    /// # Errors
    /// A picture cannot be drawn, the film cannot be written, or the caller asked to stop; no part of the film remains.
    pub fn write(&self, pictures: Pictures<'_>) -> Result<(), FilmError> {
        let path = &self.path;
        let (size, rate) = (pictures.size, pictures.rate);
        if self.format == FilmFormat::Mp4 {
            return mp4::write_drawn(path, pictures);
        }
        let mut file = AtomicFile::create(path)?;
        let written = match self.format {
            FilmFormat::WebP => webp::write(&mut file, size, rate, pictures),
            _ => gif::write(&mut file, size, rate, pictures),
        };
        written.map_err(|stop| match stop {
            Stop::Film(error) => error,
            Stop::File(error) => file.error(error).into(),
            Stop::Data(reason) => data_error(path, reason).into(),
        })?;
        Ok(file.commit()?)
    }
}

/// The reason why a film ends before its last picture.
enum Stop {
    Film(FilmError),
    File(io::Error),
    Data(String),
}

impl From<FilmError> for Stop {
    fn from(error: FilmError) -> Self {
        Self::Film(error)
    }
}

impl From<IoError> for Stop {
    fn from(error: IoError) -> Self {
        Self::Film(error.into())
    }
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Self::Data(reason)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// Draws all pictures and encodes them, several at a time, and puts them in order.
fn each<T: Send>(
    pictures: Pictures<'_>,
    encode: impl Fn(usize, &[u8]) -> Result<T, String> + Sync,
    mut put: impl FnMut(&T) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let Pictures {
        count, draw, go_on, ..
    } = pictures;
    let at_a_time = 2 * rayon::current_num_threads();
    for first in (0..count).step_by(at_a_time) {
        if !go_on(first) {
            return Err(Stop::Film(FilmError::Cancelled));
        }
        let some = first..count.min(first + at_a_time);
        let encoded: Vec<T> = some
            .into_par_iter()
            .map(|n| Ok(encode(n, &draw(n)?)?))
            .collect::<Result<_, Stop>>()?;
        for picture in &encoded {
            put(picture)?;
        }
    }
    go_on(count);
    Ok(())
}

/// The duration of picture `n` in units of 1 / `units` seconds: whole numbers whose sum does not drift.
pub fn duration(n: u32, rate: f64, units: f64) -> u32 {
    let begin = |n: f64| (n * units / rate).round();
    (begin(f64::from(n) + 1.0) - begin(f64::from(n))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_do_not_drift() {
        for rate in [0.1, 7.0, 24.0, 29.97, 60.0] {
            let sum: u32 = (0..1000).map(|n| duration(n, rate, 100.0)).sum();
            assert!((f64::from(sum) - 100_000.0 / rate).abs() <= 0.5, "{rate}");
        }
    }

    /// A picture of 6 × 4 pixels, whose colours depend on its number.
    fn drawn(n: usize) -> Result<Vec<u8>, IoError> {
        Ok((0..6 * 4)
            .flat_map(|i| [(i * 10) as u8, (n * 20) as u8, 7])
            .collect())
    }

    fn written(name: &str, draw: &(dyn Fn(usize) -> Result<Vec<u8>, IoError> + Sync)) -> PathBuf {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let film = Film::new(&folder.join(name)).expect("can be written");
        let mut seen = Vec::new();
        let pictures = Pictures {
            size: "6x4".parse().expect("a size"),
            count: 9,
            rate: 25.0,
            draw,
            go_on: &mut |n| {
                seen.push(n);
                true
            },
        };
        film.write(pictures).expect("writes");
        assert!(seen.is_sorted() && seen.first() == Some(&0) && seen.last() == Some(&9));
        folder.join(name)
    }

    #[test]
    fn a_webp_has_every_pixel_of_every_picture() {
        let path = written("a.webp", &drawn);
        let file = std::io::BufReader::new(std::fs::File::open(&path).expect("there"));
        let mut decoder = image_webp::WebPDecoder::new(file).expect("a WebP");
        assert_eq!((decoder.num_frames(), decoder.dimensions()), (9, (6, 4)));
        let mut pixels = vec![0; decoder.output_buffer_size().expect("fits")];
        let depth = pixels.len() / 24;
        for n in 0..9 {
            assert_eq!(decoder.read_frame(&mut pixels).expect("a picture"), 40);
            let rgb: Vec<u8> = pixels.chunks(depth).flat_map(|p| p[..3].to_vec()).collect();
            assert_eq!(rgb, drawn(n).expect("drawn"), "picture {n}");
        }
        std::fs::remove_dir_all(path.parent().expect("a folder")).expect("there");
    }

    #[test]
    fn a_gif_has_every_picture_for_its_time() {
        let path = written("a.gif", &drawn);
        let mut options = ::gif::DecodeOptions::new();
        options.set_color_output(::gif::ColorOutput::RGBA);
        let file = std::fs::File::open(&path).expect("there");
        let mut decoder = options.read_info(file).expect("a GIF");
        assert_eq!(decoder.repeat(), ::gif::Repeat::Infinite);
        let mut n = 0;
        while let Some(frame) = decoder.read_next_frame().expect("a picture") {
            assert_eq!((frame.delay, frame.width, frame.height), (4, 6, 4));
            let rgb: Vec<u8> = frame
                .buffer
                .chunks(4)
                .flat_map(|p| p[..3].to_vec())
                .collect();
            assert_eq!(rgb, drawn(n).expect("drawn"), "picture {n}");
            n += 1;
        }
        assert_eq!(n, 9);
        std::fs::remove_dir_all(path.parent().expect("a folder")).expect("there");
    }

    #[test]
    fn a_film_that_is_stopped_or_cannot_be_drawn_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let failing = |n: usize| match n {
            5 => Err(data_error(Path::new("picture"), "no ink".into())),
            n => drawn(n),
        };
        for name in ["a.gif", "a.webp"] {
            let path = folder.path().join(name);
            let film = Film::new(&path).expect("can be written");
            let write = |draw: &(dyn Fn(usize) -> Result<Vec<u8>, IoError> + Sync), goes: bool| {
                film.write(Pictures {
                    size: "6x4".parse().expect("a size"),
                    count: 9,
                    rate: 25.0,
                    draw,
                    go_on: &mut |n| goes || n == 0,
                })
            };
            assert!(write(&failing, true).is_err_and(|e| e.to_string().contains("no ink")));
            let stopped = write(&|n| drawn(n % 2), false);
            // All pictures fit the threads of a large machine at once.
            assert!(matches!(stopped, Err(FilmError::Cancelled)) || stopped.is_ok());
            assert_eq!(path.exists(), write(&drawn, false).is_ok());
        }
        assert!(Film::new(&folder.path().join("a.avi")).is_err());
    }
}
