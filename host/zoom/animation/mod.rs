//! Films of existing frames: GIF and WebP are written by this program, MP4 by ffmpeg.

use std::path::{Path, PathBuf};

use super::Folder;
use trisolar_io::IoError;
use trisolar_io::atomic::check_writable;

mod gif;
mod mp4;
mod picture;
mod webp;

pub use mp4::find_ffmpeg;
pub(super) use picture::read;

/// A format of films.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilmFormat {
    Gif,
    WebP,
    Mp4,
}

/// A film to be written.
#[derive(Clone, Debug)]
pub struct Animation {
    path: PathBuf,
    format: FilmFormat,
}

/// A film that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum AnimationError {
    /// A frame cannot be read, or the film cannot be written.
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
}

/// The allowed frames per second.
pub const RATES: std::ops::RangeInclusive<f64> = 0.1..=60.0;

impl Animation {
    /// A film whose extension determines its format, and which can be written.
    ///
    /// # Errors
    /// Another extension, a folder that accepts no file, or no ffmpeg for an MP4.
    pub fn new(path: &Path) -> Result<Self, AnimationError> {
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
        let format = match extension.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("gif") => FilmFormat::Gif,
            Some("webp") => FilmFormat::WebP,
            Some("mp4") => FilmFormat::Mp4,
            _ => {
                return Err(AnimationError::Io(IoError::UnknownFormat {
                    path: path.to_owned(),
                    extension,
                    allowed: ".gif, .webp and .mp4",
                }));
            }
        };
        if format == FilmFormat::Mp4 && find_ffmpeg().is_none() {
            return Err(AnimationError::NoFfmpeg);
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

    /// Writes the film of frames 0 to `frames` - 1 of a folder, with `rate` frames per second (see [`RATES`]). The film is
    /// repeated for ever. All frames are pictures without axes, of one size.
    ///
    /// # Errors
    /// A frame is missing or has another form, or the film cannot be written; no part of it remains.
    pub fn write(&self, folder: &Folder, frames: u32, rate: f64) -> Result<(), AnimationError> {
        match self.format {
            FilmFormat::Gif => Ok(gif::write(&self.path, folder, frames, rate)?),
            FilmFormat::WebP => Ok(webp::write(&self.path, folder, frames, rate)?),
            FilmFormat::Mp4 => mp4::write(&self.path, folder, rate),
        }
    }
}

/// The duration of frame `n` in units of 1 / `units` seconds: whole numbers whose sum does not drift.
fn duration(n: u32, rate: f64, units: f64) -> u32 {
    let begin = |n: f64| (n * units / rate).round();
    (begin(f64::from(n) + 1.0) - begin(f64::from(n))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Style, sweep, write};
    use trisolar_io::colour::ColourMap;
    use trisolar_map::{Specification, ValueSlice};

    /// Three frames of 5 × 4 pixels.
    fn frames(folder: &Folder) -> Vec<Frame> {
        let base = Specification {
            size: [5, 4],
            steps: 100,
            ..Specification::default()
        };
        let frames = sweep(&base, &["g=1,2,3".parse().expect("values")]).expect("valid");
        let style = Style::default();
        for frame in &frames {
            let times: Vec<u32> = (0..20).map(|i| i * (frame.index + 1)).collect();
            write(frame, ValueSlice::U32(&times), 100, &style, folder).expect("writes");
        }
        frames
    }

    /// The colours that pixel `i` of frame `n` has.
    fn colour(n: u32, i: u32) -> [u8; 3] {
        let share = f64::from(100 - i * (n + 1)) / 100.0;
        ColourMap::Inferno.palette(256)[((share * 256.0) as usize).min(255)]
    }

    #[test]
    fn a_gif_has_every_pixel_of_every_frame() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder =
            Folder::open(&parent.path().join("z"), &serde_json::json!({}), false).expect("opens");
        let frames = frames(&folder);
        let path = parent.path().join("z.gif");
        let film = Animation::new(&path).expect("can be written");
        film.write(&folder, frames.len() as u32, 30.0)
            .expect("writes");
        let mut options = ::gif::DecodeOptions::new();
        options.set_color_output(::gif::ColorOutput::RGBA);
        let file = std::fs::File::open(&path).expect("there");
        let mut decoder = options.read_info(file).expect("a GIF");
        assert_eq!(decoder.repeat(), ::gif::Repeat::Infinite);
        let mut delays = Vec::new();
        while let Some(frame) = decoder.read_next_frame().expect("a frame") {
            let n = delays.len() as u32;
            delays.push(frame.delay);
            for (i, pixel) in frame.buffer.chunks(4).enumerate() {
                assert_eq!(pixel[..3], colour(n, i as u32), "frame {n}, pixel {i}");
            }
        }
        assert_eq!(delays, [3, 4, 3], "tenths of a second in all");
    }

    #[test]
    fn a_webp_has_every_pixel_of_every_frame() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder =
            Folder::open(&parent.path().join("z"), &serde_json::json!({}), false).expect("opens");
        let frames = frames(&folder);
        let path = parent.path().join("z.webp");
        let film = Animation::new(&path).expect("can be written");
        film.write(&folder, frames.len() as u32, 25.0)
            .expect("writes");
        let file = std::io::BufReader::new(std::fs::File::open(&path).expect("there"));
        let mut decoder = image_webp::WebPDecoder::new(file).expect("a WebP");
        assert!(decoder.is_animated() && decoder.num_frames() == 3);
        assert_eq!(decoder.dimensions(), (5, 4));
        let mut pixels = vec![0; decoder.output_buffer_size().expect("fits")];
        let depth = pixels.len() / 20;
        for n in 0..3 {
            assert_eq!(decoder.read_frame(&mut pixels).expect("a frame"), 40);
            for (i, pixel) in pixels.chunks(depth).enumerate() {
                assert_eq!(pixel[..3], colour(n, i as u32), "frame {n}, pixel {i}");
            }
        }
    }

    #[test]
    fn frames_that_are_missing_or_of_another_size_are_said_and_leave_no_film() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder =
            Folder::open(&parent.path().join("z"), &serde_json::json!({}), false).expect("opens");
        frames(&folder);
        for name in ["z.gif", "z.webp"] {
            let path = parent.path().join(name);
            let film = Animation::new(&path).expect("can be written");
            let error = film.write(&folder, 4, 30.0).unwrap_err().to_string();
            assert!(error.contains("frame-00003.png"), "{error}");
            assert!(!path.exists());
        }
        assert!(Animation::new(Path::new("z.avi")).is_err());
    }

    #[test]
    fn durations_do_not_drift() {
        for rate in [0.1, 7.0, 24.0, 29.97, 60.0] {
            let sum: u32 = (0..1000).map(|n| duration(n, rate, 100.0)).sum();
            assert!((f64::from(sum) - 100_000.0 / rate).abs() <= 0.5, "{rate}");
        }
    }
}
