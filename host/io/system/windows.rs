//! Windows.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::fs::{FileExt as _, OpenOptionsExt as _};
use std::os::windows::io::{AsHandle as _, AsRawHandle as _, BorrowedHandle};
use std::path::{Component, Path, PathBuf, Prefix};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use windows_sys::Win32::Devices::Communication::{DCB, GetCommState};
use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION, HANDLE};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, DELETE, FILE_ATTRIBUTE_DIRECTORY, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES, FILE_TYPE_CHAR, FILE_TYPE_DISK,
    FILE_TYPE_PIPE, GetDiskFreeSpaceExW, GetFileInformationByHandle, GetFileType,
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx,
};
use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, GetConsoleMode, SetConsoleCtrlHandler,
};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNamePhysicalDnsHostname, GetComputerNameExW, GlobalMemoryStatusEx, MEMORYSTATUSEX,
};

use super::identity::{FileId, Identity, Kind};
use super::names::strip_prefix;

/// Exit codes after Ctrl-C or Ctrl-Break, and after the console was closed or the machine is shut down, as shells of other systems have them.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

fn handle(file: &File) -> HANDLE {
    file.as_raw_handle()
}

/// What a path leads to.
///
/// # Errors
/// Those of the system, as for all functions of this module.
pub fn identity(path: &Path) -> io::Result<Identity> {
    identity_with(path, FILE_FLAG_BACKUP_SEMANTICS)
}

/// What is at a path, which may be a symbolic link.
///
/// # Errors
/// Those of the system.
pub fn identity_of_link(path: &Path) -> io::Result<Identity> {
    identity_with(
        path,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT,
    )
}

fn identity_with(path: &Path, flags: u32) -> io::Result<Identity> {
    let mut options = OpenOptions::new();
    options
        .access_mode(FILE_READ_ATTRIBUTES)
        .custom_flags(flags);
    identity_of(&options.open(path)?)
}

/// What an open file is.
///
/// # Errors
/// Those of the system.
pub fn identity_of(file: &File) -> io::Result<Identity> {
    let mut information = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the file is open.
    let kind = match unsafe { GetFileType(handle(file)) } {
        FILE_TYPE_DISK => {
            // SAFETY: the file is open, and there is a place for the answer.
            if unsafe { GetFileInformationByHandle(handle(file), &raw mut information) } == 0 {
                return Err(io::Error::last_os_error());
            }
            if information.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY != 0 {
                Kind::Directory
            } else {
                Kind::Regular
            }
        }
        FILE_TYPE_PIPE => Kind::Pipe,
        FILE_TYPE_CHAR if is_console(file) || is_serial_port(file) => Kind::Characters,
        FILE_TYPE_CHAR => Kind::Null,
        _ => Kind::Other,
    };
    let number = (information.nFileIndexHigh, information.nFileIndexLow);
    let id = FileId {
        volume: information.dwVolumeSerialNumber.into(),
        number: u64::from(number.0) << 32 | u64::from(number.1),
    };
    let names = information.nNumberOfLinks.into();
    Ok(Identity { id, kind, names })
}

fn is_console(file: &File) -> bool {
    let mut mode = 0;
    // SAFETY: the file is open, and there is a place for the answer.
    unsafe { GetConsoleMode(handle(file), &raw mut mode) != 0 }
}

fn is_serial_port(file: &File) -> bool {
    let mut state = DCB::default();
    // SAFETY: the file is open, and there is a place for the answer.
    unsafe { GetCommState(handle(file), &raw mut state) != 0 }
}

/// Opens anything to read it.
///
/// # Errors
/// Those of the system.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // The flag is for directories, which are told from files afterwards.
    let options = options.read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    options.open(path)
}

/// The standard input.
///
/// # Errors
/// Those of the system.
pub fn standard_input() -> io::Result<File> {
    let input = io::stdin();
    input.as_handle().try_clone_to_owned().map(File::from)
}

/// Lets reads from a file of [`open_to_read`] wait for bytes, as they always do here.
///
/// # Errors
/// None here.
#[expect(clippy::unnecessary_wraps, reason = "other systems have errors")]
pub fn wait_in_reads(_: &File) -> io::Result<()> {
    Ok(())
}

