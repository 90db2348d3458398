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
    section=SECTION, condition="something recorded is shown to allow less than the `target`: a "
        "buffer, or auto-tuning's limit (tcp_rmem, tcp_wmem), by bytes in flight / round trip, "
        "if not even the whole buffer is enough; no window scaling (65535 bytes; RFC 7323, 2); "
        "loss on the path of streams offered at most 90 % of its ceiling, by the sequential "
        "test of RFC 8337 (7.2: one loss in 3 x window² packets against four times as many, "
        "both errors 5 %); the link's ceiling; or its measured throughput, under 98 % of the "
        "target")
note(
    "target-passes", _("{target_bit_per_s} over TCP at {target_rtt_ns} passes: {receiver} and "
    "{sender} allow windows of at least {needed_window_bytes}, and the loss of {lost_packets} "
    "of {packets} packets is within RFC 8337’s limit of one in {run_length_packets}"),
    rank=64, advice=_("nothing recorded speaks against it"),
    section=SECTION, condition="the least that both buffers allow (half of a receive buffer, 40 % "
        "of a send buffer, on Linux) is enough, a stream reached 98 % of the target, and the "
        "same test accepts the loss (TCP's segments sent again are counted as lost)")
note(
    "target-cannot-tell",
    _("{target_bit_per_s} over TCP at {target_rtt_ns} is undecided: {doubts}"),
    rank=65, advice=_("send for longer, or with larger socket buffers, to decide"),
    section=SECTION, condition="neither is shown: too few packets to bound the loss, or the limit "
        "of a buffer is not known closely enough. The finding has what is missing")
