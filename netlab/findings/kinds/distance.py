"""Kinds of findings about what TCP would reach over a longer path. No I/O."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "What it would do at a distance"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "target/fails", _("{target_bit_per_s} over TCP at {target_rtt_ns} fails: {bounds}"),
    rule="distance.target:at_a_distance", rank=60,
    advice=_("the tightest limit is listed first: enlarge that buffer or auto-tuning’s limit "
        "(tcp_rmem, tcp_wmem), remove the cause of the loss, or lower the target"),
    section=SECTION, condition="at least one of five limits is below the `target`. First: what a "
        "socket buffer allows. If no buffer was requested, this is the largest buffer that "
        "auto-tuning may choose (tcp_rmem, tcp_wmem). At most the whole buffer is in flight per "
        "round trip. Of a Linux send buffer, at most 63 % is in flight if the host cuts segments "
        "before they reach the interface (no `tso`, no `gso`). Second: a receive window without "
        "window scaling, which is at most 65,535 bytes per round trip (RFC 7323, section 2). "
        "Third: loss on the path, in UDP streams with an offered rate of at most 90 % of the wire "
        "ceiling. The sequential test of RFC 8337 (section 7.2) judges this loss. The test decides "
        "whether the path loses one packet in 3 x window², or four times as many, with a "
        "probability of 5 % for either error (window: in packets). Fourth: the wire ceiling of the "
        "link. Fifth: the measured throughput, if it is below 98 % of the target")
note(
    "target/passes", _("{target_bit_per_s} over TCP at {target_rtt_ns} passes: {receiver} and "
    "{sender} allow windows of at least {needed_window_bytes}, and the loss of {lost_packets} "
    "of {packets} packets is within RFC 8337’s limit of one in {run_length_packets}"),
    rank=64, advice=_("nothing in the records contradicts this"),
    section=SECTION, condition="both socket buffers allow enough data in flight, even by the lower "
        "bounds (on Linux half of a receive buffer, and 40 % of a send buffer). A stream reached "
        "98 % of the target. The loss test of `target/fails` shows that the loss is low enough, "
        "either in the UDP streams that `target/fails` uses, or in all streams together. In all "
        "streams together, TCP segments that were sent again also count as lost")
note(
    "target/undecided",
    _("{target_bit_per_s} over TCP at {target_rtt_ns} is undecided: {doubts}"),
    rank=65, advice=_("send for longer, or with larger socket buffers, so that the records decide"),
    section=SECTION, condition="the records show neither `target/fails` nor `target/passes`. For "
        "example, there are too few packets to judge the loss, or the target is between the two "
        "bounds of what a buffer allows. The finding states what is missing")
