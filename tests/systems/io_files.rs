//! Files are complete or absent, contain what was written, and NumPy can read them.

use crate::support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::names;
use trisolar::io::IoError;
use trisolar::io::atomic::{self, AtomicFile, check_writable};
use trisolar::io::npy::{self, Element, RowWriter};
use trisolar::io::npz::{NpzReader, NpzWriter};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/divergence_300x300_50000.npy")
}

#[test]
fn a_file_appears_only_when_it_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.npy");
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"half").unwrap();
    file.flush().unwrap();
    assert!(!path.exists());
    assert_eq!(names(dir.path()).len(), 1, "the temporary file");
    file.commit().unwrap();
    assert_eq!(names(dir.path()), ["map.npy"]);
    assert_eq!(fs::read(&path).unwrap(), b"half");
}

#[test]
fn an_error_or_a_panic_leaves_the_older_file_and_no_temporary() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.npy");
    fs::write(&path, "older").unwrap();
    drop({
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file
    });
    let panicked = std::panic::catch_unwind(|| {
        atomic::write_with(&path, |file| {
            file.write_all(b"new").unwrap();
            panic!("in the middle of a file");
        })
    });
    assert!(panicked.is_err());
    assert_eq!(names(dir.path()), ["map.npy"]);
    assert_eq!(fs::read(&path).unwrap(), b"older");
}

#[test]
#[cfg(unix)]
fn permissions_follow_the_umask_and_links_are_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
    let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
    fs::write(&theirs, "").unwrap();
    atomic::write_with(&ours, |_| Ok(())).unwrap();
    assert_eq!(mode(&ours), mode(&theirs), "the umask applies");
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o640)).unwrap();
    let link = dir.path().join("link");
    symlink("ours", &link).unwrap();
    atomic::write_with(&link, |f| f.write_all(b"x").map_err(|e| f.error(e))).unwrap();
    assert_eq!(mode(&ours), 0o640, "an existing file keeps its permissions");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&ours).unwrap(), b"x");
    symlink("nowhere", dir.path().join("dangling")).unwrap();
    let error = check_writable(dir.path().join("dangling")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a symbolic link to a file that does not exist"),
        "{error}"
    );
}

#[test]
fn paths_that_cannot_be_written_are_rejected_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "kept").unwrap();
    check_writable(&file).unwrap();
    check_writable(dir.path().join("new.png")).unwrap();

    let missing = check_writable(dir.path().join("no/such/map.png")).unwrap_err();
    assert!(
        matches!(&missing, IoError::NoDirectory { .. }),
        "{missing:?}"
    );
    assert!(missing.to_string().contains("no/such/map.png"), "{missing}");
    assert!(missing.to_string().contains("create it first"), "{missing}");

    let under_file = check_writable(file.join("map.png")).unwrap_err();
    assert!(
        matches!(&under_file, IoError::NotADirectory { directory, .. } if *directory == file),
        "{under_file:?}"
    );

    for directory in [
        dir.path().to_owned(),
        dir.path().join(""),
        "..".into(),
        "/".into(),
        "".into(),
    ] {
        let error = check_writable(&directory).unwrap_err();
        assert!(matches!(error, IoError::IsDirectory { .. }), "{error:?}");
    }

    assert_eq!(names(dir.path()), ["file"]);
    assert_eq!(fs::read(&file).unwrap(), b"kept");
}

/// In every writer, writing through a link to /dev/full fails as on a full disk.
#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_reported_as_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.npz");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let full = |result: Result<(), IoError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, IoError::DiskFull { .. }), "{error:?}");
        let message = error.to_string();
        assert!(
            message.contains("map.npz") && message.contains("free some space"),
            "{message}"
        );
    };
    // The data are larger or smaller than the buffer, so that the error comes from a write or from the final flush.
    full(npy::write(&path, &[1 << 20], &vec![1.0_f64; 1 << 20]));
    full(npy::write(&path, &[1], &[1_u32]));
    let values: Vec<u32> = (0..1 << 18)
        .map(|i: u32| i.wrapping_mul(0x9e37_79b9))
        .collect();
    full(NpzWriter::create(&path).and_then(|mut z| {
        z.array("a", &[1 << 18], &values)?;
        z.finish()
    }));
    full(NpzWriter::create(&path).and_then(|mut z| {
        z.text("a", "short")?;
        z.finish()
    }));
    assert_eq!(names(dir.path()), ["map.npz"]);
}

