//! The memory that this process may still use.

use std::fs;

/// Bytes of memory that can still be used: those that the system has free, or what a control group leaves this process, if
/// that is less. 0 if the system does not provide the number.
pub fn available() -> u64 {
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
