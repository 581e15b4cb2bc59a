use super::*;
use proptest::prelude::*;

const ROUND: Time = Time::ms(100);

/// An unmarked acknowledgement of `acked` segments up to `una`, with `window` more in transit.
fn ack(acked: u32, una: u32, window: u32) -> Ack {
    let nxt = una + window;
    Ack {
        acked,
        una,
        nxt,
        echo: false,
        circuit: false,
        rtt: None,
        srtt: ROUND,
        limited: true,
        recovering: false,
    }
}

/// One connection that always fills its window. It runs a round trip at a time, with an acknowledgement per segment.
struct Flow {
    algorithm: Algorithm,
    una: u32,
    now: Time,
}

impl Flow {
    fn new(kind: AlgorithmKind, initial_window: u32) -> Flow {
        Flow {
            algorithm: Algorithm::new(kind, initial_window, Tuning::default()),
            una: 0,
            now: Time::ZERO,
        }
    }
    /// A round of acknowledgements, of which the last `marked` carry ECN-Echo.
    fn round(&mut self, marked: u32) {
        let window = self.algorithm.window();
        let step = Time::ps(ROUND.as_ps() / u64::from(window));
        for left in (0..window).rev() {
            self.now += step;
            self.una += 1;
            self.ack(1, left < marked, false);
        }
    }
    fn ack(&mut self, acked: u32, echo: bool, recovering: bool) {
        let ack = Ack { echo, recovering, ..ack(acked, self.una, self.window()) };
        self.algorithm.on_ack(&ack, self.now);
    }
    fn fast(&mut self) {
        let flight = self.algorithm.window();
        self.algorithm.on_loss(Loss::Fast { flight }, self.now);
    }
    fn timeout(&mut self) {
        let flight = self.algorithm.window();
        self.algorithm.on_loss(Loss::Timeout { flight }, self.now);
    }
    fn window(&self) -> u32 {
        self.algorithm.window()
    }
    /// The window at the end of each of `n` rounds. A loss is detected when the window reaches `limit`.
    fn sawtooth(&mut self, n: usize, limit: u32) -> Vec<u32> {
        let shape = std::iter::repeat_with(|| {
            if self.window() >= limit {
                self.fast();
            } else {
                self.round(0);
            }
            self.window()
        });
        shape.take(n).collect()
    }
}

const KINDS: [AlgorithmKind; 5] = [
    AlgorithmKind::NewReno,
    AlgorithmKind::Cubic,
    AlgorithmKind::Dctcp,
    AlgorithmKind::Retcp,
    AlgorithmKind::Tdtcp,
];

#[test]
fn states_are_small() {
    assert!(size_of::<Reno>() <= 48 && size_of::<Cubic>() <= 56 && size_of::<Dctcp>() <= 48);
}

#[test]
fn names_are_those_of_scenario_files() {
    for &kind in AlgorithmKind::ALL {
        assert_eq!(Algorithm::new(kind, 10, Tuning::default()).kind(), kind);
        let name = toml::Value::from(kind.name());
        assert_eq!(name.try_into::<AlgorithmKind>(), Ok(kind));
    }
}

#[test]
fn a_fixed_window_stays() {
    let mut flow = Flow::new(AlgorithmKind::Fixed, 40);
    flow.round(20);
    flow.fast();
    flow.timeout();
    flow.algorithm.restart(10);
    flow.round(0);
    assert_eq!(flow.window(), 40);
    assert_eq!(Fixed::new(0).window(), 1);
}

#[test]
fn slow_start_doubles_each_round() {
    for kind in KINDS {
        let mut flow = Flow::new(kind, 10);
        for expected in [20, 40, 80, 160] {
            flow.round(0);
            assert_eq!(flow.window(), expected, "{kind:?}");
        }
    }
}

