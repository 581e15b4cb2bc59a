//! Computes routes: one breadth-first search for all destinations whose switches have the same neighbors.

use super::RoutingSpec;
use super::recovery::Avoid;
use super::table::{Cell, Choice, HOMES, HostEntry, NO_GROUP, NONE, NodeEntry, Routes, SETS};
use crate::id::{NodeId, PortId};
use crate::rng::{Stream, name_key};
use crate::topology::{Down, End, Graph, NodeInfo, NodeKind};
use std::collections::{BTreeMap, BTreeSet};

/// A link that is up, from a node to a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Near {
    port: u16,
    /// The switch at the far end: its node before rows are assigned, then its row.
    to: u32,
    /// The switch's port.
    far: u16,
}

impl Routes {
    /// Computes shortest paths by number of hops over links and nodes that are not down. Hosts never forward. `seed`
    /// and the names of switches vary the hash from switch to switch. The choices of tiers are therefore independent,
    /// and they do not change when other nodes are added or removed.
    ///
    /// Two-level: the suffix tables of [`super::two_level`], if `graph` is a fat-tree. Among equal ports, the
    /// destination's port at its switch and the index of the switch in its pod choose.
    ///
    /// Pinned: a packet's entropy is read as a number in mixed radix. Its lowest digit chooses at the sending host, the
    /// next at switches of tier 1, and so on upwards. Entropies below the number of paths name each path once, if hosts
    /// have one NIC and all choices are made on the path up.
    pub fn build(graph: &Graph, mode: RoutingSpec, down: &Down, seed: u64) -> Routes {
        Routes::build_avoiding(graph, mode, down, &Avoid::default(), seed)
    }

    /// As [`Routes::build`], without the ports that switches avoid. Other ports are used if they are on shortest paths
    /// of the network without the links and nodes in `down`. If all are avoided, there is no route.
    pub fn build_avoiding(
        graph: &Graph,
        mode: RoutingSpec,
        down: &Down,
        avoid: &Avoid,
        seed: u64,
    ) -> Routes {
        let near = links_up(graph, down);
        let mut sets = Sets { lowest: mode == RoutingSpec::Shortest, ..Sets::default() };
        let homes = Homes::new(graph, &near, &mut sets);
        let (row_of, rows) = assign_rows(graph, near);
        let switches: Vec<Vec<u32>> = (homes.groups.iter())
            .map(|group| group.iter().map(|&node| row_of[node as usize]).collect())
            .collect();
        let avoiding = Avoiding { avoid, nodes: switch_nodes(graph) };
        let classes = Classes::new(&rows, &switches, &avoiding);
        let mut cells = fill(&rows, &switches, &classes, &avoiding, &mut sets);
        set_homes(&mut cells, &switches, &classes);
        let (cells, row_start) = share_rows(&cells, &classes.of);
        let entry = |&row: &u32| NodeEntry { row: row_start[row as usize], key: 0, home: NO_GROUP };
        let mut routes = Routes {
            nodes: homes.mark(row_of.iter().map(entry).collect()),
            hosts: homes.hosts,
            host_nodes: graph.hosts.clone(),
            groups: switches.len(),
            cells,
            sets: sets.flat,
            homes: homes.cells,
            choice: match mode {
                RoutingSpec::Pinned => Choice::Numbered,
                RoutingSpec::TwoLevel => Choice::Suffix,
                _ => Choice::Hashed,
            },
            uneven: uneven(graph, avoid),
        };
        let keys = match routes.choice {
            Choice::Numbered => divisors(graph, &routes, &homes.groups),
            Choice::Suffix => places(graph),
            Choice::Hashed => salts(graph, seed),
        };
        routes.set_keys(keys);
        routes
    }

    /// The routes of `graph`, with a hash that chooses among equal ports ([`RoutingSpec::Ecmp`]).
    pub fn hashed(&self, graph: &Graph, seed: u64) -> Routes {
        let mut routes = Routes { choice: Choice::Hashed, ..self.clone() };
        routes.set_keys(salts(graph, seed));
        routes
    }

    fn set_keys(&mut self, keys: Vec<u32>) {
        self.nodes.iter_mut().zip(keys).for_each(|(node, key)| node.key = key);
    }
}

/// Both ends of all links that a switch avoids.
fn uneven(graph: &Graph, avoid: &Avoid) -> Vec<NodeId> {
    let avoided = |end: &End| avoid.of(end.node).is_some_and(|own| own.avoids(end.port));
    let links = graph.links.iter().map(|link| link.ends());
    let uneven = links.filter(|ends| ends.iter().any(avoided));
    let nodes: BTreeSet<NodeId> = uneven.flatten().map(|end| end.node).collect();
    nodes.into_iter().collect()
}

