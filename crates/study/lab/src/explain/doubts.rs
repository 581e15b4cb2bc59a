//! Finds settings that look like mistakes. Some of them may be intended.

use super::schemes::slowest;
use super::survey::{Survey, size};
use super::traffic::offered;
use super::{several, span};
use slotline_net::aqm::spec::{EcnSpec, Policy};
use slotline_net::time::Time;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::{Carrier, WorkloadSpec};
use slotline_scenario::{EndWhen, SchemeSpec};
use slotline_schemes::ControlSpec;

pub(super) fn sentences(survey: &Survey<'_>) -> Vec<String> {
    let packets = survey.scenario.engine.is_packet();
    let schemes = survey.scenario.scheme.iter().filter(|_| packets);
    let schemes = schemes.flat_map(|scheme| of_scheme(survey, scheme));
    // The load of circuits is not known before a run.
    let fixed = survey.scenario.fabric.hybrid().is_none();
    let loads = fixed.then(|| [overload(survey), unfinished(survey)]);
    let whole = [cold(survey), single(survey)];
    loads.into_iter().flatten().chain(whole).flatten().chain(schemes).collect()
}

fn overload(survey: &Survey<'_>) -> Option<String> {
    let load = offered(survey).filter(|load| *load > 1.0)?;
    let link = survey.name(survey.busiest()?);
    Some(format!(
        "With seed {}, link {link} is offered {:.0} % of its rate while flows arrive: flows that cross it \
         see an overloaded link.",
        survey.scenario.seed,
        load * 100.0
    ))
}

/// TCP flows that a link cannot carry before the run ends.
fn unfinished(survey: &Survey<'_>) -> Option<String> {
    let end = survey.scenario.end.at?;
    let tcp = survey.traffic.conns.iter().enumerate().filter(|(_, conn)| {
        let first = survey.traffic.flows.get(conn.first.at());
        conn.carrier == Carrier::Tcp && first.is_some_and(|first| !survey.endless(first.group))
    });
    let late = |(at, conn): &(usize, &slotline_net::workload::Conn)| {
        let load = survey.load(conn, &survey.transport);
        survey.path(*at).any(|link| {
            let alone = load.wire_bytes * 8.0 / link.lane.rate.0.max(1) as f64;
            alone > end.as_secs_f64() || link.busy() > end
        })
    };
    let late: f64 = tcp.filter(late).map(|(_, conn)| survey.scale_of(conn)).sum();
    let late = late.round() as u64;
    (late > 0).then(|| {
        format!(
            "{} cannot finish before the run ends at {}: a link on the path needs longer to carry its \
             traffic.",
            several(late, "connection"),
            span(end)
        )
    })
}

/// Poisson arrivals start in an empty network, but their steady state is of interest.
fn cold(survey: &Survey<'_>) -> Option<String> {
    let open = survey.scenario.workload.iter().any(|w| matches!(w, WorkloadSpec::Poisson(_)));
    let (_, trip) = survey.round_trips(&survey.transport)?;
    let warmup = survey.scenario.measure.warmup;
    if !open || warmup >= trip.times(100) {
        return None;
    }
    let given = if warmup == Time::ZERO {
        "no warm-up".into()
    } else {
        format!("a warm-up of {}", span(warmup))
    };
    Some(format!(
        "Poisson arrivals have {given}: the first flows, in an almost empty network, count. Try [measure] \
         warmup = \"{}\", a hundred round trips.",
        Time::us(trip.times(100).as_ps().div_ceil(1_000_000))
    ))
}

fn single(survey: &Survey<'_>) -> Option<String> {
    (survey.scenario.repeat == 1).then(|| {
        "With one repetition there are no confidence intervals: differences may be chance. Try repeat = 5.".into()
    })
}

