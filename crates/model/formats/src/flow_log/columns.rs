//! The columns of a table: which field of a record has which name.

use slotline_net::workload::log_columns::LogColumns;
use slotline_net::workload::moment::MomentUnit;

/// The meaning of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Src,
    Dst,
    Bytes,
    BytesBack,
    Packets,
    PacketsBack,
    Protocol,
    Start,
}

impl Role {
    /// The key in `columns`.
    fn key(self) -> &'static str {
        NAMES.iter().find(|(role, ..)| *role == self).map_or("", |(_, key, _)| key)
    }

    fn names(self) -> &'static [&'static str] {
        NAMES.iter().find(|(role, ..)| *role == self).map_or(&[], |(.., names)| names)
    }
}

/// The keys in `columns`, and the usual names, in lower case without other characters than letters and digits. They come from nfdump, SiLK, Argus,
/// nProbe, the registry of IPFIX, and logs of clouds.
const NAMES: [(Role, &str, &[&str]); 8] = [
    (
        Role::Src,
        "src",
        &[
            "src",
            "source",
            "sa",
            "sip",
            "saddr",
            "srcip",
            "srcaddr",
            "srcaddress",
            "sourceip",
            "sourceaddress",
            "ipsrc",
            "ipv4srcaddr",
            "ipv6srcaddr",
            "sourceipv4address",
            "sourceipv6address",
            "idorigh",
        ],
    ),
    (
        Role::Dst,
        "dst",
        &[
            "dst",
            "dest",
            "destination",
            "da",
            "dip",
            "daddr",
            "dstip",
            "dstaddr",
            "dstaddress",
            "destip",
            "destaddr",
            "destinationip",
            "destinationaddress",
            "ipdst",
            "ipv4dstaddr",
            "ipv6dstaddr",
            "destinationipv4address",
            "destinationipv6address",
            "idresph",
        ],
    ),
    (
        Role::Bytes,
        "bytes",
        &[
            "bytes",
            "byt",
            "ibyt",
            "octets",
            "size",
            "inbytes",
            "srcbytes",
            "sbytes",
            "bytessent",
            "octetdeltacount",
            "octettotalcount",
            "origbytes",
        ],
    ),
    (
        Role::BytesBack,
        "bytes-back",
        &[
            "obyt",
            "outbytes",
            "dstbytes",
            "dbytes",
            "bytesreceived",
            "respbytes",
            "reverseoctetdeltacount",
            "reverseoctettotalcount",
        ],
    ),
    (
        Role::Packets,
        "packets",
        &[
            "packets",
            "pkt",
            "pkts",
            "ipkt",
            "inpkts",
            "srcpkts",
            "spkts",
            "packetssent",
            "packetdeltacount",
            "packettotalcount",
            "origpkts",
        ],
    ),
    (
        Role::PacketsBack,
        "packets-back",
        &[
            "opkt",
            "outpkts",
            "dstpkts",
            "dpkts",
            "packetsreceived",
            "resppkts",
            "reversepacketdeltacount",
            "reversepackettotalcount",
        ],
    ),
    (
        Role::Protocol,
        "protocol",
        &["proto", "protocol", "pr", "pro", "prot", "ipproto", "ipprotocol", "protocolidentifier"],
    ),
    (
        Role::Start,
        "start",
        &[
            "start",
            "starttime",
            "stime",
            "ts",
            "time",
            "timestamp",
            "first",
            "firstseen",
            "firstswitched",
            "datefirstseen",
            "flowstart",
            "timestart",
            "begin",
        ],
    ),
];

/// Units at the end of a column's name.
const UNITS: [(&str, MomentUnit); 9] = [
    ("milliseconds", MomentUnit::Ms),
    ("microseconds", MomentUnit::Us),
    ("nanoseconds", MomentUnit::Ns),
    ("seconds", MomentUnit::S),
    ("sec", MomentUnit::S),
    ("ms", MomentUnit::Ms),
    ("us", MomentUnit::Us),
    ("ns", MomentUnit::Ns),
    ("s", MomentUnit::S),
];

