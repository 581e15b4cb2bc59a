//! Checks of scenarios on a hybrid fabric, and of options that need such a fabric.

use super::event::{EventKind, EventSpec};
use super::spec::{Scenario, SchemeSpec};
use crate::metric::Metric;
use slotline_hybrid::control::{CircuitProgram, SchedulerKind};
use slotline_hybrid::{AtNight, VoqSpec};
use slotline_net::error::SpecError;
use slotline_net::route::RoutingSpec;
use slotline_net::time::Time;
use slotline_net::topology::HybridSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::Rate;
use slotline_net::workload::WorkloadSpec;
use slotline_schemes::ControlSpec;

/// All errors of a scenario.
pub(super) fn faults(scenario: &Scenario) -> Vec<SpecError> {
    let fabric = scenario.fabric.hybrid();
    let schemes = scenario.scheme.iter().enumerate().filter_map(|(at, scheme)| {
        let fault = match fabric {
            Some(fabric) => on_hybrid(scheme, fabric, &scenario.workload).err(),
            None => elsewhere(scheme).err(),
        };
        fault.map(|e| e.within(format_args!("scheme[{at}]")))
    });
    schemes.chain(fabric.and_then(|fabric| as_a_whole(scenario, fabric).err())).collect()
}

fn fail(key: &str, why: impl Into<String>) -> Result<(), SpecError> {
    Err(SpecError::new(key, why))
}

/// Refuses settings that need circuits on a fabric without circuits.
fn elsewhere(scheme: &SchemeSpec) -> Result<(), SpecError> {
    if scheme.voq.is_some() {
        return fail(
            "voq",
            "`voq` does nothing on this fabric: it needs a fabric of kind = \"hybrid\"",
        );
    }
    if matches!(scheme.control, ControlSpec::Circuits(_)) {
        return fail("control", "control = \"circuits\" needs a fabric of kind = \"hybrid\"");
    }
    Ok(())
}

fn on_hybrid(
    scheme: &SchemeSpec,
    fabric: &HybridSpec,
    workloads: &[WorkloadSpec],
) -> Result<(), SpecError> {
    match &scheme.control {
        ControlSpec::None {} if fabric.packet.is_none() => {
            return fail(
                "control",
                "without a packet switch only circuits carry packets: use control = \"circuits\"",
            );
        }
        ControlSpec::None {} => {}
        ControlSpec::Circuits(spec) => {
            let program = spec.program(fabric, workloads).map_err(|e| e.within("control"))?;
            carries(scheme, fabric, &program)?;
        }
        _ => {
            return fail(
                "control",
                "on a hybrid fabric `control` has to be \"circuits\" or \"none\"",
            );
        }
    }
    if scheme.bump.is_some() {
        return fail("bump", "on a hybrid fabric there are no bumps: leave `bump` out");
    }
    let voq = scheme.voq.unwrap_or_default();
    voq.validate().map_err(|e| e.within("voq"))?;
    has_listeners(scheme, &voq)?;
    if fabric.core.is_some() {
        return with_core(scheme, &voq);
    }
    let dark = fabric.circuits.is_none() || matches!(scheme.control, ControlSpec::None {});
    by_rack(scheme, &voq, dark)?;
    notified(scheme, &voq, dark)?;
    if !scheme.queue.is_plain() {
        return fail(
            "queue",
            "on a hybrid fabric `queue` is that of the ports to hosts: \"drop-tail\", \"ecn\", \"red\", \"pie\" or \"avq\", \
             without `priorities`, `shared` and `pfc`",
        );
    }
    if scheme.routing != RoutingSpec::default() || scheme.recovery.is_some() {
        let key = if scheme.recovery.is_some() { "recovery" } else { "routing" };
        return fail(key, format!("`{key}` does nothing on a hybrid fabric: leave it out"));
    }
    Ok(())
}