fn of_scheme(survey: &Survey<'_>, scheme: &SchemeSpec) -> Vec<String> {
    let Ok(transport) = scheme.transport.build() else { return vec![] };
    let trip = survey.round_trips(&transport).map_or(Time::ZERO, |(_, most)| most);
    let rate = slowest(survey);
    let product = Bytes(rate.inverse_rate().bytes_in(trip));
    let packet = Bytes(transport.data_len(transport.mss()).into());
    let doubts = [
        shallow(scheme, product, packet),
        early(scheme, product, rate, trip),
        window(scheme, product),
        time_out(survey, scheme),
        without_notifications(scheme),
        unmarked(survey, scheme),
    ];
    let slots = super::tdma::sentences(survey, scheme, packet.0);
    let all = doubts.into_iter().flatten().chain(slots);
    all.map(|doubt| format!("{}: {doubt}", scheme.name)).collect()
}

/// A buffer below the bandwidth-delay product starves a loss-based flow (Villamizar and Song, 1994).
fn shallow(scheme: &SchemeSpec, product: Bytes, packet: Bytes) -> Option<String> {
    let limit = scheme.queue.limit;
    (limit < product.max(packet)).then(|| {
        format!(
            "a port holds {}, less than the bandwidth-delay product of {}: a single flow cannot keep the \
             link busy after a loss.",
            size(limit.0 as f64),
            size(product.0 as f64)
        )
    })
}

/// DCTCP's threshold should be above a seventh of the bandwidth-delay product (RFC 8257; Alizadeh et al., 2010, section
/// 3.1).
fn early(scheme: &SchemeSpec, product: Bytes, rate: Rate, trip: Time) -> Option<String> {
    let Policy::Ecn(EcnSpec { threshold, .. }) = scheme.queue.policy else { return None };
    (threshold.0 < product.0 / 7).then(|| {
        format!(
            "the threshold of {} is too low for {} and a round trip of {}: it should be above a seventh of \
             the bandwidth-delay product, {}, or the link idles.",
            size(threshold.0 as f64),
            super::survey::rate(rate),
            span(trip),
            size((product.0 / 7) as f64)
        )
    })
}

fn window(scheme: &SchemeSpec, product: Bytes) -> Option<String> {
    let most = scheme.transport.max_window;
    (most < product).then(|| {
        format!(
            "max-window = {} is less than the bandwidth-delay product of {}: no flow can fill a link.",
            most,
            size(product.0 as f64)
        )
    })
}

/// reTCP and TDTCP need to be notified of circuits.
fn without_notifications(scheme: &SchemeSpec) -> Option<String> {
    let kind = scheme.transport.kind;
    let needs_them = matches!(kind, AlgorithmKind::Retcp | AlgorithmKind::Tdtcp);
    (needs_them && !matches!(scheme.control, ControlSpec::Circuits(_))).then(|| {
        format!("{} is not notified of circuits here: it behaves as newreno.", kind.name())
    })
}

/// Queues for destination racks do not mark packets.
fn unmarked(survey: &Survey<'_>, scheme: &SchemeSpec) -> Option<String> {
    let fabric = survey.scenario.fabric.hybrid()?;
    (fabric.core.is_none() && scheme.transport.kind == AlgorithmKind::Dctcp).then(|| {
        "dctcp gets marks only at ports to hosts: the queues for other racks drop packets that they cannot hold.".into()
    })
}

fn time_out(survey: &Survey<'_>, scheme: &SchemeSpec) -> Option<String> {
    let (end, least) = (survey.scenario.end.at?, scheme.transport.min_rto);
    let tcp = survey.traffic.conns.iter().any(|conn| conn.carrier == Carrier::Tcp);
    let short = least.times(2) > end && survey.scenario.end.when == EndWhen::FlowsDone;
    (tcp && short).then(|| {
        format!(
            "a retransmission time-out takes at least {} (min-rto), and the run at most {}: a flow that \
             loses its last packets is unlikely to finish in time.",
            span(least),
            span(end)
        )
    })
}