#[test]
fn reno_halves_and_adds_one_per_round() {
    let mut flow = Flow::new(AlgorithmKind::NewReno, 40);
    flow.fast();
    let windows = flow.sawtooth(44, 40);
    assert_eq!(windows[..20], (21..=40).collect::<Vec<_>>());
    assert_eq!(windows[20], 20);
    assert_eq!(windows[21..41], windows[..20]);
}

#[test]
fn slow_start_ends_exactly_at_the_threshold() {
    let mut flow = Flow::new(AlgorithmKind::NewReno, 20);
    flow.timeout();
    assert_eq!(flow.window(), 1);
    let windows: Vec<_> = (0..7).map(|_| (flow.round(0), flow.window()).1).collect();
    assert_eq!(windows, [2, 4, 8, 10, 11, 12, 13]);
    flow.timeout();
    flow.timeout();
    let windows: Vec<_> = (0..4).map(|_| (flow.round(0), flow.window()).1).collect();
    assert_eq!(windows, [2, 4, 6, 7], "a second time-out holds the threshold");
}

#[test]
fn an_acknowledgement_across_the_threshold_counts_for_both_phases() {
    let mut flow = Flow::new(AlgorithmKind::NewReno, 20);
    flow.timeout();
    flow.una += 29;
    flow.ack(29, false, false); // 9 for a window of 10, then 10 for 11, and 10 of the next 11
    assert_eq!(flow.window(), 11);
    flow.una += 1;
    flow.ack(1, false, false);
    assert_eq!(flow.window(), 12);
}

#[test]
fn marks_count_once_per_window_of_data() {
    for (kind, expected) in [(AlgorithmKind::NewReno, 50), (AlgorithmKind::Cubic, 70)] {
        let mut flow = Flow::new(kind, 100);
        flow.round(100);
        assert_eq!(flow.window(), expected, "{kind:?}");
    }
    let mut flow = Flow::new(AlgorithmKind::NewReno, 100);
    flow.round(100); // reaction at segment 1, when 101 was next, so 102 counts again
    flow.una = 101;
    flow.ack(1, true, false);
    assert_eq!(flow.window(), 50);
    flow.una = 102;
    flow.ack(1, true, false);
    assert_eq!(flow.window(), 25);
}

#[test]
fn nothing_grows_in_recovery_nor_when_the_window_is_not_used() {
    for kind in KINDS {
        let mut flow = Flow::new(kind, 20);
        for _ in 0..100 {
            flow.una += 1;
            flow.ack(1, false, true);
        }
        let idle = Ack { limited: false, ..ack(5, flow.una, 5) };
        flow.algorithm.on_ack(&idle, flow.now);
        assert_eq!(flow.window(), 20, "{kind:?}");
    }
}

#[test]
fn restart_keeps_the_threshold() {
    for kind in KINDS {
        let mut flow = Flow::new(kind, 64);
        flow.fast();
        let threshold = flow.window();
        flow.algorithm.restart(10);
        assert_eq!(flow.window(), 10);
        flow.round(0);
        flow.round(0);
        assert_eq!(flow.window(), threshold.min(40), "{kind:?}");
        flow.algorithm.restart(1_000);
        assert_eq!(flow.window(), threshold.min(40), "a restart never raises the window");
    }
}

fn alpha(flow: &Flow) -> u32 {
    match &flow.algorithm {
        Algorithm::Dctcp(dctcp) => dctcp.alpha(),
        _ => unreachable!(),
    }
}

#[test]
fn dctcp_follows_the_recursion_by_hand() {
    let mut flow = Flow::new(AlgorithmKind::Dctcp, 4);
    assert_eq!(alpha(&flow), 1024);
    // The first acknowledgement ends the first observation: F = 0, alpha = 15/16.
    flow.una = 1;
    flow.ack(1, false, false);
    assert_eq!((alpha(&flow), flow.window()), (960, 5));
    // The observation ends at 1 + 5 = 6: 5 segments are acknowledged, 2 of them marked.
    flow.una = 3;
    flow.ack(2, true, false); // reaction: 5 - 5·(15/16)/2 = 5 - 2
    assert_eq!(flow.window(), 3);
    flow.una = 6;
    flow.ack(3, false, false); // end: F = 2/5, alpha = 15/16·15/16 + 1/16·2/5 = 0.90390625
    assert_eq!(alpha(&flow), (0.903_906_25 * 1024.0) as u32);
}

