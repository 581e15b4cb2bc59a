//! The processor time and memory of this process, from the operating system.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the whole process in seconds.
pub fn process_cpu_s() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread in seconds.
pub fn thread_cpu_s() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// CPU time in seconds of each of this process' threads with a name; none if the system does not report it.
pub fn named_threads_cpu_s(name: &str) -> Vec<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_task = |task: std::fs::DirEntry| {
        let own = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let time = text.split(' ').next()?.parse::<f64>().ok()? / 1e9;
        (own.trim() == name).then_some(time)
    };
    tasks.filter_map(of_task).collect()
}

fn seconds(clock: ClockId) -> f64 {
    let t = clock_gettime(clock);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Largest resident memory of the process so far in bytes; zero if the system does not report it.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The memory that the process may use, in bytes: that of the machine, or less if the system limits it. `None` if the
/// system does not report it.
pub fn machine_memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(u64::MAX);
    Some(kilobytes.saturating_mul(1024).min(limit))
}

/// Pins the calling thread to one of the processors that it may use: the `nth`, modulo their number. If the system does
/// not list them, the thread is not pinned.
#[cfg(target_os = "linux")]
pub fn stay_on(nth: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(all) = sched_getaffinity(None) else { return };
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
    let Some(own) = allowed.get(nth % allowed.len().max(1)) else { return };
    let mut one = CpuSet::new();
    one.set(*own);
    // If this is not permitted, the system selects the processor.
    let _ = sched_setaffinity(None, &one);
}

/// Does nothing: this system selects the processor.
#[cfg(not(target_os = "linux"))]
pub fn stay_on(_nth: usize) {}
