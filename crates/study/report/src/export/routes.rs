//! The two-level routing tables of a scenario's fat-tree, as text and as routes of Linux and FRR.

use slotline_net::id::{HostId, PortId};
use slotline_net::route::two_level::{Action, Place, Plan, Prefix, Sizes, Table};
use slotline_scenario::Loaded;
use std::io::{self, Write};
use std::net::Ipv4Addr;

/// The formats of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteFormat {
    /// Prefixes and suffixes, switch by switch, with the sizes of the tables.
    Table,
    /// Commands of iproute2.
    Linux,
    /// Static routes for FRR's staticd.
    Frr,
}

/// The tables to write.
#[derive(Clone, Debug)]
pub struct Tables {
    name: String,
    plan: Plan,
    places: Vec<Place>,
}

impl Tables {
    /// The tables of the scenario's fat-tree, or only that of `switch`.
    ///
    /// # Errors
    /// The fabric is not a fat-tree, or has no such switch.
    pub fn of(loaded: &Loaded, switch: Option<&str>) -> Result<Tables, String> {
        let plan = Plan::of(&loaded.scenario.fabric).map_err(|error| error.message)?;
        let chosen = |place: &Place| switch.is_none_or(|name| plan.name(*place) == name);
        let places: Vec<Place> = plan.places().filter(chosen).collect();
        match switch {
            Some(name) if places.is_empty() => Err(format!(
                "no switch `{name}` in this fat-tree: they are called edge0.0, agg0.0 and core0, and so on"
            )),
            _ => Ok(Tables { name: loaded.scenario.name.clone(), plan, places }),
        }
    }

