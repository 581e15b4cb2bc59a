//! `slotline sweep --slurm`.

use super::SweepOptions;
use crate::out::say;
use anyhow::{Context, Result};
use slotline_lab::sweep::slurm::{Job, quoted};
use slotline_lab::sweep::{Study, store};
use std::process::ExitCode;

/// Default limit of tasks in an array. More tasks would only wait.
const MOST_TASKS: usize = 100;

/// Writes the script, and prints how to use it.
pub fn write(options: &SweepOptions, study: &Study) -> Result<ExitCode> {
    let slurm = &options.slurm;
    let folder = store::folder(&options.out, &study.id)?;
    let absolute = |path: &std::path::Path| {
        path.canonicalize().with_context(|| format!("cannot find {}", path.display()))
    };
    let tasks = slurm.tasks.map_or(MOST_TASKS, usize::from).min(study.len());
    let script = Job {
        sweep: &study.id,
        program: &crate::program()?,
        file: &absolute(&options.file)?,
        out: &absolute(&options.out)?,
        tasks,
        at_once: slurm.at_once.map(usize::from),
        processors: slurm.cpus.map_or(1, usize::from),
        directives: &directives(options),
    }
    .script();
    let folder = absolute(&folder)?;
    let path = folder.join("job.sbatch");
    store::replace(&path, &script)?;
    say(&format!(
        "{} points in {tasks} tasks. All machines must see this program, {} and {}.\n\n\
         To submit the tasks, also again for points that are still missing:\n  sbatch {}\n\
         To join the parts when all tasks are done:\n  slotline collect {}",
        study.len(),
        quoted(&absolute(&options.file)?),
        quoted(&absolute(&options.out)?),
        quoted(&path),
        quoted(&folder),
    ));
    Ok(ExitCode::SUCCESS)
}

fn directives(options: &SweepOptions) -> Vec<String> {
    let slurm = &options.slurm;
    let named = [
        ("time", &slurm.time),
        ("mem", &slurm.mem),
        ("partition", &slurm.partition),
        ("account", &slurm.account),
    ];
    let given = named.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
    given.chain(slurm.sbatch.iter().map(|more| more.trim_start_matches('-').to_string())).collect()
}