/// Names of the standard output and the standard error, and where they go.
pub fn standard_outputs() -> [(&'static str, io::Result<File>); 2] {
    let file = |stream: BorrowedHandle| stream.try_clone_to_owned().map(File::from);
    let (output, error) = (io::stdout(), io::stderr());
    [
        ("output", file(output.as_handle())),
        ("error", file(error.as_handle())),
    ]
}

/// Locks a file against other processes until it is closed. It can be read meanwhile.
///
/// # Errors
/// Another process has it locked, or there are no locks there.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    // Other processes cannot read what is locked, so this is a byte that no file has.
    let place = OVERLAPPED_0_0 {
        Offset: u32::MAX - 1,
        OffsetHigh: i32::MAX as u32,
    };
    let mut overlapped = OVERLAPPED {
        Anonymous: OVERLAPPED_0 { Anonymous: place },
        ..OVERLAPPED::default()
    };
    let flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    // SAFETY: the file is open and was not opened for overlapped operations, so that the call has ended when it returns.
    if unsafe { LockFileEx(handle(file), flags, 0, 1, 0, &raw mut overlapped) } != 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error().map(|code| code as u32) {
        Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING) => Err(TryLockError::WouldBlock),
        _ => Err(TryLockError::Error(error)),
    }
}

/// Writes bytes to a place of a file.
///
/// # Errors
/// Those of the system.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = &bytes[count..];
                at += count as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Gives a file its length, which reserves the space on the disk.
///
/// # Errors
/// There is too little space, or the file cannot be written.
pub fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// The path under which a file can be written and renamed, however long it is.
///
/// # Errors
/// Those of the system.
pub fn full_path(path: &Path) -> io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    let Some(Component::Prefix(prefix)) = whole.components().next() else {
        return Ok(whole);
    };
    let (start, rest) = match prefix.kind() {
        Prefix::Disk(_) => (r"\\?\", Some(whole.as_os_str())),
        Prefix::UNC(..) => (r"\\?\UNC\", strip_prefix(whole.as_os_str(), r"\\")),
        _ => return Ok(whole),
    };
    let mut long = OsString::from(start);
    long.push(rest.unwrap_or_default());
    Ok(long.into())
}

/// Checks that an existing file may be replaced by another one: it is not read-only, and no program has it open that forbids this.
///
/// # Errors
/// Those of the system.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    let there = OpenOptions::new().access_mode(DELETE).open(path)?;
    if there.metadata()?.permissions().readonly() {
        let reason = "the existing file is read-only";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

/// Gives temporary files the permissions of any new file, which they have here.
pub fn permit_all(_: &mut tempfile::Builder<'_, '_>) {}

/// Makes a rename in a directory survive a power cut. The system has no call for this.
pub fn sync_directory(_: &Path) {}

/// Bytes that the user can still write to the disk of a folder.
pub fn free_space(folder: &Path) -> Option<u64> {
    let name: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let (mut free, none) = (0, std::ptr::null_mut());
    // SAFETY: the name ends with 0, there is a place for one answer, and the others are not wanted.
    let known = unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut free, none, none) };
    (known != 0).then_some(free)
}

/// Bytes of memory that can still be used, 0 if the system does not provide the number.
pub fn available_memory() -> u64 {
    let mut status = MEMORYSTATUSEX {
        dwLength: size_of::<MEMORYSTATUSEX>() as u32,
        ..MEMORYSTATUSEX::default()
    };
    // SAFETY: there is a place for the answer, which states its size.
    match unsafe { GlobalMemoryStatusEx(&raw mut status) } {
        0 => 0,
        _ => status.ullAvailPhys,
    }
}

