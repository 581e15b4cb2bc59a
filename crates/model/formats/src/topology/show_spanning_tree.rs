//! The tables of ports that switches print for `show spanning-tree`: Cisco IOS and NX-OS, and Arista EOS.
//!
//! The text is that of a terminal: the prompt with the command names the switch, and a table follows for each instance.

use super::fail;
use crate::error::FormatError;
use crate::tree::short;

/// What a line states about a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownPort {
    /// The switch in the prompt.
    pub switch: String,
    /// The instance or VLAN, as printed.
    pub instance: String,
    /// The interface, as printed.
    pub interface: String,
    /// Whether it forwards.
    pub forwards: bool,
    /// The line.
    pub line: usize,
}

/// Words for the roles of ports, in small letters.
const ROLES: [&str; 14] = [
    "root",
    "desg",
    "altn",
    "back",
    "mstr",
    "dsbl",
    "designated",
    "alternate",
    "backup",
    "master",
    "disabled",
    "bkup",
    "none",
    "----",
];

/// Words for states, in small letters, and whether they forward. IOS adds a star to a broken port (`BKN*`).
const STATES: [(&str, bool); 16] = [
    ("fwd", true),
    ("forwarding", true),
    ("blk", false),
    ("bkn", false),
    ("lis", false),
    ("lsn", false),
    ("lrn", false),
    ("dis", false),
    ("dwn", false),
    ("lbk", false),
    ("blocking", false),
    ("discarding", false),
    ("listening", false),
    ("learning", false),
    ("disabled", false),
    ("down", false),
];

/// Whether a word for a state means that the port forwards; `None` for other words.
pub(super) fn forwards(word: &str) -> Option<bool> {
    let word = word.trim_end_matches('*').to_ascii_lowercase();
    STATES.iter().find(|(state, _)| *state == word).map(|(_, forwards)| *forwards)
}

/// The words for states that switches print, for messages.
pub(super) fn known_states() -> String {
    STATES.map(|(state, _)| state).join(", ")
}

/// The name of an interface without the differences between its forms: `Et1`, `eth1` and `Ethernet1` are the same, and so
/// are `Gi1/0/2` and `GigabitEthernet1/0/2`, and `eth1_1` and `Ethernet1/1`.
pub(super) fn plain_name(interface: &str) -> String {
    let digits = interface.find(|c: char| c.is_ascii_digit()).unwrap_or(interface.len());
    let (kind, number) = interface.split_at(digits);
    let letters = kind.chars().filter(char::is_ascii_alphabetic).take(2);
    let kind: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    kind + &number.replace('_', "/")
}

/// The ports in the text of terminals.
///
/// # Errors
/// A table without a prompt before it, or a line of a table that is no port.
pub(super) fn ports(text: &str) -> Result<Vec<ShownPort>, FormatError> {
    let mut found = Vec::new();
    let (mut switch, mut instance, mut in_table) = (None, String::new(), false);
    for (at, line) in text.lines().enumerate() {
        let (number, words) = (at + 1, line.split_whitespace().collect::<Vec<_>>());
        if let Some(name) = prompt(line) {
            (switch, instance, in_table) = (Some(name.to_string()), String::new(), false);
        } else if is_head(&words) {
            in_table = true;
        } else if words.is_empty() {
            in_table = false;
        } else if in_table && !is_rule(line) {
            let Some(switch) = &switch else { return fail(number, NO_PROMPT) };
            found.push(port(switch, &instance, &words, number)?);
        } else if let [name] = words[..]
            && !in_table
            && is_instance(line)
        {
            instance = name.into();
        }
    }
    Ok(found)
}

const NO_PROMPT: &str = "a table of ports without a switch: keep the line with the prompt above it, for example \
                         `s1#show spanning-tree`";