/// Computed by hand like `dctcp_update_alpha` in Linux: in 1/1024, with a gain of 1/16.
#[test]
fn coarse_alpha_is_that_of_linux() {
    let mut dctcp = Dctcp::new(100, 4).coarse();
    let mut una = 0;
    let mut window = |marked: u32| {
        for at in 0..10 {
            una += 1;
            let plain = Ack { recovering: true, ..ack(1, una, 10) };
            dctcp.on_ack(&Ack { echo: (1..=marked).contains(&at), ..plain }, Time::ZERO);
        }
        dctcp.alpha()
    };
    // The first acknowledgement of each ten ends a window, which counts in the next ten.
    assert_eq!([0, 0, 0].map(&mut window), [960, 900, 844]);
    // 3 of 10 marked: 792 - 49 + (3 · 64) / 10.
    assert_eq!([3, 0].map(&mut window), [792, 762]);
    let mut last = 0;
    (0..100).for_each(|_| last = window(0));
    assert_eq!(last, 0);
    assert_eq!([1, 0].map(&mut window), [0, 6]);
}

#[test]
fn dctcp_alpha_converges_to_the_fraction_of_marks() {
    for percent in [0, 5, 50, 100] {
        let mut dctcp = Dctcp::new(100, 4);
        for round in 0..200 {
            for i in 1..=100 {
                let plain = ack(1, round * 100 + i, 99);
                dctcp.on_ack(&Ack { echo: i <= percent, recovering: true, ..plain }, Time::ZERO);
            }
        }
        let expected = percent * 1024 / 100;
        assert!(dctcp.alpha().abs_diff(expected) <= 1, "{percent} %: {}", dctcp.alpha());
    }
}

/// Alizadeh et al. 2010, §3.3: with step marking above W*, alpha ≈ √(2/W*). The window varies by W*·alpha/2, far less
/// than NewReno's half.
#[test]
fn dctcp_swings_less_than_reno() {
    let swing = |kind| {
        let mut flow = Flow::new(kind, 100);
        let windows: Vec<u32> = (0..600)
            .map(|_| {
                let marked = if flow.window() > 100 { flow.window() } else { 0 };
                flow.round(marked);
                flow.window()
            })
            .skip(300)
            .collect();
        windows.iter().max().unwrap() - windows.iter().min().unwrap()
    };
    assert_eq!(swing(AlgorithmKind::NewReno), 101 - 50);
    let dctcp = swing(AlgorithmKind::Dctcp);
    assert!((5..=16).contains(&dctcp), "{dctcp}");
}

#[test]
fn dctcp_reacts_to_loss_as_reno_does() {
    for lose in [Flow::fast, Flow::timeout] {
        let mut flows =
            [Flow::new(AlgorithmKind::NewReno, 50), Flow::new(AlgorithmKind::Dctcp, 50)];
        flows.iter_mut().for_each(lose);
        assert_eq!(flows[0].window(), flows[1].window());
    }
}

/// RFC 9438 in floating point, advanced per acknowledged segment.
#[derive(Default)]
struct Reference {
    window: f64,
    plateau: f64,
    friendly: f64,
    prior: f64,
    climb: f64,
    epoch: Option<f64>,
}