/// By node, its links to switches, in order of its ports.
fn links_up(graph: &Graph, down: &Down) -> Vec<Vec<Near>> {
    let mut near = vec![Vec::new(); graph.nodes.len()];
    for (index, link) in graph.links.iter().enumerate() {
        let dead = link.ends().iter().any(|end| down.nodes.contains(&end.node));
        if dead || down.links.contains(&index) {
            continue;
        }
        let mut add = |from: End, to: End| {
            if graph.nodes[to.node.at()].kind == NodeKind::Switch {
                let (port, far) = (from.port.0, to.port.0);
                near[from.node.at()].push(Near { port, to: to.node.0, far });
            }
        };
        add(link.a, link.b);
        add(link.b, link.a);
    }
    near.iter_mut().for_each(|links| links.sort_unstable());
    near
}

/// Sets of equal ports whose numbers are not consecutive. Each set is stored once.
#[derive(Default)]
struct Sets {
    flat: Vec<u16>,
    index: BTreeMap<Vec<u16>, Cell>,
    /// Only the lowest of equal ports is used.
    lowest: bool,
}

impl Sets {
    /// The cell for `ports`, in ascending order.
    fn cell(&mut self, ports: &[u16]) -> Cell {
        let [first, .., last] = *ports else {
            return ports.first().map_or(NONE, |&only| range(only, 1));
        };
        let len = ports.len() as u32;
        if self.lowest {
            range(first, 1)
        } else if u32::from(last - first) == len - 1 && len < SETS >> 16 {
            range(first, len)
        } else {
            self.index.get(ports).copied().unwrap_or_else(|| self.add(ports))
        }
    }

    fn add(&mut self, ports: &[u16]) -> Cell {
        let cell = SETS + self.flat.len() as Cell;
        self.flat.push(ports.len() as u16);
        self.flat.extend_from_slice(ports);
        self.index.insert(ports.to_vec(), cell);
        cell
    }
}

fn range(first: u16, len: u32) -> Cell {
    len << 16 | Cell::from(first)
}

/// The switches that hosts are attached to.
#[derive(Default)]
struct Homes {
    hosts: Vec<HostEntry>,
    /// The ports of each host with several switches, one entry for each switch of its group, in order.
    cells: Vec<Cell>,
    /// The switches of each group, ascending.
    groups: Vec<Vec<u32>>,
}

impl Homes {
    fn new(graph: &Graph, near: &[Vec<Near>], sets: &mut Sets) -> Homes {
        let mut homes = Homes::default();
        let mut known = BTreeMap::new();
        for host in &graph.hosts {
            let mut at: BTreeMap<u32, Vec<u16>> = BTreeMap::new();
            near[host.at()].iter().for_each(|link| at.entry(link.to).or_default().push(link.far));
            at.values_mut().for_each(|ports| ports.sort_unstable());
            let cells: Vec<Cell> = at.values().map(|ports| sets.cell(ports)).collect();
            let switches: Vec<u32> = at.into_keys().collect();
            let group = *known.entry(switches.clone()).or_insert_with(|| {
                homes.groups.push(switches);
                homes.groups.len() as u32 - 1
            });
            let home = homes.keep(&cells);
            homes.hosts.push(HostEntry { group, home });
        }
        homes
    }

    /// Marks the switches to which alone a group is attached.
    fn mark(&self, mut nodes: Vec<NodeEntry>) -> Vec<NodeEntry> {
        for (group, switches) in (0..).zip(&self.groups) {
            if let [only] = **switches {
                nodes[only as usize].home = group;
            }
        }
        nodes
    }

    /// The value of [`HostEntry::home`] for a host with these ports at its switches.
    fn keep(&mut self, cells: &[Cell]) -> Cell {
        if let [only] = cells {
            return *only;
        }
        let first = self.cells.len() as Cell;
        self.cells.extend_from_slice(cells);
        first
    }
}

/// The row of each node, and the links of each row to the rows of switches. Each switch has a row, and these come
/// first. Hosts with the same ports at the same switches share a row.
fn assign_rows(graph: &Graph, near: Vec<Vec<Near>>) -> (Vec<u32>, Vec<Vec<Near>>) {
    let is_switch = |at: &usize| graph.nodes[*at].kind == NodeKind::Switch;
    let mut row_of = vec![0; near.len()];
    let switches: Vec<usize> = (0..near.len()).filter(is_switch).collect();
    switches.iter().zip(0..).for_each(|(&node, row)| row_of[node] = row);
    let mut rows: Vec<Vec<Near>> = switches.iter().map(|&node| near[node].clone()).collect();
    let mut known = BTreeMap::new();
    for &host in &graph.hosts {
        let alike: Vec<_> = near[host.at()].iter().map(|link| (link.port, link.to)).collect();
        row_of[host.at()] = *known.entry(alike).or_insert_with(|| {
            rows.push(near[host.at()].clone());
            rows.len() as u32 - 1
        });
    }
    rows.iter_mut().flatten().for_each(|link| link.to = row_of[link.to as usize]);
    (row_of, rows)
}

