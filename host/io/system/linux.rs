//! Linux. On another system without a file of its own, what is not known there is left out.

use std::fs::{self, File};
use std::io;

/// Bytes of memory that can still be used: those that the system has free, or what a control group leaves this process, if
/// that is less. 0 if the system does not provide the number.
pub fn available_memory() -> u64 {
    let system = proc_value("/proc/meminfo", "MemAvailable:").unwrap_or(0);
    match control_group() {
        Some(left) if system > 0 => system.min(left),
        _ => system,
    }
}

/// The number of KiB after a name in a file of `/proc`, in bytes.
fn proc_value(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// The rest of the memory limit of this process's control group (version 2), as in a container. Pages of files count as free.
fn control_group() -> Option<u64> {
    let text = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let number = |name: &str| -> Option<u64> { text(name)?.trim().parse().ok() };
    let stat = text("memory.stat")?;
    let cached = stat.lines().find_map(|line| line.strip_prefix("file "))?;
    let used = number("memory.current")?.saturating_sub(cached.trim().parse().ok()?);
    Some(number("memory.max")?.saturating_sub(used))
}

/// The name of the CPU, if the system provides it.
pub fn cpu_name() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The program that opens a link in the browser, and its arguments before the link.
pub fn browser() -> (&'static str, &'static [&'static str]) {
    ("xdg-open", &[])
}

/// Reserves space on the disk.
pub(super) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        match fallocate(file, FallocateFlags::empty(), 0, bytes) {
            // Not every file system supports this.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(e) => return Err(e.into()),
        }
    }
    let _ = (file, bytes);
    Ok(())
}