impl Reference {
    fn ack(&mut self, now: f64, srtt: f64) {
        if self.epoch.is_none() {
            self.epoch = Some(now);
            self.friendly = self.window;
            self.plateau = self.plateau.max(self.window);
            self.climb = ((self.plateau - self.window) / 0.4).cbrt();
        }
        let t = now - self.epoch.unwrap();
        let curve = |t: f64| 0.4 * (t - self.climb).powi(3) + self.plateau;
        let increase = if self.friendly >= self.prior { 1.0 } else { 3.0 * 0.3 / 1.7 };
        self.friendly += increase / self.window;
        if curve(t) < self.friendly {
            self.window = self.window.max(self.friendly);
        } else {
            let target = curve(t + srtt).clamp(self.window, 1.5 * self.window);
            self.window += (target - self.window) / self.window;
        }
    }
    fn lose(&mut self) {
        self.prior = self.window;
        self.plateau = if self.window < self.plateau { 0.85 * self.window } else { self.window };
        self.window *= 0.7;
        self.epoch = None;
    }
}

/// Windows from small (Reno-friendly) to large (cubic), round trips from 100 µs to 100 ms.
#[test]
fn cubic_matches_the_rfc_in_floating_point() {
    let cases = [(10, 100, 300), (100, 1_000, 4_000), (1_000, 100_000, 150), (10_000, 20_000, 500)];
    for (start, rtt_us, rounds) in cases {
        let mut cubic = Cubic::new(start, Standard::Rfc9438, Time::ZERO);
        let mut reference = Reference { window: f64::from(start), ..Reference::default() };
        let (mut now, mut una) = (Time::ZERO, 0);
        for round in 0..rounds {
            if round % (rounds / 3) == 0 {
                cubic.on_loss(Loss::Fast { flight: cubic.window() }, now);
                reference.lose();
            }
            let window = cubic.window();
            let step = Time::ps(rtt_us * 1_000_000 / u64::from(window));
            for _ in 0..window {
                una += 1;
                now += step;
                cubic.on_ack(&Ack { srtt: Time::us(rtt_us), ..ack(1, una, window) }, now);
                reference.ack(now.as_secs_f64(), rtt_us as f64 * 1e-6);
            }
            let off = f64::from(cubic.window()) - reference.window;
            let allowed = 0.02 * reference.window + 1.0;
            assert!(
                off.abs() < allowed,
                "{start} {rtt_us} {round}: {cubic:?} {}",
                reference.window
            );
        }
    }
}

#[test]
fn cubic_returns_to_the_plateau_after_k_and_then_probes() {
    let mut flow = Flow::new(AlgorithmKind::Cubic, 1_000);
    flow.fast(); // K = ∛(300 / 0.4) = 9.086 s, 91 rounds of 100 ms
    assert_eq!(flow.window(), 700);
    let windows: Vec<u32> = (0..180).map(|_| (flow.round(0), flow.window()).1).collect();
    assert!((995..=1_005).contains(&windows[90]), "{}", windows[90]);
    let steps: Vec<u32> = windows.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(steps[10] > steps[50] && steps[50] > steps[88], "concave before the plateau");
    assert!(steps[100] < steps[130] && steps[130] < steps[170], "convex beyond it");
}

#[test]
fn cubic_yields_when_losses_come_below_the_last_plateau() {
    let mut cubic = Cubic::new(1_000, Standard::Rfc9438, Time::ZERO);
    cubic.on_loss(Loss::Fast { flight: 1_000 }, Time::ZERO);
    cubic.on_loss(Loss::Fast { flight: 700 }, Time::ZERO);
    assert_eq!(cubic.window(), 490);
    // The plateau is 0.85·700 = 595, and K = ∛(105 / 0.4) = 6.40 s. After 6 s the window is at most the plateau.
    let mut flow = Flow { algorithm: Algorithm::Cubic(cubic), una: 0, now: Time::ZERO };
    (0..64).for_each(|_| flow.round(0));
    assert!((592..=598).contains(&flow.window()), "{}", flow.window());
}

