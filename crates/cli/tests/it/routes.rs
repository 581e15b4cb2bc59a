//! Exported routes are loaded into real systems. A fat-tree of network namespaces is created and removed here. Linux
//! sends to every host by the port in the two-level table, and every host reaches every other. FRR accepts the same
//! routes.

use crate::folder::PROGRAM;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::{fs, path::Path};

const SCENARIO: &str = "name = \"tree\"\n[fabric]\nkind = \"fat-tree\"\nk = 4\n\
    [[workload]]\nkind = \"stride\"\n[[scheme]]\nname = \"two-level\"\nrouting = \"two-level\"\n\
    [end]\nat = \"1s\"\n";
const HOSTS: u32 = 16;

/// The addresses of the thesis, §3.3: 10.pod.edge.(2 and up).
fn host_address(host: u32) -> String {
    format!("10.{}.{}.{}", host / 4, host / 2 % 2, 2 + host % 2)
}

/// The subnet's first address, at the edge switch.
fn gateway(host: u32) -> String {
    format!("10.{}.{}.1", host / 4, host / 2 % 2)
}

/// The output of `slotline export` for the scenario.
fn exported(arguments: &[&str]) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("routes.toml");
    fs::write(&file, SCENARIO).expect("a scenario");
    let mut call = Command::new(PROGRAM);
    let output = call.arg("export").arg(arguments[0]).arg(&file).args(&arguments[1..]).output();
    String::from_utf8(output.expect("it starts").stdout).expect("text")
}

