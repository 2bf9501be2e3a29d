//! Films of existing frames: GIF and WebP are written by this program, MP4 by ffmpeg.

use std::path::Path;

use super::Folder;
use trisolar_io::film::{Film, FilmFormat, Pictures, duration, mp4};
pub use trisolar_io::film::{FilmError as AnimationError, RATES, find_ffmpeg};
use trisolar_io::plot::PictureSize;

mod gif;
mod picture;

use picture::check_size;
pub(super) use picture::read;

/// A film to be written.
#[derive(Clone, Debug)]
pub struct Animation(Film);

impl Animation {
    /// A film whose extension determines its format, and which can be written.
    ///
    /// # Errors
    /// Another extension, a folder that accepts no file, or no ffmpeg for an MP4.
    pub fn new(path: &Path) -> Result<Self, AnimationError> {
        Film::new(path).map(Self)
    }

    /// Its path as given.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes the film of frames 0 to `frames` - 1 of a folder, with `rate` frames per second (see [`RATES`]). The film is
    /// repeated for ever. All frames are pictures without axes, of one size.
    ///
    /// # Errors
    /// A frame is missing or has another form, or the film cannot be written; no part of it remains.
    pub fn write(&self, folder: &Folder, frames: u32, rate: f64) -> Result<(), AnimationError> {
        let path = self.path();
        match self.0.format() {
            // Frames and a GIF have the same colours, which need not be chosen again.
            FilmFormat::Gif => Ok(gif::write(path, folder, frames, rate)?),
            FilmFormat::WebP => {
                let first = read(folder, 0)?;
                self.0.write(Pictures {
                    size: PictureSize {
                        width: first.width,
                        height: first.height,
                    },
                    count: frames as usize,
                    rate,
                    draw: &|n| {
                        let picture = read(folder, n as u32)?;
                        check_size(path, &first, n as u32, &picture)?;
                        Ok(picture.rgb())
                    },
                    go_on: &mut |_| true,
                })
            }
            FilmFormat::Mp4 => {
                // A percent sign in the name of the folder would be read as a placeholder of a number.
                let place = folder.path().to_string_lossy().replace('%', "%%");
                let frames = Path::new(&place).join("frame-%05d.png");
                mp4::write_files(path, frames.as_os_str(), rate)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::write;
    use crate::{Frame, FrameFiles, Style, sweep};
    use trisolar_io::colour::ColourMap;
    use trisolar_map::{Resolution, Specification, ValueSlice};

    /// Three frames of 5 × 4 pixels.
    fn frames(folder: &Folder) -> Vec<Frame> {
        let base = Specification {
            size: [5, 4],
            steps: 100,
            ..Specification::default()
        };
        let frames = sweep(&base, &["g=1,2,3".parse().expect("values")]).expect("valid");
        let files = FrameFiles {
            style: &Style::default(),
            most: 100,
            folder,
        };
        for frame in &frames {
            let times: Vec<u32> = (0..20).map(|i| i * (frame.index + 1)).collect();
            let found = Resolution::new(1, 0);
            write(frame, ValueSlice::U32(&times), found, &files).expect("writes");
        }
        frames
    }

    /// The colour of pixel `i` of the picture of frame `n`, whose first row is the last of the values.
    fn colour(n: u32, i: u32) -> [u8; 3] {
        let i = (3 - i / 5) * 5 + i % 5;
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
}