/// The names of columns as the user gives them; the others are recognized by their usual names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Columns {
    given: LogColumns,
}

/// The places of the columns in a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Places {
    pub src: usize,
    pub dst: usize,
    pub start: usize,
    pub unit: MomentUnit,
    pub bytes: usize,
    pub packets: Option<usize>,
    pub bytes_back: Option<usize>,
    pub packets_back: Option<usize>,
    pub protocol: Option<usize>,
}

impl Columns {
    /// The columns with names that the user gives.
    pub fn new(given: LogColumns) -> Columns {
        Columns { given }
    }

    /// Finds the columns in a header.
    pub(super) fn find(&self, header: &[String]) -> Result<Places, String> {
        let need = |role: Role| {
            self.place(role, header)?.ok_or_else(|| {
                format!(
                    "no column is known as `{0}`: the header has {1}; name it, for example columns = \
                     {{ {0} = \"{2}\" }}",
                    role.key(),
                    listed(header),
                    header.first().map_or("", String::as_str)
                )
            })
        };
        let start = need(Role::Start)?;
        Ok(Places {
            src: need(Role::Src)?,
            dst: need(Role::Dst)?,
            start,
            unit: self.given.start_unit.unwrap_or_else(|| unit_of(&header[start])),
            bytes: need(Role::Bytes)?,
            packets: self.place(Role::Packets, header)?,
            bytes_back: self.place(Role::BytesBack, header)?,
            packets_back: self.place(Role::PacketsBack, header)?,
            protocol: self.place(Role::Protocol, header)?,
        })
    }

    fn given(&self, role: Role) -> Option<&str> {
        self.given.named().find(|(key, _)| *key == role.key()).map(|(_, name)| name)
    }

    fn place(&self, role: Role, header: &[String]) -> Result<Option<usize>, String> {
        if let Some(name) = self.given(role) {
            let found = header.iter().position(|column| column == name);
            return found.map(Some).ok_or_else(|| {
                format!("there is no column `{name}`: the header has {}", listed(header))
            });
        }
        let usual = |column: &&String| is_usual(role, column) && !self.is_given(column);
        let found: Vec<usize> = (0..header.len()).filter(|at| usual(&&header[*at])).collect();
        match found[..] {
            [] => Ok(None),
            [at] => Ok(Some(at)),
            [a, b, ..] => Err(format!(
                "`{}` and `{}` can both be the column `{2}`: name one, for example columns = {{ {2} = \"{0}\" }}",
                header[a],
                header[b],
                role.key()
            )),
        }
    }

    /// Whether the user gives the column a meaning.
    fn is_given(&self, column: &str) -> bool {
        self.given.named().any(|(_, name)| name == column)
    }
}

fn is_usual(role: Role, column: &str) -> bool {
    let plain = plain(column);
    let timeless = || UNITS.iter().filter_map(|(unit, _)| plain.strip_suffix(unit));
    role.names().contains(&plain.as_str())
        || (role == Role::Start && timeless().any(|name| role.names().contains(&name)))
}

/// The unit that a column's name ends in; seconds without one.
fn unit_of(column: &str) -> MomentUnit {
    let plain = plain(column);
    let names = Role::Start.names();
    let found = UNITS.iter().find(|(unit, _)| {
        !names.contains(&plain.as_str())
            && plain.strip_suffix(unit).is_some_and(|name| names.contains(&name))
    });
    found.map_or(MomentUnit::S, |(_, unit)| *unit)
}

/// `name` in lower case, without other characters than letters and digits.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|letter| letter.to_ascii_lowercase()).collect()
}

fn listed(header: &[String]) -> String {
    const MOST: usize = 40;
    let names: Vec<&str> = header.iter().take(MOST).map(String::as_str).collect();
    let more = if header.len() > MOST { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}