/// A loss at a window of 20 with 10 segments in flight, then 100 round trips of 100 us. RFC 9438: the window falls to
/// 7, and grows by one segment in 17/9 round trips up to 20, then by one in each. RFC 8312: it falls to 14, and always
/// grows by one in 17/9 round trips.
#[test]
fn the_older_cubic_keeps_its_slope_and_takes_its_share_of_the_window() {
    let windows = |standard| {
        let mut cubic = Cubic::new(20, standard, Time::ZERO);
        cubic.on_loss(Loss::Fast { flight: 10 }, Time::ZERO);
        let (first, mut una) = (cubic.window(), 0);
        for round in 1..=100 {
            for _ in 0..cubic.window() {
                una += 1;
                let ack = Ack { srtt: Time::us(100), ..ack(1, una, cubic.window()) };
                cubic.on_ack(&ack, Time::us(100 * round));
            }
        }
        (first, cubic.window())
    };
    let (new, old) = (windows(Standard::Rfc9438), windows(Standard::Rfc8312));
    assert_eq!((new.0, old.0), (7, 14));
    assert!(new.1.abs_diff(95) <= 4 && old.1.abs_diff(66) <= 3, "{new:?} {old:?}");
}

/// A window of 14 after a loss at 20, with round trips of 100 us. NewReno's part grows by 9/17 of a segment in each. If
/// growth is computed only every 2 ms, the first computation, just after the loss, gives no growth. The second, 20
/// round trips later, gives ten segments for the next round trip. The window has then changed, so growth is computed
/// for each segment.
#[test]
fn the_growth_of_cubic_stays_as_computed_for_an_interval() {
    let windows = |interval| {
        let mut cubic = Cubic::new(20, Standard::Rfc8312, interval);
        cubic.on_loss(Loss::Fast { flight: 20 }, Time::ZERO);
        let mut una = 0;
        let round = |number: u64| {
            for _ in 0..cubic.window() {
                una += 1;
                let ack = Ack { srtt: Time::us(100), ..ack(1, una, cubic.window()) };
                cubic.on_ack(&ack, Time::us(100 * number));
            }
            cubic.window()
        };
        (1..=24).map(round).collect::<Vec<_>>()
    };
    let (always, seldom) = (windows(Time::ZERO), windows(Time::ms(2)));
    assert!(always[3] > 14 && always[18] >= 22, "{always:?}");
    assert_eq!(seldom[..19], [14; 19], "{seldom:?}");
    assert!(seldom[23].abs_diff(always[23]) <= 2, "{seldom:?} {always:?}");
}

#[test]
fn cubic_does_not_count_time_without_need() {
    let grow = |pause: bool| {
        let mut flow = Flow::new(AlgorithmKind::Cubic, 1_000);
        flow.fast();
        (0..30).for_each(|_| flow.round(0));
        if pause {
            flow.now += Time::s(20);
            flow.algorithm.on_ack(&Ack { limited: false, ..ack(1, flow.una + 1, 1) }, flow.now);
        }
        (0..30).for_each(|_| flow.round(0));
        flow.window()
    };
    assert!(grow(false).abs_diff(grow(true)) <= 10, "{} {}", grow(false), grow(true));
}

/// The window after each acknowledgement of one segment. It may announce a circuit, and may be in recovery. Computed by
/// hand: growth first, then the jump.
#[test]
fn retcp_jumps_once_when_a_circuit_comes_and_when_it_goes() {
    let mut flow = Flow::new(AlgorithmKind::Retcp, 10);
    flow.fast(); // threshold and window 5: one more per window
    let mut window_after = |circuit: bool, recovering: bool| {
        flow.una += 1;
        let ack = Ack { circuit, recovering, ..ack(1, flow.una, flow.window()) };
        flow.algorithm.on_ack(&ack, flow.now);
        flow.window()
    };
    assert_eq!(
        [false, true, true, true].map(|circuit| window_after(circuit, false)),
        [5, 10, 10, 10]
    );
    assert_eq!(window_after(false, true), 10, "no jump during loss recovery");
    assert_eq!(
        window_after(true, false),
        10,
        "a circuit that has returned in between does not count"
    );
    assert_eq!(window_after(false, false), 5);
    assert_eq!(window_after(false, false), 5);
    assert_eq!(window_after(true, true), 5);
    assert_eq!(window_after(true, false), 10, "the postponed jump");
}

