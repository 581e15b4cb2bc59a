//! `slotline design` as it is called: what it refuses, what it prints, and the files it writes.

use crate::folder::{Folder, stderr, stdout};
use std::process::Output;

fn call(place: &Folder, arguments: &str) -> Output {
    let words = ["design"].into_iter().chain(arguments.split_whitespace());
    place.run(&words.collect::<Vec<_>>())
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    let place = Folder::new("refused", &[]);
    place.write("bad.toml", "name = \"x\"\ndate = 3\n");
    let cases = [
        ("fat-tree --hosts 0 --nic 1Gbps", "not 0"),
        ("fat-tree --hosts -1 --nic 1Gbps", "unexpected argument"),
        ("fat-tree --hosts 16 --nic 1Gb", "Gbps"),
        ("fat-tree --hosts 16 --nic 3Gbps", "it has 1Gbps, 10Gbps, 40Gbps"),
        ("fat-tree --hosts 16 --nic 1Gbps --k 5", "even number"),
        ("fat-tree --hosts 17 --nic 1Gbps --k 4", "k = 6 would do"),
        ("fat-tree --hosts 16 --nic 1Gbps --year 1999", "2008, 2012, today"),
        ("fat-tree --hosts 16 --nic 1Gbps --year 2008 --parts bad.toml", "cannot be used with"),
        ("fat-tree --hosts 16 --nic 1Gbps --parts bad.toml", "bad.toml:2:8"),
        ("fat-tree --hosts 16 --nic 1Gbps --parts none.toml", "none.toml"),
        ("fat-tree --hosts 16 --nic 1Gbps --oversubscription 3", "unexpected argument"),
        ("tree --hosts 16 --nic 1Gbps --oversubscription 0.5", "from 1:1"),
        ("tree --hosts 16 --nic 800Gbps", "no hierarchical tree"),
        ("leaf-spine --hosts 9000000 --nic 1Gbps", "they go up to"),
        ("parts --year 1999", "no table"),
    ];
    for (arguments, says) in cases {
        let output = call(&place, arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains(says), "{arguments}: {error}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

#[test]
fn files_are_written_once() {
    let place = Folder::new("files", &[]);
    let arguments = "fat-tree --hosts 16 --nic 1Gbps --year 2008 --csv bill.csv --drawing hall.svg";
    let first = call(&place, arguments);
    assert!(first.status.success(), "{}", stderr(&first));
    let bill = place.read("bill.csv");
    let golden = "\
kind,item,role,count,price,cost,currency,power_w,heat_w,examples
switch,48-port GigE,edge,8,3000.00,24000.00,USD,100,100,power heat
switch,48-port GigE,aggregation,8,3000.00,24000.00,USD,100,100,power heat
switch,48-port GigE,core,4,3000.00,12000.00,USD,100,100,power heat
";
    assert!(bill.starts_with(golden), "{bill}");
    assert!(bill.contains("\"1G copper, 5 m\",host-edge,16,,,,0,0,\n"), "{bill}");
    let drawing = place.read("hall.svg");
    assert!(drawing.starts_with("<svg ") && drawing.ends_with("</svg>\n"));
    let second = call(&place, arguments);
    assert_eq!(second.status.code(), Some(2));
    assert_eq!(place.read("bill.csv"), bill);
}

#[test]
fn a_printed_table_is_one_that_can_be_given() {
    let place = Folder::new("table", &[]);
    for year in ["2008", "2012", "today"] {
        let table = stdout(&call(&place, &format!("parts --year {year}")));
        place.write("own.toml", &table);
        let nic = if year == "today" { "400Gbps" } else { "1Gbps" };
        let wanted = format!("tree --hosts 3000 --nic {nic} --oversubscription 3:1 --json");
        let own = stdout(&call(&place, &format!("{wanted} --parts own.toml")));
        let shipped = stdout(&call(&place, &format!("{wanted} --year {year}")));
        assert!(own.contains("\"designs\"") && own == shipped, "{year}");
    }
}
