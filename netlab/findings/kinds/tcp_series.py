"""What TCP's own numbers over the window show: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note
from netlab.messages import _

# A table: as few lines a row as it takes.
# fmt: off

note(
    "queue-on-path",
    _("{in_trials}: its own data waited in a queue on the way, up to {queue_bytes}: round trips of "
        "{least_rtt_us} became {half_rtt_us} and more for half of the time, up to {most_rtt_us}"),
    _("its own data waited in a queue on the way, up to {queue_bytes}: round trips of "
        "{least_rtt_us} became {half_rtt_us} and more for half of the time, up to {most_rtt_us}"),
    rule="tcp_series.queues:queues", rank=78, leads=False,
    figures=("queue_bytes", "least_rtt_us", "half_rtt_us", "most_rtt_us"),
    advice=_("what shares the path waits as long: a test of latency under load shows it; a shorter "
        "queue, or one that CoDel manages, where it should not"),
    section="TCP over time",
    stated="TCP's smoothed round trip, looked at every 10 ms, was 5 ms and more above the shortest "
        "(and half of that above it) in half of the window, and followed the congestion window "
        "(r of 0.5 and more) or was steady; no more than 1.25 congestion windows were on their "
        "way. What waited: (95th percentile - shortest) x throughput, ten packets and more. Not of "
        "paced streams, nor within one host (5 ms: RFC 8289, CoDel's target; ten packets: RFC "
        "6928).")
note(
    "loss-recovery",
    _("{in_trials}: after losses TCP took up to {longest_us} to be back at 95 % of its usual rate: "
        "{recovering_share} of the window in all, {resent_segments} sent again"),
    _("after losses TCP took up to {longest_us} to be back at 95 % of its usual rate: "
        "{recovering_share} of the window in all, {resent_segments} sent again"),
    rule="tcp_series.recoveries:recoveries", rank=79, leads=False,
    figures=("longest_us", "recovering_share", "retransmissions", "recoveries"),
    advice=_("the further the peer, the longer that takes: look for errors or a short queue on the "
        "path, or try another congestion control"),
    section="TCP over time",
    stated="Of one stream: two and more spans of 100 ms (of three round trips, where that is "
        "more), one behind the other, each with less than 95 % of the window's median rate of "
        "acknowledged bytes and one of them with 85 % and less, from a span with a segment sent "
        "again on, or from one of the two behind it. As many such runs as begin so would do so by "
        "chance with a probability of 5 % at most, and they are 5 to 40 % of the window (RFC 5681, "
        "RFC 9438: a loss takes the congestion window to 50 or 70 %, from where it grows by the "
        "round trip).")
