"""The kinds of findings about round trips and connections. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "Round trips and connections"

# A table: as few lines per row as possible.
# fmt: off

warning(
    "below-floor",
    _("{in_trials}: {what} of {typical_trip_ns}, the shortest {shortest_trip_ns}, but the "
        "frames alone take {floor_trip_ns} on {link}: the stated rate does not delay single "
        "frames (a shaper lets a burst pass), or the path is a different one"),
    _("{what} of {typical_trip_ns}, the shortest {shortest_trip_ns}, but the frames alone take "
        "{floor_trip_ns} on {link}: the stated rate does not delay single frames (a shaper lets "
        "a burst pass), or the path is a different one"),
    _("{in_trials}: the shortest of its {what} took {shortest_trip_ns}, but the frames alone "
        "take {floor_trip_ns} on {link}: the stated rate does not delay single frames (a shaper "
        "lets a burst pass), or the path is a different one"),
    _("the shortest of its {what} took {shortest_trip_ns}, but the frames alone take "
        "{floor_trip_ns} on {link}: the stated rate does not delay single frames (a shaper lets "
        "a burst pass), or the path is a different one"),
    rule="round_trips.floor:below_floor", rank=11,
    advice=_("state the real rate of the link and the routers on it; on a link with a shaper use "
        "rates, not times"),
    section=SECTION,
    condition="The shortest round trip of a trial is shorter than the time that its frames need on "
        "the stated link, by more than 1 % and more than 1 µs. The time of each direction is the "
        "sum of two parts: all frames once at the link's rate, with preamble, FCS and the gaps "
        "between them; and the last frame once more for each stated router (`hops`). For a "
        "connection, the packets that open it are included, without their options. If single times "
        "are not recorded, the mean is used [IEEE 802.3 framing; RFC 791, RFC 8200 fragments]. Not "
        "stated if both ends are on one host.")
warning(
    "trip-waited-for-cpu",
    _("{in_trials}: {cause} for {waited_trip_ns} of a mean of {mean_trip_ns}; trials with "
        "shorter waits took {best_trip_ns}"),
    _("{cause} for {waited_trip_ns} of a mean of {mean_trip_ns}; trials with shorter waits took "
        "{best_trip_ns}"),
    _("{in_trials}: {cause} for {waited_trip_ns} of a mean of {mean_trip_ns}"),
    _("{cause} for {waited_trip_ns} of a mean of {mean_trip_ns}"),
    rule="round_trips.waits:waited", rank=12,
    advice=_("this time is due to the host, not to the path: stop other programs there, raise the "
        "quota, or let `quiet` in the matrix repeat such trials"),
    section=SECTION,
    condition="The ends of a trial waited for a CPU for at least 5 % of the time of its round "
        "trips, in a window of at least 0.2 s. The wait is the run-queue delay or quota of both "
        "ends together, or the larger steal if that is more. The trial is compared with all trials "
        "of its cell that waited less than half as long. Each of these must be faster; in the "
        "median they must be faster by 5 % and by three standard deviations (if there are at least "
        "four of them; a single one by 20 %). The longer wait must explain at least half of the "
        "difference. A quota that throttled more than 5 % of its periods is named even without "
        "such trials. Not stated for trials in which data stopped or a process was held up "
        "[schedstat of Linux; cgroup cpu.stat].")
warning(
    "first-packet-lost",
    _("{in_trials}: {lost_connections} of {connections} connections took up to "
        "{longest_trip_ns}, typical of a lost SYN or SYN-ACK, which is sent again after 1 s; "
        "without them the mean is {mean_without_trip_ns} instead of {mean_trip_ns}"),
    _("{lost_connections} of {connections} connections took up to {longest_trip_ns}, typical of "
        "a lost SYN or SYN-ACK, which is sent again after 1 s; without them the mean is "
        "{mean_without_trip_ns} instead of {mean_trip_ns}"),
    rule="round_trips.connections:first_packet_lost", rank=13,
    advice=_("check the path for loss, and the server for a listen queue that overflows"),
    section=SECTION,
    condition="Some connections took about 1, 2, 3, 4, 5 or 7 s (at most an eighth and four "
        "medians more), while the median is at most 0.2 s. These are at least four in five of all "
        "connections of 0.9 s and longer, and half of these took about 1 s. No process was held up "
        "for half of their time [RFC 6298, section 2: the first time-out of TCP is 1 s].")
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
    advice=_("the mean describes neither group: use percentiles, and find what switches between "
        "them"),
    section=SECTION,
    condition="In more than half of the trials, the histogram of at least 200 single times has two "
        "peaks at least 20 % apart, and at least a tenth of all times is within 30 % of each peak. "
        "The density between the peaks is at most half of the lower peak's, and below it by at "
        "least 5 standard deviations of its counts [Gaussian kernel of 3 % on the logarithms: "
        "Silverman, Density Estimation, 1986]. The finding names a CPU's sleep state as a possible "
        "cause if an end sleeps while it waits, and waking up may take at least a quarter of the "
        "distance between the peaks. It names interrupt moderation of an interface by the same "
        "rule.")
note(
    "rtt-outliers",
    _("{in_trials}: {long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} instead of {mean_trip_ns}; TCP sent {segments} again"),
    _("{long_trips} of {trips} {what} took more than ten times the median of {median_trip_ns}, "
        "up to {longest_trip_ns}; without them the mean is {mean_without_trip_ns} instead of "
        "{mean_trip_ns}; TCP sent {segments} again"),
    _("{in_trials}: {long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} instead of {mean_trip_ns}; the ends waited {waited_ns} for a "
        "CPU in that time"),
    _("{long_trips} of {trips} {what} took more than ten times the median of {median_trip_ns}, "
        "up to {longest_trip_ns}; without them the mean is {mean_without_trip_ns} instead of "
        "{mean_trip_ns}; the ends waited {waited_ns} for a CPU in that time"),
    _("{in_trials}: {long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} instead of {mean_trip_ns}"),
    _("{long_trips} of {trips} {what} took more than ten times the median of {median_trip_ns}, "
        "up to {longest_trip_ns}; without them the mean is {mean_without_trip_ns} instead of "
        "{mean_trip_ns}"),
    rule="round_trips.shape:outliers", rank=68,
    advice=_("use the median, and find what delays single messages"),
    section=SECTION,
    condition="In more than half of the trials, at least five round trips took over ten times the "
        "median, and the time by which they exceed it is at least a tenth of the total time of all "
        "round trips. TCP segments that were sent again are named as the cause if there are at "
        "least half as many of them as long round trips; waits for a CPU, if they explain at least "
        "half of the excess time. Not stated for trials that `trip-waited-for-cpu`, "
        "`first-packet-lost` or a finding about stopped data explains.")
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
    condition="Cells of one pairing differ in only one setting, with two to four levels (protocol, "
        "version of IP, how the ends receive, TCP_NODELAY, UDP's checksum, congestion control, how "
        "connections are closed). Student's t test on the logarithms of the trials' means compares "
        "all such pairs of cells together, paired by block (for imported figures Welch's test). It "
        "needs at least three trials and a difference of at least 0.5 %. All settings of a run are "
        "tested together (Benjamini and Hochberg, 1 %). If single pairs contradict the mean, or "
        "show a difference that the mean does not, the finding has the number of pairs instead.")
note(
    "no-difference",
    _("the comparison with {baseline} is inconclusive (n = {n}; a difference of "
        "{detectable_share} could have been detected)"),
    rank=80, leads=False,
    advice=_("more trials show smaller differences"),
    section=SECTION,
    condition="As `variants`, but neither the mean nor a single pair of cells shows a difference. "
        "The finding has the difference that would be detected in four of five such runs [Bloom, "
        "Evaluation Review 19, 1995].")
note(
    "trip-made-of",
    _("a mean time of {mean_trip_ns} consists of {trip_parts}; the rest is {rest_trip_ns}"),
    rule="round_trips.parts:made_of", rank=79, leads=False,
    advice=_("shortening the largest part gains the most"),
    section=SECTION,
    condition="The trials are not paced and have one request in flight. The finding has the parts "
        "of a mean round trip, as medians over the trials. A part can be: the minimum time on the "
        "wire (see `below-floor`; only if no round trip was shorter); the time in the server's "
        "stack by its time stamps, the time for which the server held the answer back, or the CPU "
        "time of the server's thread; the CPU time of the client's thread; and the time in which "
        "an end was ready to run but had no CPU. The CPU time of an end that polls without "
        "sleeping is left out, because it includes waiting. At least two parts are needed, which "
        "together are at least a quarter of the whole and not longer than it. The rest is sleeping "
        "and waking, interrupts, and the devices between the ends.")