/// Checks that the options of the queues by destination rack have an effect.
fn by_rack(scheme: &SchemeSpec, voq: &VoqSpec, dark: bool) -> Result<(), SpecError> {
    if dark && voq.relay.is_some() {
        return fail("voq.relay", "`relay` does nothing: there are no circuits");
    }
    let planned = matches!(&scheme.control, ControlSpec::Circuits(spec)
        if spec.scheduler.looks_at_demand() && spec.scheduler != SchedulerKind::Mesh);
    if planned && voq.relay.is_some() {
        return fail(
            "voq.relay",
            "`relay` needs circuits that are known ahead: scheduler = \"rotor\", \"fixed\" or \"mesh\"",
        );
    }
    if dark && voq.resize.is_some() {
        return fail("voq.resize", "`resize` does nothing: there are no circuits");
    }
    let usual = VoqSpec::default();
    if dark && voq.at_night != usual.at_night {
        return fail(
            "voq.at-night",
            "`at-night` does nothing: there are no circuits, and no nights",
        );
    }
    if dark && voq.mark_ahead != usual.mark_ahead {
        return fail(
            "voq.mark-ahead",
            "`mark-ahead` does nothing: there are no circuits to announce",
        );
    }
    Ok(())
}

/// Checks that a day is long enough for at least one packet.
fn carries(
    scheme: &SchemeSpec,
    fabric: &HybridSpec,
    program: &CircuitProgram,
) -> Result<(), SpecError> {
    let (key, day) = match program {
        CircuitProgram::Weekly { terms, .. } => ("control.day", Some(terms.min_day())),
        CircuitProgram::Static { weeks } => {
            let days = weeks.iter().flat_map(|week| week.days()).map(|day| day.length);
            let fixed =
                matches!(&scheme.control, ControlSpec::Circuits(spec) if spec.schedule.is_some());
            (if fixed { "control.schedule" } else { "control.day" }, days.max())
        }
    };
    let rate = fabric.circuits.as_ref().map_or(Rate(0), |circuits| circuits.rate);
    let mtu = scheme.transport.mtu;
    let (day, takes) = (Time::ps(day.unwrap_or(0)), rate.inverse_rate().time_for(mtu.0));
    // A packet that drains at night has started in its day.
    let drains = scheme.voq.is_some_and(|voq| voq.at_night == AtNight::Drain);
    if drains || day >= takes {
        return Ok(());
    }
    let why = format!(
        "days are {day}, and a packet of {mtu} takes {takes} on a circuit: no packet would ever use a circuit. Give longer \
         days; the default of `day` is nine nights"
    );
    fail(key, why)
}

/// Checks that a scheme with `control-loss` has messages that can be lost.
fn has_listeners(scheme: &SchemeSpec, voq: &VoqSpec) -> Result<(), SpecError> {
    let planned = matches!(&scheme.control, ControlSpec::Circuits(spec)
        if spec.scheduler.looks_at_demand());
    if scheme.control_loss > 0.0 && !planned && voq.notify.is_none() {
        let why = "`control-loss` does nothing: there are neither reports of demand nor messages to hosts";
        return fail("control-loss", why);
    }
    Ok(())
}

