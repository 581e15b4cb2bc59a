//! A progress bar on the terminal, and Ctrl-C.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slotline_lab::run::Jobs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const STEPS: u64 = 1000;
const PERIOD: Duration = Duration::from_millis(100);

/// Shows the progress of `jobs` while `work` runs them. Ctrl-C stops them; finished runs are saved.
pub fn watched<T: Send>(
    jobs: &Arc<Jobs>,
    end_ps: Option<u64>,
    work: impl FnOnce() -> T + Send,
) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shown = scope.spawn(|| show(jobs, end_ps, &over));
        let _ended = Ended { over: &over, shown: shown.thread().clone() };
        work()
    })
}

/// Removes the progress bar when it is dropped, also after a panic.
struct Ended<'a> {
    over: &'a AtomicBool,
    shown: std::thread::Thread,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.shown.unpark();
    }
}

/// Makes Ctrl-C stop all these jobs.
pub fn stop_on_interrupt(jobs: &[&Arc<Jobs>]) -> anyhow::Result<()> {
    let jobs: Vec<Arc<Jobs>> = jobs.iter().map(|jobs| Arc::clone(jobs)).collect();
    Ok(ctrlc::set_handler(move || jobs.iter().for_each(|jobs| jobs.cancel()))?)
}

/// Makes Ctrl-C call `act` instead of ending the program.
#[cfg(target_os = "linux")]
pub fn on_interrupt(act: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    Ok(ctrlc::set_handler(act)?)
}

/// A progress bar of a thousand steps.
pub fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show(jobs: &Jobs, end_ps: Option<u64>, over: &AtomicBool) {
    #[cfg(target_os = "linux")]
    if slotline_guest::inside::is_inside() {
        return report(jobs, end_ps, over);
    }
    let bar = bar();
    while !over.load(Ordering::Relaxed) {
        let (done, total) = (done(jobs, end_ps), jobs.0.len().max(1) as f64);
        bar.set_position((done / total * STEPS as f64) as u64);
        bar.set_message(format!("{done:.1} of {total} runs"));
        std::thread::park_timeout(PERIOD);
    }
    bar.finish_and_clear();
}

/// The completed runs, with fractions.
fn done(jobs: &Jobs, end_ps: Option<u64>) -> f64 {
    jobs.0.iter().map(|job| job.share(end_ps)).sum()
}

/// In a guest: the start of a line with the number of steps that are done.
#[cfg(target_os = "linux")]
const PROGRESS: &str = "progress: ";

/// In a guest: writes a line for the machine outside now and then. Few lines, because each takes time of the processor.
#[cfg(target_os = "linux")]
fn report(jobs: &Jobs, end_ps: Option<u64>, over: &AtomicBool) {
    let mut written = 0;
    while !over.load(Ordering::Relaxed) {
        let steps = (done(jobs, end_ps) / jobs.0.len().max(1) as f64 * STEPS as f64) as u64;
        if steps >= written + STEPS / 50 {
            written = steps;
            crate::out::warn(format_args!("{PROGRESS}{steps}"));
        }
        std::thread::park_timeout(PERIOD);
    }
}

/// The number of steps in a line of a guest, if it has one.
#[cfg(target_os = "linux")]
pub fn steps_in(line: &str) -> Option<u64> {
    line.strip_prefix(PROGRESS)?.parse().ok()
}
