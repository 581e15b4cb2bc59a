//! Disciplines that are programs, in the object files that a scenario names.

use super::spec::SchemeSpec;
use crate::content_name;
use slotline_bump::{Loaded, ebpf};
use slotline_net::aqm::ObjectSpec;
use slotline_net::aqm::spec::{Policy, QueueSpec};
use slotline_net::error::SpecError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The object files that were read, by their names in the scenario.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    folder: PathBuf,
    files: BTreeMap<String, (Vec<u8>, Loaded)>,
}

impl Objects {
    /// No files yet. They are looked for in `folder`.
    pub fn beside(folder: &Path) -> Objects {
        Objects { folder: folder.into(), files: BTreeMap::new() }
    }

    /// Loads the programs of all queues. Errors have the full path of their key.
    pub fn fill_all(&mut self, schemes: &mut [SchemeSpec]) -> Vec<SpecError> {
        let mut faults = Vec::new();
        for (at, scheme) in schemes.iter_mut().enumerate() {
            let bump = scheme.bump.as_mut().map(|bump| ("bump.queue", &mut bump.queue));
            for (table, queue) in [("queue", &mut scheme.queue)].into_iter().chain(bump) {
                let error = self.fill(queue).err();
                let path = |key: &str| format!("scheme[{at}].{table}.{key}");
                faults.extend(error.map(|e| SpecError::new(path(&e.key), e.message)));
            }
        }
        faults
    }

    /// Loads the program of one queue, if it has one.
    pub fn fill(&mut self, queue: &mut QueueSpec) -> Result<(), SpecError> {
        let Policy::Object(object) = &mut queue.policy else { return Ok(()) };
        let loaded = self.read(object).map_err(|why| SpecError::new("file", why))?;
        object.program = Some(Arc::new(loaded.limited(object.instructions)));
        Ok(())
    }

    fn read(&mut self, object: &ObjectSpec) -> Result<Loaded, String> {
        let name = &object.file;
        if let Some((_, loaded)) = self.files.get(name) {
            return Ok(loaded.clone());
        }
        let path = self.folder.join(name);
        let bytes = std::fs::read(&path)
            .map_err(|why| format!("`file` cannot be read: {}: {why}", path.display()))?;
        let loaded = ebpf::load(&bytes)
            .map_err(|why| format!("`file` = \"{name}\" is not a discipline: {why}"))?;
        self.files.insert(name.clone(), (bytes, loaded.clone()));
        Ok(loaded)
    }

    /// Lines of remarks for the resolved scenario: the files, and a fingerprint of each.
    pub fn remarks(&self) -> String {
        let line = |(name, (bytes, _)): (&String, &(Vec<u8>, Loaded))| {
            let name = name.replace(char::is_control, "?");
            format!("# {name}: {} bytes, {}, object file\n", bytes.len(), content_name(bytes))
        };
        self.files.iter().map(line).collect()
    }
}
