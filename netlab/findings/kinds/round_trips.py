"""Kinds of findings about round trips and connections."""

from netlab.findings.kinds.kind import note, value, warning
from netlab.messages import _

SECTION = "Round trips and connections"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "below-floor",
    _("{in_trials}: {what} took {typical_trip_ns} (the shortest {shortest_trip_ns}), but their "
        "frames alone take {floor_trip_ns} on {link}: a shaper passes short bursts faster, or the "
        "path is another one"),
    _("{what} took {typical_trip_ns} (the shortest {shortest_trip_ns}), but their frames alone "
        "take {floor_trip_ns} on {link}: a shaper passes short bursts faster, or the path is "
        "another one"),
    _("{in_trials}: the shortest of the {what} took {shortest_trip_ns}, but its frames alone take "
        "{floor_trip_ns} on {link}: a shaper passes short bursts faster, or the path is another "
        "one"),
    _("the shortest of the {what} took {shortest_trip_ns}, but its frames alone take "
        "{floor_trip_ns} on {link}: a shaper passes short bursts faster, or the path is another "
        "one"),
    rule="round_trips.parts:below_floor", rank=11,
    advice=_("state the real rate of the link and the routers on it; on a link with a shaper use "
        "rates, not times"),
    section=SECTION,
    condition="The *minimum time* of each direction has two parts. The first part is the time of "
        "all frames at the link's rate, with preamble, FCS and the gaps between them. The second "
        "part is the time of the shortest frame, once for each stated router (`hops`). For a "
        "connection, the two packets that open it are included, without their options. The "
        "shortest round trip of a trial is below the minimum time of both directions on the stated "
        "link, by more than 1 % plus 1 µs. If single times are not recorded, the mean round trip "
        "is compared instead of the shortest [IEEE 802.3 framing; RFC 791, RFC 8200 fragments]. "
        "Not stated if both ends are on one host.")
warning(
    "trip-waited-for-cpu",
    _("{in_trials}: {cause} for {waited_trip_ns} of the mean time of {mean_trip_ns}; the mean of "
        "trials with shorter waits is {best_trip_ns}"),
    _("{cause} for {waited_trip_ns} of the mean time of {mean_trip_ns}; the mean of trials with "
        "shorter waits is {best_trip_ns}"),
    _("{in_trials}: {cause} for {waited_trip_ns} of the mean time of {mean_trip_ns}"),
    _("{cause} for {waited_trip_ns} of the mean time of {mean_trip_ns}"),
    rule="round_trips.parts:waited", rank=12,
    advice=_("this time is due to the host, not to the path: stop other programs there, raise the "
        "quota, or let `quiet` in the matrix repeat such trials"),
    section=SECTION,
    condition="The *wait* of an end is its run-queue delay or the time for which its quota "
        "throttled it, whichever is longer. The wait of a trial is the sum of the waits of both "
        "ends; if the steal of an end is longer than this sum, the steal counts instead. The wait "
        "of a trial is at least 5 % of the time of its round trips, in a window of at least 0.2 s. "
        "The rule compares the trial with all trials of its cell that waited less than half as "
        "long per round trip. Each compared trial has a shorter mean round trip. The median of "
        "these means is at least 5 % shorter than the mean of the trial (20 % with one compared "
        "trial). With at least four compared trials, the difference is also at least 4.5 median "
        "absolute deviations of these means (three standard deviations). The difference in waits "
        "explains at least half of the difference in means. If there is no trial to compare with, "
        "the finding is stated only if the longest wait is that of a quota, and this quota "
        "throttled the end in more than 5 % of its periods. Not stated for trials in which data "
        "stopped or a process did not run [schedstat of Linux; cgroup cpu.stat].")
