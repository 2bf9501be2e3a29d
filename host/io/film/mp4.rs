//! Films as MP4 (H.264), by the program ffmpeg.

use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{FilmError, Pictures, Stop, each};
use crate::atomic::AtomicFile;

/// The program, if it is on the search path.
pub fn find_ffmpeg() -> Option<PathBuf> {
    let name = format!("ffmpeg{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}

/// Writes a film of the pictures in numbered files. `frames` is the pattern of their names, as ffmpeg reads it.
///
/// # Errors
/// ffmpeg is missing or fails.
pub fn write_files(path: &Path, frames: &OsStr, rate: f64) -> Result<(), FilmError> {
    let rate = rate.to_string();
    let word = |text: &'static str| OsStr::new(text);
    let input = [
        [word("-framerate"), OsStr::new(&rate)],
        [word("-start_number"), word("0")],
        [word("-i"), frames],
    ];
    run(path, &input.concat(), None)
}

/// Writes a film of pictures that are drawn now.
pub(super) fn write_drawn(path: &Path, pictures: Pictures<'_>) -> Result<(), FilmError> {
    let (rate, size) = (pictures.rate.to_string(), pictures.size.to_string());
    let word = |text: &'static str| OsStr::new(text);
    let input = [
        [word("-f"), word("rawvideo")],
        [word("-pixel_format"), word("rgb24")],
        [word("-video_size"), OsStr::new(&size)],
        [word("-framerate"), OsStr::new(&rate)],
        [word("-i"), word("pipe:0")],
    ];
    run(path, &input.concat(), Some(pictures))
}

fn run(path: &Path, input: &[&OsStr], pictures: Option<Pictures<'_>>) -> Result<(), FilmError> {
    let ffmpeg = find_ffmpeg().ok_or(FilmError::NoFfmpeg)?;
    let file = AtomicFile::create(path)?;
    let failed = |reason: &str| FilmError::Ffmpeg {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    };
    let mut child = Command::new(ffmpeg)
        .args(arguments(input, file.temporary()))
        .stdin(match pictures {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        })
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| failed(&e.to_string()))?;
    // What it says is read meanwhile: it would wait otherwise.
    let errors = child.stderr.take();
    let listener = std::thread::spawn(move || {
        let mut words = Vec::new();
        errors.map(|mut errors| errors.read_to_end(&mut words));
        words
    });
    let stdin = child.stdin.take();
    let sent = match (pictures, stdin) {
        (Some(pictures), Some(mut stdin)) => each(
            pictures,
            |_, rgb| Ok(rgb.to_vec()),
            |rgb| Ok(stdin.write_all(rgb)?),
        ),
        _ => Ok(()),
    };
    if let Err(Stop::Film(_)) = &sent {
        // It may have ended already.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| failed(&e.to_string()))?;
    let words = listener.join().unwrap_or_default();
    if let Err(Stop::Film(error)) = sent {
        return Err(error);
    }
    if !status.success() {
        let words = String::from_utf8_lossy(&words);
        return Err(failed(
            match words.trim() {
                "" => status.to_string(),
                words => words.to_owned(),
            }
            .as_str(),
        ));
    }
    // If ffmpeg did not want the rest of the pictures, it says so by its status.
    match sent {
        Err(Stop::File(error)) => Err(failed(&error.to_string())),
        Err(Stop::Data(reason)) => Err(failed(&reason)),
        _ => Ok(file.commit()?),
    }
}

/// The arguments of ffmpeg: all pictures, padded to even width and height as H.264 requires.
fn arguments(input: &[&OsStr], out: &Path) -> Vec<OsString> {
    let word = |text: &'static str| OsStr::new(text);
    let begin = ["-hide_banner", "-loglevel", "error", "-y"].map(word);
    let output = [
        ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"],
        ["-c:v", "libx264"],
        ["-crf", "16"],
        ["-pix_fmt", "yuv420p"],
        ["-movflags", "+faststart"],
        // The temporary name of the file does not show the format.
        ["-f", "mp4"],
    ];
    let output = output.as_flattened().iter().map(|text| word(text));
    let all = begin.into_iter().chain(input.iter().copied()).chain(output);
    all.chain([out.as_os_str()])
        .map(OsStr::to_os_string)
        .collect()
}
