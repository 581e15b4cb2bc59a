//! Every figure of a result in every format.

use slotline_figures::{Look, TooLarge, draw, pdf, png, svg, units};
use slotline_lab::record::{RunSet, SampleRow, Samples, ScheduleRow, SequenceRow, Step};
use slotline_lab::summary::Summary;
use slotline_report::plot::Plot;

/// A result with all that figures of packets need.
fn set() -> RunSet {
    let mut set = RunSet::example(2);
    for run in &mut set.runs {
        let port = run.ports.iter().position(|port| !port.host).unwrap_or(0) as u32;
        let sample = |i: u64| SampleRow {
            t_ps: i * 100_000_000,
            port,
            queue_bytes: (i % 7) * 10_000,
            tx_bytes: i * 100_000,
        };
        run.samples = Samples::from_rows(&(0..50).map(sample).collect::<Vec<_>>()).unwrap();
        let window = |i: u64| ScheduleRow {
            from_ps: i * 500_000,
            until_ps: i * 500_000 + 300_000,
            src: (i % 8) as u32,
            dst: 8,
            rate_bps: 0,
        };
        run.schedule = (0..20).map(window).collect();
        let step = |i: u64| SequenceRow {
            flow: 3,
            t_ps: 1_000_000 + i * 1_000,
            step: [Step::Sent, Step::Resent, Step::Acknowledged][(i % 3) as usize],
            bytes: i * 1_000,
        };
        run.sequence = (0..90).map(step).collect();
    }
    set
}

fn figures() -> (Vec<String>, Vec<Plot>) {
    let set = set();
    let plots = slotline_report::plots(&set, &Summary::of(&set));
    assert!(plots.len() > 8, "{:?}", plots.iter().map(|plot| plot.id).collect::<Vec<_>>());
    (set.schemes, plots)
}

fn look(names: &[String], millimetres: f64) -> Look<'_> {
    Look { names, width: units(millimetres), hidden: vec![], other_scale: [false; 2] }
}

#[test]
fn every_figure_is_svg_of_its_width() {
    let (names, plots) = figures();
    for plot in &plots {
        for millimetres in [60.0, 84.0, 178.0] {
            let text = svg(&draw(plot, &look(&names, millimetres)), &plot.title);
            let document =
                roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", plot.id));
            let root = document.root_element();
            let width = root.attribute("width").unwrap().trim_end_matches("mm");
            assert!((width.parse::<f64>().unwrap() - millimetres).abs() < 0.01, "{}", plot.id);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{}: {text}", plot.id);
            let texts = root.descendants().filter(|node| node.has_tag_name("text")).count();
            assert!(texts > 2, "{}", plot.id);
        }
    }
}

/// No label of an axis or a legend leaves the figure.
#[test]
fn labels_are_inside() {
    let (names, plots) = figures();
    for plot in &plots {
        let drawing = draw(plot, &look(&names, 84.0));
        for item in &drawing.items {
            if let slotline_figures::drawing::Item::Text(text) = item {
                let inside = text.left() >= 0.0 && (0.0..=drawing.height).contains(&text.y);
                assert!(inside, "{}: {text:?} of {}", plot.id, drawing.height);
            }
        }
    }
}

#[test]
fn pdf_has_the_font_and_the_size() {
    let (names, plots) = figures();
    for plot in &plots {
        let bytes = pdf(&draw(plot, &look(&names, 84.0)), &plot.title);
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("%PDF-") && text.trim_end().ends_with("%%EOF"), "{}", plot.id);
        for part in ["/FontFile2", "/ToUnicode", "/BaseFont /Arimo", "/MediaBox [0 0 238.1"] {
            assert!(text.contains(part), "{}: {part}", plot.id);
        }
    }
}

#[test]
fn png_has_its_pixels_per_inch() {
    let (names, plots) = figures();
    let drawing = draw(&plots[0], &look(&names, 25.4 * 2.0));
    let bytes = png(&drawing, 100.0).unwrap();
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    assert!((200..=201).contains(&number(16)), "{}", number(16));
    let density = bytes.windows(4).position(|four| four == b"pHYs").unwrap() + 4;
    assert_eq!(number(density), 3937);
    assert!(matches!(png(&drawing, 1e6), Err(TooLarge { .. })));
}

#[test]
fn what_a_reader_chose_is_drawn() {
    let (names, plots) = figures();
    let plot = plots.iter().find(|plot| plot.id == "fct-cdf").unwrap();
    let whole = svg(&draw(plot, &look(&names, 84.0)), "");
    assert!(names.iter().all(|name| whole.contains(&slotline_report::html::escape(name))));
    let without = Look { hidden: vec![0], ..look(&names, 84.0) };
    let text = svg(&draw(plot, &without), "");
    assert!(!text.contains("#0072b2") && text.contains("#d55e00"), "the first scheme is hidden");
    let linear = Look { other_scale: [true, false], ..look(&names, 84.0) };
    assert!(svg(&draw(plot, &linear), "").contains("flow completion time (ms)"));
}
