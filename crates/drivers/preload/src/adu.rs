//! The table of application data units: what the applications of each host have given to TCP (Etalon, §5.2).

use crate::PreloadError;
use crate::error::at;
use std::fs::{File, OpenOptions};
use std::net::Ipv4Addr;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf, absolute};

const MAGIC: [u8; 8] = *b"SLOTADUS";
const VERSION: u64 = 1;
const HEADER: u64 = 32;
const WORD: usize = 8;
const MOST_HOSTS: u32 = 4096;

/// Bytes that the applications of each host have written to TCP connections towards each other host. Host `i` has the
/// address `first_address + i`. Rows are hosts that send.
///
/// The processes of all hosts add to the file, and this side reads it. The kernel keeps both views consistent.
#[derive(Debug)]
pub struct AduTable {
    path: PathBuf,
    file: File,
    hosts: u32,
}

/// The two matrices of the file, in their order.
#[derive(Clone, Copy)]
enum Matrix {
    Written,
    Withdrawn,
}

impl AduTable {
    /// Writes a table of zeros. An existing file is replaced.
    ///
    /// [`PreloadError::Hosts`] if there are no hosts, more than 4,096 hosts, or not enough addresses;
    /// [`PreloadError::File`] if the file cannot be written.
    /// [`PreloadError::File`] if the file cannot be written.
    pub fn create(path: &Path, hosts: u32, first_address: Ipv4Addr) -> Result<Self, PreloadError> {
        let wrong = PreloadError::Hosts { hosts, first: first_address };
        if hosts == 0
            || hosts > MOST_HOSTS
            || first_address.to_bits().checked_add(hosts - 1).is_none()
        {
            return Err(wrong);
        }
        let path = absolute(path).map_err(at(path))?;
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .map_err(at(&path))?;
        let table = Self { path, file, hosts };
        table.fill(first_address).map_err(at(&table.path))?;
        Ok(table)
    }

    /// Writes the fields of `struct demand_file` in `c/demand.c`.
    fn fill(&self, first_address: Ipv4Addr) -> std::io::Result<()> {
        let numbers = [VERSION, u64::from(self.hosts), u64::from(first_address.to_bits())];
        let mut header = MAGIC.to_vec();
        header.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        self.file.set_len(HEADER + 2 * self.matrix_len() as u64)?;
        self.file.write_all_at(&header, 0)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Bytes that the applications of `src` have given to TCP towards `dst`, including calls that still block. Bytes
    /// that such a call does not write are subtracted when it returns.
    ///
    /// # Errors
    /// [`PreloadError::File`] if the file cannot be read, or if a host is not in the table.
    pub fn written(&self, src: u32, dst: u32) -> Result<u64, PreloadError> {
        self.word(Matrix::Written, src, dst)
    }

    /// Bytes of [`Self::written`] that were never sent: the kernel discarded them when their connection was closed.
    ///
    /// # Errors
    /// As [`Self::written`].
    pub fn withdrawn(&self, src: u32, dst: u32) -> Result<u64, PreloadError> {
        self.word(Matrix::Withdrawn, src, dst)
    }

    /// [`Self::written`] of all pairs, row by row.
    ///
    /// # Errors
    /// As [`Self::written`].
    pub fn read_all(&self) -> Result<Vec<u64>, PreloadError> {
        self.words(self.place(Matrix::Written), self.matrix_len())
    }

    /// [`Self::withdrawn`] of all pairs, row by row.
    ///
    /// # Errors
    /// As [`Self::written`].
    pub fn read_all_withdrawn(&self) -> Result<Vec<u64>, PreloadError> {
        self.words(self.place(Matrix::Withdrawn), self.matrix_len())
    }

    fn word(&self, matrix: Matrix, src: u32, dst: u32) -> Result<u64, PreloadError> {
        if src.max(dst) >= self.hosts {
            return Err(at(&self.path)(std::io::ErrorKind::InvalidInput.into()));
        }
        let cell = u64::from(src) * u64::from(self.hosts) + u64::from(dst);
        Ok(self.words(self.place(matrix) + cell * WORD as u64, WORD)?[0])
    }

    /// Reads three times and takes the median, because the kernel does not guarantee that it copies a word as a whole
    /// while another process writes it.
    fn words(&self, place: u64, len: usize) -> Result<Vec<u64>, PreloadError> {
        let [a, b, c] = [self.read(place, len)?, self.read(place, len)?, self.read(place, len)?];
        Ok(a.into_iter().zip(b).zip(c).map(|((a, b), c)| a.max(b).min(a.min(b).max(c))).collect())
    }

    fn read(&self, place: u64, len: usize) -> Result<Vec<u64>, PreloadError> {
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, place).map_err(at(&self.path))?;
        let (words, _) = bytes.as_chunks::<WORD>();
        Ok(words.iter().map(|word| u64::from_ne_bytes(*word)).collect())
    }

    /// The size of a matrix in bytes.
    fn matrix_len(&self) -> usize {
        WORD * self.hosts as usize * self.hosts as usize
    }

    fn place(&self, matrix: Matrix) -> u64 {
        HEADER + matrix as u64 * self.matrix_len() as u64
    }
}