/// Ports that switches avoid, by row.
struct Avoiding<'a> {
    avoid: &'a Avoid,
    /// The switch of each row; rows of hosts have none.
    nodes: Vec<NodeId>,
}

impl Avoiding<'_> {
    /// Removes the ports that `row` avoids on paths to hosts attached to `homes`.
    fn thin(&self, row: usize, homes: &[u32], ports: &mut Vec<u16>) {
        let Some(own) = self.nodes.get(row).and_then(|node| self.avoid.of(*node)) else { return };
        let usable =
            |port: PortId| homes.iter().any(|home| own.usable(port, self.nodes[*home as usize]));
        ports.retain(|port| usable(PortId(*port)));
    }
}

fn switch_nodes(graph: &Graph) -> Vec<NodeId> {
    let nodes = (0..).map(NodeId).zip(&graph.nodes);
    nodes.filter(|(_, info)| info.kind == NodeKind::Switch).map(|(node, _)| node).collect()
}

/// The cells of one row. Most groups of a class have the same one.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct RowCells {
    /// By class.
    common: Vec<Cell>,
    /// The cells of groups that differ from their class.
    others: BTreeMap<u32, Cell>,
}

impl RowCells {
    fn of(&self, group: u32, class: u32) -> Cell {
        self.others.get(&group).copied().unwrap_or(self.common[class as usize])
    }

    fn set(&mut self, group: u32, class: u32, cell: Cell) {
        if cell == self.common[class as usize] {
            self.others.remove(&group);
        } else {
            self.others.insert(group, cell);
        }
    }
}

/// The cells of all rows, but not those of switches for their own groups. One search serves all groups of a class.
fn fill(
    rows: &[Vec<Near>],
    groups: &[Vec<u32>],
    classes: &Classes,
    avoiding: &Avoiding<'_>,
    sets: &mut Sets,
) -> Vec<RowCells> {
    let mut cells = vec![RowCells::default(); rows.len()];
    let linked = linked(rows);
    let (mut distance, mut queue, mut ports) = (Vec::new(), Vec::new(), Vec::new());
    for (number, class) in (0..).zip(&classes.groups) {
        let homes = &groups[class[0] as usize];
        search(rows, homes, &mut distance, &mut queue);
        let mut cell = |row: usize, distance: &[u32]| {
            nearest(&rows[row], distance, &mut ports);
            avoiding.thin(row, homes, &mut ports);
            sets.cell(&ports)
        };
        for (row, cells) in cells.iter_mut().enumerate() {
            cells.common.push(cell(row, &distance));
        }
        // The others of a class are as far from each other as from the first, which changes only what is next to them.
        for &group in &class[1..] {
            let [first, other] = [homes[0], groups[group as usize][0]].map(|home| home as usize);
            distance.swap(first, other);
            for &row in linked[first].iter().chain(&linked[other]) {
                cells[row as usize].set(group, number, cell(row as usize, &distance));
            }
            distance.swap(first, other);
        }
    }
    cells
}

/// Sets the cells of switches for the groups that are attached to them.
fn set_homes(cells: &mut [RowCells], groups: &[Vec<u32>], classes: &Classes) {
    let all = || (0..).zip(groups).zip(&classes.of);
    for ((group, homes), &class) in all().filter(|((_, homes), _)| homes.len() > 1) {
        for (at, &row) in (0..).zip(homes) {
            cells[row as usize].set(group, class, HOMES + at);
        }
    }
    for ((group, homes), &class) in all() {
        if let [home] = **homes {
            let cells = &mut cells[home as usize];
            cells.set(group, class, classes.beside(cells, group));
        }
    }
}

/// By row, the rows that have a link to it.
fn linked(rows: &[Vec<Near>]) -> Vec<Vec<u32>> {
    let mut linked = vec![Vec::new(); rows.len()];
    for (row, links) in (0..).zip(rows) {
        links.iter().for_each(|link| linked[link.to as usize].push(row));
    }
    linked
}

/// Classes of groups whose only switches have the same neighbors, such as the lowest switches of a pod. All other nodes but
/// those next to them are equally far from them, and reach them by the same ports. If ports are avoided, each group is
/// alone.
struct Classes {
    groups: Vec<Vec<u32>>,
    /// By group, its class.
    of: Vec<u32>,
}

