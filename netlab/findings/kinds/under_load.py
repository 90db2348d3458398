"""Kinds of findings about round trips next to a load that fills the path."""

from netlab.findings.kinds.kind import note, value
from netlab.messages import _

SECTION = "Latency under load"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

note(
    "queue-under-load", rule="under_load:under_load", section=SECTION,
    condition="`standing`: the loaded median exceeds the idle median by at least 5 ms (RFC 8289, "
        "CoDel's target) and by at least half of it; the data in the queue are the difference x "
        "the load's throughput, if the load has one direction. `none`: it does not, and the load "
        "is at least 90 % of the wire ceiling (both ways: the larger share). `not-full`: the load "
        "is less than that, and there is no standing queue",
    values={
        "not-full": value(
            _("{in_trials}: the load was {throughput_bit_per_s}, only {load_share} of what the "
                "path carries: the increase of the round trips does not describe a full path"),
            _("the load was {throughput_bit_per_s}, only {load_share} of what the path carries: "
                "the increase of the round trips does not describe a full path"),
            severity="warning", rank=20,
            advice=_("raise the rate, use more streams, or load for longer if TCP has not reached "
                "the rate yet")),
        "standing": value(
            _("{in_trials}: under load the median round trip grew from {idle_rtt_ns} to "
                "{loaded_rtt_ns} (99th percentile {loaded_p99_ns}): about {queue_bytes} of payload "
                "wait on the path"),
            _("under load the median round trip grew from {idle_rtt_ns} to {loaded_rtt_ns} (99th "
                "percentile {loaded_p99_ns}): about {queue_bytes} of payload wait on the path"),
            _("{in_trials}: under load the median round trip grew from {idle_rtt_ns} to "
                "{loaded_rtt_ns}"),
            _("under load the median round trip grew from {idle_rtt_ns} to {loaded_rtt_ns}"),
            rank=30,
            advice=_("other traffic on the path waits for the same time: use a shorter queue, one "
                "with CoDel, or a congestion control that does not fill the queue")),
        "none": value(
            _("{in_trials}: the path is full but has no significant queue: the median round trip "
                "is {loaded_rtt_ns} under load, {idle_rtt_ns} before the load"),
            _("the path is full but has no significant queue: the median round trip is "
                "{loaded_rtt_ns} under load, {idle_rtt_ns} before the load"), rank=31,
            advice=_("nothing to do: other traffic on the path hardly waits"))})
note(
    "requests-lost-under-load",
    _("{in_trials}: {lost_requests} of {requests} requests were lost under load "
        "({lost_requests_share}), and {idle_lost_requests} of {idle_requests} before the load"),
    _("{lost_requests} of {requests} requests were lost under load ({lost_requests_share}), and "
        "{idle_lost_requests} of {idle_requests} before the load"),
    rank=32, section=SECTION,
    advice=_("a full tail-drop queue drops packets of every flow; a queue that serves flows fairly "
        "(fq_codel) does not"),
    condition="At least five requests were lost while the load ran. The share of requests lost "
        "under load is at least ten times the share of requests lost without load.")