/// The host name in a prompt with the command: `s1#sh span`, or `s1(config)# do show spanning-tree vlan 10`.
fn prompt(line: &str) -> Option<&str> {
    let end = line.find(['#', '>'])?;
    let (name, command) = (line[..end].trim(), line[end + 1..].trim());
    let mut words = command.split_whitespace().skip_while(|word| *word == "do");
    let is_short = |word: Option<&str>, whole: &str, least: usize| {
        word.is_some_and(|word| word.len() >= least && whole.starts_with(word))
    };
    let shows = is_short(words.next(), "show", 2) && is_short(words.next(), "spanning-tree", 2);
    let name = name.split('(').next().unwrap_or(name);
    (shows && !name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

/// Whether a line names an instance or a VLAN, as `MST0` and `VLAN0010` do.
fn is_instance(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphabetic())
        && line.trim_end().ends_with(|c: char| c.is_ascii_digit())
}

fn is_head(words: &[&str]) -> bool {
    matches!(words, ["Interface", "Role", "Sts" | "State", ..])
}

/// The line of dashes below the head of a table.
fn is_rule(line: &str) -> bool {
    line.split_whitespace().all(|word| word.chars().all(|c| c == '-'))
}

fn port(
    switch: &str,
    instance: &str,
    words: &[&str],
    line: usize,
) -> Result<ShownPort, FormatError> {
    let [interface, role, state, ..] = words else {
        return fail(line, "a port has a name, a role and a state");
    };
    if !ROLES.contains(&role.to_ascii_lowercase().as_str()) {
        let (role, interface) = (short(role), short(interface));
        return fail(line, format!("`{role}` is no role of port `{interface}`, such as Root"));
    }
    let Some(forwards) = forwards(state) else {
        let (state, interface) = (short(state), short(interface));
        let known = known_states();
        return fail(line, format!("state of port `{interface}` = `{state}`: expected {known}"));
    };
    let (switch, instance, interface) = (switch.into(), instance.into(), (*interface).into());
    Ok(ShownPort { switch, instance, interface, forwards, line })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prompts_name_the_switch() {
        for (line, name) in [
            ("s1#show spanning-tree", Some("s1")),
            ("leaf-1> sh span vlan 10", Some("leaf-1")),
            ("s1(config)# do show spanning-tree", Some("s1")),
            ("  s1#sho spann", Some("s1")),
            ("s1#show vlan", None),
            ("#show spanning-tree", None),
            ("Port 1 (Ethernet1)", None),
            ("a b#show spanning-tree", None),
            ("s1#show spanning-trees", None),
        ] {
            assert_eq!(prompt(line), name, "{line}");
        }
    }

    #[test]
    fn forms_of_a_name_are_the_same() {
        for forms in [
            &["Et1", "eth1", "Ethernet1", "Eth1"][..],
            &["Gi1/0/2", "GigabitEthernet1/0/2"],
            &["Eth1/1", "Ethernet1/1", "eth1_1"],
            &["Po10", "port-channel10", "Port-Channel10"],
            &["Fa0/1", "FastEthernet0/1"],
        ] {
            assert!(forms.iter().all(|form| plain_name(form) == plain_name(forms[0])), "{forms:?}");
        }
        let different = ["Et1", "Et11", "Et1/1", "Gi1", "Te1", "Po1"].map(plain_name);
        let set: std::collections::BTreeSet<String> = different.into_iter().collect();
        assert_eq!(set.len(), 6);
    }

    proptest! {
        /// A table that is printed is read again, whatever text is around it.
        #[test]
        fn printed_tables_are_read(
            ports in proptest::collection::vec((1..99u32, any::<bool>(), any::<bool>()), 1..8),
            around in "[ a-z.:]{0,30}",
            arista: bool,
        ) {
            let mut text = format!("{around}\nsw-1#show spanning-tree\nVLAN0010\n  {around}\n\nInterface  Role  ");
            text += if arista { "State Cost\n" } else { "Sts Cost\n" };
            text += "---------- ---- ---\n";
            for (number, forwards, root) in &ports {
                let role = match (arista, root) {
                    (true, true) => "root",
                    (true, false) => "alternate",
                    (false, true) => "Root",
                    (false, false) => "Altn",
                };
                let state = match (arista, forwards) {
                    (true, true) => "forwarding",
                    (true, false) => "discarding",
                    (false, true) => "FWD",
                    (false, false) => "BLK",
                };
                text += &format!("Et{number}   {role} {state}  2000  128.{number} P2p\n");
            }
            text += &format!("\n{around}\n");
            let read = super::ports(&text).unwrap();
            let seen: Vec<(String, bool)> =
                read.iter().map(|port| (port.interface.clone(), port.forwards)).collect();
            let written: Vec<(String, bool)> =
                ports.iter().map(|(number, forwards, _)| (format!("Et{number}"), *forwards)).collect();
            prop_assert_eq!(seen, written);
            prop_assert!(read.iter().all(|p| p.switch == "sw-1" && p.instance == "VLAN0010"));
        }
    }
}
