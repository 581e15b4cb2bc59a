//! Loads a congestion control into the kernel, and keeps it there.

use crate::compile::{compile, write_sources};
use crate::layout::{KERNEL_TYPES, Layout, Slot};
use crate::{Algorithm, CongestionError, Hosts, system};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The program that loads, for this system; empty if it is not Linux.
const LOADER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/loader"));
/// The descriptor of the map of circuits while programs are loaded.
const DESCRIPTOR: u32 = 100;
/// The most places of the map that one message changes.
const MOST_PLACES: u32 = 1024;

/// A congestion control that the kernel has until this value is dropped.
pub struct Control {
    name: String,
    hosts: u32,
    /// Its filter stores what is sent. The loader ends when it is closed.
    socket: Option<OwnedFd>,
    loader: Child,
}

impl Control {
    /// Compiles and loads a congestion control for connections between `hosts`. Meanwhile it needs a `folder` of its own.
    /// `unique` makes the name differ from those of others: names are known in all namespaces of a machine.
    ///
    /// # Errors
    /// [`CongestionError`]: what is missing, or what the kernel refuses.
    pub fn load(
        algorithm: Algorithm,
        hosts: Hosts,
        unique: u32,
        folder: &Path,
    ) -> Result<Control, CongestionError> {
        fs::create_dir_all(folder).map_err(system("make a folder for the programs"))?;
        let control = Control::load_from(algorithm, hosts, unique, folder);
        // What remains of the folder does no harm.
        let _ = fs::remove_dir_all(folder);
        control
    }

    fn load_from(
        algorithm: Algorithm,
        hosts: Hosts,
        unique: u32,
        folder: &Path,
    ) -> Result<Control, CongestionError> {
        let btf = fs::read(KERNEL_TYPES).map_err(CongestionError::Types)?;
        let layout = Layout::new(&btf)?;
        let definitions = format!(
            "#define CIRCUITS_FD {DESCRIPTOR}\n#define HOSTS {}u\n#define FIRST_ADDRESS {}u\n",
            hosts.count,
            u32::from(hosts.first)
        );
        let header = layout.header()? + &definitions + &algorithm.definitions();
        write_sources(folder, &header)?;
        let name = format!("{}_{unique}", algorithm.name());
        let arguments = arguments(&layout, algorithm, hosts, &name, folder)?;
        let (own, far) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| system("make a socket")(error.into()))?;
        let loader = start(&arguments, far, folder).map_err(system("start the loader"))?;
        let mut control = Control { name, hosts: hosts.count, socket: Some(own), loader };
        control.wait_until_ready()?;
        Ok(control)
    }

    /// The name under which the kernel knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells connections from host `from` to the `count` hosts from `to` on the state of circuits, a byte as
    /// `Circuits::bits` of the model.
    ///
    /// # Errors
    /// The kernel no longer has the control.
    pub fn tell(&self, from: u32, to: u32, count: u32, state: u8) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let last = to.saturating_add(count).min(self.hosts);
        for to in (to..last).step_by(MOST_PLACES as usize) {
            let place = from * self.hosts + to;
            let message = [place, (last - to).min(MOST_PLACES), state.into()];
            send(socket, message.map(u32::to_ne_bytes).as_flattened(), SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }

    fn wait_until_ready(&mut self) -> Result<(), CongestionError> {
        let Some(output) = self.loader.stdout.take() else { return Ok(()) };
        let (mut output, mut said) = (BufReader::new(output), String::new());
        output.read_line(&mut said).map_err(system("hear from the loader"))?;
        if said.trim() == "ready" {
            return Ok(());
        }
        output.read_to_string(&mut said).map_err(system("hear from the loader"))?;
        let hint = match said.contains("Operation not permitted") {
            true => "; this needs root, outside of user namespaces",
            false => "",
        };
        Err(CongestionError::Refused(format!("{}{hint}", said.trim())))
    }
}

impl Drop for Control {
    /// Ends the loader, and waits until the kernel has forgotten the name.
    fn drop(&mut self) {
        self.socket = None;
        let _ = self.loader.wait();
    }
}

/// Compiles the programs. Returns the arguments of the loader.
fn arguments(
    layout: &Layout<'_>,
    algorithm: Algorithm,
    hosts: Hosts,
    name: &str,
    folder: &Path,
) -> Result<Vec<String>, CongestionError> {
    let path = |file: &PathBuf| file.display().to_string();
    let filter = compile(folder, "circuits.c", &["filter"])?;
    let programs = compile(folder, &format!("{}.c", algorithm.name()), algorithm.members())?;
    let [operations, value, size] = layout.numbers()?;
    let places = hosts.count.saturating_mul(hosts.count).max(1);
    let (name_at, flags_at) = (layout.slot("name")?.at, layout.slot("flags")?.at);
    let numbers =
        [algorithm.flags(), places, DESCRIPTOR, operations, value, size, name_at, flags_at];
    let mut arguments = vec![name.to_owned()];
    arguments.extend(numbers.map(|number| number.to_string()));
    arguments.extend(filter.iter().map(path));
    for (member, file) in algorithm.members().iter().zip(&programs) {
        let Slot { member, at } = layout.slot(member)?;
        arguments.extend([member.to_string(), at.to_string(), path(file)]);
    }
    Ok(arguments)
}

fn start(arguments: &[String], socket: OwnedFd, folder: &Path) -> io::Result<Child> {
    let program = folder.join("loader");
    fs::write(&program, LOADER)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700))?;
    Command::new(program).args(arguments).stdin(socket).stdout(Stdio::piped()).spawn()
}
