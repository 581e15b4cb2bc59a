//! What looks like a mistake, and is none for certain.

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
    // What circuits carry is not known before.
    let fixed = survey.scenario.fabric.hybrid().is_none();
    let loads = fixed.then(|| [overload(survey), unfinished(survey)]);
    let whole = [cold(survey), single(survey)];
    loads.into_iter().flatten().chain(whole).flatten().chain(schemes).collect()
}

fn overload(survey: &Survey<'_>) -> Option<String> {
    let load = offered(survey).filter(|load| *load > 1.0)?;
    let way = survey.name(survey.busiest()?);
    Some(format!(
        "With seed {}, link {way} is offered {:.0} % of what it can carry while flows arrive: those that \
         cross it have the times of an overloaded link.",
        survey.scenario.seed,
        load * 100.0
    ))
}

/// TCP flows that a link cannot have carried before the run ends.
fn unfinished(survey: &Survey<'_>) -> Option<String> {
    let end = survey.scenario.end.at?;
    let tcp = survey.traffic.conns.iter().enumerate().filter(|(_, conn)| {
        let first = &survey.traffic.flows[conn.first.at()];
        conn.carrier == Carrier::Tcp && !survey.endless(first.group)
    });
    let late = |(at, conn): &(usize, &slotline_net::workload::Conn)| {
        let load = survey.load(conn, &survey.transport);
        survey.path(*at).any(|way| {
            let alone = load.wire_bytes * 8.0 / way.lane.rate.0.max(1) as f64;
            alone > end.as_secs_f64() || way.busy() > end
        })
    };
    let late = tcp.filter(late).count() as u64;
    (late > 0).then(|| {
        format!(
            "{} cannot be done when the run ends, at {}: a link on the way needs longer for what it \
             has to carry.",
            several(late, "connection"),
            span(end)
        )
    })
}

/// An open loop starts in an empty network, which is not what it is about.
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
        "Poisson arrivals with {given}: flows that find the network empty count. Try [measure] \
         warmup = \"{}\", a hundred round trips.",
        Time::us(trip.times(100).as_ps().div_ceil(1_000_000))
    ))
}

fn single(survey: &Survey<'_>) -> Option<String> {
    (survey.scenario.repeat == 1).then(|| {
        "One repetition: no confidence intervals, differences may be chance. Try repeat = 5.".into()
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
        unheard(scheme),
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
            "room of {} per port is less than the bandwidth-delay product, {}: a single flow cannot \
             keep the link busy after a loss.",
            size(limit.0 as f64),
            size(product.0 as f64)
        )
    })
}

/// DCTCP's threshold should be above a seventh of the product (RFC 8257, section 3.1 of the paper).
fn early(scheme: &SchemeSpec, product: Bytes, rate: Rate, trip: Time) -> Option<String> {
    let Policy::Ecn(EcnSpec { threshold, .. }) = scheme.queue.policy else { return None };
    (threshold.0 < product.0 / 7).then(|| {
        format!(
            "marks above {} come too early for {} and a round trip of {}: DCTCP's authors ask for more \
             than a seventh of the bandwidth-delay product, {}, or the link idles.",
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
            "max-window = {} is less than the bandwidth-delay product, {}: no flow can fill a link.",
            most,
            size(product.0 as f64)
        )
    })
}

/// reTCP and TDTCP live on what a network says of its circuits.
fn unheard(scheme: &SchemeSpec) -> Option<String> {
    let kind = scheme.transport.kind;
    let listens = matches!(kind, AlgorithmKind::Retcp | AlgorithmKind::Tdtcp);
    (listens && !matches!(scheme.control, ControlSpec::Circuits(_)))
        .then(|| format!("{} hears of no circuits here: it behaves as newreno.", kind.name()))
}

/// Queues by destination rack mark nothing.
fn unmarked(survey: &Survey<'_>, scheme: &SchemeSpec) -> Option<String> {
    let fabric = survey.scenario.fabric.hybrid()?;
    (fabric.core.is_none() && scheme.transport.kind == AlgorithmKind::Dctcp).then(|| {
        "dctcp gets marks at ports to hosts alone: racks' queues for other racks drop what they have no room for.".into()
    })
}

fn time_out(survey: &Survey<'_>, scheme: &SchemeSpec) -> Option<String> {
    let (end, least) = (survey.scenario.end.at?, scheme.transport.min_rto);
    let tcp = survey.traffic.conns.iter().any(|conn| conn.carrier == Carrier::Tcp);
    let short = least.times(2) > end && survey.scenario.end.when == EndWhen::FlowsDone;
    (tcp && short).then(|| {
        format!(
            "a retransmission time-out takes at least {} (min-rto), the run {} at most: what loses its \
             last packets hardly ends in time.",
            span(least),
            span(end)
        )
    })
}
