//! Writes a job array for Slurm.

use std::path::Path;

/// The values in the script. Paths are absolute, because a job may start in any folder.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The sweep's short name.
    pub sweep: &'a str,
    /// This program.
    pub program: &'a Path,
    /// The scenario file.
    pub file: &'a Path,
    /// The shared folder of results.
    pub out: &'a Path,
    /// Tasks of the array; each does one shard.
    pub tasks: usize,
    /// Tasks at a time, at most.
    pub at_once: Option<usize>,
    /// Processors of each task.
    pub processors: usize,
    /// More directives, as `time=2:00:00`.
    pub directives: &'a [String],
}

impl Job<'_> {
    /// The script for `sbatch`.
    pub fn script(&self) -> String {
        let limit = self.at_once.map_or(String::new(), |n| format!("%{n}"));
        let log = self.out.join(self.sweep).join("slurm-%A_%a.log");
        let mut directives = vec![
            format!("job-name={}", self.sweep),
            format!("array=0-{}{limit}", self.tasks - 1),
            "ntasks=1".to_string(),
            format!("cpus-per-task={}", self.processors),
            // The signal arrives a minute before the time limit. It stops running points and retains the results of
            // complete ones.
            "signal=B:INT@60".to_string(),
            format!("output=\"{}\"", log.display()),
        ];
        directives.extend(self.directives.iter().cloned());
        let directives: String =
            directives.iter().map(|directive| format!("#SBATCH --{directive}\n")).collect();
        format!(
            "#!/bin/bash\n{directives}\n\
             # Task i runs the points whose number modulo {tasks} is i. If the script is submitted again, it runs\n\
             # only the points that are missing.\n\
             set -eu\n\
             exec {program} sweep {file} \\\n    --out {out} \\\n    \
             --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\" --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\"\n",
            tasks = self.tasks,
            program = quoted(self.program),
            file = quoted(self.file),
            out = quoted(self.out),
        )
    }
}

/// A path as one word for a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    let safe = !text.is_empty() && text.chars().all(plain);
    if safe { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_all_directives() {
        let directives = ["time=2:00:00".to_string(), "account=net".to_string()];
        let job = Job {
            sweep: "load-sweep-0123abcd",
            program: Path::new("/opt/slotline/bin/slotline"),
            file: Path::new("/home/a b/load.toml"),
            out: Path::new("/scratch/it's"),
            tasks: 20,
            at_once: Some(4),
            processors: 8,
            directives: &directives,
        };
        let script = job.script();
        assert_eq!(script, include_str!("../../tests/golden/sweep.sbatch"), "got:\n{script}");
    }
}