/// The name of the CPU, if the system provides it.
pub fn cpu_name() -> Option<String> {
    let wide = |text: &str| -> Vec<u16> { OsStr::new(text).encode_wide().chain([0]).collect() };
    let key = wide(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0");
    let value = wide("ProcessorNameString");
    let mut text = [0_u16; 256];
    let mut bytes = size_of_val(&text) as u32;
    // SAFETY: both names end with 0, and the system writes at most `bytes` bytes of the text.
    let code = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            RRF_RT_REG_SZ,
            std::ptr::null_mut(),
            text.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    let end = text.iter().position(|&unit| unit == 0)?;
    let name = String::from_utf16_lossy(&text[..end]).trim().to_owned();
    (code == 0 && !name.is_empty()).then_some(name)
}

/// The name of this machine.
pub fn host_name() -> String {
    let mut name = [0_u16; 256];
    let mut length = name.len() as u32;
    // SAFETY: the system writes at most `length` units of the name.
    let done = unsafe {
        GetComputerNameExW(
            ComputerNamePhysicalDnsHostname,
            name.as_mut_ptr(),
            &raw mut length,
        )
    };
    if done == 0 {
        return "an unknown host".into();
    }
    let name = OsString::from_wide(&name[..length as usize]);
    name.to_string_lossy().into_owned()
}

/// The program that opens a link in the browser, and its arguments before the link.
pub fn browser() -> (&'static str, &'static [&'static str]) {
    // cmd would interpret characters of the link.
    ("rundll32", &["url.dll,FileProtocolHandler"])
}

/// Calls `handle` on a thread of its own for each event that asks the program to end (Ctrl-C, Ctrl-Break, a closed console, the end of the
/// session), with the exit code that stands for it. Ctrl-C and Ctrl-Break do not end the program any more.
///
/// # Errors
/// Those of the system.
pub fn on_interrupt(mut handle: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    let (sender, events) = channel();
    EVENTS.get_or_init(|| Mutex::new(sender));
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || events.into_iter().for_each(|code| handle(code)))?;
    // SAFETY: the function has the signature of a handler, and exists as long as the program.
    match unsafe { SetConsoleCtrlHandler(Some(on_event), 1) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Takes the exit codes of events.
static EVENTS: OnceLock<Mutex<Sender<i32>>> = OnceLock::new();

/// The system calls it on a new thread.
unsafe extern "system" fn on_event(event: u32) -> i32 {
    let stays = matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT);
    let code = if stays { INTERRUPTED } else { TERMINATED };
    if let Some(events) = EVENTS.get() {
        let events = events.lock().unwrap_or_else(PoisonError::into_inner);
        // The receiver exists as long as the program.
        let _ = events.send(code);
    }
    // After the other events the system ends the program when this function returns, and after a few seconds in any case.
    while !stays {
        std::thread::sleep(Duration::from_secs(1));
    }
    1
}

// Processors without instructions for fused multiply-adds, and code that must also run there, call these functions of the C library. Those of
// MinGW round twice, so that results would have other bits than on other systems. The definitions here come before the library's.

/// Replaces the C library's function.
// SAFETY: the function has the signature and meaning of the C library's, which may be replaced.
#[unsafe(no_mangle)]
extern "C" fn fma(a: f64, b: f64, c: f64) -> f64 {
    libm::fma(a, b, c)
}

/// Replaces the C library's function.
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn fmaf(a: f32, b: f32, c: f32) -> f32 {
    libm::fmaf(a, b, c)
}

/// Linkers take what is here even where nothing refers to it yet.
#[used]
static FUSED: (
    extern "C" fn(f64, f64, f64) -> f64,
    extern "C" fn(f32, f32, f32) -> f32,
) = (fma, fmaf);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_those_without_a_limit_and_devices_stay() {
        for (given, whole) in [
            (r"C:\a\b", r"\\?\C:\a\b"),
            (r"\\server\share\a", r"\\?\UNC\server\share\a"),
            (r"\\?\C:\a", r"\\?\C:\a"),
            (r"NUL", r"\\.\NUL"),
        ] {
            assert_eq!(full_path(Path::new(given)).unwrap(), Path::new(whole));
        }
        let here = full_path(Path::new("a")).unwrap();
        assert!(here.is_absolute() && here.ends_with("a"), "{here:?}");
    }

    #[test]
    fn names_that_are_not_text_stay_as_they_are() {
        // Half of a pair of units, of which Wine makes no file.
        let half = OsString::from_wide(&[0xd800]);
        let mut name = OsString::from(".a-");
        name.push(&half);
        name.push(".tmp");
        let rest = strip_prefix(&name, ".a-").unwrap();
        assert_eq!(super::super::strip_suffix(rest, ".tmp"), Some(&*half));
        let whole = full_path(&Path::new(r"C:\a").join(&name)).unwrap();
        assert_eq!(whole.file_name(), Some(&*name));
    }

    #[test]
    fn ctrl_break_and_ctrl_c_interrupt_and_the_program_stays() {
        let (sender, codes) = channel();
        on_interrupt(move |code| sender.send(code).unwrap()).unwrap();
        // The system calls the handler in the same way. (Wine cannot send the event.)
        for event in [CTRL_BREAK_EVENT, CTRL_C_EVENT] {
            // SAFETY: the handler takes any event.
            assert_eq!(unsafe { on_event(event) }, 1);
            let code = codes.recv_timeout(Duration::from_secs(10)).unwrap();
            assert_eq!(code, INTERRUPTED);
        }
    }

    #[test]
    fn the_device_that_is_always_empty_is_known_by_its_name() {
        let null = Path::new("NUL");
        assert_eq!(identity(null).unwrap().kind, Kind::Null);
        let file = open_to_read(null).unwrap();
        assert_eq!(identity_of(&file).unwrap().kind, Kind::Null);
        crate::atomic::write_with(null, |file| {
            io::Write::write_all(file, b"text").map_err(|e| file.error(e))
        })
        .unwrap();
    }
}
