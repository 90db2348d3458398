"""The kinds of findings about round trips and connections. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "Round trips and connections"

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "below-floor",
    _("{in_trials}: {what} of {typical_trip_ns}, the shortest of {shortest_trip_ns}, where "
        "the frames alone take {floor_trip_ns} on {link}: the stated rate does not delay single "
        "frames (a shaper lets a burst pass), or the path is another"),
    _("{what} of {typical_trip_ns}, the shortest of {shortest_trip_ns}, where the frames "
        "alone take {floor_trip_ns} on {link}: the stated rate does not delay single frames (a "
        "shaper lets a burst pass), or the path is another"),
    _("{in_trials}: the shortest of its {what} took {shortest_trip_ns}, where the frames alone "
        "take {floor_trip_ns} on {link}: the stated rate does not delay single frames (a shaper "
        "lets a burst pass), or the path is another"),
    _("the shortest of its {what} took {shortest_trip_ns}, where the frames alone take "
        "{floor_trip_ns} on {link}: "
        "the stated rate does not delay single frames (a shaper lets a burst pass), or the path "
        "is another"),
    rule="round_trips.floor:below_floor", rank=11,
    advice=_("state the link's rate and its routers as they are; of a shaped link take rates, not "
        "times"),
    section=SECTION,
    stated="The shortest round trip of a trial is below what its frames take on the stated link by "
        "more than 1 % and 1 µs: for each way with its own frames, all of them with preamble and "
        "FCS and the gaps between them once at the link's rate, and the last one again for each "
        "router stated (`hops`). Of a connection the packets that open it, without options, are "
        "counted as well; where single times are not recorded the mean is held against it "
        "[IEEE 802.3 framing; RFC 791, RFC 8200 fragments]. Not between two ends on one host.")
warning(
    "trip-waited-for-cpu",
    _("{in_trials}: {cause} for {waited_trip_ns} of a mean of {mean_trip_ns}; "
        "trials in which that was less took {best_trip_ns}"),
    _("{cause} for {waited_trip_ns} of a mean of {mean_trip_ns}; trials in which "
        "that was less took {best_trip_ns}"),
    _("{in_trials}: {cause} for {waited_trip_ns} of a mean of {mean_trip_ns}"),
    _("{cause} for {waited_trip_ns} of a mean of {mean_trip_ns}"),
    rule="round_trips.waits:waited", rank=12,
    advice=_("the time is the host's, not the path's: end what else runs there, raise the quota, "
        "or let `quiet` in the matrix measure such trials again"),
    section=SECTION,
    stated="The ends of a trial waited for a CPU for 5 % and more of the time of its round trips "
        "(run-queue delay or quota of both ends together, or the larger steal where that is "
        "more; windows of 0.2 s and more); every trial of the same cell with less than half of its "
        "waits was faster, in the median by 5 % and by three standard deviations of theirs (from "
        "four on; one alone by 20 %); and what it waited more accounts for half of that and "
        "more. A quota that throttled more than 5 % of its periods is named without such trials as "
        "well. Not of trials in which data stopped or a process was held up [schedstat of Linux; "
        "cgroup cpu.stat].")
warning(
    "first-packet-lost",
    _("{in_trials}: {lost_connections} of {connections} connections took up to {longest_trip_ns}, "
        "as they do when the packet that opens them, or its answer, is lost and sent again after "
        "1 s; without them the mean is {mean_without_trip_ns} and not {mean_trip_ns}"),
    _("{lost_connections} of {connections} connections took up to {longest_trip_ns}, as they do "
        "when the packet that opens them, or its answer, is lost and sent again after 1 s; without "
        "them the mean is {mean_without_trip_ns} and not {mean_trip_ns}"),
    rule="round_trips.connections:first_packet_lost", rank=13,
    advice=_("look for loss on the path, and for a listener whose queue overflows"),
    section=SECTION,
    stated="Connections that took 1, 2, 3, 4, 5 or 7 s (an eighth and four medians late at "
        "most) where the median is 0.2 s at most; of those of 0.9 s and more they are four in five "
        "and more, and half of them are of 1 s; and no process was held up for half of their "
        "time [RFC 6298, section 2: the first time-out of TCP is 1 s].")
note(
    "two-modes",
    _("{in_trials}: the times fall into two groups, {lower_share} about {lower_trip_ns} and "
        "{upper_share} about {upper_trip_ns}; {suspect}"),
    _("the times fall into two groups, {lower_share} about {lower_trip_ns} and {upper_share} about "
        "{upper_trip_ns}; {suspect}"),
    _("{in_trials}: the times fall into two groups, {lower_share} about {lower_trip_ns} and "
        "{upper_share} about {upper_trip_ns}"),
    _("the times fall into two groups, {lower_share} about {lower_trip_ns} and {upper_share} about "
        "{upper_trip_ns}"),
    rule="round_trips.shape:two_groups", rank=66,
    advice=_("a mean of both is the time of neither: take percentiles, and look for what switches "
        "between them"),
    section=SECTION,
    stated="In more than half of the trials the histogram of single times (200 and more) has two "
        "peaks 20 % and more apart, a tenth of all times within 30 % of each; between them the "
        "density is half of the lower peak's at most, and by 5 standard deviations of its counts "
        "deeper [Gaussian kernel of 3 % on the logarithms: Silverman, Density Estimation, 1986]. "
        "A CPU's sleep state is named where an end that waits asleep may take a quarter of the "
        "distance and more to wake from it; an interface's held-back interrupts likewise; else "
        "neither.")
note(
    "rtt-outliers",
    _("{in_trials}: {long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} and not {mean_trip_ns}; TCP sent {segments} again"),
    _("{long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} and not {mean_trip_ns}; TCP sent {segments} again"),
    _("{in_trials}: {long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} and not {mean_trip_ns}; the ends waited {waited_ns} for a CPU in "
        "that time"),
    _("{long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} and not {mean_trip_ns}; the ends waited {waited_ns} for a CPU in "
        "that time"),
    _("{in_trials}: {long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} and not {mean_trip_ns}"),
    _("{long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} and not {mean_trip_ns}"),
    rule="round_trips.shape:outliers", rank=68,
    advice=_("go by the median, and look for what holds single messages up"),
    section=SECTION,
    stated="In more than half of the trials five round trips or more took over ten times the "
        "median, and what they took beyond it is a tenth and more of the time of all. Segments "
        "that TCP sent again are named where there are half as many of them and more; waits for a "
        "CPU where they make half of that time and more. Not of trials that "
        "`trip-waited-for-cpu`, `first-packet-lost` or a finding about stops explains.")
note(
    "variants",
    _("{least_ratio} to {most_ratio} times as long as with {baseline}, shown in {differing} of "
        "{all_pairs} (n = {n})"),
    _("{only_ratio} times as long as with {baseline}, shown in 1 of {all_pairs} (n = {n})"),
    _("{ratio} times as long as with {baseline}, the mean of {pairs_of_cells} (99 %: {low_ratio} "
        "to {high_ratio}, n = {n})"),
    _("{ratio} times as long as with {baseline} (99 %: {low_ratio} to {high_ratio}, n = {n})"),
    rule="round_trips.variants:variants", rank=65,
    advice=_("the table of round trips has each cell with its interval"),
    section=SECTION,
    stated="Cells of one pairing that differ in one setting alone, of two to four levels "
        "(protocol, version of IP, how the ends receive, TCP_NODELAY, UDP's checksum, congestion "
        "control, how connections are closed): Student's t on the logarithms of the trials' "
        "means, of all such pairs of cells together, paired by block (imported ones: Welch), three "
        "trials and more, all settings of a run judged together (Benjamini and Hochberg, 1 %), and "
        "a difference of 0.5 % at least. Where single pairs contradict the mean, or show a "
        "difference that it does not, they are counted instead.")
note(
    "no-difference",
    _("not shown to take another time than with {baseline} (n = {n}; {detectable_share} could have "
        "been detected)"),
    rank=80, leads=False,
    advice=_("more trials show smaller differences"),
    section=SECTION,
    stated="The same comparison where neither the mean nor a single pair of cells shows a "
        "difference. What could have been detected would have been in four of five such runs "
        "[Bloom, Evaluation Review 19, 1995].")
note(
    "trip-made-of",
    _("of a mean time of {mean_trip_ns} {trip_parts}; {rest_trip_ns} is the rest"),
    rule="round_trips.parts:made_of", rank=79, leads=False,
    advice=_("the largest part is where a shorter time is to be had"),
    section=SECTION,
    stated="One request under way and none at a stated rate: medians over the trials of what is "
        "recorded of a mean time. On the wire at least (as `below-floor` computes it, where no "
        "round trip was below it); in the server's stack by its time stamps, or held back by it, "
        "or its thread on a CPU; the client's thread on a CPU; ready to run and without one. Of "
        "an end that spins its CPU time says nothing and is left out. Two parts and more that "
        "together are a quarter of the whole and no longer than it; the rest is sleeping and "
        "waking, interrupts, and what stands between the ends.")