/// A real file system without space: a small tmpfs, where mounting one is permitted.
#[test]
#[cfg(target_os = "linux")]
fn a_full_file_system_leaves_no_file_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "none"])
        .arg(dir.path())
        .output()
        .is_ok_and(|o| o.status.success());
    if !mounted {
        eprintln!("SKIPPED: mounting a tmpfs is not permitted here; /dev/full is tested elsewhere");
        return;
    }
    let result = npy::write(dir.path().join("a.npy"), &[1 << 20], &vec![1_u32; 1 << 20]);
    let left = names(dir.path());
    let unmounted = Command::new("umount").arg(dir.path()).status().unwrap();
    assert!(unmounted.success());
    assert!(
        matches!(result, Err(IoError::DiskFull { .. })),
        "{result:?}"
    );
    assert_eq!(left, [""; 0]);
}

fn round_trip<T: Element + PartialEq + std::fmt::Debug>(shape: &[usize], values: &[T]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    npy::write(&path, shape, values).unwrap();
    let array = npy::read::<T>(&path).unwrap();
    assert_eq!(array.shape, shape);
    assert_eq!(
        bytemuck::cast_slice::<T, u8>(&array.values),
        bytemuck::cast_slice::<T, u8>(values)
    );
    assert_eq!(
        (fs::metadata(&path).unwrap().len() as usize - size_of_val(values)) % 64,
        0
    );
}

#[test]
fn arrays_of_every_type_and_rank_come_back_bit_for_bit() {
    round_trip::<u32>(&[2, 3], &[0, 1, 2, u32::MAX, 4, 5]);
    round_trip::<i32>(&[6], &[0, -1, 2, i32::MIN, 4, 5]);
    round_trip::<f32>(
        &[1, 2, 1, 2],
        &[f32::NAN, -0.0, f32::MIN_POSITIVE / 2.0, 1.5],
    );
    round_trip::<f64>(&[], &[f64::from_bits(0x7ff0_dead_beef_0001)]);
    round_trip::<f64>(&[0, 5], &[]);
    round_trip::<u32>(&[3_000_000], &vec![7; 3_000_000]);
}

#[test]
fn rows_written_one_by_one_give_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let values: Vec<f64> = (0..35).map(|i| f64::from(i).sqrt()).collect();
    npy::write(dir.path().join("whole.npy"), &[7, 5], &values).unwrap();
    let mut rows = RowWriter::create(dir.path().join("rows.npy"), &[7, 5]).unwrap();
    for row in values.chunks(5) {
        rows.push(row).unwrap();
    }
    rows.finish().unwrap();
    assert_eq!(
        fs::read(dir.path().join("rows.npy")).unwrap(),
        fs::read(dir.path().join("whole.npy")).unwrap()
    );
}

#[test]
fn a_wrong_number_of_values_is_rejected_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    let refused = |result: Result<(), IoError>, said: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error, IoError::Data { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    };
    refused(npy::write(&path, &[2, 2], &[1_u32; 3]), "holds 4 values, 3");
    refused(
        npy::write(&path, &[usize::MAX, 2], &[1_u32; 3]),
        "too large",
    );
    refused(npy::write(&path, &[1; 65], &[1_u32]), "too large");
    let mut rows = RowWriter::<u32>::create(&path, &[2, 2]).unwrap();
    rows.push(&[1, 2, 3]).unwrap();
    refused(rows.push(&[4, 5]), "1 values more");
    drop(rows);
    let mut rows = RowWriter::<u32>::create(&path, &[2, 2]).unwrap();
    rows.push(&[1, 2, 3]).unwrap();
    refused(rows.finish(), "1 values of [2, 2] are missing");
    drop(RowWriter::<u32>::create(&path, &[2, 2]).unwrap());
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn the_reference_map_survives_reading_and_writing() {
    let map = npy::read::<u32>(golden()).unwrap();
    assert_eq!(map.shape, [300, 300]);
    assert_eq!(
        map.values.iter().map(|&n| u64::from(n)).sum::<u64>(),
        3_995_478_705
    );
}

#[test]
fn unexpected_arrays_are_rejected_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npy");
    let said = |bytes: &[u8], words: &str| {
        fs::write(&path, bytes).unwrap();
        let error = npy::read::<u32>(&path).unwrap_err();
        assert!(matches!(error, IoError::Malformed { .. }), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    };
    npy::write(&path, &[3], &[1_u32, 2, 3]).unwrap();
    let good = fs::read(&path).unwrap();
    said(b"", "not a complete npy file");
    said(
        b"no npy at all, but longer than the magic",
        "not a npy file",
    );
    for n in 0..good.len() {
        said(&good[..n], "complete npy file");
    }
    said(
        &[&good[..], b"x"].concat(),
        "has more bytes than the 3 values",
    );
    let text = String::from_utf8_lossy(&good[10..128]).into_owned();
    let header = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        let new = text.replace(from, to);
        let new = format!("{:<width$}\n", new.trim_end(), width = text.len() - 1);
        [&good[..10], new.as_bytes(), &good[128..]].concat()
    };
    said(&header("<u4", "<f4"), "<f4");
    said(&header("<u4", ">u4"), ">u4");
    said(&header("(3,)", "(99999999999,)"), "not a complete npy file");
    said(
        &header("(3,)", "(99999999999, 99999999999, 99999999999)"),
        "too large",
    );
    let error = npy::read::<u32>(dir.path().join("none.npy")).unwrap_err();
    assert!(matches!(error, IoError::NotFound { .. }), "{error:?}");
}

