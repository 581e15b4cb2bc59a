//! Where racks stand, and how far it is from one to another: pods in a grid, in each pod the racks around
//! the one with the switches (Al-Fares' thesis, §3.3 with Fig 3.10). Cables run along rows and columns.

use super::amount::Length;
use super::parts::FloorSpec;

/// Racks that are placed as one block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// What stands on it in drawings.
    pub label: String,
    /// Hosts of each rack with hosts.
    pub hosts: Vec<u64>,
    /// Racks for switches alone; they stand in the middle.
    pub network: usize,
}

/// A rack in its place: its upper left corner, in millimetres.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rack {
    /// From the left.
    pub x: u64,
    /// From the top.
    pub y: u64,
    /// Its block.
    pub block: usize,
    /// Hosts in it; none in one for switches alone.
    pub hosts: u64,
}

/// A block in its place, in millimetres.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// What stands on it in drawings.
    pub label: String,
    /// Left edge.
    pub x: u64,
    /// Upper edge.
    pub y: u64,
    /// Width.
    pub width: u64,
    /// Depth.
    pub depth: u64,
    /// Where its switches are.
    pub centre: (u64, u64),
    /// Its racks in [`Hall::racks`]: those for switches, then those with hosts, in their order.
    pub racks: std::ops::Range<usize>,
    /// How many of these are for switches.
    pub network: usize,
}

/// All racks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hall {
    /// Block by block.
    pub racks: Vec<Rack>,
    /// In the order in which they were given.
    pub blocks: Vec<Placed>,
    /// From left to right, in millimetres.
    pub width: u64,
    /// From top to bottom.
    pub depth: u64,
    /// Size of a rack with its share of the aisles.
    pub cell: (u64, u64),
    riser: Length,
}

/// Columns and rows of a grid.
#[derive(Clone, Copy)]
struct Grid {
    columns: usize,
    rows: usize,
}

/// Rows of free space between blocks.
const GAP: u64 = 1;

impl Hall {
    /// Puts `blocks` into a grid of as many columns as rows; `central`, if any, in its middle.
    pub fn of(blocks: Vec<Block>, central: Option<usize>, floor: &FloorSpec) -> Hall {
        let cell = (floor.rack_width.0, floor.row_depth.0);
        let grids: Vec<Grid> = blocks
            .iter()
            .map(|block| near_square(block.network + block.hosts.len(), cell))
            .collect();
        let most = |of: fn(&Grid) -> usize| grids.iter().map(of).max().unwrap_or(0) as u64;
        let pitch = (most(|grid| grid.columns) + GAP) * cell.0;
        let pitch = (pitch, (most(|grid| grid.rows)) * cell.1 + GAP * cell.0);
        let columns = ceil_sqrt(blocks.len());
        let order = seats(blocks.len(), columns, central);
        let mut hall = Hall {
            racks: vec![],
            blocks: vec![],
            width: columns as u64 * pitch.0,
            depth: blocks.len().div_ceil(columns.max(1)) as u64 * pitch.1,
            cell,
            riser: floor.riser,
        };
        for ((block, grid), seat) in blocks.into_iter().zip(grids).zip(order) {
            // A small block, as the core's, has the middle of its place.
            let spare = |pitch: u64, cells: usize, cell: u64| (pitch - cells as u64 * cell) / 2;
            let x = (seat % columns) as u64 * pitch.0 + spare(pitch.0, grid.columns, cell.0);
            let y = (seat / columns) as u64 * pitch.1 + spare(pitch.1, grid.rows, cell.1);
            hall.put(block, grid, (x, y));
        }
        hall
    }

    /// Places the racks of `block`: those for switches nearest to its middle.
    fn put(&mut self, block: Block, grid: Grid, (x, y): (u64, u64)) {
        let cell = self.cell;
        let count = block.network + block.hosts.len();
        let first = self.racks.len();
        let hosts = std::iter::repeat_n(0, block.network).chain(block.hosts.iter().copied());
        let at = self.blocks.len();
        let rack = |((column, row), hosts): ((usize, usize), u64)| Rack {
            x: x + column as u64 * cell.0,
            y: y + row as u64 * cell.1,
            block: at,
            hosts,
        };
        self.racks
            .extend(inside_out(grid, cell, block.network, count).into_iter().zip(hosts).map(rack));
        let size = (grid.columns as u64 * cell.0, grid.rows as u64 * cell.1);
        let middle = match block.network {
            0 => (x + size.0 / 2, y + size.1 / 2),
            n => centroid(&self.racks[first..first + n], cell),
        };
        self.blocks.push(Placed {
            label: block.label,
            x,
            y,
            width: size.0,
            depth: size.1,
            centre: middle,
            racks: first..self.racks.len(),
            network: block.network,
        });
    }

