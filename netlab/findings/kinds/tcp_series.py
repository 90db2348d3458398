"""Kinds of findings about TCP's own figures over the time of a trial."""

from netlab.findings.kinds.kind import note
from netlab.messages import _

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

note(
    "queue-on-path",
    _("{in_trials}: up to {queue_bytes} of its own data waited in a queue on the path: round "
        "trips grew from {least_rtt_us} to {half_rtt_us} (median) and {most_rtt_us} (95th "
        "percentile)"),
    _("up to {queue_bytes} of its own data waited in a queue on the path: round trips grew from "
        "{least_rtt_us} to {half_rtt_us} (median) and {most_rtt_us} (95th percentile)"),
    rule="tcp_series:queues", rank=78, leads=False,
    figures=("queue_bytes", "least_rtt_us", "half_rtt_us", "most_rtt_us"),
    advice=_("other traffic on the path waits for the same time (a test of latency under load "
        "shows it): use a shorter queue, or one with CoDel"),
    section="TCP over time",
    condition="The smoothed round trip of TCP was sampled every 10 ms, at least 50 times over at "
        "least 1 s. The median of these round trips exceeds the shortest one by at least 5 ms and "
        "by at least half of the shortest (5 ms: RFC 8289, CoDel's target). The round trip "
        "followed the congestion window (correlation r of at least 0.5), or the round trip was "
        "steady (its 95th percentile is at most 1.25 times its 10th). At most 1.25 congestion "
        "windows were in flight. The amount of data in the queue is (95th percentile - shortest "
        "round trip) x throughput; it must be at least ten packets (RFC 6928). Not stated for "
        "paced streams, for streams within one host, or if a hypervisor gave more than 5 % of the "
        "CPU time of one end to other machines.")
note(
    "loss-recovery",
    _("{in_trials}: after losses TCP took up to {longest_us} to return to 95 % of its usual "
        "rate: {recovering_share} of the window in all, {resent_segments} sent again"),
    _("after losses TCP took up to {longest_us} to return to 95 % of its usual rate: "
        "{recovering_share} of the window in all, {resent_segments} sent again"),
    rule="tcp_series:recoveries", rank=79, leads=False,
    figures=("longest_us", "recovering_share", "retransmissions", "recoveries"),
    advice=_("recovery takes longer over a longer round trip: check the path for errors or a "
        "short queue, or try another congestion control"),
    section="TCP over time",
    condition="The test has one stream. The window is divided into at least 20 spans of 100 ms (or "
        "of three round trips, if that is longer). A *slow run* is at least two consecutive spans "
        "with a rate of acknowledged bytes below 95 % of the window's median rate. In the slowest "
        "span of a slow run, the rate is at most 85 % of the median rate. A slow run is a "
        "*recovery* if a segment was sent again in the first span of the run or in the two spans "
        "before. The recoveries make up 5 to 40 % of the window. The probability that this number "
        "of slow runs follows losses by chance is at most 5 % (RFC 5681, RFC 9438: a loss reduces "
        "the congestion window to 50 or 70 %, and then the window grows once per round trip).")