fn write_npz(path: &Path) {
    let mut npz = NpzWriter::create(path).unwrap();
    let times = npy::read::<u32>(golden()).unwrap();
    npz.array("times", &times.shape, &times.values).unwrap();
    npz.array("energy", &[2], &[-1.5_f64, 0.1]).unwrap();
    npz.text("spec.json", "{\"steps\": 50000, \"unit\": \"µ\"}")
        .unwrap();
    npz.finish().unwrap();
}

#[test]
fn an_npz_file_holds_arrays_and_texts_in_the_same_bytes_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.npz"), dir.path().join("b.npz"));
    write_npz(&a);
    std::thread::sleep(std::time::Duration::from_millis(2100)); // the resolution of a zip time stamp is 2 s
    write_npz(&b);
    assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
    assert!(
        fs::metadata(&a).unwrap().len() < 300 * 300 * 4,
        "compressed"
    );

    let mut npz = NpzReader::open(&a).unwrap();
    assert_eq!(npz.names().unwrap(), ["times", "energy", "spec.json"]);
    assert_eq!(
        npz.array::<u32>("times").unwrap(),
        npy::read(golden()).unwrap()
    );
    assert_eq!(npz.array::<f64>("energy").unwrap().values, [-1.5, 0.1]);
    assert!(npz.text("spec.json").unwrap().contains("\"µ\""));
    for error in [
        npz.array::<f64>("times").unwrap_err(),
        npz.array::<f64>("nothing").unwrap_err(),
        npz.text("nothing").unwrap_err(),
        NpzReader::open(golden()).err().unwrap(),
    ] {
        assert!(matches!(error, IoError::Malformed { .. }), "{error:?}");
    }
}

#[test]
fn bad_members_of_an_npz_file_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let mut npz = NpzWriter::create(dir.path().join("a.npz")).unwrap();
    npz.array("a", &[1], &[1_u32]).unwrap();
    for result in [
        npz.array("a", &[1], &[1_u32]),
        npz.array("", &[1], &[1_u32]),
        npz.array("../b", &[1], &[1_u32]),
        npz.array("b", &[2], &[1_u32]),
        npz.text("b.npy", ""),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, IoError::Data { .. }), "{error:?}");
    }
    drop(npz);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn numpy_reads_what_is_written() {
    let python = std::env::var("TRISOLAR_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_numpy = Command::new(&python)
        .args(["-c", "import numpy"])
        .output()
        .is_ok_and(|o| o.status.success());
    if !has_numpy {
        eprintln!(
            "SKIPPED: {python} has no numpy; the files are checked by reading them back only"
        );
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    npy::write(
        dir.path().join("u.npy"),
        &[2, 3],
        &[0_u32, 1, 2, 3, 4, u32::MAX],
    )
    .unwrap();
    npy::write(dir.path().join("i.npy"), &[2], &[-1_i32, i32::MIN]).unwrap();
    npy::write(dir.path().join("f.npy"), &[1, 2, 1], &[0.5_f32, -0.25]).unwrap();
    npy::write(dir.path().join("d.npy"), &[], &[0.1_f64]).unwrap();
    npy::write::<f64>(dir.path().join("e.npy"), &[0, 4], &[]).unwrap();
    write_npz(&dir.path().join("m.npz"));
    let script = r#"
import numpy as n, json, sys
n.testing.assert_array_equal(n.load("u.npy"), n.array([[0,1,2],[3,4,2**32-1]], "u4"), strict=True)
n.testing.assert_array_equal(n.load("i.npy"), n.array([-1,-2**31], "i4"), strict=True)
n.testing.assert_array_equal(n.load("f.npy"), n.array([[[.5],[-.25]]], "f4"), strict=True)
n.testing.assert_array_equal(n.load("d.npy"), n.array(.1), strict=True)
assert n.load("e.npy").shape == (0, 4)
m = n.load("m.npz")
n.testing.assert_array_equal(m["times"], n.load(sys.argv[1]), strict=True)
assert json.loads(m["spec.json"])["unit"] == "µ" and sorted(m) == ["energy", "spec.json", "times"]
"#;
    let out = Command::new(&python)
        .args(["-c", script])
        .arg(golden())
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}
