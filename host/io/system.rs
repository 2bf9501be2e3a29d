//! Everything that differs between operating systems: what a file is, locks, pipes, disk space, memory, names of the machine, interruptions.
//! The other packages have no code for one system, except `libcuda_lazy`, whose entry points are in assembly.

use std::path::{Path, PathBuf};

mod identity;
mod names;
#[cfg(not(windows))]
#[path = "system/unix.rs"]
mod os;
#[cfg(windows)]
#[path = "system/windows.rs"]
mod os;

pub use identity::{FileId, Identity, Kind};
pub use names::{strip_prefix, strip_suffix};
pub use os::{
    available_memory, browser, check_replaceable, cpu_name, free_space, full_path, host_name,
    identity, identity_of, identity_of_link, on_interrupt, open_to_read, permit_all, reserve,
    standard_input, standard_outputs, sync_directory, try_lock, wait_in_reads, write_all_at,
};

/// Whether an open file is still the one at `path`.
pub fn is_at(file: &std::fs::File, path: &Path) -> bool {
    match (identity_of(file), identity_of_link(path)) {
        (Ok(open), Ok(there)) => open.id == there.id,
        _ => false,
    }
}

/// The first of the folders, or of those above it, whose disk has not the bytes that will be written to all folders on it: the folder, these
/// bytes, and those that are free. A disk that does not tell is taken to have them.
pub fn lacking_space(written: &[(PathBuf, f64)]) -> Option<(PathBuf, f64, f64)> {
    let there = |folder: &Path| {
        let above = folder.ancestors().find(|above| above.exists());
        above.map_or_else(|| PathBuf::from("."), Path::to_owned)
    };
    let volume = |folder: &Path| identity(&there(folder)).map(|there| there.id.volume).ok();
    written.iter().find_map(|(folder, _)| {
        let same = written
            .iter()
            .filter(|(other, _)| volume(other) == volume(folder));
        let (bytes, free) = (
            same.map(|(_, bytes)| bytes).sum(),
            free_space(&there(folder))?,
        );
        (bytes > free as f64).then(|| (folder.clone(), bytes, free as f64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::fs::{self, File};

    #[test]
    fn files_are_told_apart_and_known_by_all_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "ä b", "c"].map(|name| folder.path().join(name));
        fs::write(&a, "text").unwrap();
        fs::write(&b, "text").unwrap();
        fs::hard_link(&a, &c).unwrap();
        let [a, b, c] = [&a, &b, &c].map(|path| identity(path).unwrap());
        assert_eq!(a, c);
        assert_ne!(a.id, b.id);
        assert_eq!((a.kind, a.names, b.names), (Kind::Regular, 2, 1));
        let here = identity(folder.path()).unwrap();
        assert_eq!(here.kind, Kind::Directory);
        assert!(identity(&folder.path().join("d")).is_err());
        let file = File::open(folder.path().join("c")).unwrap();
        assert_eq!(identity_of(&file).unwrap(), a);
        assert!(is_at(&file, &folder.path().join("a")));
        assert!(!is_at(&file, &folder.path().join("ä b")));
        let opened = open_to_read(folder.path()).unwrap();
        assert_eq!(identity_of(&opened).unwrap(), here);
    }

    #[test]
    fn a_locked_file_can_be_read_but_not_locked_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "text").unwrap();
        let [first, second] = [(); 2].map(|()| File::open(&path).unwrap());
        try_lock(&first).unwrap();
        let refused = try_lock(&second).unwrap_err();
        assert!(matches!(refused, fs::TryLockError::WouldBlock), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), b"text");
        drop(first);
        try_lock(&second).unwrap();
    }

    #[test]
    fn bytes_are_written_to_their_places_in_reserved_space() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = File::create(&path).unwrap();
        reserve(&file, 8).unwrap();
        write_all_at(&file, b"cd", 4).unwrap();
        write_all_at(&file, b"ab", 1).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"\0ab\0cd\0\0");
        assert!(reserve(&file, 1 << 60).is_err());
        let [a, b] = ["a", "b/c"].map(|name| folder.path().join(name));
        assert_eq!(lacking_space(&[(a.clone(), 1e3), (b.clone(), 1e3)]), None);
        let free = free_space(folder.path()).unwrap() as f64;
        let (lacking, bytes, _) =
            lacking_space(&[(a.clone(), 0.8 * free), (b, 0.8 * free)]).unwrap();
        assert_eq!((lacking, bytes), (a, 1.6 * free));
    }

    #[test]
    fn names_are_cut_at_text_only_where_they_have_it() {
        let name = OsStr::new(".a-ö.tmp");
        assert_eq!(strip_prefix(name, ".a-"), Some(OsStr::new("ö.tmp")));
        assert_eq!(strip_suffix(name, ".tmp"), Some(OsStr::new(".a-ö")));
        assert_eq!(strip_prefix(name, "a"), None);
        assert_eq!(strip_suffix(name, "a"), None);
    }

    #[test]
    fn fused_multiply_adds_round_once() {
        use std::hint::black_box;
        // The exact result is just above half a unit in the last place of 1, which an intermediate rounding loses.
        let (half, tiny) = (f64::EPSILON / 2.0, f64::EPSILON * f64::EPSILON / 16.0);
        let a = black_box(half).mul_add(black_box(1.0 + f64::EPSILON), black_box(1.0));
        assert_eq!(a, 1.0 + f64::EPSILON);
        let b = black_box(tiny).mul_add(black_box(tiny), black_box(1.0));
        assert_eq!(b, 1.0);
        let c = black_box(f32::EPSILON / 2.0);
        let d = c.mul_add(black_box(1.0 + f32::EPSILON), black_box(1.0));
        assert_eq!(d, 1.0 + f32::EPSILON);
        // Terms of which an extended precision of 64 bits loses the smaller one.
        let x = 1.0 + f64::EPSILON;
        let y = black_box(x).mul_add(black_box(x), black_box(-1.0 - 2.0 * f64::EPSILON));
        assert_eq!(y, f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn the_machine_has_a_name_and_memory() {
        assert!(!host_name().is_empty());
        assert!(available_memory() > 1 << 20);
    }
}
