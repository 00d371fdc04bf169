//! The counts of a node in the text format of Prometheus.

use std::collections::BTreeMap;

use host_live::node::Counts;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::budget::Holding;
use crate::hold::HoldCounts;
use crate::steer::SteeringCounts;
use crate::watch::Watched;

/// The counts of a running node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) counts: Counts,
    pub(crate) incarnation: u64,
    pub(crate) unsent: u64,
    pub(crate) holding: Holding,
    pub(crate) distrusted: BTreeMap<&'static str, u64>,
    pub(crate) seconds: f64,
    /// Seconds since the node began its current work; 0 while it waits.
    pub(crate) busy: f64,
    pub(crate) written: u64,
    pub(crate) write_seconds: f64,
    pub(crate) waiting: u64,
    /// Requests that were refused before they reached the node, by their status.
    pub(crate) requests_refused: BTreeMap<u16, u64>,
    pub(crate) watched: Option<Watched>,
    pub(crate) steered: Option<SteeringCounts>,
}

/// The text.
pub(crate) fn text(measured: Measured) -> String {
    let mut registry = Registry::with_prefix("host_live");
    registry.register_collector(Box::new(measured));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("a text takes everything");
    text
}

impl Collector for Measured {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Counts { messages, local, requests, breaks, filtered, discarded, foreseen, instead, .. } = &self.counts;
        let Counts { checkpoints, checkpoint_bytes, checkpoints_capped, neighbours_unusable, backwards, .. } =
            &self.counts;
        let counters = [
            ("messages", "Messages that were handled", messages),
            ("local_events", "Local events that were handled", local),
            ("requests", "Requests of clients", requests),
            ("breaks", "Broken connections that were handled", breaks),
            ("filtered", "Events that a filter kept from happening", filtered),
            ("discarded", "Events that the immediate check kept from happening", discarded),
            ("foreseen", "Events that looking ahead from them kept from happening", foreseen),
            ("checkpoints_sent", "Checkpoints that were sent to who asked", checkpoints),
            ("checkpoint_sent_bytes", "Bytes of the frames with them", checkpoint_bytes),
            ("checkpoints_capped", "Checkpoints that were not sent, to spare the network", checkpoints_capped),
            ("neighbours_unusable", "Snapshots of all nodes, as the neighbours were of no use", neighbours_unusable),
            ("clock_backwards", "How often the clock was behind what it had said before", backwards),
            ("frames_unsent", "Frames that were lost on their way out", &self.unsent),
            ("disk_writes", "Records that were written to the disk", &self.written),
        ];
        for (name, help, count) in counters {
            ConstCounter::new(*count).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        let disk =
            encoder.encode_descriptor("disk_write_seconds", "Time that the disk took", None, MetricType::Counter)?;
        ConstCounter::new(self.write_seconds).encode(disk)?;
        encode_refused(self, &mut encoder)?;
        if let Some(watched) = &self.watched {
            encode_watched(watched, &mut encoder)?;
        }
        if let Some(steered) = &self.steered {
            let mut by_name = encoder.encode_descriptor(
                "substitutes",
                "What took the place of events that were kept from happening",
                None,
                MetricType::Counter,
            )?;
            for (name, count) in instead {
                ConstCounter::new(*count).encode(by_name.encode_family(&[("name", *name)])?)?;
            }
            encode_steered(*steered, &mut encoder)?;
        }
        let gauges = [
            ("incarnation", "Which start of the node this is", self.incarnation),
            ("requests_waiting", "Requests that wait for an answer", self.waiting),
            ("held_bytes", "Bytes that are held for peers and clients", self.holding.bytes as u64),
            ("held_bytes_most", "The most bytes that were held for them", self.holding.most as u64),
        ];
        for (name, help, value) in gauges {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        let busy = encoder.encode_descriptor(
            "busy_seconds",
            "Time that the node has worked on what it has now; 0 while it waits",
            None,
            MetricType::Gauge,
        )?;
        ConstGauge::new(self.busy).encode(busy)?;
        let up = encoder.encode_descriptor("up_seconds", "Time since the start", None, MetricType::Gauge)?;
        ConstGauge::new(self.seconds).encode(up)
    }
}

/// Counts refusals and undone handlers, by reason.
fn encode_refused(measured: &Measured, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
    let families = [
        ("frames_refused", "Frames that were refused", &measured.counts.refused),
        (
            "connections_refused",
            "Attempts at a connection where one end did not prove to the other which node it is",
            &measured.distrusted,
        ),
        ("over_budget", "How often there was no room for more bytes of others", &measured.holding.refused),
    ];
    for (name, help, counts) in families {
        let mut by_reason = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (reason, count) in counts {
            ConstCounter::new(*count).encode(by_reason.encode_family(&[("reason", *reason)])?)?;
        }
    }
    let mut refused = encoder.encode_descriptor(
        "requests_refused",
        "Requests that were refused before the protocol heard of them",
        None,
        MetricType::Counter,
    )?;
    for (status, count) in &measured.requests_refused {
        ConstCounter::new(*count).encode(refused.encode_family(&[("status", status.to_string())])?)?;
    }
    let mut undone = encoder.encode_descriptor(
        "undone",
        "Handlers that have hit a limit of the plugin, and were undone",
        None,
        MetricType::Counter,
    )?;
    for ((cause, limit), count) in &measured.counts.undone {
        let labels = [("event", cause.name()), ("limit", limit)];
        ConstCounter::new(*count).encode(undone.encode_family(&labels)?)?;
    }
    Ok(())
}

/// The results of watching.
fn encode_watched(watched: &Watched, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
    let Watched { snapshots, checker, is_ended } = watched;
    let mut by_result =
        encoder.encode_descriptor("snapshots", "Snapshots that were asked for and ended", None, MetricType::Counter)?;
    let results = [
        ("complete", snapshots.complete),
        ("inconsistent", snapshots.inconsistent),
        ("refused", snapshots.refused),
        ("capped", snapshots.capped),
        ("timed_out", snapshots.timed_out),
    ];
    for (result, count) in results {
        ConstCounter::new(count).encode(by_result.encode_family(&[("result", result)])?)?;
    }
    let counters = [
        ("snapshot_bytes", "Bytes of the states in complete snapshots", snapshots.bytes),
        ("check_rounds", "Rounds of the checker", checker.rounds),
        ("check_unchanged", "Snapshots that say what the last one did, and need no round", checker.unchanged),
        ("check_rounds_cut", "Rounds that were cut short, as they took too long", checker.cut),
        ("check_refused", "Snapshots that the checker refused", checker.refused),
        ("predictions", "Violations that rounds predicted", checker.predictions),
        ("predicted_dead", "Promises of progress that rounds predicted not to be kept any more", checker.dead),
        ("violated_rounds", "Rounds that began where a property was violated", checker.violated),
    ];
    for (name, help, count) in counters {
        ConstCounter::new(count).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
    }
    let seconds =
        encoder.encode_descriptor("check_seconds", "Time that the checker took", None, MetricType::Counter)?;
    ConstCounter::new(checker.taken.as_secs_f64()).encode(seconds)?;
    let up = encoder.encode_descriptor("checker_up", "Whether the checker runs", None, MetricType::Gauge)?;
    ConstGauge::new(i64::from(!is_ended)).encode(up)
}

/// The results of steering.
fn encode_steered(steered: SteeringCounts, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
    let SteeringCounts { filters, unhelpful, suspensions, is_active, is_off: _, hold } = steered;
    let mut counters = vec![
        ("steering_unhelpful", "Rounds that predicted what no filters of the node can prevent", unhelpful),
        ("steering_suspensions", "How often steering has suspended itself, having filtered too much", suspensions),
    ];
    if let Some(HoldCounts { looked, cut, too_late, is_ended: _ }) = hold {
        counters.extend([
            ("hold_looked", "Events from which was looked ahead while their effects were held", looked),
            ("hold_cut", "Events whose effects left before that had ended", cut),
            ("hold_too_late", "Events whose effects had left when the answer came that they should not", too_late),
        ]);
    }
    for (name, help, count) in counters {
        ConstCounter::new(count).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
    }
    let in_force = encoder.encode_descriptor("filters", "Filters that are in force", None, MetricType::Gauge)?;
    ConstGauge::new(i64::try_from(filters).unwrap_or(i64::MAX)).encode(in_force)?;
    let help = "Whether steering is at work: neither switched off nor suspended";
    let active = encoder.encode_descriptor("steering_active", help, None, MetricType::Gauge)?;
    ConstGauge::new(i64::from(is_active)).encode(active)?;
    if let Some(hold) = hold {
        let help = "Whether the node looks ahead from events";
        let up = encoder.encode_descriptor("hold_up", help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::from(!hold.is_ended)).encode(up)?;
    }
    Ok(())
}