warning(
    "first-packet-lost",
    _("{in_trials}: {lost_connections} of {connections} connections took up to "
        "{longest_trip_ns}, typical of a lost SYN or SYN-ACK, which is sent again after 1 s; "
        "without them the mean is {mean_without_trip_ns} instead of {mean_trip_ns}"),
    _("{lost_connections} of {connections} connections took up to {longest_trip_ns}, typical of "
        "a lost SYN or SYN-ACK, which is sent again after 1 s; without them the mean is "
        "{mean_without_trip_ns} instead of {mean_trip_ns}"),
    rule="round_trips.shape:first_packet_lost", rank=13,
    advice=_("check the path for loss, and the server for a listen queue that overflows"),
    section=SECTION,
    condition="The median time of the connections is at most 0.2 s. Some connections took *about* "
        "1, 2, 3, 4, 5 or 7 s. \"About\" means at most 1 % shorter, and longer by at most an "
        "eighth plus four times the median. Of all connections that took at least 0.9 s, at least "
        "four in five took about one of these times, and at least half took about 1 s. The "
        "processes of the probes paused for less than half of the total time of the connections "
        "that took about one of these times [RFC 6298, section 2: the first time-out of TCP is 1 "
        "s].")
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
        "peaks at least 20 % apart. At least a tenth of all times is within 30 % of each peak. "
        "Between the peaks, the density falls to at most half of the density at the lower peak. "
        "This fall is at least 5 standard deviations of the counts [Gaussian kernel of 3 % on the "
        "logarithms: Silverman, Density Estimation, 1986]. The finding names a possible cause, if "
        "a host's facts show one. One possible cause is a sleep state of the CPUs: an end sleeps "
        "while it waits, and its CPUs may need at least a quarter of the distance between the "
        "peaks to wake up. The other is interrupt moderation: the interface of an end may delay "
        "interrupts for at least a quarter of this distance.")
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
    condition="A round trip is *long* if it takes more than ten times the median of its trial. The "
        "*excess time* is the total time by which the long round trips exceed the median. In more "
        "than half of the trials, at least five round trips are long, and the excess time is at "
        "least a tenth of the time of all round trips. The finding names TCP segments that were "
        "sent again as the cause if there is at least one for every two long round trips. It names "
        "waits for a CPU as the cause if they explain at least half of the excess time. A trial "
        "does not show this finding if `trip-waited-for-cpu` or `first-packet-lost` explains it. "
        "Trials in which data stopped or a process did not run are left out.")
note(
    "comparison", section=SECTION,
    condition="cells of one pairing that differ in one setting with two to four values in the run: "
        "protocol, IP version, how the ends receive, TCP_NODELAY, UDP's checksum, congestion "
        "control, or how connections are closed. `differs`: over all pairs of cells with the same "
        "two values, Student's t test of the logarithms of the trials' means, paired by block "
        "(Welch's test for imported figures), with at least three trials, shows a difference of at "
        "least 0.5 %; all comparisons of a run are tested together (Benjamini and Hochberg, 1 %). "
        "The number of differing pairs is stated instead of the mean if single pairs contradict it "
        "or only they show it. `inconclusive`: neither; with the smallest difference that would be "
        "detected in four of five such runs [Bloom, Evaluation Review 19, 1995].",
    values={
        "differs": value(
            _("{least_ratio} to {most_ratio} times as long as with {baseline}, shown in "
                "{differing} of {all_pairs} (n = {n})"),
            _("{only_ratio} times as long as with {baseline}, shown in 1 of {all_pairs} (n = "
                "{n})"),
            _("{ratio} times as long as with {baseline}, the mean of {pairs_of_cells} (99 %: "
                "{low_ratio} to {high_ratio}, n = {n})"),
            _("{ratio} times as long as with {baseline} (99 %: {low_ratio} to {high_ratio}, n = "
                "{n})"), rule="round_trips.variants:variants", rank=65,
            advice=_("the table of round trips has each cell with its interval")),
        "inconclusive": value(
            _("the comparison with {baseline} is inconclusive (n = {n}; a difference of "
                "{detectable_share} could have been detected)"), rank=80, leads=False,
            advice=_("more trials show smaller differences"))})
note(
    "trip-made-of",
    _("a mean time of {mean_trip_ns} consists of {trip_parts}; the rest is {rest_trip_ns}"),
    rule="round_trips.parts:made_of", rank=79, leads=False,
    advice=_("shortening the largest part gains the most"),
    section=SECTION,
    condition="The trials are not paced and have one request in flight. The finding has up to four "
        "parts of a mean round trip, as medians over the trials. First: the minimum time on the "
        "wire (see `below-floor`), if the shortest round trip is not below it. Second: one of "
        "three times of the server, which are the time in its stack by time stamps, the time for "
        "which it held the answer back, and the CPU time of its thread. Third: the CPU time of the "
        "client's thread. Fourth: the time in which an end was ready to run but had no CPU. The "
        "CPU time of an end that spins is left out, because it includes waiting. At least two "
        "parts must be known in all trials, and the sum of the parts must be 25 to 100 % of the "
        "round trip. The rest is sleeping and waking, interrupts, and the devices between the "
        "ends.")
