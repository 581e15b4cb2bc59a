//! Flows that this machine forwards: the kernel counts their bytes, and sends them on paths (nftables and `ip rule`).
//!
//! The packets of a flow with a path get a tag, a value of the DSCP field of IP. A switch with several ports upwards
//! sends a packet with a tag by the port of its path, and others by its default route, which spreads them. So only the
//! switch at which a flow begins knows of the flow. Entries expire: without this program, all flows are spread again
//! after a while.

use crate::command::{command, output};
use std::fmt::{self, Display, Formatter, Write};
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// The largest number of flows that the kernel counts, and of those with paths.
const MOST: u32 = 65_536;
/// The largest number of paths: the field has six bits, and 0 stands for no path.
pub const MOST_PATHS: usize = 63;
/// The preference of the rule for routes other than the default, and of the one after it for paths.
const PREFERENCE: u32 = 7_077;

/// A flow, by what its packets have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow {
    /// The address of the sender.
    pub src: IpAddr,
    /// The address of the receiver.
    pub dst: IpAddr,
    /// The number of the protocol: TCP or UDP.
    pub protocol: u8,
    /// The port of the sender.
    pub sport: u16,
    /// The port of the receiver.
    pub dport: u16,
}

/// What is sent on a path, the path, and for how long.
pub type OnPath<T> = (T, u16, Duration);

/// The protocols whose flows are counted: TCP and UDP.
pub const PROTOCOLS: [u8; 2] = [6, 17];

/// What a switch counts, and its paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowOptions {
    /// The number after which the table of nftables is named.
    pub table: u16,
    /// The addresses of the hosts whose flows are counted and sent on paths; none for a switch between others.
    pub hosts: Vec<IpAddr>,
    /// The routers above, by their addresses.
    pub up: Vec<Vec<IpAddr>>,
    /// By path, the router of `up` to which its packets go.
    pub paths: Vec<usize>,
    /// The mark of packets to the first router, and the number of their table of routes. Those of the others follow.
    pub mark: u32,
    /// A flow that sends nothing for this time is forgotten.
    pub idle: Duration,
}

/// The rules of a switch. Dropping them removes them.
#[derive(Debug)]
pub struct FlowRules {
    options: FlowOptions,
}

impl FlowRules {
    /// Begins to count, in the present network namespace.
    ///
    /// # Errors
    /// What the kernel, `nft` or `ip` refuses.
    pub fn open(options: FlowOptions) -> io::Result<FlowRules> {
        let rules = FlowRules { options };
        rules.remove();
        command("nft", &["-f", "-"], &rules.options.ruleset()).map_err(io::Error::other)?;
        for family in rules.options.families() {
            let batch = rules.options.routes(family);
            command("ip", &[family.flag(), "-batch", "-"], &batch).map_err(io::Error::other)?;
        }
        Ok(rules)
    }

    /// The kernel's lists of counted flows, in the format JSON of `nft`.
    ///
    /// # Errors
    /// `nft` fails.
    pub fn counts(&self) -> io::Result<Vec<String>> {
        let family = |family: &Family| self.options.hosts_of(*family).next().is_some();
        let list = |family: Family| {
            let (table, set) = (self.options.name(), format!("flows{}", family.digit()));
            output("nft", &["-j", "list", "set", "inet", &table, &set], "")
        };
        let lists = Family::ALL.into_iter().filter(family).map(list);
        lists.collect::<Result<_, _>>().map_err(io::Error::other)
    }

    /// Sends exactly these flows on paths, other packets to these addresses, too, each for a time, and all others by
    /// default routes.
    ///
    /// # Errors
    /// `nft` fails.
    pub fn install(&self, flows: &[OnPath<Flow>], addresses: &[OnPath<IpAddr>]) -> io::Result<()> {
        let elements = self.options.elements(flows, addresses);
        command("nft", &["-f", "-"], &elements).map_err(io::Error::other)
    }

    /// Sets the route to a router above again, which the kernel has removed if its interface was down. Returns whether
    /// that was possible.
    pub fn restore(&self, up: usize) -> bool {
        let set = |family: Family| {
            command("ip", &[family.flag(), "-batch", "-"], &self.options.route(family, up)).is_ok()
        };
        self.options.families().all(set)
    }

    /// Removes all rules, including those that a killed program left. There may be none.
    fn remove(&self) {
        remove_table(&self.options.name());
        for family in Family::ALL {
            for (mark, _) in (self.options.mark..).zip(&self.options.up) {
                let mark = mark.to_string();
                let _ = command("ip", &[family.flag(), "route", "flush", "table", &mark], "");
            }
            for preference in [PREFERENCE, PREFERENCE + 1] {
                let preference = preference.to_string();
                let rule = [family.flag(), "rule", "del", "pref", &preference];
                // One command removes one rule.
                while command("ip", &rule, "").is_ok() {}
            }
        }
    }
}

