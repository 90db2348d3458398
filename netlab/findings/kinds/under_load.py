"""What a full path does to round trips beside the load: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "Latency under load"

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "load-below-path",
    _("{in_trials}: the load was {throughput_bit_per_s}, {load_share} of what the path carries at "
        "most: the increase is not that of a full path"),
    _("the load was {throughput_bit_per_s}, {load_share} of what the path carries at most: the "
        "increase is not that of a full path"),
    rule="under_load:under_load", rank=20, section=SECTION,
    advice=_("a higher rate, more streams, or a longer load where TCP has not found the rate yet"),
    stated="The load's throughput is less than 90 % of the wire ceiling of the link that is "
        "stated, of the better direction where both are filled, and both medians are known and no "
        "standing queue (below) is between them: with a queue the path is full, whatever the link "
        "is said to be.")
note(
    "standing-queue",
    _("{in_trials}: under load round trips of {idle_rtt_ns} became {loaded_rtt_ns} in the median "
        "and {loaded_p99_ns} at 99 %: about {queue_bytes} of payload wait on the path"),
    _("under load round trips of {idle_rtt_ns} became {loaded_rtt_ns} in the median and "
        "{loaded_p99_ns} at 99 %: about {queue_bytes} of payload wait on the path"),
    _("{in_trials}: under load round trips of {idle_rtt_ns} became {loaded_rtt_ns} in the median"),
    _("under load round trips of {idle_rtt_ns} became {loaded_rtt_ns} in the median"),
    rank=30, section=SECTION,
    advice=_("what shares the path waits as long: a shorter queue, one that CoDel manages, or a "
        "congestion control that does not fill it"),
    stated="The loaded median is 5 ms and more above the idle one, and half of that above it. What "
        "waits is the increase x the load's throughput, of a load that goes one way (5 ms: RFC "
        "8289, CoDel's target).")
note(
    "no-standing-queue",
    _("{in_trials}: the path is full and no queue to speak of stands in it: round trips of "
        "{idle_rtt_ns} became {loaded_rtt_ns} in the median"),
    _("the path is full and no queue to speak of stands in it: round trips of {idle_rtt_ns} became "
        "{loaded_rtt_ns} in the median"),
    rank=31, section=SECTION,
    advice=_("that is the result: what shares the path hardly waits"),
    stated="The loaded median is less than 5 ms, or less than half of the idle one, above it, and "
        "the load is 90 % of the wire ceiling and more.")
note(
    "requests-lost-under-load",
    _("{in_trials}: {lost_requests} of {requests} were lost under load, {lost_requests_share}; "
        "{idle_lost_requests} of {idle_requests} before it"),
    _("{lost_requests} of {requests} were lost under load, {lost_requests_share}; "
        "{idle_lost_requests} of {idle_requests} before it"),
    rank=32, section=SECTION,
    advice=_("a queue that drops what comes when it is full drops everybody's; one that shares by "
        "flow does not"),
    stated="Five requests and more of the loaded phase were lost, and their share is ten times "
        "that of the idle one and more.")
