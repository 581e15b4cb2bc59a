//! The flow file and the completion-time file of the HPCC simulator (Li et al., SIGCOMM 2019).

use super::csv::seconds;
use super::rows::{Entry, entry, field, shown, words};
use slotline_base::time::Time;

/// The first line of a flow file: how many flows follow.
pub(super) fn announced(line: &[u8]) -> Result<u64, String> {
    match words(line) {
        Ok([count]) => field("count", count),
        Err(_) => Err(format!("`{}`: expected the number of flows", shown(line))),
    }
}

/// A line `src dst priority dport size start`, with its priority group. `start` is in seconds.
pub(super) fn flow(line: &[u8]) -> Result<(Entry, u8), String> {
    let [src, dst, group, port, bytes, start] = words(line).map_err(|count| {
        format!("{count} fields: expected 6, `src dst priority dport size start_seconds`")
    })?;
    let group: u8 = field("priority", group)?;
    if group > 7 {
        return Err(format!("priority {group}: there are priority groups 0 to 7"));
    }
    let _: u16 = field("dport", port)?;
    let (src, dst) = (field("src", src)?, field("dst", dst)?);
    let start = seconds("start", start)?;
    Ok((entry(src, dst, field("size", bytes)?, start)?, group))
}

/// The form of hosts in a completion-time file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Addresses {
    /// As the eight hexadecimal digits of an address, which the simulator gives to node *n* as
    /// 11.*n* / 256.*n* mod 256.1.
    Hexadecimal,
    /// As the number of the node.
    Decimal,
}

impl Addresses {
    pub fn in_words(self) -> &'static str {
        match self {
            Addresses::Hexadecimal => {
                "hosts are read as hexadecimal addresses: 0b000001 is host 0, 0b000101 host 1"
            }
            Addresses::Decimal => "hosts are read as decimal numbers of nodes",
        }
    }

    fn of(text: &[u8]) -> Addresses {
        if text.len() == 8 && text.starts_with(b"0b") {
            Addresses::Hexadecimal
        } else {
            Addresses::Decimal
        }
    }

    fn host(self, what: &str, text: &[u8]) -> Result<u32, String> {
        if self != Addresses::of(text) {
            return Err(format!("{what} `{}`: the lines before have {}", shown(text), self.name()));
        }
        match self {
            Addresses::Decimal => field(what, text),
            Addresses::Hexadecimal => node_at(text).ok_or_else(|| {
                format!(
                    "{what} `{}`: expected an address 0bXXYY01, of node 256 XX + YY",
                    shown(text)
                )
            }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Addresses::Hexadecimal => "hexadecimal addresses, such as 0b000101",
            Addresses::Decimal => "decimal numbers",
        }
    }
}

/// The node with the given address: `0x0b000001 + (n / 256) · 0x10000 + (n % 256) · 0x100`.
fn node_at(text: &[u8]) -> Option<u32> {
    let address = u32::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()?;
    let low = address.checked_sub(0x0b00_0001)?;
    (low & 0xff == 0 && low < 0x100_0000).then_some(low >> 8)
}

/// A line `sip dip sport dport size start fct standalone_fct`; times are in nanoseconds.
pub(super) fn fct(line: &[u8], form: &mut Option<Addresses>) -> Result<Entry, String> {
    let [src, dst, sport, dport, bytes, start, took, alone] = words(line).map_err(|count| {
        format!("{count} fields: expected 8, `sip dip sport dport size start_ns fct_ns alone_ns`")
    })?;
    let form = *form.get_or_insert(Addresses::of(src));
    let (src, dst) = (form.host("sip", src)?, form.host("dip", dst)?);
    for (what, text) in [("sport", sport), ("dport", dport)] {
        let _: u16 = field(what, text)?;
    }
    for (what, text) in [("fct", took), ("standalone fct", alone)] {
        let _: u64 = field(what, text)?;
    }
    let start: u64 = field("start", start)?;
    let start = start.checked_mul(Time::ns(1).as_ps()).ok_or("start: too late")?;
    entry(src, dst, field("size", bytes)?, Time::ps(start))
}

#[cfg(test)]
mod tests {
    use super::super::rows::{RowFormat, read};
    use super::*;
    use proptest::prelude::*;

    const FLOWS: &str = "3\n0 1 3 100 1500 2.000000123\n4 2 3 100 99 2\n\n1 0 3 101 7 2.5\n";
    const FCT: &str = "0b000001 0b000101 10000 100 1500 2000000123 7000 6500\n\
                       0b010001 0b000201 10000 100 99 2000000000 9 8\n";

    fn wrong(format: RowFormat, text: &str) -> String {
        read(format, false, text.as_bytes()).expect_err(text).to_string()
    }

