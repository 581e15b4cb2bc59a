use super::*;
use crate::lease::Witness;
use proptest::prelude::*;

const TIMEOUT: Duration = Duration::from_millis(50);

fn at(ms: u64) -> Local {
    Local(1 + ms * 1_000_000)
}

fn standby(count: u32) -> Standby {
    let (controllers, witnesses) = (Controllers::One, (0..count).collect());
    Standby { controllers, timeout: TIMEOUT, beat: TIMEOUT / 5, witnesses }
}

/// Two arbiters and their witnesses, in steps of a millisecond, whose messages arrive at once or not at all.
struct World {
    both: [Option<Election>; 2],
    witnesses: Vec<Witness>,
    now: u64,
    /// Whether arbiters hear each other, and by arbiter and witness whether these do.
    joined: bool,
    reaches: [Vec<bool>; 2],
    /// A witness that lies.
    rogue: Option<usize>,
    ran: [u64; 2],
}

impl World {
    fn new(count: u32) -> World {
        let election = |rank| Some(Election::new(rank, standby(count), at(0)));
        World {
            both: [election(0), election(1)],
            witnesses: vec![Witness::new(TIMEOUT, at(0)); count as usize],
            now: 0,
            joined: true,
            reaches: [vec![true; count as usize], vec![true; count as usize]],
            rogue: None,
            ran: [0; 2],
        }
    }
    fn step(&mut self) {
        self.now += 1;
        let (now, moment) = (at(self.now), (7, self.now * 1_000_000));
        for rank in 0..2 {
            let Some(mut own) = self.both[rank].take() else { continue };
            own.check(Some(moment), now);
            let due = own.due(Some(moment), now);
            for (to, ask) in due.asks.into_iter().filter(|(to, _)| self.reaches[rank][*to as usize])
            {
                let mut answer = self.witnesses[to as usize].answer(rank, &ask, now);
                if self.rogue == Some(to as usize) {
                    // It promises everything to everybody, and claims a high term.
                    let (from, until) = (ask.from, ask.until);
                    answer =
                        Answer { highest: ask.term + 1_001, from, until, free: true, ..answer };
                }
                own.answered(to, &answer, now);
            }
            own.check(Some(moment), now);
            if let (true, true, Some(other)) = (due.beat, self.joined, &mut self.both[1 - rank]) {
                let (term, standing) = own.standing();
                other.hear(term, standing, now);
            }
            self.both[rank] = Some(own);
        }
        let runs = |of: &Option<Election>| of.as_ref().is_some_and(|of| of.runs(moment));
        assert!(!(runs(&self.both[0]) && runs(&self.both[1])), "both run at {}", self.now);
        (0..2).for_each(|rank| self.ran[rank] += u64::from(runs(&self.both[rank])));
    }
    /// How long each of them runs within a time.
    fn run(&mut self, ms: u64) -> [u64; 2] {
        self.ran = [0; 2];
        (0..ms).for_each(|_| self.step());
        self.ran
    }
    fn term(&self, rank: usize) -> Option<u64> {
        self.both[rank].as_ref().and_then(Election::active)
    }
}

#[test]
fn the_second_takes_over_after_silence_and_a_restarted_first_listens() {
    let mut world = World::new(4);
    assert_eq!(world.run(449), [0, 0]);
    let ran = world.run(500);
    assert!(ran[0] >= 498 && ran[1] == 0, "{ran:?}");
    assert_eq!((world.term(0), world.term(1)), (Some(2), None));
    world.both[0] = None;
    let ran = world.run(100);
    assert!((45..=60).contains(&ran[1]), "{ran:?}");
    let history = world.both[1].as_ref().unwrap().history();
    assert!(history.0 == 1 && (at(50)..at(62)).contains(&Local(history.1.as_nanos() as u64)));
    world.both[0] = Some(Election::new(0, standby(4), at(world.now)));
    assert_eq!(world.run(1_000), [0, 1_000]);
    assert_eq!((world.term(0), world.term(1)), (None, Some(3)));
}

#[test]
fn a_broken_link_between_arbiters_changes_nothing() {
    let mut world = World::new(4);
    world.run(600);
    world.joined = false;
    assert_eq!(world.run(2_000), [2_000, 0]);
}

