//! Tags in the packets of this host, by which switches send them on paths (nftables): values of the DSCP field, as
//! [`crate::flows`] reads them. A packet gets the tag of the mark with which it was released.

use crate::command::command;
use crate::flows::{remove_table, table_name, tag_chains};
use std::fmt::Write;
use std::io;

/// Which packets get tags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TagOptions {
    /// The number after which the table of nftables is named.
    pub table: u16,
    /// Prefixes of destinations. Other packets keep their DSCP field.
    pub network: Vec<String>,
    /// The number of paths.
    pub paths: usize,
    /// The mark of packets of the first path. Those of the others follow.
    pub mark: u32,
    /// The UDP port of the sender of packets that have their tags already.
    pub tagged: u16,
}

/// The rules of a host. Dropping them removes them.
#[derive(Debug)]
pub struct Tags {
    options: TagOptions,
}

impl Tags {
    /// Adds the rules to the present network namespace.
    ///
    /// # Errors
    /// What the kernel or `nft` refuses.
    pub fn open(options: TagOptions) -> io::Result<Tags> {
        let tags = Tags { options };
        remove_table(&table_name(tags.options.table));
        command("nft", &["-f", "-"], &tags.options.ruleset()).map_err(io::Error::other)?;
        Ok(tags)
    }
}

impl Drop for Tags {
    fn drop(&mut self) {
        remove_table(&table_name(self.options.table));
    }
}

impl TagOptions {
    fn ruleset(&self) -> String {
        let mut text = format!("table inet {} {{\n", table_name(self.table));
        text += &tag_chains(self.paths);
        let mark = |path| format!("{} : goto path{path}", self.mark + path as u32);
        let marks: Vec<String> = (0..self.paths).map(mark).collect();
        let _ = write!(
            text,
            "chain tag {{\nudp sport {} return\nmeta nfproto ipv4 ip dscp set 0\nmeta nfproto ipv6 ip6 dscp set 0\n\
             meta mark vmap {{ {} }}\n}}\n",
            self.tagged,
            marks.join(", ")
        );
        // After the table `mangle`, whose queue gives packets their marks.
        text += "chain tags {\ntype filter hook postrouting priority -149; policy accept;\n";
        for (word, six) in [("ip", false), ("ip6", true)] {
            let own = self.network.iter().filter(|prefix| prefix.contains(':') == six);
            let own: Vec<&str> = own.map(String::as_str).collect();
            if !own.is_empty() {
                let _ = writeln!(text, "{word} daddr {{ {} }} jump tag", own.join(", "));
            }
        }
        text + "}\n}\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_tags_in_packets_of_the_network() {
        let options = TagOptions {
            table: 7,
            network: vec!["10.80.0.0/16".into(), "fd80::/64".into()],
            paths: 2,
            mark: 1_280,
            tagged: 7_078,
        };
        let text = options.ruleset();
        assert!(text.contains("chain path1 {\nmeta nfproto ipv4 ip dscp set 2\n"));
        assert!(text.contains("meta mark vmap { 1280 : goto path0, 1281 : goto path1 }"));
        assert!(
            text.contains("ip daddr { 10.80.0.0/16 } jump tag\nip6 daddr { fd80::/64 } jump tag\n")
        );
        let (exempt, cleared) = (text.find("udp sport 7078 return"), text.find("ip dscp set 0"));
        assert!(exempt.is_some() && exempt < cleared, "applications choose no paths");
        let four = TagOptions { network: vec!["10.80.0.0/16".into()], ..options };
        assert!(!four.ruleset().contains("ip6 daddr"));
    }
}
