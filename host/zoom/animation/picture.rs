//! Reads frames from their pictures.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::Folder;
use trisolar_io::IoError;
use trisolar_io::read::check_memory;

/// A picture with one pixel per pixel of the map.
#[derive(Debug)]
pub(crate) struct Picture {
    pub width: u32,
    pub height: u32,
    /// Red, green and blue of each colour.
    pub palette: Vec<u8>,
    /// The colour of each pixel, row-major.
    pub pixels: Vec<u8>,
}

impl Picture {
    /// The pixels as red, green and blue.
    pub fn rgb(&self) -> Vec<u8> {
        let colour = |i: &u8| {
            let start = 3 * usize::from(*i);
            self.palette.get(start..start + 3).unwrap_or(&[0; 3])
        };
        self.pixels.iter().flat_map(colour).copied().collect()
    }
}

/// The picture of a frame.
///
/// # Errors
/// It does not exist, or was not written by [`bare`](trisolar_io::picture::bare).
pub(crate) fn read(folder: &Folder, frame: u32) -> Result<Picture, IoError> {
    let path = folder.file(frame, "png");
    let file = trisolar_io::read::open(&path)?;
    let malformed = |reason: String| IoError::Malformed {
        path: path.clone(),
        reason,
    };
    let mut reader = png::Decoder::new(BufReader::new(file))
        .read_info()
        .map_err(|e| malformed(e.to_string()))?;
    check_memory(
        &path,
        reader.output_buffer_size().unwrap_or(usize::MAX) as u64,
    )?;
    decode(&mut reader)
        .map_err(|e| malformed(e.to_string()))?
        .ok_or_else(|| malformed("it is not a picture of 256 colours, as frames are".into()))
}

fn decode(
    reader: &mut png::Reader<BufReader<File>>,
) -> Result<Option<Picture>, png::DecodingError> {
    let info = reader.info();
    let (width, height) = (info.width, info.height);
    let indexed =
        info.color_type == png::ColorType::Indexed && info.bit_depth == png::BitDepth::Eight;
    let palette = info.palette.as_ref().map(|p| p.to_vec());
    let (true, Some(palette), Some(size)) = (indexed, palette, reader.output_buffer_size()) else {
        return Ok(None);
    };
    let mut pixels = vec![0; size];
    reader.next_frame(&mut pixels)?;
    Ok(Some(Picture {
        width,
        height,
        palette,
        pixels,
    }))
}

/// Checks that a frame has the size of the first one.
///
/// # Errors
/// The sizes differ, so that the film at `path` cannot be written.
pub(crate) fn check_size(
    path: &Path,
    first: &Picture,
    frame: u32,
    picture: &Picture,
) -> Result<(), IoError> {
    if (first.width, first.height) == (picture.width, picture.height) {
        return Ok(());
    }
    Err(IoError::Data {
        path: path.to_owned(),
        reason: format!(
            "frame {frame} has {}×{} pixels, the first one {}×{}",
            picture.width, picture.height, first.width, first.height
        ),
    })
}