#[test]
fn one_that_reaches_too_few_witnesses_makes_room() {
    for joined in [true, false] {
        let mut world = World::new(4);
        world.run(600);
        world.joined = joined;
        world.reaches[0][..2].fill(false);
        let ran = world.run(1_000);
        assert!(ran[0] <= 50 && ran[1] >= 850, "{ran:?}");
        world.reaches[0].fill(true);
        assert_eq!(world.run(1_000), [0, 1_000], "it has learned of the term");
    }
}

#[test]
fn without_a_quorum_nobody_runs() {
    let mut world = World::new(4);
    world.run(600);
    (world.reaches[0], world.reaches[1]) =
        (vec![true, true, false, false], vec![false, false, true, true]);
    let ran = world.run(1_000);
    assert!(ran[0] <= 50 && ran[1] == 0, "{ran:?}");
    world.reaches = [vec![true; 4], vec![true; 4]];
    let ran = world.run(1_000);
    assert!(ran[0] + ran[1] >= 700, "{ran:?}");
}

#[test]
fn a_witness_that_lies_changes_nothing() {
    let mut world = World::new(4);
    world.rogue = Some(2);
    world.run(600);
    assert_eq!(world.run(1_000), [1_000, 0]);
    world.joined = false;
    assert_eq!(world.run(1_000), [1_000, 0], "nor without the word of the other arbiter");
    assert_eq!(world.term(0), Some(2));
    world.both[0] = None;
    let ran = world.run(200);
    assert!(ran[1] >= 130, "{ran:?}");
}

#[test]
fn an_arbiter_that_resigns_makes_room() {
    let mut world = World::new(4);
    world.run(600);
    let now = at(world.now);
    let first = world.both[0].as_mut().unwrap();
    assert_eq!((first.active(), first.resign(now)), (Some(2), Turn::StepBack));
    assert_eq!((first.active(), first.resign(now)), (None, Turn::Stay));
    let ran = world.run(1_000);
    assert!(ran[0] + ran[1] >= 900, "{ran:?}");
    assert!(world.both.iter().flatten().any(|of| of.active() > Some(2)), "a later term");
}

#[test]
fn only_the_other_arbiter_says_that_it_is_active() {
    let mut first = Election::new(0, standby(4), at(0));
    assert_eq!(first.hear(4, Standing::Active, at(1)), Turn::Stay);
    assert_eq!(first.standing(), (0, Standing::Knows), "the term is its own");
    assert_eq!(first.hear(u64::MAX, Standing::Active, at(1)), Turn::Stay, "nonsense");
    first.hear(3, Standing::Active, at(1));
    assert_eq!(first.standing(), (3, Standing::Knows));
}

#[test]
fn an_agent_obeys_the_highest_term() {
    let mut known = Leadership::default();
    assert!(known.leads(0, 2) && !known.leads(0, 2) && known.leads(1, 3) && !known.leads(0, 2));
    assert!(known.is_led_by(1, 3) && !known.is_led_by(0, 3) && !known.is_led_by(1, 2));
    assert!(!known.leads(0, 5) && !known.leads(0, u64::MAX - 1), "not a term of the arbiter");
    assert_eq!(known.changes, 1);
}

proptest! {
    /// Links fail and heal, arbiters end and begin, one witness lies: [`World::step`] checks that both never run at once.
    /// When all is well again, one of them runs soon.
    #[test]
    fn both_never_run_at_once(
        count in 1u32..8, lies: bool, steps in prop::collection::vec((0u64..90, 0usize..2, 0usize..8, any::<bool>()), 0..60)
    ) {
        let mut world = World::new(count);
        world.rogue = (lies && count >= 4).then_some(1);
        world.run(600);
        for (ms, rank, what, up) in steps {
            match what {
                0 => world.joined = up,
                1 => {
                    let now = at(world.now);
                    world.both[rank] = up.then(|| Election::new(rank, standby(count), now));
                }
                of => world.reaches[rank][of % count as usize] = up,
            }
            world.run(ms);
        }
        world.joined = true;
        world.reaches = [vec![true; count as usize], vec![true; count as usize]];
        let now = at(world.now);
        for rank in 0..2 {
            world.both[rank].get_or_insert_with(|| Election::new(rank, standby(count), now));
        }
        world.run(1_500);
        let ran = world.run(500);
        prop_assert!(ran[0] + ran[1] >= 490, "{ran:?}");
    }
}
