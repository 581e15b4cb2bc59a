//! The places of racks and the distances between them: pods form a grid, and in each pod the racks surround the one
//! with the switches (Al-Fares' thesis, §3.3 with Fig 3.10). Cables run along rows and columns.

use super::amount::Length;
use super::parts::FloorSpec;

/// Racks that are placed as one block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// The label in drawings.
    pub label: String,
    /// The number of hosts of each rack with hosts.
    pub hosts: Vec<u64>,
    /// The number of racks with switches only. They are placed in the middle.
    pub network: usize,
}

/// A rack in its place. The position is that of its upper left corner, in millimetres.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rack {
    /// From the left.
    pub x: u64,
    /// From the top.
    pub y: u64,
    /// Its block.
    pub block: usize,
    /// The number of hosts in it; 0 for a rack with switches only.
    pub hosts: u64,
}

/// A block in its place, in millimetres.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The label in drawings.
    pub label: String,
    /// Left edge.
    pub x: u64,
    /// Upper edge.
    pub y: u64,
    /// Width.
    pub width: u64,
    /// Depth.
    pub depth: u64,
    /// The position of its switches.
    pub centre: (u64, u64),
    /// Its racks in [`Hall::racks`]: those for switches first, then those with hosts, in the given order.
    pub racks: std::ops::Range<usize>,
    /// The number of racks for switches.
    pub network: usize,
}

/// All racks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hall {
    /// The racks, block by block.
    pub racks: Vec<Rack>,
    /// The blocks in the given order.
    pub blocks: Vec<Placed>,
    /// The extent from left to right, in millimetres.
    pub width: u64,
    /// The extent from top to bottom, in millimetres.
    pub depth: u64,
    /// The size of a rack with its share of the aisles.
    pub cell: (u64, u64),
    riser: Length,
}

/// Columns and rows of a grid.
#[derive(Clone, Copy)]
struct Grid {
    columns: usize,
    rows: usize,
}

/// The number of free rows between blocks.
const GAP: u64 = 1;

impl Hall {
    /// Arranges `blocks` in a grid that is about square. `central`, if any, is placed in the middle.
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
            // A small block, such as the core's, is placed in the middle of its area.
            let spare = |pitch: u64, cells: usize, cell: u64| (pitch - cells as u64 * cell) / 2;
            let x = (seat % columns) as u64 * pitch.0 + spare(pitch.0, grid.columns, cell.0);
            let y = (seat / columns) as u64 * pitch.1 + spare(pitch.1, grid.rows, cell.1);
            hall.put(block, grid, (x, y));
        }
        hall
    }

    /// Places the racks of `block`. Those for switches are nearest to its middle.
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

    /// The length of a cable within a rack.
    pub fn within(&self) -> Length {
        self.riser
    }

    /// The length of a cable from a rack to the rack `steps` further in its row.
    pub fn beside(&self, steps: u64) -> Length {
        Length(steps * self.cell.0 + 2 * self.riser.0)
    }

    /// The length of a cable from rack `rack` to the switches of its block.
    pub fn to_centre(&self, rack: usize) -> Length {
        let Rack { x, y, block, .. } = self.racks[rack];
        let middle = (x + self.cell.0 / 2, y + self.cell.1 / 2);
        self.reach(middle, self.blocks[block].centre)
    }

    /// The length of a cable between the switches of two blocks.
    pub fn between(&self, a: usize, b: usize) -> Length {
        self.reach(self.blocks[a].centre, self.blocks[b].centre)
    }

    /// The racks with hosts of `block`, in the given order.
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

/// `count` cells of `grid`: first `network` cells side by side in the middle, then the cells nearest to them.
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

/// The place of each of `count` blocks, row by row. `central` gets the middle one.
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