    /// Cable within a rack.
    pub fn within(&self) -> Length {
        self.riser
    }

    /// Cable from a rack to the next one, or to one that is `steps` racks further in its row.
    pub fn beside(&self, steps: u64) -> Length {
        Length(steps * self.cell.0 + 2 * self.riser.0)
    }

    /// Cable from rack `rack` to the switches of its block.
    pub fn to_centre(&self, rack: usize) -> Length {
        let Rack { x, y, block, .. } = self.racks[rack];
        let middle = (x + self.cell.0 / 2, y + self.cell.1 / 2);
        self.reach(middle, self.blocks[block].centre)
    }

    /// Cable between the switches of two blocks.
    pub fn between(&self, a: usize, b: usize) -> Length {
        self.reach(self.blocks[a].centre, self.blocks[b].centre)
    }

    /// The racks with hosts of `block`, in the order in which they were given.
    pub fn host_racks(&self, block: usize) -> std::ops::Range<usize> {
        let Placed { racks, network, .. } = &self.blocks[block];
        racks.start + network..racks.end
    }

    fn reach(&self, a: (u64, u64), b: (u64, u64)) -> Length {
        Length(a.0.abs_diff(b.0) + a.1.abs_diff(b.1) + 2 * self.riser.0)
    }
}

/// The grid for `count` cells whose longer side is shortest.
fn near_square(count: usize, cell: (u64, u64)) -> Grid {
    let grid = |columns: usize| Grid { columns, rows: count.div_ceil(columns) };
    let side = |grid: &Grid| (grid.columns as u64 * cell.0).max(grid.rows as u64 * cell.1);
    let best = (1..=count).map(grid).min_by_key(side);
    best.unwrap_or(Grid { columns: 0, rows: 0 })
}

/// `count` cells of `grid`: first `network` of them side by side in its middle, then the nearest to it.
fn inside_out(grid: Grid, cell: (u64, u64), network: usize, count: usize) -> Vec<(usize, usize)> {
    let from = |at: usize, of: usize, size: u64| (2 * at + 1).abs_diff(of) as u64 * size;
    let distance = |&(column, row): &(usize, usize)| {
        (from(row, grid.rows, cell.1), from(column, grid.columns, cell.0))
    };
    let rows = 0..grid.rows;
    let mut cells: Vec<(usize, usize)> =
        rows.flat_map(|row| (0..grid.columns).map(move |column| (column, row))).collect();
    cells.sort_by_key(|place| {
        let (rows, columns) = distance(place);
        (rows, place.1, columns)
    });
    cells[network..].sort_by_key(|place| {
        let (rows, columns) = distance(place);
        rows + columns
    });
    cells.truncate(count);
    cells
}

/// The middle of `racks`.
fn centroid(racks: &[Rack], cell: (u64, u64)) -> (u64, u64) {
    let mean = |of: fn(&Rack) -> u64| racks.iter().map(of).sum::<u64>() / racks.len() as u64;
    (mean(|rack| rack.x) + cell.0 / 2, mean(|rack| rack.y) + cell.1 / 2)
}

/// The seat of each of `count` blocks, row by row; that of `central` is the middle one.
fn seats(count: usize, columns: usize, central: Option<usize>) -> Vec<usize> {
    let Some(central) = central else { return (0..count).collect() };
    let rows = count.div_ceil(columns.max(1));
    let middle = (rows / 2 * columns + columns / 2).min(count - 1);
    let mut others = (0..count).filter(|seat| *seat != middle);
    let seat = |at: usize| if at == central { Some(middle) } else { others.next() };
    (0..count).filter_map(seat).collect()
}

fn ceil_sqrt(count: usize) -> usize {
    let root = count.isqrt();
    if root * root == count { root } else { root + 1 }
}
