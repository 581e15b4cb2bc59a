use slotline_circuits::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let pick = args.get(1).cloned().unwrap_or_default();
    let only_n: Option<usize> = args.get(2).and_then(|s| s.parse().ok());
    let long = args.get(3).is_some_and(|s| s == "long");
    let class_filter = args.get(4).cloned().unwrap_or_default();
    for racks in [4usize, 8, 16, 32, 64, 128, 256] {
        if only_n.is_some_and(|n| n != racks) {
            continue;
        }
        let week = if long { (racks as u64 - 1) * 200_000_000 } else { 2_000_000_000 };
        let terms = TermsSpec::etalon(week).build().unwrap();
        let bytes = terms.circuit_bytes(week);
        for class in Class::ALL {
            if !class.to_string().contains(&class_filter) {
                continue;
            }
            let demand = class.demand(racks, bytes, 1).unwrap();
            let all: Vec<(&str, Box<dyn Scheduler>)> = vec![
                ("rotor", Box::new(Rotor::new(racks, terms))),
                ("max-weight", Box::new(MaxWeight::new(racks, terms, None).unwrap())),
                ("bvn", Box::new(Bvn::new(racks, terms))),
                ("solstice", Box::new(Solstice::new(racks, terms, SolsticeSpec::default()))),
                ("eclipse", Box::new(Eclipse::new(racks, terms))),
                ("harvest", Box::new(Harvest::new(racks, terms))),
            ];
            for (name, mut s) in all {
                if !name.contains(&pick) {
                    continue;
                }
                let mut out = Week::default();
                let mut best = f64::MAX;
                let mut note = Note::Planned;
                let began = Instant::now();
                let mut k = 0;
                while k < 3 || (k < 2000 && began.elapsed().as_millis() < 60) {
                    let t = Instant::now();
                    note = s.week(&demand, &mut out);
                    best = best.min(t.elapsed().as_secs_f64() * 1e6);
                    k += 1;
                    if began.elapsed().as_millis() > 1000 {
                        break;
                    }
                }
                out.check(&terms).unwrap();
                let v = served(&out, &demand, &terms);
                println!(
                    "{racks:4} {:12} {name:10} {best:10.1} us  share {:.4} circuit {:.4} days {:3} {note}",
                    class.to_string(),
                    v.share(),
                    v.circuit as f64 / v.demand.max(1) as f64,
                    out.days().count()
                );
            }
        }
    }
}
