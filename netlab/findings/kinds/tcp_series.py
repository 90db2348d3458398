"""TCP's own figures over the window: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note
from netlab.messages import _

# A table: as few lines per row as possible.
# fmt: off

note(
    "queue-on-path",
    _("{in_trials}: its own data waited in a queue on the path, up to {queue_bytes}: round "
        "trips grew from {least_rtt_us} to at least {half_rtt_us} for half of the time, at most "
        "{most_rtt_us}"),
    _("its own data waited in a queue on the path, up to {queue_bytes}: round trips grew from "
        "{least_rtt_us} to at least {half_rtt_us} for half of the time, at most {most_rtt_us}"),
    rule="tcp_series.queues:queues", rank=78, leads=False,
    figures=("queue_bytes", "least_rtt_us", "half_rtt_us", "most_rtt_us"),
    advice=_("other traffic on the path waits for the same time (a test of latency under load "
        "shows it): use a shorter queue, or one with CoDel"),
    section="TCP over time",
    condition="TCP's smoothed round trip, sampled every 10 ms, exceeded the shortest by at least 5 "
        "ms and by at least half of the shortest, in half of the window. It followed the "
        "congestion window (correlation r of at least 0.5) or was steady, and at most 1.25 "
        "congestion windows were in flight. The amount of data in the queue is (95th percentile - "
        "shortest) x throughput, and must be at least ten packets. Not stated for paced streams, "
        "nor within one host (5 ms: RFC 8289, CoDel's target; ten packets: RFC 6928).")
note(
    "loss-recovery",
    _("{in_trials}: after losses TCP took up to {longest_us} to return to 95 % of its usual "
        "rate: {recovering_share} of the window in all, {resent_segments} sent again"),
    _("after losses TCP took up to {longest_us} to return to 95 % of its usual rate: "
        "{recovering_share} of the window in all, {resent_segments} sent again"),
    rule="tcp_series.recoveries:recoveries", rank=79, leads=False,
    figures=("longest_us", "recovering_share", "retransmissions", "recoveries"),
    advice=_("recovery takes longer over a longer round trip: check the path for errors or a "
        "short queue, or try another congestion control"),
    section="TCP over time",
    condition="In one stream, at least two consecutive spans each have less than 95 % of the "
        "window's median rate of acknowledged bytes, and one of them has at most 85 %. A span has "
        "100 ms, or three round trips if that is longer. The first of these spans has a segment "
        "that was sent again, or comes at most two spans after one that has. Such runs of spans "
        "make up 5 to 40 % of the window, and chance gives as many with a probability of at most 5 "
        "% (RFC 5681, RFC 9438: a loss reduces the congestion window to 50 or 70 %, and then it "
        "grows once per round trip).")