impl Classes {
    fn new(rows: &[Vec<Near>], groups: &[Vec<u32>], avoiding: &Avoiding<'_>) -> Classes {
        let mut classes = Classes { groups: Vec::new(), of: Vec::new() };
        let mut known = BTreeMap::new();
        for (group, homes) in (0..).zip(groups) {
            let new = classes.groups.len() as u32;
            let class = match **homes {
                [home] if avoiding.avoid.is_empty() => {
                    *known.entry(neighbors(rows, home)).or_insert(new)
                }
                _ => new,
            };
            classes.groups.resize_with(classes.groups.len().max(class as usize + 1), Vec::new);
            classes.groups[class as usize].push(group);
            classes.of.push(class);
        }
        classes
    }

    /// A cell for the group that is attached to a row's switch and to no other. It is not read. It is that of the group next
    /// to it, so that most switches with hosts have equal rows.
    fn beside(&self, row: &RowCells, group: u32) -> Cell {
        let other = if group > 0 { group - 1 } else { 1 };
        self.of.get(other as usize).map_or(NONE, |class| row.of(other, *class))
    }
}

/// The switches next to that of `row`, ascending.
fn neighbors(rows: &[Vec<Near>], row: u32) -> Vec<u32> {
    let mut all: Vec<u32> = rows[row as usize].iter().map(|link| link.to).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Hops from every row to the nearest of `homes`; `u32::MAX` if there is no path.
fn search(rows: &[Vec<Near>], homes: &[u32], distance: &mut Vec<u32>, queue: &mut Vec<u32>) {
    distance.clear();
    distance.resize(rows.len(), u32::MAX);
    queue.clear();
    queue.extend_from_slice(homes);
    homes.iter().for_each(|&home| distance[home as usize] = 0);
    let mut head = 0;
    while let Some(&row) = queue.get(head) {
        head += 1;
        let next = distance[row as usize] + 1;
        for link in &rows[row as usize] {
            let far = &mut distance[link.to as usize];
            if *far == u32::MAX {
                *far = next;
                queue.push(link.to);
            }
        }
    }
}

/// The ports of `links` with the shortest distance to the destination.
fn nearest(links: &[Near], distance: &[u32], ports: &mut Vec<u16>) {
    ports.clear();
    let mut best = u32::MAX;
    for link in links {
        let far = distance[link.to as usize];
        if far < best {
            best = far;
            ports.clear();
        }
        if far == best && far != u32::MAX {
            ports.push(link.port);
        }
    }
}

/// Stores each different row once. It also returns the first cell of each row.
fn share_rows(rows: &[RowCells], class_of: &[u32]) -> (Vec<Cell>, Vec<u32>) {
    let mut cells = Vec::new();
    let mut known = BTreeMap::new();
    let mut store = |row| {
        *known.entry(row).or_insert_with_key(|row: &&RowCells| {
            let start = cells.len() as u32;
            cells.extend((0..).zip(class_of).map(|(group, class)| row.of(group, *class)));
            start
        })
    };
    let start = rows.iter().map(&mut store).collect();
    (cells, start)
}

fn salts(graph: &Graph, seed: u64) -> Vec<u32> {
    let salt = |node: &NodeInfo| {
        (Stream::named(seed, "route.salt", name_key(&node.name)).bits() >> 32) as u32
    };
    graph.nodes.iter().map(salt).collect()
}

/// By node, its index among the nodes of its tier and pod.
fn places(graph: &Graph) -> Vec<u32> {
    let mut seen = BTreeMap::new();
    let mut place = |node: &NodeInfo| {
        let next = seen.entry((node.tier, node.pod)).or_insert(0);
        *next += 1;
        *next - 1
    };
    graph.nodes.iter().map(&mut place).collect()
}

/// By node, the product over lower tiers of the largest number of choices at any node of the tier.
fn divisors(graph: &Graph, routes: &Routes, groups: &[Vec<u32>]) -> Vec<u32> {
    let len = |&cell: &Cell| match cell {
        ..SETS => cell >> 16,
        SETS..HOMES => routes.sets[(cell - SETS) as usize].into(),
        _ => 1,
    };
    let mut most = [1; 1 << u8::BITS];
    let mut choices = |node: usize, count: u32| {
        let tier = &mut most[usize::from(graph.nodes[node].tier)];
        *tier = count.max(*tier);
    };
    for (node, entry) in routes.nodes.iter().enumerate() {
        let row = &routes.cells[entry.row as usize..][..groups.len()];
        choices(node, row.iter().map(len).max().unwrap_or(1));
    }
    for host in &routes.hosts {
        match *groups[host.group as usize] {
            [only] => choices(only as usize, len(&host.home)),
            ref several => (several.iter().zip(&routes.homes[host.home as usize..]))
                .for_each(|(&switch, cell)| choices(switch as usize, len(cell))),
        }
    }
    let below = |node: &NodeInfo| &most[..usize::from(node.tier)];
    let divisor = |node| below(node).iter().fold(1, |product: u32, &n| product.saturating_mul(n));
    graph.nodes.iter().map(divisor).collect()
}
