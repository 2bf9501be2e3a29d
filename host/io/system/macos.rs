//! macOS.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr;

/// Bytes of memory that can still be used: the share that the system calls available. 0 if the system does not provide the number.
pub fn available_memory() -> u64 {
    let (mut total, mut percent) = ([0; 8], [0; 4]);
    let known = (
        sysctl(c"hw.memsize", &mut total),
        sysctl(c"kern.memorystatus_level", &mut percent),
    );
    match known {
        (Some(8), Some(4)) => {
            u64::from_ne_bytes(total) / 100 * u64::from(u32::from_ne_bytes(percent))
        }
        _ => 0,
    }
}

/// Reads a value of the system; returns the number of its bytes, `None` if there is no value or it is longer.
fn sysctl(name: &CStr, value: &mut [u8]) -> Option<usize> {
    let mut length = value.len();
    // SAFETY: the name is a C string, and the system writes at most `length` bytes of the value.
    let code = unsafe {
        libc::sysctlbyname(
            name.as_ptr(),
            value.as_mut_ptr().cast(),
            &raw mut length,
            ptr::null_mut(),
            0,
        )
    };
    (code == 0).then_some(length)
}

/// The name of the CPU, if the system provides it.
pub fn cpu_name() -> Option<String> {
    let mut text = [0; 256];
    let length = sysctl(c"machdep.cpu.brand_string", &mut text)?;
    let text = CStr::from_bytes_until_nul(&text[..length]).ok()?;
    Some(text.to_string_lossy().trim().to_owned())
}

/// The program that opens a link in the browser, and its arguments before the link.
pub fn browser() -> (&'static str, &'static [&'static str]) {
    ("open", &[])
}

/// Reserves space on the disk for a new file.
pub(super) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let mut request = libc::fstore_t {
        fst_flags: libc::F_ALLOCATEALL,
        fst_posmode: libc::F_PEOFPOSMODE,
        fst_offset: 0,
        fst_length: i64::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?,
        fst_bytesalloc: 0,
    };
    // SAFETY: the file is open, and the request lives as long as the call.
    let code = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PREALLOCATE, &raw mut request) };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        _ if code != -1 => Ok(()),
        // Not every file system supports this.
        Some(libc::ENOTSUP | libc::EINVAL) => Ok(()),
        _ => Err(error),
    }
}