/// Runs a shell script that must work, in a namespace if one is named.
fn shell(namespace: Option<&str>, script: &str) -> Result<String, String> {
    let mut call = match namespace {
        None => Command::new("bash"),
        Some(name) => {
            let mut call = Command::new("ip");
            call.args(["netns", "exec", name, "bash"]);
            call
        }
    };
    let call = call.arg("-e").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = call.spawn().map_err(|error| error.to_string())?;
    let written = child.stdin.take().map(|mut input| input.write_all(script.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match (written, output.status.success()) {
        (Some(Ok(())), true) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The namespaces of a test. They are removed when this value is dropped.
struct Nodes {
    prefix: String,
    names: Vec<String>,
}

impl Nodes {
    /// Creates a namespace for each name, or returns why this machine cannot.
    fn new(test: &str, names: Vec<String>) -> Result<Nodes, String> {
        let nodes = Nodes { prefix: format!("slotline-{test}-{}-", std::process::id()), names };
        let add = |name: &String| format!("ip netns add {}\n", nodes.namespace(name));
        let script: String = nodes.names.iter().map(add).collect();
        let probe = "ip link add {0}a type veth peer name {0}b && ip link del {0}a\n";
        let first = nodes.namespace(&nodes.names[0]);
        shell(None, &script)?;
        shell(Some(&first), &probe.replace("{0}", "try"))?;
        Ok(nodes)
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn shell(&self, name: &str, script: &str) -> String {
        shell(Some(&self.namespace(name)), script).unwrap_or_else(|why| panic!("{name}: {why}"))
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        let remove = |name: &String| format!("ip netns del {} || true\n", self.namespace(name));
        let script: String = self.names.iter().map(remove).collect();
        if let Err(why) = shell(None, &script) {
            eprintln!("namespaces are left over: {why}");
        }
    }
}

/// The cables of the fabric in containerlab's file: `node:ethN` at both ends.
fn cables() -> Vec<[(String, String); 2]> {
    let end = |text: &str| {
        let (node, port) = text.trim_matches('"').split_once(':').expect("node:port");
        (node.to_owned(), port.to_owned())
    };
    let lab = exported(&["containerlab"]);
    let lines = lab.lines().filter_map(|line| line.trim().strip_prefix("- endpoints: ["));
    let both = |line: &str| {
        let (one, other) = line.trim_end_matches(']').split_once(", ").expect("two ends");
        [end(one), end(other)]
    };
    lines.map(both).collect()
}

/// The sections of an export by switch, each with its address and its lines without comments.
fn sections(text: &str, mark: char) -> BTreeMap<String, (String, Vec<String>)> {
    let mut found = BTreeMap::new();
    for section in text.split("\n\n").skip(1) {
        let mut lines = section.lines();
        let head = lines.next().unwrap_or_default().trim_start_matches(mark);
        let words: Vec<&str> = head.split_whitespace().collect();
        // The last section of a table counts its rows.
        if let [name, address, ..] = words[..]
            && address.starts_with("10.")
        {
            let rest = lines.filter(|line| !line.starts_with(mark)).map(String::from).collect();
            found.insert(name.into(), (address.trim_end_matches(':').into(), rest));
        }
    }
    found
}

fn bits(address: &str) -> u32 {
    address.split('.').fold(0, |sum, part| sum << 8 | part.parse::<u32>().expect("a number"))
}

/// The port for `address` according to the lines of `--as table`: by the longest prefix, and if the table requires it
/// by the suffix.
fn port_in_table(lines: &[String], address: u32) -> Option<u32> {
    let rows = lines.iter().filter_map(|line| {
        let (pattern, action) = line.trim().split_once(' ')?;
        let (value, length) = pattern.split_once('/')?;
        let port = action.trim().strip_prefix("port ").and_then(|port| port.parse().ok());
        Some((line.starts_with("    "), bits(value), length.parse::<u32>().ok()?, port))
    });
    let rows: Vec<(bool, u32, u32, Option<u32>)> = rows.collect();
    let prefix = |length: u32| u32::MAX.checked_shl(32 - length).unwrap_or(0);
    let by_prefix = rows.iter().filter(|(suffix, ..)| !suffix);
    let matching = by_prefix.filter(|(_, value, length, _)| address & prefix(*length) == *value);
    let best = matching.max_by_key(|(_, _, length, _)| *length)?;
    let by_suffix = || {
        let ends = |length: u32| !prefix(32 - length);
        let mut found = rows.iter().filter(|(suffix, ..)| *suffix);
        found.find(|(_, value, length, _)| address & ends(*length) == *value)?.3
    };
    best.3.or_else(|| if best.2 == 0 { by_suffix() } else { None })
}

/// Interfaces are called eth1 and so on at both ends. Hosts have their address, edge switches a bridge with their
/// subnet, and the other switches only their address.
fn wire(
    nodes: &Nodes,
    cables: &[[(String, String); 2]],
    routes: &BTreeMap<String, (String, Vec<String>)>,
) {
    let mut script = String::new();
    for [(one, port), (other, peer)] in cables {
        let (one, other) = (nodes.namespace(one), nodes.namespace(other));
        script +=
            &format!("ip link add {port} netns {one} type veth peer name {peer} netns {other}\n");
    }
    shell(None, &script).expect("cables");
    let up = "for i in lo $(ls /sys/class/net); do ip link set $i up; done\n";
    let settings = "cd /proc/sys/net/ipv4; echo 1 > ip_forward; echo 0 > icmp_ratemask\n\
        for i in conf/*/rp_filter; do echo 0 > $i; done\n";
    for (name, (address, lines)) in routes {
        let own = match name.starts_with("edge") {
            true => format!(
                "ip link add br0 type bridge\nip link set eth1 master br0\nip link set eth2 master br0\n\
                 ip link set br0 up\nip addr add {address}/24 dev br0\n"
            ),
            false => format!("ip addr add {address}/32 dev lo\n"),
        };
        nodes.shell(name, &format!("{settings}{up}{own}{}\n", lines.join("\n")));
    }
    for host in 0..HOSTS {
        let (own, gateway) = (host_address(host), gateway(host));
        let script = format!("ip addr add {own}/24 dev eth1\nip route add default via {gateway}\n");
        nodes.shell(&format!("h{host}"), &format!("{settings}{up}{script}"));
    }
}

/// The interface to which a switch's kernel would send packets for each host.
fn interfaces(nodes: &Nodes, switch: &str) -> Vec<String> {
    let ask = |host| format!("ip route get {}\n", host_address(host));
    let answers = nodes.shell(switch, &(0..HOSTS).map(ask).collect::<String>());
    let device = |line: &str| line.split_once(" dev ")?.1.split(' ').next().map(String::from);
    answers.lines().filter_map(device).collect()
}

/// Counts the hosts that answer. Each gets two datagrams to a closed port: if the answer to the first arrives, sending
/// the second fails.
fn reached(nodes: &Nodes, host: u32) -> usize {
    let others: Vec<String> = (0..HOSTS).filter(|to| *to != host).map(host_address).collect();
    let script = format!(
        "set +e; n=0; fds=()\n\
         for a in {}; do exec {{fd}}<>/dev/udp/$a/9; echo one >&$fd; fds+=($fd); done\n\
         sleep 0.3\n\
         for fd in ${{fds[@]}}; do echo two 2> /dev/null >&$fd || n=$((n + 1)); done; echo $n; exit 0\n",
        others.join(" ")
    );
    nodes.shell(&format!("h{host}"), &script).trim().parse().expect("a number")
}

#[test]
fn linux_sends_as_the_tables_say_and_every_host_reaches_every_other() {
    let cables = cables();
    assert_eq!(cables.len(), 48);
    let mut names: Vec<String> = cables.iter().flatten().map(|(node, _)| node.clone()).collect();
    names.sort();
    names.dedup();
    let nodes = match Nodes::new("tree", names) {
        Ok(nodes) => nodes,
        Err(why) => return eprintln!("skipped: no network namespaces here ({})", why.trim()),
    };
    let tables = sections(&exported(&["routes", "--as", "table"]), '#');
    wire(&nodes, &cables, &sections(&exported(&["routes", "--as", "linux"]), '#'));
    assert_eq!(tables.len(), 20);
    for (switch, (_, lines)) in &tables {
        let port = |host| port_in_table(lines, bits(&host_address(host)));
        let wanted = (0..HOSTS).map(port).map(|port| match port {
            Some(port) => format!("eth{}", port + 1),
            None => "br0".into(),
        });
        assert_eq!(interfaces(&nodes, switch), wanted.collect::<Vec<_>>(), "{switch}");
    }
    for host in 0..HOSTS {
        assert_eq!(reached(&nodes, host), HOSTS as usize - 1, "from host {host}");
    }
}

/// FRR's `zebra` and `staticd` in a namespace with four interfaces. Both end with the shell.
const FRR: &str = "\
    mkdir -p $D; cd $D; rm -f *; chown frr .; : > zebra.conf; cat > static.conf << 'END'\n\
    {routes}\nEND\n\
    for i in 1 3; do ip link add eth$i type veth peer name eth$((i + 1)); done\n\
    for i in lo eth1 eth2 eth3 eth4; do ip link set $i up; done\n\
    run() { /usr/lib/frr/$1 -u frr -g frr -z $D/api -i $D/$1.pid --vty_socket $D -P 0 -f $2 > $D/$1.log 2>&1 & }\n\
    trap 'kill $(jobs -p) || true; wait' EXIT\n\
    run zebra zebra.conf; sleep 1; run staticd static.conf\n\
    for try in $(seq 50); do [ $(ip route | wc -l) -ge {count} ] && break; sleep 0.1; done\n\
    ip route\n";

#[test]
fn frr_takes_the_routes() {
    if !Path::new("/usr/lib/frr/staticd").exists() {
        return eprintln!("skipped: no FRR here; to get it: sudo apt install frr");
    }
    let nodes = match Nodes::new("frr", vec!["switch".into()]) {
        Ok(nodes) => nodes,
        Err(why) => return eprintln!("skipped: no network namespaces here ({})", why.trim()),
    };
    let (_, lines) = &sections(&exported(&["routes", "--as", "frr"]), '!')["agg2.0"];
    assert_eq!(lines.len(), 14);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frr");
    let script =
        FRR.replace("{routes}", &lines.join("\n")).replace("{count}", &lines.len().to_string());
    let printed = nodes.shell("switch", &format!("D={}\n{script}", folder.display()));
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, prefix, via, device, _] = words[..] else { panic!("{line}") };
        let (begin, way) =
            (format!("{} ", prefix.trim_end_matches("/32")), format!(" via {via} dev {device} "));
        let mut routes = printed.lines();
        assert!(
            routes.any(|route| route.starts_with(&begin) && route.contains(&way)),
            "{line}: {printed}"
        );
    }
}
