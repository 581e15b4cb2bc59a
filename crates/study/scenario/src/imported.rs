//! A fabric that is in a file of its own, in the format of another program.

use crate::content_name;
use slotline_formats::topology::spanning_tree::SpanningTree;
use slotline_formats::topology::{
    FORMATS, FabricFormat, ReadError, by_ending, name, read, read_on_tree,
};
use slotline_net::error::SpecError;
use slotline_net::topology::{GraphSpec, TopologySpec};
use std::fmt::Write;

/// A file that became the fabric of a scenario.
#[derive(Clone, Debug)]
pub struct Imported {
    file: String,
    text: String,
    format: FabricFormat,
    /// Whether the format was taken from the file's name.
    assumed: bool,
    unread: Vec<String>,
    /// What was assumed about nodes.
    nodes: Vec<String>,
}

/// If `fabric` names a file, replaces it by the content of the file. `files` reads a file.
pub fn resolve(
    fabric: &mut TopologySpec,
    files: impl Fn(&str) -> Result<String, String>,
) -> Result<Option<Imported>, SpecError> {
    let TopologySpec::Graph(asked) = fabric else {
        return Ok(None);
    };
    let Some(file) = asked.file.clone() else {
        return Ok(None);
    };
    let fault = |message: String| SpecError::new("fabric.file", message);
    let assumed = asked.format.is_none();
    let Some(format) = asked.format.or_else(|| by_ending(&file)) else {
        let message = format!("`file` = \"{file}\" does not show its format: {}", formats());
        return Err(fault(message));
    };
    let text = files(&file).map_err(|why| fault(format!("`file` cannot be read: {why}")))?;
    let found = match &asked.spanning_tree {
        Some(name) if format == FabricFormat::Containerlab => {
            read_on_tree(&text, asked, &spanning_tree(name, &files)?)
        }
        _ => read(format, &text, asked),
    };
    match found {
        Ok(read) => {
            *fabric = TopologySpec::Graph(read.spec);
            let (unread, nodes) = (read.unread, read.assumed);
            Ok(Some(Imported { file, text, format, assumed, unread, nodes }))
        }
        Err(ReadError::Asked(error)) => Err(within(asked, error)),
        Err(ReadError::File(error)) => {
            let (line, message) = (error.line, error.message);
            Err(fault(format!("`file` = {file}, as {}, line {line}: {message}", name(format))))
        }
    }
}

/// The spanning tree in the file `name`.
fn spanning_tree(
    name: &str,
    files: impl Fn(&str) -> Result<String, String>,
) -> Result<SpanningTree, SpecError> {
    let fault = |message: String| SpecError::new("fabric.spanning-tree", message);
    let text = files(name).map_err(|why| fault(format!("`{name}` cannot be read: {why}")))?;
    let parsed = SpanningTree::parse(&text);
    parsed.map_err(|error| fault(format!("`{name}`, line {}: {}", error.line, error.message)))
}

/// The values of `format`, for a message.
fn formats() -> String {
    let names: Vec<String> = FORMATS.iter().map(|row| format!("\"{}\"", row.name)).collect();
    format!("give `format`, one of {}", names.join(", "))
}

/// The error at the key that is wrong, or at `file` if the file needs a key that is missing.
fn within(asked: &GraphSpec, error: SpecError) -> SpecError {
    let is_missing = error.key == "attach-hosts" && asked.attach_hosts.is_none();
    let key = if is_missing { "file" } else { &error.key };
    SpecError::new(format!("fabric.{key}"), error.message)
}

impl Imported {
    /// The origin of the fabric and the parts of the file that were not read, as text.
    pub fn description(&self) -> String {
        let how = if self.assumed { ", by the ending of its name" } else { "" };
        let (unread, nodes) = (some("not read", &self.unread), some("assumed", &self.nodes));
        format!(", from {} (read as {}{how}{unread}{nodes})", self.file, name(self.format))
    }

