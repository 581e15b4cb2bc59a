use super::*;
use proptest::prelude::*;

const ETALON: &str = "2 180 1/2/3/0 20 -1/-1/-1/-1";

fn error(text: &str) -> String {
    parse(text, Some(Unit::Us)).expect_err("a bad text").to_string()
}

#[test]
fn etalons_schedule_is_read_and_written() {
    let weeks = parse(ETALON, Some(Unit::Us)).expect("a good text");
    assert_eq!((weeks.len(), weeks[0].len(), weeks[0].span()), (1, 2, 200_000_000));
    let pairs: Vec<_> = weeks[0].slice(0).circuits.pairs().collect();
    assert_eq!(pairs, [(1, 0), (2, 1), (3, 2), (0, 3)]);
    assert!(weeks[0].slice(1).circuits.is_dark());
    assert_eq!(emit_in(&weeks[0], Unit::Us).as_deref(), Some(ETALON));
    assert_eq!(emit_in(&weeks[0], Unit::Ms), None);
    assert_eq!(emit(&weeks), format!("unit us\n{ETALON}\n"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        ("", "line 1, column 1: no week: expected `n length configuration …`"),
        ("# nothing\n\n", "line 3, column 1: no week: expected `n length configuration …`"),
        ("x 180 1/0", "line 1, column 1: `x`: expected the number of slices, from 1"),
        ("0", "line 1, column 1: `0`: expected the number of slices, from 1"),
        ("1 -5 1/0", "line 1, column 3: `-5`: expected a length, from 1"),
        ("1 5", "line 1, column 4: a length without a configuration"),
        ("1 5 1/0 6", "line 1, column 9: `6` after the last slice"),
        ("2 5 1/0", "line 1, column 8: the week should have 2 slices and has 1"),
        ("1 5 1/x", "line 1, column 7: `x`: expected the number of a rack, or -1"),
        ("1 5 1/-2", "line 1, column 7: `-2`: expected the number of a rack, or -1"),
        (
            "1 5 1/7",
            "line 1, column 5: destination 1 has source 7: racks are 0 to 1, or -1 for none",
        ),
        ("1 5 0/1", "line 1, column 5: rack 0 is connected to itself"),
        (
            "1 5 2/2/1",
            "line 1, column 5: source 2 is at destinations 0 and 1: a circuit leads to one rack",
        ),
        (
            "2 5 1/0 5 1/2/0",
            "line 1, column 11: the configuration has 3 racks, and the first one has 2",
        ),
        (
            "1 5 1/0\n1 5 1/2/0",
            "line 2, column 1: the configuration has 3 racks, and the first one has 2",
        ),
        (
            "1 5 1/0\n1 6 1/0",
            "line 2, column 1: the week lasts 6000000 ps, and the first one lasts 5000000 ps",
        ),
        (
            "1 99999999999999999999 1/0",
            "line 1, column 3: `99999999999999999999`: expected a length, from 1",
        ),
        ("1 18446744073709551615 1/0", "line 1, column 3: the week is too long"),
        ("unit weeks\n1 5 1/0", "line 1, column 6: unit `weeks`: expected ps, ns, us, ms or s"),
        ("unit", "line 1, column 5: unit ``: expected ps, ns, us, ms or s"),
        ("unit us us", "line 1, column 9: `us` after the last slice"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text:?}");
    }
    let week = &parse("unit ms\n1 5 1/0", Some(Unit::Us)).expect("a unit of its own")[0];
    assert_eq!(week.span(), 5 * Unit::Ms.ps());
    let error = parse("1 5 1/0", None).expect_err("no unit").to_string();
    assert_eq!(error, "line 1, column 1: lengths without a unit: begin with `unit us`");
}

fn weeks() -> impl Strategy<Value = Vec<Week>> {
    let order = |racks: usize| Just((0..racks).collect::<Vec<_>>()).prop_shuffle();
    let lit = |racks| proptest::collection::vec(any::<bool>(), racks);
    let matching = move |racks| {
        (order(racks), lit(racks)).prop_map(|(order, lit)| {
            let source =
                |(at, &source): (usize, &usize)| (lit[at] && source != at).then_some(source);
            let sources: Vec<_> = order.iter().enumerate().map(source).collect();
            Matching::new(&sources).expect("a part of a permutation")
        })
    };
    (2_usize..6, 1_usize..5).prop_flat_map(move |(racks, slices)| {
        let slice = (1_u64..5_000_000, matching(racks));
        let week = proptest::collection::vec(slice, slices);
        week.prop_map(|slices| {
            let span = slices.iter().map(|(length, _)| length).sum();
            let week = Week::new(span, &slices).expect("slices of one kind");
            vec![week.clone(), week]
        })
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(weeks in weeks()) {
        prop_assert_eq!(parse(&emit(&weeks), None), Ok(weeks));
    }

    #[test]
    fn no_text_is_a_panic(text in "(unit (us|ms|x)\n)?([0-9]{1,3}|-1|/| |\n|#|é|[0-9]/[0-9]){0,40}", unit: bool) {
        let weeks = parse(&text, unit.then_some(Unit::Us));
        if let Ok(weeks) = weeks {
            prop_assert_eq!(parse(&emit(&weeks), None), Ok(weeks));
        }
    }

    #[test]
    fn a_damaged_text_is_no_panic(weeks in weeks(), at: prop::sample::Index, with: char) {
        let mut text: Vec<char> = emit(&weeks).chars().collect();
        let at = at.index(text.len());
        text[at] = with;
        let text: String = text.into_iter().collect();
        let _ = parse(&text, None);
    }
}
