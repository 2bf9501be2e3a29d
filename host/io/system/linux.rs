//! Linux. On another system without a file of its own, what is not known there is left out.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Bytes of memory that can still be used: those that the system has free, or what the limits of this process leave it, if that is less.
/// 0 if the system does not provide the number.
pub fn available_memory() -> u64 {
    let system = proc_value("/proc/meminfo", "MemAvailable:").or_else(free_memory);
    let limits = [control_group(), process_limits()];
    match system {
        Some(system) => limits.into_iter().flatten().fold(system, u64::min),
        None => 0,
    }
}

/// The number of KiB after a name in a file of `/proc`, in bytes.
fn proc_value(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// The memory that is free where `/proc` is missing. What the system keeps of files does not count as free here.
fn free_memory() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let info = rustix::system::sysinfo();
        // The fields have other widths on 32-bit systems.
        Some((info.freeram as u64 + info.bufferram as u64) * u64::from(info.mem_unit))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// The rest of the memory limit of the control groups of this process, as in a job or a container.
fn control_group() -> Option<u64> {
    // Where /proc is missing or names groups from outside of the container, the process is in the group that is mounted.
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    rest_of_groups(Path::new("/sys/fs/cgroup"), &groups)
}

/// The least rest of the groups that `/proc/self/cgroup` lists, and of those around them, below the folder of all groups.
fn rest_of_groups(root: &Path, groups: &str) -> Option<u64> {
    let versions = [
        ("", Memory::V2, root.to_owned()),
        ("memory", Memory::V1, root.join("memory")),
    ];
    let rests = versions
        .into_iter()
        .flat_map(|(controller, version, root)| {
            let path = groups.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                (controllers.split(',').any(|c| c == controller)).then_some(path)
            });
            let own = root.join(path.unwrap_or("/").trim_start_matches('/'));
            let around = own
                .ancestors()
                .take_while(|folder| folder.starts_with(&root));
            around
                .filter_map(|folder| version.rest(folder))
                .collect::<Vec<_>>()
        });
    rests.min()
}

/// The versions of control groups, whose files have different names.
#[derive(Clone, Copy)]
enum Memory {
    V1,
    V2,
}

impl Memory {
    /// The limit of a group less what it uses. Pages of files count as free, since the system drops them when it needs memory.
    fn rest(self, group: &Path) -> Option<u64> {
        let [limit, used, active, inactive] = match self {
            Self::V1 => [
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_active_file",
                "total_inactive_file",
            ],
            Self::V2 => [
                "memory.max",
                "memory.current",
                "active_file",
                "inactive_file",
            ],
        };
        let text = |name: &str| fs::read_to_string(group.join(name)).ok();
        let number = |name: &str| -> Option<u64> { text(name)?.trim().parse().ok() };
        let statistics = text("memory.stat")?;
        let of_files: u64 = (statistics.lines().filter_map(|line| line.split_once(' ')))
            .filter(|(name, _)| [active, inactive].contains(name))
            .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
            .sum();
        let used = number(used)?.saturating_sub(of_files);
        Some(number(limit)?.saturating_sub(used))
    }
}

/// The rest of the limits that `ulimit` sets: of the address space and of the memory for data.
fn process_limits() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let limits = [(Resource::As, "VmSize:"), (Resource::Data, "VmData:")];
    let rests = limits.into_iter().filter_map(|(resource, used)| {
        let used = proc_value("/proc/self/status", used).unwrap_or(0);
        Some(getrlimit(resource).current?.saturating_sub(used))
    });
    rests.min()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_of_the_groups_around_a_process_counts() {
        let folder = tempfile::tempdir().unwrap();
        let group = |path: &str, files: [(&str, &str); 3]| {
            let path = folder.path().join(path);
            fs::create_dir_all(&path).unwrap();
            for (name, text) in files {
                fs::write(path.join(name), text).unwrap();
            }
        };
        let of_files = "anon 90\nactive_file 10\ninactive_file 20\nfile 70\n";
        let newer = |limit| {
            [
                ("memory.max", limit),
                ("memory.current", "100\n"),
                ("memory.stat", of_files),
            ]
        };
        let rest = |groups: &str| rest_of_groups(folder.path(), groups);
        assert_eq!(rest("0::/job/step\n"), None);
        group("", newer("5000\n"));
        group("job", newer("1000\n"));
        group("job/step", newer("max\n"));
        assert_eq!(rest("0::/job/step\n"), Some(930));
        assert_eq!(rest("0::/\n"), Some(4930));
        // The groups of the machine are not to be seen in a container.
        assert_eq!(rest("0::/outside/container\n"), Some(4930));
        assert_eq!(rest(""), Some(4930));
        group(
            "memory/other",
            [
                ("memory.limit_in_bytes", "300\n"),
                ("memory.usage_in_bytes", "250\n"),
                (
                    "memory.stat",
                    "active_file 1\ntotal_active_file 30\ntotal_inactive_file 40\n",
                ),
            ],
        );
        assert_eq!(rest("5:cpu,memory:/other\n0::/job\n"), Some(120));
        assert_eq!(rest("5:cpu:/other\n0::/job\n"), Some(930));
    }
}
