//! Modules of a kernel, in an order in which they can be loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules that an emulation and the congestion controls of Linux need. Those that a kernel does not have as modules
/// are built in, or missing; the emulation says so when it needs them.
pub const NETWORK: [&str; 19] = [
    "tun",
    "veth",
    "bridge",
    "nfnetlink_queue",
    "ip_tables",
    "iptable_mangle",
    "xt_NFQUEUE",
    "xt_bpf",
    "xt_length",
    "xt_tcpudp",
    "sch_ingress",
    "cls_bpf",
    "tcp_cubic",
    "tcp_dctcp",
    "tcp_bbr",
    "sch_fq",
    "sch_fq_codel",
    "sch_netem",
    "sch_tbf",
];
/// The modules of the port that takes the result.
pub const PORT: [&str; 2] = ["virtio_pci", "virtio_console"];

/// The files of a kernel's modules, by name.
pub struct Modules(BTreeMap<String, PathBuf>);

impl Modules {
    /// The modules in a folder and the folders in it.
    pub fn below(folder: &Path) -> Modules {
        let mut all = BTreeMap::new();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => folders.push(entry.path()),
                    false => all.extend(name_of(&entry.path()).map(|name| (name, entry.path()))),
                }
            }
        }
        Modules(all)
    }

    /// Names and contents of the modules `wanted` and of those that they depend on, which come first.
    ///
    /// # Errors
    /// A module cannot be read or decompressed.
    pub fn in_order(&self, wanted: &[&str]) -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        for name in wanted {
            self.add(&uniform(name), &mut seen, &mut order)?;
        }
        Ok(order)
    }

    fn add(
        &self,
        name: &str,
        seen: &mut BTreeSet<String>,
        order: &mut Vec<(String, Vec<u8>)>,
    ) -> io::Result<()> {
        let Some(path) = self.0.get(name).filter(|_| seen.insert(name.into())) else {
            return Ok(());
        };
        let bytes = decompressed(path)?;
        for needed in depends(&bytes) {
            self.add(&needed, seen, order)?;
        }
        order.push((name.into(), bytes));
        Ok(())
    }
}

/// The name of the module in a file: `xt_NFQUEUE.ko.xz` holds `xt_NFQUEUE`.
fn name_of(path: &Path) -> Option<String> {
    let (name, rest) = path.file_name()?.to_str()?.split_once(".ko")?;
    ["", ".xz", ".gz", ".zst"].contains(&rest).then(|| uniform(name))
}

/// Files and dependencies write the same name with different dashes.
fn uniform(name: &str) -> String {
    name.replace('-', "_")
}

/// The content of a module. Compressed ones are decompressed by the program for their format.
fn decompressed(path: &Path) -> io::Result<Vec<u8>> {
    let program = match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => "xz",
        Some("gz") => "gzip",
        Some("zst") => "zstd",
        _ => return fs::read(path),
    };
    let why = |why: String| io::Error::other(format!("{program} -dc {}: {why}", path.display()));
    let output = Command::new(program).arg("-dc").arg(path).output();
    let output = output.map_err(|error| why(error.to_string()))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(why(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// The modules that a module depends on: the value of `depends` in its section `.modinfo`, whose entries end with a zero
/// byte.
fn depends(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|bytes| bytes == KEY) else { return vec![] };
    let value = module[at + KEY.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(value);
    names.split(',').filter(|name| !name.is_empty()).map(uniform).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first_and_once() {
        let folder = std::env::temp_dir().join(format!("slotline-modules-{}", std::process::id()));
        fs::create_dir_all(folder.join("net/deep")).unwrap();
        let module = |path: &str, depends: &str| {
            let text = format!("ELF\0license=GPL\0depends={depends}\0retpoline=Y\0name=x\0");
            fs::write(folder.join(path), text).unwrap();
        };
        module("net/x_tables.ko", "");
        module("net/deep/ip-tables.ko", "x_tables");
        module("net/deep/xt_mark.ko", "x_tables,ip-tables");
        module("net/circle.ko", "circle");
        fs::write(folder.join("net/readme"), "").unwrap();
        let modules = Modules::below(&folder);
        let order = |wanted: &[&str]| -> Vec<String> {
            modules.in_order(wanted).unwrap().into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(order(&["xt_mark", "x_tables"]), ["x_tables", "ip_tables", "xt_mark"]);
        assert_eq!(order(&["circle", "built_in"]), ["circle"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn compressed_modules_are_read() {
        let path = std::env::temp_dir().join(format!("slotline-{}.ko", std::process::id()));
        fs::write(&path, "ELF\0depends=tun\0").unwrap();
        let packed = PathBuf::from(format!("{}.gz", path.display()));
        match Command::new("gzip").arg("-k").arg(&path).status() {
            Ok(_) => assert_eq!(depends(&decompressed(&packed).unwrap()), ["tun"]),
            Err(_) => println!("skipped: no gzip"),
        }
        assert!(decompressed(Path::new("/none.ko.xz")).is_err());
        [path, packed].iter().for_each(|path| drop(fs::remove_file(path)));
    }
}
