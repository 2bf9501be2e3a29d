//! Films as MP4 (H.264), by the program ffmpeg.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::AnimationError;
use crate::Folder;
use trisolar_io::atomic::AtomicFile;

/// The program, if it is on the search path.
pub fn find_ffmpeg() -> Option<PathBuf> {
    let name = format!("ffmpeg{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}

pub(super) fn write(path: &Path, folder: &Folder, rate: f64) -> Result<(), AnimationError> {
    let ffmpeg = find_ffmpeg().ok_or(AnimationError::NoFfmpeg)?;
    let file = AtomicFile::create(path)?;
    let output = Command::new(ffmpeg)
        .args(arguments(folder, rate, file.temporary()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| fail(path, &e.to_string()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let words = match words.trim() {
            "" => output.status.to_string(),
            words => words.to_owned(),
        };
        return Err(fail(path, &words));
    }
    Ok(file.commit()?)
}

fn fail(path: &Path, reason: &str) -> AnimationError {
    AnimationError::Ffmpeg {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    }
}

/// The arguments of ffmpeg: every frame of the folder, padded to even width and height as H.264 requires.
fn arguments(folder: &Folder, rate: f64, out: &Path) -> Vec<OsString> {
    // A percent sign in the name of the folder would be read as a placeholder of a number.
    let place = folder.path().to_string_lossy().replace('%', "%%");
    let frames = Path::new(&place).join("frame-%05d.png");
    let rate = rate.to_string();
    let mut list: Vec<OsString> = Vec::new();
    let mut add = |words: &[&OsStr]| list.extend(words.iter().map(|w| w.to_os_string()));
    let word = |text: &'static str| OsStr::new(text);
    add(&[
        word("-hide_banner"),
        word("-loglevel"),
        word("error"),
        word("-y"),
    ]);
    add(&[
        word("-framerate"),
        OsStr::new(&rate),
        word("-start_number"),
        word("0"),
    ]);
    add(&[word("-i"), frames.as_os_str()]);
    add(&[word("-vf"), word("pad=ceil(iw/2)*2:ceil(ih/2)*2")]);
    add(&[
        word("-c:v"),
        word("libx264"),
        word("-crf"),
        word("16"),
        word("-pix_fmt"),
        word("yuv420p"),
    ]);
    add(&[word("-movflags"), word("+faststart")]);
    // The temporary name of the file does not show the format.
    add(&[word("-f"), word("mp4"), out.as_os_str()]);
    list
}
