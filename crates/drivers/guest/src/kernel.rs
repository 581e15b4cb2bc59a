//! Finds a distribution's kernel with its modules.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Names the folder of an unpacked package with a kernel, which is then the only one that is considered.
pub const KERNEL: &str = "SLOTLINE_KERNEL";

/// A kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The file that a machine starts.
    pub image: PathBuf,
    /// The folder of its modules.
    pub modules: PathBuf,
    /// Its version, as `uname -r` prints it.
    pub release: String,
}

/// The folders in which kernels are looked for: the root, or a folder in which a package is unpacked.
pub fn roots() -> Vec<PathBuf> {
    if let Some(given) = env::var_os(KERNEL) {
        return vec![given.into()];
    }
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let unpacked = cache.or_else(home).map(|cache| cache.join("slotline/kernel"));
    unpacked.into_iter().chain([PathBuf::from("/")]).collect()
}

/// The best kernel below `roots`. Kernels for the cloud come first, because they start fastest, and then newer ones. The
/// error names kernels that this user may not read.
pub fn find(roots: &[PathBuf]) -> Result<Kernel, Vec<PathBuf>> {
    let mut found: Vec<Kernel> = roots.iter().flat_map(|root| below(root)).collect();
    found.sort_by_key(|kernel| (kernel.release.contains("cloud"), version(&kernel.release)));
    let readable = |kernel: &&Kernel| File::open(&kernel.image).is_ok();
    let best = found.iter().rev().find(readable).cloned();
    best.ok_or_else(|| found.into_iter().map(|kernel| kernel.image).collect())
}

/// All kernels below `root` that have modules.
fn below(root: &Path) -> Vec<Kernel> {
    let folders = ["lib/modules", "usr/lib/modules"].map(|folder| root.join(folder));
    let releases = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let kernel = |modules: PathBuf| {
        let release = modules.file_name()?.to_str()?.to_owned();
        let images = [root.join(format!("boot/vmlinuz-{release}")), modules.join("vmlinuz")];
        let image = images.into_iter().find(|image| fs::metadata(image).is_ok())?;
        Some(Kernel { image, modules, release })
    };
    releases.flatten().filter_map(|entry| kernel(entry.path())).collect()
}

/// The numbers in a version, in order.
fn version(release: &str) -> Vec<u64> {
    let numbers = release.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_for_the_cloud_is_found() {
        let root = env::temp_dir().join(format!("slotline-kernels-{}", std::process::id()));
        let add = |release: &str, image: Option<&str>| {
            fs::create_dir_all(root.join("usr/lib/modules").join(release)).unwrap();
            fs::create_dir_all(root.join("boot")).unwrap();
            image.iter().for_each(|image| fs::write(root.join(image), "").unwrap());
        };
        let release = || find(std::slice::from_ref(&root)).map(|kernel| kernel.release);
        assert_eq!(release(), Err(vec![]));
        add("9.0.0-amd64", None);
        assert_eq!(release(), Err(vec![]), "it has modules, and no image");
        add("6.9.0", Some("usr/lib/modules/6.9.0/vmlinuz"));
        assert_eq!(release().as_deref(), Ok("6.9.0"));
        add("6.12.1-amd64", Some("boot/vmlinuz-6.12.1-amd64"));
        assert_eq!(release().as_deref(), Ok("6.12.1-amd64"));
        add("6.1.0-9-cloud-amd64", Some("boot/vmlinuz-6.1.0-9-cloud-amd64"));
        add("6.1.0-32-cloud-amd64", Some("boot/vmlinuz-6.1.0-32-cloud-amd64"));
        assert_eq!(release().as_deref(), Ok("6.1.0-32-cloud-amd64"));
        fs::remove_dir_all(&root).unwrap();
    }
}