impl Drop for FlowRules {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The name of the table with a number.
pub(crate) fn table_name(number: u16) -> String {
    format!("slotline-{number}")
}

/// Removes a table of nftables. There may be none.
pub(crate) fn remove_table(name: &str) {
    // The first line makes a table that the second one removes, so it is no error if there was none.
    let _ = command("nft", &["-f", "-"], &format!("table inet {name}\ndelete table inet {name}\n"));
}

/// The chains of nftables that give packets the tags of paths: `path0` the tag 1, and so on.
pub(crate) fn tag_chains(paths: usize) -> String {
    let chain = |path| {
        let tag = path + 1;
        format!(
            "chain path{path} {{\nmeta nfproto ipv4 ip dscp set {tag}\nmeta nfproto ipv6 ip6 dscp set {tag}\n}}\n"
        )
    };
    (0..paths).map(chain).collect()
}

/// The protocols that have rules of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    const ALL: [Family; 2] = [Family::V4, Family::V6];

    fn of(address: IpAddr) -> Family {
        if address.is_ipv4() { Family::V4 } else { Family::V6 }
    }
    fn digit(self) -> char {
        if self == Family::V4 { '4' } else { '6' }
    }
    fn flag(self) -> &'static str {
        if self == Family::V4 { "-4" } else { "-6" }
    }
    /// The name of the protocol in rules of nftables.
    fn word(self) -> &'static str {
        if self == Family::V4 { "ip" } else { "ip6" }
    }
    /// What identifies a flow, and its type.
    fn key(self) -> (String, String) {
        let (word, digit) = (self.word(), self.digit());
        (
            format!("{word} saddr . {word} daddr . meta l4proto . th sport . th dport"),
            format!("ipv{digit}_addr . ipv{digit}_addr . inet_proto . inet_service . inet_service"),
        )
    }
}

impl FlowOptions {
    fn name(&self) -> String {
        table_name(self.table)
    }
    fn hosts_of(&self, family: Family) -> impl Iterator<Item = &IpAddr> {
        self.hosts.iter().filter(move |address| Family::of(**address) == family)
    }
    /// The families of the routers above.
    fn families(&self) -> impl Iterator<Item = Family> {
        let has = |family: &Family| self.up.iter().flatten().any(|to| Family::of(*to) == *family);
        Family::ALL.into_iter().filter(has)
    }

    /// The table of nftables.
    fn ruleset(&self) -> String {
        let mut text = format!("table inet {} {{\n", self.name());
        text += &tag_chains(self.paths.len());
        let mut flows = String::new();
        for family in Family::ALL {
            self.family(family, &mut text, &mut flows);
        }
        let chain = |name: &str, priority: i32, rules: &str| {
            format!(
                "chain {name} {{\ntype filter hook prerouting priority {priority}; policy accept;\n{rules}}}\n"
            )
        };
        text += &chain("flows", -150, &flows);
        text += &chain("tags", -149, &self.marks());
        text + "}\n"
    }

    /// The sets and rules of a family, if hosts have addresses of it.
    fn family(&self, family: Family, sets: &mut String, rules: &mut String) {
        let hosts: Vec<String> = self.hosts_of(family).map(IpAddr::to_string).collect();
        if hosts.is_empty() {
            return;
        }
        let (digit, word, (key, kind)) = (family.digit(), family.word(), family.key());
        let (hosts, idle) = (hosts.join(", "), self.idle.as_millis().div_ceil(1_000).max(1));
        let _ = write!(
            sets,
            "set hosts{digit} {{\ntype ipv{digit}_addr\nelements = {{ {hosts} }}\n}}\n\
             set flows{digit} {{\ntype {kind}\nflags dynamic, timeout\nsize {MOST}\ntimeout {idle}s\ncounter\n}}\n\
             map paths{digit} {{\ntype {kind} : verdict\nflags timeout\nsize {MOST}\n}}\n\
             map detours{digit} {{\ntype ipv{digit}_addr : verdict\nflags timeout\nsize {MOST}\n}}\n"
        );
        let _ = write!(
            rules,
            "{word} saddr @hosts{digit} {word} dscp set 0\n\
             {word} saddr @hosts{digit} meta l4proto {{ 6, 17 }} update @flows{digit} {{ {key} }}\n\
             {word} saddr @hosts{digit} meta l4proto {{ 6, 17 }} {key} vmap @paths{digit}\n\
             {word} saddr @hosts{digit} {word} daddr vmap @detours{digit}\n"
        );
    }

    /// The rules that mark packets with a tag by the router of their path.
    fn marks(&self) -> String {
        let mark =
            |(path, up): (usize, &usize)| format!("{} : {}", path + 1, self.mark + *up as u32);
        let marks: Vec<String> = self.paths.iter().enumerate().map(mark).collect();
        if marks.is_empty() {
            return String::new();
        }
        let marks = marks.join(", ");
        format!(
            "meta nfproto ipv4 meta mark set ip dscp map {{ {marks} }}\n\
             meta nfproto ipv6 meta mark set ip6 dscp map {{ {marks} }}\n"
        )
    }

    /// The rules and routes of packets with marks: by the router of their path if only the default route leads to their
    /// destination.
    fn routes(&self, family: Family) -> String {
        let mut text = format!("rule add pref {PREFERENCE} lookup main suppress_prefixlength 0\n");
        for (mark, up) in (self.mark..).zip(0..self.up.len()) {
            let route = self.route(family, up);
            if !route.is_empty() {
                let preference = PREFERENCE + 1;
                let _ =
                    writeln!(text, "{route}rule add pref {preference} fwmark {mark} lookup {mark}");
            }
        }
        text
    }

