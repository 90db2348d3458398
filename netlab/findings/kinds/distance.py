"""What TCP would reach over a longer path: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "What it would do at a distance"

# A table: as few lines per row as possible.
# fmt: off

warning(
    "target-fails", _("{target_bit_per_s} over TCP at {target_rtt_ns} fails: {bounds}"),
    rule="distance.target:at_a_distance", rank=60,
    advice=_("the tightest limit is listed first: enlarge that buffer or auto-tuning’s limit "
        "(tcp_rmem, tcp_wmem), remove the cause of the loss, or lower the target"),
    section=SECTION, condition="the records show that something allows less than the `target`. It "
        "can be a socket buffer or the limit of auto-tuning (tcp_rmem, tcp_wmem), if even the "
        "whole buffer in flight per round trip is not enough. It can be missing window scaling "
        "(65535 bytes; RFC 7323, 2). It can be loss on the path, in streams that were offered at "
        "most 90 % of the wire ceiling. The loss is judged by the sequential test of RFC 8337 "
        "(7.2): it decides between one loss in 3 x window² packets and four times as many losses, "
        "with a probability of 5 % for either error. It can be the link's wire ceiling. And it can "
        "be the measured throughput, if it is below 98 % of the target")
note(
    "target-passes", _("{target_bit_per_s} over TCP at {target_rtt_ns} passes: {receiver} and "
    "{sender} allow windows of at least {needed_window_bytes}, and the loss of {lost_packets} "
    "of {packets} packets is within RFC 8337’s limit of one in {run_length_packets}"),
    rank=64, advice=_("nothing in the records contradicts this"),
    section=SECTION, condition="both socket buffers allow enough data in flight, even by the lower "
        "bounds (on Linux half of a receive buffer, and 40 % of a send buffer). A stream reached "
        "98 % of the target. The test of `target-fails` accepts the loss; TCP segments that were "
        "sent again count as lost")
note(
    "target-cannot-tell",
    _("{target_bit_per_s} over TCP at {target_rtt_ns} is undecided: {doubts}"),
    rank=65, advice=_("send for longer, or with larger socket buffers, so that the records decide"),
    section=SECTION, condition="the records show neither `target-fails` nor `target-passes`. There "
        "are too few packets to judge the loss, or the bounds of what a buffer allows are too far "
        "apart. The finding states what is missing")