/// The factors are 5/4 and 0. The window is at least 1, and the threshold stays, so slow start restores it.
#[test]
fn retcp_jumps_by_its_factors() {
    let jumps = Jumps { up: 1280, down: 0 };
    let mut retcp = Retcp::new(40, jumps);
    retcp.on_loss(Loss::Fast { flight: 40 }, Time::ZERO);
    let windows = [true, false, false, false].map(|circuit| {
        retcp.on_ack(&Ack { circuit, ..ack(1, 1, 20) }, Time::ZERO);
        retcp.window()
    });
    assert_eq!(windows, [25, 1, 2, 3]);
}

#[test]
fn tdtcp_keeps_a_window_for_each_path() {
    let mut flow = Flow::new(AlgorithmKind::Tdtcp, 10);
    flow.round(0);
    flow.algorithm.select(1);
    assert_eq!(flow.window(), 10);
    flow.fast();
    assert_eq!(flow.window(), 5);
    flow.algorithm.select(0);
    assert_eq!(flow.window(), 20);
    flow.algorithm.restart(4);
    let windows = [0, 1, 2].map(|path| {
        flow.algorithm.select(path);
        flow.window()
    });
    assert_eq!(windows, [4, 4, 4]);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Acks { acked: u32, echo: bool, limited: bool, recovering: bool },
    Fast(u32),
    Timeout(u32),
    Restart(u32),
    Wait(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let acks = (0..70_000u32, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(acked, echo, limited, recovering)| Event::Acks { acked, echo, limited, recovering },
    );
    let event = prop_oneof![
        6 => acks,
        1 => (0..100_000u32).prop_map(Event::Fast),
        1 => (0..100_000u32).prop_map(Event::Timeout),
        1 => (0..1_000u32).prop_map(Event::Restart),
        1 => (0..u64::MAX / 1_000).prop_map(Event::Wait),
    ];
    prop::collection::vec(event, 0..300)
}

proptest! {
    #[test]
    fn windows_stay_in_bounds(
        kind in prop::sample::select(KINDS.to_vec()),
        initial in 0..2_000u32,
        gain in 1..=10u8,
        events in events(),
        srtt in 0..u64::MAX / 4,
    ) {
        let mut algorithm = Algorithm::new(kind, initial, Tuning { gain_shift: gain, ..Tuning::default() });
        let (mut now, mut una) = (Time::ZERO, 0u32);
        for event in events {
            let before = algorithm.window();
            match event {
                Event::Acks { acked, echo, limited, recovering } => {
                    una += acked;
                    let srtt = Time::ps(srtt);
                    let ack = Ack { echo, limited, recovering, srtt, ..ack(acked, una, before) };
                    algorithm.on_ack(&ack, now);
                    prop_assert!(algorithm.window() <= before + acked, "grows by at most what was acknowledged");
                }
                Event::Fast(flight) => {
                    algorithm.on_loss(Loss::Fast { flight }, now);
                    prop_assert!(algorithm.window() <= before);
                }
                Event::Timeout(flight) => {
                    algorithm.on_loss(Loss::Timeout { flight }, now);
                    prop_assert_eq!(algorithm.window(), 1);
                }
                Event::Restart(initial) => {
                    algorithm.restart(initial);
                    prop_assert!(algorithm.window() <= before);
                }
                Event::Wait(span) => now = now.after(Time::ps(span)),
            }
            prop_assert!((1..=MAX_WINDOW).contains(&algorithm.window()));
        }
    }
}