/// Checks a scheme on a fabric with a `core`. Its racks' switches queue as core switches do: by port, with the scheme's
/// `queue`.
fn with_core(scheme: &SchemeSpec, voq: &VoqSpec) -> Result<(), SpecError> {
    let usual = VoqSpec::default();
    let useless = [
        ("voq.resize", voq.resize.is_some()),
        ("voq.relay", voq.relay.is_some()),
        ("voq.mark-ahead", voq.mark_ahead != usual.mark_ahead),
        ("voq.notify", voq.notify.is_some()),
    ];
    if let Some((key, _)) = useless.iter().find(|(_, given)| *given) {
        let why = format!(
            "`{key}` does nothing on a fabric with a `core`, whose racks have no queues by rack"
        );
        return fail(key, why);
    }
    if matches!(scheme.transport.kind, AlgorithmKind::Retcp | AlgorithmKind::Tdtcp) {
        let why = "`retcp` and `tdtcp` act on the racks' messages about circuits, which a fabric with a `core` does not have";
        return fail("transport.kind", why);
    }
    if scheme.queue.pfc.is_some() {
        return fail(
            "queue.pfc",
            "`pfc` cannot be used with a `core`: circuits would move paused links",
        );
    }
    let hashed =
        [RoutingSpec::Ecmp, RoutingSpec::Spray, RoutingSpec::Flowlet, RoutingSpec::EcmpDestination];
    if !hashed.contains(&scheme.routing) {
        let why = "on a fabric with a `core` `routing` is \"ecmp\", \"spray\", \"flowlet\" or \"ecmp-destination\": \
                   its links change";
        return fail("routing", why);
    }
    if scheme.recovery.is_some() {
        return fail("recovery", "`recovery` does nothing on a hybrid fabric: leave it out");
    }
    Ok(())
}

/// Checks that messages about circuits have an effect: there are circuits, and a transport that reacts to the messages.
fn notified(scheme: &SchemeSpec, voq: &VoqSpec, dark: bool) -> Result<(), SpecError> {
    if voq.notify.is_none() {
        return Ok(());
    }
    if dark {
        return fail("voq.notify", "`notify` does nothing: there are no circuits to announce");
    }
    match scheme.transport.kind {
        AlgorithmKind::Retcp | AlgorithmKind::Tdtcp => Ok(()),
        kind => {
            let name = kind.name();
            let why =
                format!("`{name}` ignores the messages of `notify`: use \"tdtcp\" or \"retcp\"");
            fail("voq.notify", why)
        }
    }
}

/// Links to the scheduler do not fail, because notifications of failures use them.
fn happens(event: &EventSpec, fabric: &HybridSpec) -> Result<(), SpecError> {
    let of_rack =
        |switch: &str| (0..fabric.rack_count()).any(|rack| fabric.rack_switch(rack) == switch);
    let sound = |switch: &str| switch == "scheduler" || of_rack(switch);
    match &event.kind {
        EventKind::LinkDown { link }
        | EventKind::LinkUp { link }
        | EventKind::Rate { link, .. }
            if link.split('-').any(|end| end == "scheduler") =>
        {
            return fail(
                "link",
                "links to the scheduler do not change: they carry notifications of failures",
            );
        }
        EventKind::SwitchDown { switch } | EventKind::SwitchUp { switch } if sound(switch) => {
            let why = "on a hybrid fabric only packet, core and circuit switches can fail (`packet0`, `core0`, \
                       `circuit0`): a rack's switch has a link to the scheduler, which cannot fail";
            return fail("switch", why);
        }
        EventKind::ControllerDown { .. }
        | EventKind::ControllerUp { .. }
        | EventKind::Leave { .. }
        | EventKind::Join { .. } => {
            return fail(
                "kind",
                "on a hybrid fabric only events of links, switches and rates are possible",
            );
        }
        _ => {}
    }
    if event.reroute_after > Time::ZERO {
        return fail(
            "reroute-after",
            "`reroute-after` does nothing on a hybrid fabric: leave it out",
        );
    }
    Ok(())
}

