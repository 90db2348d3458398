"""Kinds of findings about what TCP would reach over a longer path."""

from netlab.findings.kinds.kind import note, value
from netlab.messages import _

SECTION = "What it would do at a distance"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

note(
    "target", rule="distance:at_a_distance", section=SECTION,
    condition="`fails`: one of five limits is below the `target`. A socket buffer, or the largest "
        "that auto-tuning may choose (tcp_rmem, tcp_wmem): at most all of it is in flight per "
        "round trip, of a Linux send buffer 63 % without `tso` and `gso`. A receive window without "
        "window scaling: 65,535 bytes (RFC 7323, section 2). Loss, in UDP streams with an offered "
        "rate of at most 90 % of the wire ceiling, by the sequential test of RFC 8337 (section "
        "7.2): one packet in 3 x window² or four times as many, 5 % for either error. The wire "
        "ceiling. The measured throughput, below 98 % of the target. `passes`: both buffers allow "
        "enough even by the lower bounds (on Linux half of a receive buffer, 40 % of a send "
        "buffer), a stream reached 98 % of the target, and the loss is low enough, in these UDP "
        "streams or in all streams with segments sent again. `undecided`: the records show neither",
    values={
        "fails": value(
            _("{target_bit_per_s} over TCP at {target_rtt_ns} fails: {bounds}"),
            severity="warning", rank=60,
            advice=_("the tightest limit is listed first: enlarge that buffer or auto-tuning’s "
                "limit (tcp_rmem, tcp_wmem), remove the cause of the loss, or lower the target")),
        "passes": value(
            _("{target_bit_per_s} over TCP at {target_rtt_ns} passes: {receiver} and {sender} "
                "allow windows of at least {needed_window_bytes}, and the loss of {lost_packets} "
                "of {packets} packets is within RFC 8337’s limit of one in {run_length_packets}"),
            rank=64, advice=_("nothing in the records contradicts this")),
        "undecided": value(
            _("{target_bit_per_s} over TCP at {target_rtt_ns} is undecided: {doubts}"), rank=65,
            advice=_("send for longer, or with larger socket buffers, so that the records "
                "decide"))})
