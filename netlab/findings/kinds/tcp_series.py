"""TCP's own figures over the window: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note
from netlab.messages import _

# A table: as few lines per row as possible.
# fmt: off

note(
    "queue-on-path",
    _("{in_trials}: up to {queue_bytes} of its own data waited in a queue on the path: round "
        "trips grew from {least_rtt_us} to at least {half_rtt_us} for half of the time, and to at "
        "most {most_rtt_us}"),
    _("up to {queue_bytes} of its own data waited in a queue on the path: round trips grew from "
        "{least_rtt_us} to at least {half_rtt_us} for half of the time, and to at most "
        "{most_rtt_us}"),
    rule="tcp_series.queues:queues", rank=78, leads=False,
    figures=("queue_bytes", "least_rtt_us", "half_rtt_us", "most_rtt_us"),
    advice=_("other traffic on the path waits for the same time (a test of latency under load "
        "shows it): use a shorter queue, or one with CoDel"),
    section="TCP over time",
    condition="For half of the window, TCP's smoothed round trip, sampled every 10 ms, exceeded "
        "the shortest one by at least 5 ms and by at least half of the shortest. The round trip "
        "followed the congestion window (correlation r of at least 0.5), or it was steady (its "
        "95th percentile is at most 1.25 times its 10th). At most 1.25 congestion windows were in "
        "flight. The amount of data in the queue is (95th percentile - shortest) x throughput; it "
        "must be at least ten packets. Not stated for paced streams, for streams within one host, "
        "or if a hypervisor gave more than 5 % of the CPU time of one end to other machines (5 ms: "
        "RFC 8289, CoDel's target; ten packets: RFC 6928).")
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
    condition="The window is divided into spans of 100 ms, or of three round trips if that is "
        "longer. TCP recovers in at least two consecutive spans whose rate of acknowledged bytes "
        "is below 95 % of the window's median rate, in one of them at most 85 %. In the first of "
        "these spans, or at most two spans earlier, a segment was sent again. The recoveries make "
        "up 5 to 40 % of the window. The probability that chance gives as many recoveries is at "
        "most 5 %. The test has one stream (RFC 5681, RFC 9438: a loss reduces the congestion "
        "window to 50 or 70 %, and then the window grows once per round trip).")