    #[test]
    fn flow_files_are_read_as_written() {
        let (entries, notes) = read(RowFormat::HpccFlows, false, FLOWS.as_bytes()).unwrap();
        let entry =
            |src, dst, bytes, ps, class| Entry { src, dst, bytes, start: Time::ps(ps), class };
        let expected = [
            (0, 1, 1500, 2_000_000_123_000),
            (4, 2, 99, 2_000_000_000_000),
            (1, 0, 7, 2_500_000_000_000),
        ];
        assert_eq!(entries, expected.map(|(s, d, b, at)| entry(s, d, b, at, None)));
        assert_eq!(notes, Vec::<String>::new());
        let (entries, _) = read(RowFormat::HpccFlows, true, FLOWS.as_bytes()).unwrap();
        assert!(entries.iter().all(|entry| entry.class == Some(4)));
        let fewer = FLOWS.replacen("3\n", "2\n", 1) + "\nFirst line: # of flows\n";
        let (entries, notes) = read(RowFormat::HpccFlows, false, fewer.as_bytes()).unwrap();
        assert_eq!(entries.len(), 2);
        assert!(notes[0].contains("2 flows announced: 2 further lines are ignored"), "{notes:?}");
        let mixed = FLOWS.replace("1 0 3", "1 0 0");
        let (_, notes) = read(RowFormat::HpccFlows, false, mixed.as_bytes()).unwrap();
        assert!(notes[0].contains("priority groups 0, 3 are not distinguished"), "{notes:?}");
    }

    #[test]
    fn completion_times_are_read_with_both_kinds_of_addresses() {
        let expected = [(0, 1, 1500, 2_000_000_123), (256, 2, 99, 2_000_000_000)];
        let decimal = FCT
            .replace("0b000001", "0")
            .replace("0b000101", "1")
            .replace("0b010001", "256")
            .replace("0b000201", "2");
        for (text, said) in [(FCT, "hexadecimal"), (decimal.as_str(), "decimal")] {
            let (entries, notes) = read(RowFormat::HpccFct, false, text.as_bytes()).unwrap();
            let rows: Vec<_> =
                entries.iter().map(|e| (e.src, e.dst, e.bytes, e.start.as_ns())).collect();
            assert_eq!(rows, expected);
            assert!(notes[0].contains(said), "{notes:?}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (from, to, why) in [
            ("3\n", "4\n", "line 5: 4 flows announced, 3 found"),
            ("3\n", "", "line 1: `0 1 3 100 1500 2.000000123`: expected the number of flows"),
            ("3\n", "x\n", "line 1: count `x`"),
            ("0 1 3 100", "0 1 3", "line 2: 5 fields: expected 6"),
            ("4 2 3 100 99 2", "4 4 3 100 99 2", "line 3: 99 bytes from host 4 to host 4"),
            ("1500", "-1500", "line 2: size `-1500`"),
            ("2.5", "2,5", "line 5: start `2,5`: expected seconds"),
            ("1 0 3", "1 0 8", "line 5: priority 8: there are priority groups 0 to 7"),
            ("101", "70000", "line 5: dport `70000`"),
        ] {
            let error = wrong(RowFormat::HpccFlows, &FLOWS.replacen(from, to, 1));
            assert!(error.contains(why), "{from} -> {to}: {error}");
        }
        for (from, to, why) in [
            ("6500", "", "line 1: 7 fields: expected 8"),
            ("0b000201", "2", "line 2: dip `2`: the lines before have hexadecimal"),
            ("0b000201", "0b000202", "line 2: dip `0b000202`: expected an address"),
            ("0b000201", "0bx00201", "line 2: dip `0bx00201`: expected an address"),
            ("7000", "7e3", "line 1: fct `7e3`"),
        ] {
            let error = wrong(RowFormat::HpccFct, &FCT.replacen(from, to, 1));
            assert!(error.contains(why), "{from} -> {to}: {error}");
        }
        assert!(wrong(RowFormat::HpccFlows, "").contains("line 1: ``: expected the number"));
    }

    proptest! {
        /// A file with one changed byte is refused with a line of the file, or has flows that can be sent.
        #[test]
        fn a_damaged_file_is_refused_or_sound(
            at in any::<prop::sample::Index>(), byte in any::<u8>(), fct in any::<bool>(),
        ) {
            let (format, text) =
                if fct { (RowFormat::HpccFct, FCT) } else { (RowFormat::HpccFlows, FLOWS) };
            let mut bytes = text.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            match read(format, false, &bytes) {
                Ok((entries, _)) => prop_assert!(entries.iter().all(|e| e.src != e.dst && e.bytes > 0)),
                Err(error) => prop_assert!((1..=6).contains(&error.line)),
            }
        }

        #[test]
        fn any_text_is_read_or_refused(bytes in any::<Vec<u8>>()) {
            let _ = read(RowFormat::HpccFlows, true, &bytes);
            let _ = read(RowFormat::HpccFct, false, &bytes);
        }
    }
}
