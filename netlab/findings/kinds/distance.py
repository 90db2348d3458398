"""What TCP would do over a longer path: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "What it would do at a distance"

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "target-fails", _("{target_bit_per_s} over TCP at {target_rtt_ns} fails: {bounds}"),
    rule="distance.target:at_a_distance", rank=60,
    advice=_("what allows least comes first: enlarge that buffer or auto-tuning’s limit (tcp_rmem, "
        "tcp_wmem), mend what loses packets, or ask for less"),
    section=SECTION, stated="something recorded is shown to allow less than the `target`: a "
        "buffer, or auto-tuning's limit (tcp_rmem, tcp_wmem), by bytes on their way / round trip, "
        "where not even all of it would do; no window scaling (65535 bytes; RFC 7323, 2); loss on "
        "the path of streams offered 90 % of its ceiling and less, by the sequential test of RFC "
        "8337 (7.2: one loss in 3 x window² packets against four times as many, both errors 5 %); "
        "the link's ceiling; or its measured throughput, under 98 % of the target")
note(
    "target-passes", _("{target_bit_per_s} over TCP at {target_rtt_ns} passes: {receiver} and "
        "{sender} allow windows of {needed_window_bytes} and more, and {lost_packets} of {packets} "
        "packets lost are within the one in {run_length_packets} that RFC 8337 allows"),
    rank=64, advice=_("nothing that was recorded stands against it"),
    section=SECTION, stated="the least that both buffers allow (half of a receive buffer, 40 % of "
        "a send buffer, of Linux) is enough, a stream came to 98 % of it, "
        "and the same test accepts the loss (TCP's segments sent again counted as lost)")
note(
    "target-cannot-tell",
    _("{target_bit_per_s} over TCP at {target_rtt_ns}, cannot tell: {doubts}"),
    rank=65, advice=_("send for longer, or with more in the socket buffers, to tell"),
    section=SECTION, stated="neither: too few packets bound the loss, or what a buffer allows is "
        "not known closely enough; with what is missing")
