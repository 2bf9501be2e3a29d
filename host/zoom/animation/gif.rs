//! Films as GIF. It has 256 colours, like the frames, so it is lossless.

use std::path::Path;

use gif::{Encoder, EncodingError, Frame, Repeat};

use super::duration;
use super::picture::{Picture, check_size, read};
use crate::Folder;
use trisolar_io::IoError;
use trisolar_io::atomic::{AtomicFile, write_with};

pub(super) fn write(path: &Path, folder: &Folder, frames: u32, rate: f64) -> Result<(), IoError> {
    let first = read(folder, 0)?;
    let side = |n: u32| {
        trisolar_io::film::gif::side(n).map_err(|reason| IoError::Data {
            path: path.to_owned(),
            reason,
        })
    };
    let (width, height) = (side(first.width)?, side(first.height)?);
    write_with(path, |file| {
        encode(&mut *file, folder, &first, frames, rate, (width, height)).map_err(|e| match e {
            Stop::Frame(e) => e,
            Stop::Encoder(EncodingError::Io(e)) => file.error(e),
            Stop::Encoder(e) => IoError::Data {
                path: path.to_owned(),
                reason: e.to_string(),
            },
        })
    })
}

/// The reason why a film ends before its last frame.
enum Stop {
    Frame(IoError),
    Encoder(EncodingError),
}

impl From<EncodingError> for Stop {
    fn from(error: EncodingError) -> Self {
        Self::Encoder(error)
    }
}

fn encode(
    file: &mut AtomicFile,
    folder: &Folder,
    first: &Picture,
    frames: u32,
    rate: f64,
    size: (u16, u16),
) -> Result<(), Stop> {
    let path = file.path().to_owned();
    let mut encoder = Encoder::new(file, size.0, size.1, &first.palette)?;
    encoder.set_repeat(Repeat::Infinite)?;
    for n in 0..frames {
        let picture = read(folder, n).map_err(Stop::Frame)?;
        check_size(&path, first, n, &picture).map_err(Stop::Frame)?;
        let delay = duration(n, rate, 100.0) as u16;
        encoder.write_frame(&frame(picture, &first.palette, size, delay))?;
    }
    // Writes the last byte.
    encoder.into_inner()?;
    Ok(())
}

fn frame(
    picture: Picture,
    common: &[u8],
    (width, height): (u16, u16),
    delay: u16,
) -> Frame<'static> {
    Frame {
        width,
        height,
        delay,
        palette: (picture.palette != common).then_some(picture.palette),
        buffer: picture.pixels.into(),
        ..Frame::default()
    }
}