    /// Writes the tables.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&self, format: RouteFormat, out: &mut impl Write) -> io::Result<()> {
        self.head(format, out)?;
        for &place in &self.places {
            let table = self.plan.table(place);
            match format {
                RouteFormat::Table => self.text(place, &table, out)?,
                RouteFormat::Linux | RouteFormat::Frr => self.routes(format, place, &table, out)?,
            }
        }
        match format {
            RouteFormat::Table => self.totals(out),
            _ => Ok(()),
        }
    }

    fn head(&self, format: RouteFormat, out: &mut impl Write) -> io::Result<()> {
        let (k, hosts) = (self.plan.k(), self.plan.hosts());
        let mark = if format == RouteFormat::Frr { '!' } else { '#' };
        let name = self.name.escape_debug();
        writeln!(
            out,
            "{mark} Two-level routes of the fat-tree of `{name}`: k = {k}, {hosts} hosts."
        )?;
        if format == RouteFormat::Table {
            return Ok(());
        }
        writeln!(
            out,
            "{mark} Port n is interface eth(n+1). Each section is for the switch that it names."
        )?;
        writeln!(
            out,
            "{mark} Prefixes are routes. Suffixes are not: a route matches an address from the left."
        )?;
        writeln!(
            out,
            "{mark} One route for each host replaces them and has the same next hop; where"
        )?;
        writeln!(out, "{mark} those routes begin, a line with `suffix` marks it.")
    }

    /// `edge0.0 10.0.0.1`.
    fn title(&self, place: Place) -> String {
        format!("{} {}", self.plan.name(place), self.plan.switch(place))
    }

    fn text(&self, place: Place, table: &Table, out: &mut impl Write) -> io::Result<()> {
        let Sizes { prefixes, suffixes, tcam } = table.sizes();
        let title = self.title(place);
        writeln!(out, "\n{title}: {prefixes} prefixes, {suffixes} suffixes, {tcam} TCAM rows")?;
        write!(out, "{table}")
    }

    /// The total size of all tables, and the size of the largest.
    fn totals(&self, out: &mut impl Write) -> io::Result<()> {
        let sizes: Vec<Sizes> =
            self.places.iter().map(|&place| self.plan.table(place).sizes()).collect();
        let rows: usize = sizes.iter().map(|size| size.tcam).sum();
        let most = sizes.iter().map(|size| size.tcam).max().unwrap_or(0);
        let switches = match sizes.len() {
            1 => "1 switch".to_string(),
            n => format!("{n} switches"),
        };
        writeln!(out, "\n# {switches}, {rows} TCAM rows of 32 bits; at most {most} at one switch")
    }

    fn routes(
        &self,
        format: RouteFormat,
        place: Place,
        table: &Table,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mark = if format == RouteFormat::Frr { '!' } else { '#' };
        writeln!(out, "\n{mark} {}", self.title(place))?;
        if let Some(subnet) = table.subnet {
            writeln!(out, "{mark} {subnet}: connected, no route needed")?;
        }
        for (prefix, action) in &table.prefixes {
            match action {
                Action::Port(port) => self.route(format, place, *prefix, *port, out)?,
                Action::Suffixes(_) => {
                    writeln!(out, "{mark} suffix: instead of the suffixes of {prefix}")?;
                    for (host, port) in self.by_suffix(table, *prefix) {
                        self.route(format, place, host, port, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The hosts whose longest prefix is `prefix`, with their next hops.
    fn by_suffix<'a>(
        &'a self,
        table: &'a Table,
        prefix: Prefix,
    ) -> impl Iterator<Item = (Prefix, PortId)> + 'a {
        let hosts = (0..self.plan.hosts()).map(|host| self.plan.host(HostId(host)));
        let longer = move |address: &Ipv4Addr| {
            let longer = |other: &Prefix| other.len > prefix.len && other.matches(*address);
            let subnet = table.subnet.is_some_and(|subnet| longer(&subnet));
            subnet || table.prefixes.iter().any(|(other, _)| longer(other))
        };
        let left = hosts.filter(move |address| prefix.matches(*address) && !longer(address));
        left.filter_map(|address| Some((Prefix { address, len: 32 }, table.lookup(address)?)))
    }

    fn route(
        &self,
        format: RouteFormat,
        place: Place,
        to: Prefix,
        port: PortId,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let next = self.plan.behind(place, port.0.into()).map(|next| self.plan.switch(next));
        let (next, interface) = (next.unwrap_or(to.address), port.0 + 1);
        match format {
            RouteFormat::Frr => writeln!(out, "ip route {to} {next} eth{interface} onlink"),
            _ => writeln!(out, "ip route add {to} via {next} dev eth{interface} onlink"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_scenario::Scenario;
    use std::path::Path;

    fn load(fabric: &str) -> Loaded {
        let text = format!(
            "name = \"tree\"\nend = {{ at = \"1s\" }}\nfabric = {fabric}\n\
             [[workload]]\nkind = \"incast\"\n[[scheme]]\nname = \"tcp\"\n"
        );
        Scenario::parse(Path::new("test.toml"), text).unwrap()
    }

    fn written(k: u32, switch: Option<&str>, format: RouteFormat) -> String {
        let tables = Tables::of(&load(&format!("{{ kind = \"fat-tree\", k = {k} }}")), switch);
        let mut out = Vec::new();
        tables.unwrap().write(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_switch_as_text() {
        let expected = "\
# Two-level routes of the fat-tree of `tree`: k = 4, 16 hosts.

agg2.0 10.2.2.1: 3 prefixes, 2 suffixes, 4 TCAM rows
  10.2.0.0/24        port 0
  10.2.1.0/24        port 1
  0.0.0.0/0          by suffix:
    0.0.0.2/8        port 2
    0.0.0.3/8        port 3

# 1 switch, 4 TCAM rows of 32 bits; at most 4 at one switch
";
        assert_eq!(written(4, Some("agg2.0"), RouteFormat::Table), expected);
    }

    /// Routes that are read back and looked up by longest prefix give the same next hops as the tables.
    #[test]
    fn routes_and_tables_agree() {
        for k in [4, 6] {
            let text = written(k, None, RouteFormat::Linux);
            let plan = Plan::new(k, k / 2).unwrap();
            for place in plan.places() {
                let title = format!("# {} {}\n", plan.name(place), plan.switch(place));
                let section = text.split_once(&title).unwrap().1;
                let section = section.split("\n\n").next().unwrap();
                let routes: Vec<(Prefix, PortId)> = section.lines().filter_map(read).collect();
                let table = plan.table(place);
                for host in (0..plan.hosts()).map(|host| plan.host(HostId(host))) {
                    let matching = routes.iter().filter(|(prefix, _)| prefix.matches(host));
                    let port = matching.max_by_key(|(prefix, _)| prefix.len).map(|(_, port)| *port);
                    if table.subnet.is_some_and(|subnet| subnet.matches(host)) {
                        assert_eq!(port, None);
                    } else {
                        assert_eq!(port, table.lookup(host), "{title} {host}");
                    }
                }
            }
        }
    }

    fn read(line: &str) -> Option<(Prefix, PortId)> {
        let fields: Vec<&str> = line.strip_prefix("ip route add ")?.split(' ').collect();
        let (address, len) = fields[0].split_once('/')?;
        let prefix = Prefix { address: address.parse().ok()?, len: len.parse().ok()? };
        let interface: u16 = fields[4].strip_prefix("eth")?.parse().ok()?;
        Some((prefix, PortId(interface - 1)))
    }

    #[test]
    fn frr_takes_the_same_routes() {
        let text = written(4, Some("agg2.0"), RouteFormat::Frr);
        assert!(text.contains("\nip route 10.2.1.0/24 10.2.1.1 eth2 onlink\n"), "{text}");
        assert!(text.contains("\nip route 10.3.0.3/32 10.4.1.2 eth4 onlink\n"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("ip route")).count(), 2 + 12);
        assert!(text.lines().all(|line| line.is_empty() || line.starts_with(['!', 'i'])), "{text}");
    }

    #[test]
    fn what_has_no_tables_is_refused() {
        let no = |fabric: &str, switch| Tables::of(&load(fabric), switch).unwrap_err();
        assert!(no("{ kind = \"star\", hosts = 40 }", None).contains("fat-tree"));
        assert!(no("{ kind = \"fat-tree\", k = 4 }", Some("core4")).contains("`core4`"));
    }
}