    /// Lines of remarks for the resolved scenario: the file, and its parts that were not read.
    pub fn remarks(&self) -> String {
        let Imported { file, text, unread, nodes, .. } = self;
        let print = content_name(text.as_bytes());
        let how = name(self.format);
        let mut out = format!("# {file}: {} bytes, {print}, read as {how}\n", text.len());
        for what in unread {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "# {file}: not read: {what}");
        }
        for what in nodes {
            let _ = writeln!(out, "# {file}: assumed: {what}");
        }
        out.replace(|c: char| c.is_control() && c != '\n', "?")
    }
}

/// The first of `list`, as the end of a text.
fn some(title: &str, list: &[String]) -> String {
    match list.len() {
        0 => String::new(),
        1..=4 => format!("; {title}: {}", list.join(", ")),
        more => format!("; {title}: {}, and {} more", list[..3].join(", "), more - 3),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Loaded, Scenario, ScenarioError};
    use std::path::PathBuf;

    const REST: &str = "\n[[workload]]\nkind = \"incast\"\n[[scheme]]\nname = \"tcp\"\n";

    /// A scenario with this fabric, loaded from a folder with the file `file`.
    fn load(test: &str, file: &str, content: &str, fabric: &str) -> Result<Loaded, ScenarioError> {
        let folder =
            std::env::temp_dir().join(format!("slotline-imported-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(file), content).unwrap();
        let scenario: PathBuf = folder.join("s.toml");
        let text = format!(
            "name = \"x\"\nend = {{ at = \"1s\" }}\n[fabric]\nkind = \"graph\"\n{fabric}{REST}"
        );
        std::fs::write(&scenario, text).unwrap();
        let loaded = Scenario::load(&scenario);
        std::fs::remove_dir_all(folder).unwrap();
        loaded
    }

    const LEAF_SPINE: &str = include_str!("../../../model/formats/tests/data/leaf_spine.json");
    const HPCC: &str = include_str!("../../../model/formats/tests/data/hpcc_two_cards.txt");
    const ABILENE: &str = include_str!("../../../../data/topologies/abilene.graphml");

    #[test]
    fn a_file_becomes_part_of_the_resolved_scenario() {
        let loaded = load("part", "net.json", LEAF_SPINE, "file = \"net.json\"").unwrap();
        let resolved = loaded.resolved();
        assert!(!resolved.contains("file ="), "{resolved}");
        assert!(
            resolved.contains("# net.json: ") && resolved.contains(", read as node-link\n"),
            "{resolved}"
        );
        assert_eq!(
            loaded.fabric(),
            "graph of 4 hosts and 4 switches, from net.json (read as node-link, by the ending of its name)"
        );
        // The file no longer exists.
        let again = Scenario::parse("again.toml".as_ref(), resolved).unwrap();
        assert_eq!(again.scenario, loaded.scenario);
    }

    #[test]
    fn what_is_not_read_is_remarked() {
        let fabric = "file = \"a.graphml\"\nattach-hosts = 1\nrate = \"1Gbps\"\ndelay = \"1ms\"\nnames = \"label\"";
        let resolved = load("remark", "a.graphml", ABILENE, fabric).unwrap().resolved();
        assert!(
            resolved.contains("# a.graphml: not read: attribute `LinkLabel` of links"),
            "{resolved}"
        );
        assert!(resolved.contains("\"Kansas City\""), "{resolved}");
    }

    #[test]
    fn faults_are_blamed_at_their_key() {
        for (test, file, content, fabric, place, part) in [
            (
                "line",
                "net.json",
                "{\n\"nodes\": 3}",
                "file = \"net.json\"",
                "5:8",
                "line 2: `nodes`",
            ),
            ("none", "net.json", "", "file = \"no.json\"", "5:8", "cannot be read"),
            ("ending", "net.txt", HPCC, "file = \"net.txt\"", "5:8", "\"hpcc-topology\""),
            (
                "format",
                "net.txt",
                HPCC,
                "file = \"net.txt\"\nformat = \"hpcc\"",
                "6:10",
                "`hpcc-topology`",
            ),
            (
                "option",
                "t.topo",
                "",
                "file = \"t.topo\"\nrate = \"1Gbps\"",
                "6:8",
                "`rate` does not go",
            ),
            (
                "links",
                "t.json",
                "",
                "file = \"t.json\"\nlink = []\nswitches = [\"a\"]",
                "7:12",
                "leave it out",
            ),
        ] {
            let error = load(test, file, content, fabric).map(|_| ()).expect_err(test).to_string();
            assert!(error.contains(&format!("s.toml:{place}: ")), "{test}: {error}");
            assert!(error.contains(part), "{test}: {error}");
        }
        let fabric = "file = \"net.txt\"\nformat = \"hpcc-topology\"";
        assert!(load("good", "net.txt", HPCC, fabric).is_ok());
    }

    /// Three bridges in a triangle, and the states of their ports: the link between the second and the third is blocked.
    const TRIANGLE: &str = "name: t\ntopology:\n  nodes:\n    s1: {kind: bridge}\n    s2: {kind: bridge}\n    \
                            s3: {kind: bridge}\n    a: {kind: linux}\n    b: {kind: linux}\n  links:\n    \
                            - endpoints: [\"s1:e1\", \"s2:e1\"]\n    - endpoints: [\"s2:e2\", \"s3:e1\"]\n    \
                            - endpoints: [\"s3:e2\", \"s1:e2\"]\n    - endpoints: [\"a:eth1\", \"s2:e3\"]\n    \
                            - endpoints: [\"b:eth1\", \"s3:e3\"]\n";
    const STATES: &str = r#"{"s1": [{"ifname": "e1", "state": "forwarding"}, {"ifname": "e2", "state": "forwarding"}],
        "s2": [{"ifname": "e1", "state": "forwarding"}, {"ifname": "e2", "state": "forwarding"},
               {"ifname": "e3", "state": "forwarding"}],
        "s3": [{"ifname": "e1", "state": "blocking"}, {"ifname": "e2", "state": "forwarding"},
               {"ifname": "e3", "state": "forwarding"}]}"#;

    #[test]
    fn a_spanning_tree_leaves_links_out() {
        let folder = std::env::temp_dir().join(format!("slotline-tree-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("lab.clab.yml"), TRIANGLE).unwrap();
        std::fs::write(folder.join("tree.json"), STATES).unwrap();
        std::fs::write(folder.join("bad.json"), "{").unwrap();
        let links = |tree: &str| {
            let text = format!(
                "name = \"x\"\nend = {{ at = \"1s\" }}\n[fabric]\nkind = \"graph\"\nfile = \"lab.clab.yml\"\n\
                 rate = \"1Gbps\"\ndelay = \"1us\"\n{tree}\n[[workload]]\nkind = \"ring\"\n[[scheme]]\nname = \"tcp\"\n"
            );
            std::fs::write(folder.join("s.toml"), text).unwrap();
            let loaded =
                Scenario::load(&folder.join("s.toml")).map_err(|error| error.to_string())?;
            Ok::<usize, String>(loaded.resolved().matches("[[fabric.link]]").count())
        };
        assert_eq!((links(""), links("spanning-tree = \"tree.json\"")), (Ok(5), Ok(4)));
        for (tree, why) in
            [("none.json", "`none.json` cannot be read"), ("bad.json", "`bad.json`, line 1")]
        {
            let error = links(&format!("spanning-tree = \"{tree}\"")).unwrap_err();
            assert!(error.contains(why) && error.contains("fabric.spanning-tree"), "{error}");
        }
        std::fs::remove_dir_all(folder).unwrap();
        let error =
            load("other", "net.json", LEAF_SPINE, "file = \"net.json\"\nspanning-tree = \"t\"");
        let error = error.unwrap_err().to_string();
        assert!(error.contains("`spanning-tree` does not go with a node-link file"), "{error}");
    }
}