fn as_a_whole(scenario: &Scenario, fabric: &HybridSpec) -> Result<(), SpecError> {
    if !scenario.engine.is_packet() {
        return fail("engine", "a hybrid fabric needs engine = \"packet\"");
    }
    for (at, event) in scenario.event.iter().enumerate() {
        happens(event, fabric).map_err(|e| e.within(format_args!("event[{at}]")))?;
    }
    let slowdown = [Metric::SlowdownMean, Metric::SlowdownP99];
    let slowdown_at = scenario.measure.metrics.iter().position(|metric| slowdown.contains(metric));
    slowdown_at.map_or(Ok(()), |at| {
        let why = "slowdowns are unknown on a hybrid fabric: the time of a flow alone depends on when it \
                   begins";
        fail(&format!("measure.metrics[{at}]"), why)
    })
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use std::path::Path;

    const CIRCUITS: &str = "circuits = { rate = \"25Gbps\", reconfiguration = \"10ns\" }";

    /// The result of checking three racks under a scheme.
    fn checked(circuits: &str, scheme: &str) -> Result<(), String> {
        let text = format!(
            "name = \"a\"\nend = {{ at = \"1ms\" }}\n[fabric]\nkind = \"hybrid\"\nracks = 3\nhosts-per-rack = 2\n\
             packet = {{ rate = \"10Gbps\" }}\n{circuits}\n\
             [[workload]]\nkind = \"shuffle\"\nsize = \"10KB\"\n\
             [[scheme]]\nname = \"a\"\ntransport = {{ kind = \"newreno\", mtu = \"9000B\" }}\n{scheme}\n"
        );
        Scenario::parse(Path::new("a.toml"), text).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn days_have_room_for_a_packet() {
        let no = checked(CIRCUITS, "control = \"circuits\"").unwrap_err();
        assert!(no.contains("days are 90ns") && no.contains("2880ns"), "{no}");
        assert!(no.contains("control.day"), "{no}");
        let day = |day: &str, scheduler: &str| {
            let control =
                format!("kind = \"circuits\", scheduler = \"{scheduler}\", day = \"{day}\"");
            checked(CIRCUITS, &format!("control = {{ {control} }}"))
        };
        for scheduler in ["rotor", "eclipse"] {
            assert!(day("2879ns", scheduler).is_err(), "{scheduler}");
            assert_eq!(day("2880ns", scheduler), Ok(()), "{scheduler}");
        }
        let drains = checked(CIRCUITS, "control = \"circuits\"\nvoq = { at-night = \"drain\" }");
        assert_eq!(drains, Ok(()), "one packet a day");
        let fixed = |us: u32| {
            let week = format!("unit ns\\n2 {us} 1/2/0 20 -1/-1/-1");
            let control =
                format!("kind = \"circuits\", scheduler = \"fixed\", schedule = \"{week}\"");
            checked(CIRCUITS, &format!("control = {{ {control} }}"))
        };
        assert!(fixed(2_000).unwrap_err().contains("control.schedule"));
        assert_eq!(fixed(3_000), Ok(()));
    }

    #[test]
    fn what_does_nothing_is_refused() {
        let planned = "control = { kind = \"circuits\", scheduler = \"eclipse\" }";
        let rotor = "control = \"circuits\"";
        let circuits = "circuits = { rate = \"25Gbps\" }";
        for (scheme, refused) in [
            ("voq = { at-night = \"drop\" }".into(), "`at-night` does nothing"),
            ("voq = { mark-ahead = \"1us\" }".into(), "`mark-ahead` does nothing"),
            ("control-loss = 0.1".into(), "`control-loss` does nothing"),
            (format!("{rotor}\ncontrol-loss = 0.1"), "`control-loss` does nothing"),
            ("control = { kind = \"circuits\", gather = \"1us\" }".into(), "`gather` does nothing"),
            (
                "control = { kind = \"circuits\", computing = \"1us\" }".into(),
                "`computing` does nothing",
            ),
            (
                "control = { kind = \"circuits\", scheduler = \"eclipse\", computing = \"3ms\" }"
                    .into(),
                "`computing` is 3ms",
            ),
        ] {
            let no = checked(circuits, &scheme).unwrap_err();
            assert_eq!(no.matches(refused).count(), 1, "{scheme}: {no}");
        }
        for scheme in [
            format!("{planned}\ncontrol-loss = 0.1"),
            format!("{rotor}\nvoq = {{ at-night = \"drop\" }}"),
        ] {
            assert_eq!(checked(circuits, &scheme), Ok(()), "{scheme}");
        }
    }
}