    /// The route of packets with the mark of a router above.
    fn route(&self, family: Family, up: usize) -> String {
        let own = |address: &&IpAddr| Family::of(**address) == family;
        let mark = self.mark + up as u32;
        match self.up[up].iter().find(own) {
            Some(address) => format!("route replace default via {address} table {mark}\n"),
            None => String::new(),
        }
    }

    /// The elements of the maps of paths.
    fn elements(&self, flows: &[OnPath<Flow>], addresses: &[OnPath<IpAddr>]) -> String {
        let (table, mut text) = (self.name(), String::new());
        for family in Family::ALL {
            if self.hosts_of(family).next().is_none() {
                continue;
            }
            let mut fill = |name: &str, elements: Vec<String>| {
                let map = format!("inet {table} {name}{}", family.digit());
                let _ = writeln!(text, "flush map {map}");
                if !elements.is_empty() {
                    let _ = writeln!(text, "add element {map} {{ {} }}", elements.join(", "));
                }
            };
            let own = flows.iter().filter(|(flow, ..)| Family::of(flow.src) == family);
            fill("paths", own.map(|(flow, path, time)| element(flow, *path, *time)).collect());
            let own = addresses.iter().filter(|(address, ..)| Family::of(*address) == family);
            fill("detours", own.map(|(to, path, time)| element(to, *path, *time)).collect());
        }
        text
    }
}

fn element(key: &impl Display, path: u16, time: Duration) -> String {
    format!("{key} timeout {}ms : goto path{path}", time.as_millis().max(1))
}

impl Display for Flow {
    /// Writes it as an element of a set of nftables.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Flow { src, dst, protocol, sport, dport } = self;
        write!(f, "{src} . {dst} . {protocol} . {sport} . {dport}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> FlowOptions {
        let address = |text: &str| text.parse().unwrap();
        FlowOptions {
            table: 7,
            hosts: vec![address("10.80.0.1"), address("fd80::1")],
            up: vec![vec![address("10.81.0.1"), address("fd81::1")], vec![address("10.81.0.3")]],
            paths: vec![0, 1, 0, 1],
            mark: 1_280,
            idle: Duration::from_secs(15),
        }
    }

    #[test]
    fn flows_of_own_hosts_are_counted_and_tagged() {
        let text = options().ruleset();
        assert!(text.contains("set hosts4 {\ntype ipv4_addr\nelements = { 10.80.0.1 }"));
        assert!(text.contains("ip saddr @hosts4 ip dscp set 0\n"), "hosts choose no paths");
        assert!(
            text.contains(
                "ip6 saddr . ip6 daddr . meta l4proto . th sport . th dport vmap @paths6"
            )
        );
        assert!(text.contains("ip daddr vmap @detours4\n"));
        assert!(text.contains("map { 1 : 1280, 2 : 1281, 3 : 1280, 4 : 1281 }"));
        let upper = FlowOptions { hosts: Vec::new(), ..options() }.ruleset();
        assert!(!upper.contains("flows4") && upper.contains("1 : 1280"));
    }

    #[test]
    fn packets_with_tags_have_routes_upwards() {
        assert_eq!(
            options().routes(Family::V4),
            "rule add pref 7077 lookup main suppress_prefixlength 0\n\
             route replace default via 10.81.0.1 table 1280\nrule add pref 7078 fwmark 1280 lookup 1280\n\
             route replace default via 10.81.0.3 table 1281\nrule add pref 7078 fwmark 1281 lookup 1281\n"
        );
        assert!(options().routes(Family::V6).contains("via fd81::1 table 1280"));
        assert_eq!(
            options().route(Family::V4, 1),
            "route replace default via 10.81.0.3 table 1281\n"
        );
        assert_eq!(options().route(Family::V6, 1), "");
    }

    #[test]
    fn paths_replace_all_earlier_ones() {
        let address = |text: &str| text.parse().unwrap();
        let flow = Flow {
            src: address("10.80.0.1"),
            dst: address("10.80.3.2"),
            protocol: 6,
            sport: 40_000,
            dport: 5_201,
        };
        assert_eq!(
            options().elements(
                &[(flow, 2, Duration::from_millis(1_500))],
                &[(address("fd80::9"), 1, Duration::from_millis(20))]
            ),
            "flush map inet slotline-7 paths4\n\
             add element inet slotline-7 paths4 { 10.80.0.1 . 10.80.3.2 . 6 . 40000 . 5201 timeout 1500ms : goto path2 }\n\
             flush map inet slotline-7 detours4\nflush map inet slotline-7 paths6\n\
             flush map inet slotline-7 detours6\n\
             add element inet slotline-7 detours6 { fd80::9 timeout 20ms : goto path1 }\n"
        );
        let upper = FlowOptions { hosts: Vec::new(), ..options() };
        assert_eq!(upper.elements(&[], &[]), "");
    }
}
