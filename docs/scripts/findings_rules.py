"""The rule of each kind of finding in words, and its heading in docs/findings.md.

Only the documentation needs them. A threshold in a rule is the name of its constant in braces, so
that no rule is out of date: ``{stream_rules.STARVED:%}``, ``{derived.WINDOW_NS/1e9}``.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping

from netlab import findings
from netlab.findings.catalogue import Kind

RUN, DOUBTFUL = "About a run", "What makes a stream's figure doubtful"
BOTTLENECK, LOST = "The bottleneck of a stream", "Where messages were lost"
TCP_OVER_TIME, OVER_TIME = "TCP over time", "Over time"
UNDER_LOAD, ROUND_TRIPS = "Latency under load", "Round trips and connections"
RATES = "Searches for the highest rate (RFC 2544)"
PAYLOADS = "Searches for the largest payload"
MESH, AT_A_DISTANCE = "Hosts against hosts", "What it would do at a distance"

RULES: Mapping[str, tuple[str, str]] = {
    "target": (
        AT_A_DISTANCE,
        "`fails`: one of five limits is below the `target`. A socket buffer, or the largest that "
        "auto-tuning may choose (tcp_rmem, tcp_wmem): at most all of it is in flight per round "
        "trip, of a Linux send buffer {distance.SENT_MOST:%} without `tso` and `gso`. A receive "
        "window without window scaling: {distance.UNSCALED_BYTES} bytes (RFC 7323, section 2). "
        "Loss, in UDP streams with an offered rate of at most {distance.GENTLE:%} of the wire "
        "ceiling, by the sequential test of RFC 8337 (section 7.2): one packet in 3 x window² or "
        "four times as many, {distance.ERROR:%} for either error. The wire ceiling. The measured "
        "throughput, below {distance.FILLS:%} of the target. `passes`: both buffers allow enough "
        "even by the lower bounds (on Linux half of a receive buffer, {distance.SENT_LEAST:%} of "
        "a send buffer), a stream reached {distance.FILLS:%} of the target, and the loss is low "
        "enough, in these UDP streams or in all streams with segments sent again. `undecided`: "
        "the records show neither",
    ),
    "cpu-bound": (
        BOTTLENECK,
        "`sender`: the one, unpaced stream kept its sending thread on a CPU for at least "
        "{stream_rules.ON_CPU:%} of the window; it waited for a CPU for less than "
        "{stream_rules.WAITED:%}, and for anything else for less than {stream_rules.WAITED:%} "
        "({2*stream_rules.WAITED:%} together if the first is not recorded). Over UDP, at least "
        "{stream_rules.DELIVERED:%} of the sent data arrived, and the sender sent less than "
        "{stream_rules.SENT_ENOUGH:%} of the wire ceiling. `receiver`: its queue was at least 80 "
        "% full in more than half of the samples (at least {stream_rules.LOOKS}); or at least "
        "{stream_rules.USEFUL:%} of the receive calls that did not wait found data, and its "
        "thread was on a CPU for at least {stream_rules.HURRIES:%} of the window",
    ),
    "sender-call-rate": (
        BOTTLENECK,
        "the stream is not paced. The send calls take at least {stream_rules.IN_CALLS:%} of the "
        "window, and at least half of it without the longest {1-derived.ORDINARY:%} of the calls. "
        "The send buffer holds at least eight messages; at least nine of ten samples (of at least "
        "eight) had room for the next one. Over UDP also as for `cpu-bound/sender`",
    ),
    "cpu-wait": (
        BOTTLENECK,
        "an end waited for a CPU for more than {stream_rules.STARVED:%} of the window, and that "
        "cost throughput. At the sender: its thread was on a CPU or waited for one for at least "
        "{stream_rules.ON_CPU:%} of the window, or the share of time without a CPU is at least "
        "half of the missing throughput. At the receiver: its thread was never idle in this way; "
        "or its queue was full (`cpu-bound/receiver`); or its socket dropped at least half of the "
        "lost messages, or its window was closed for at least half of the time, and the wait is "
        "large enough. If no other rule holds, a wait of at least half of the missing throughput "
        "is enough, over TCP with a closed window or a full queue of that share, where recorded. "
        "`quota`: a quota throttled the end in more than {stream_rules.STARVED:%} of its periods "
        "(`nr_throttled` of Linux control groups). `programs`: a thread was ready to run but had "
        "no CPU for more than {stream_rules.STARVED:%} of the window. `steal`: a hypervisor gave "
        "more than {stream_rules.STARVED:%} of the host's CPU time to other machines, and a "
        "thread waited for at most three times this share (a longer wait is due to other programs)",
    ),
    "buffer-limit": (
        BOTTLENECK,
        "for at least half of the window the one TCP stream waited for room in its send buffer "
        "(`sender`) or for the receive window (`receiver`); for room also if it waited at least "
        "as long as its throughput misses, {stream_rules.HELD:%} at least, and its round trip was "
        "at most {stream_rules.NO_QUEUE} times the shortest. The receive window is a limit only "
        "if one window per shortest round trip is at most {stream_rules.WINDOW_FITS} times the "
        "throughput, and the receive queue was full in at most half of the samples",
    ),
    "loss-limit": (
        BOTTLENECK,
        "over UDP, messages were lost although the sender sent at least "
        "{stream_rules.SENT_ENOUGH:%} of the offered rate (or of the wire ceiling, if that is "
        "lower), or more than {1-stream_rules.DELIVERED:%} were lost. In places other than "
        "`socket`, the loss must also be *large enough*: the sender sent these "
        "{stream_rules.SENT_ENOUGH:%}, or the share lost is at least half of the missing "
        "throughput, or at least {stream_rules.LOST_MUCH:%}. `socket`: the receiving socket had "
        "no room for at least half of the lost messages, or `loss/socket` gives the place. `host` "
        "(backlog, interface or queue), `path`, `unknown`: the place is that of `loss`. "
        "`sender-queue`: the sender's own system dropped more than {1-stream_rules.DELIVERED:%} "
        "of the messages",
    ),
    "saturated-core": (
        BOTTLENECK,
        "one core was busy for at least {stream_rules.SATURATED:%} of the window, but not because "
        "of a thread of the test, and no thread of the test waited for a CPU for more than "
        "{stream_rules.STARVED:%}. At least {stream_rules.WORK_PER_S} messages were sent, or full "
        "frames arrived, per second; fewer cannot keep a core busy",
    ),
    "congestion": (
        BOTTLENECK,
        "the one TCP stream sent segments again, and for at least half of the window neither the "
        "receive window nor the send buffer held it back (by TCP_INFO). Not stated if the "
        "probable other traffic is at least half of the missing throughput",
    ),
    "packet-rate": (
        BOTTLENECK,
        "UDP without pacing, with at least three neighbouring message sizes that fit one frame, "
        "the largest at least four times the smallest: the same number of frames arrives per "
        "second, within {stream_rules.SAME_RATE:%}, and each throughput is below "
        "{stream_rules.BELOW:%} of its wire ceiling. It replaces `loss-limit/path`, "
        "`loss-limit/unknown`, `not-determined` and limits without a recorded effect; other waits "
        "for a CPU only if more than half of these trials have none. Trials of another tool "
        "(`engine`) count only if they lost more than {1-stream_rules.DELIVERED:%}",
    ),
    "pacing": (
        BOTTLENECK,
        "throughput is at least {stream_limits.OFFERED:%} of the offered rate",
    ),
    "not-determined": (
        BOTTLENECK,
        "the records have all evidence that the rules of this section need, and no rule holds. If "
        "evidence is missing, there is no finding",
    ),
    "link-far-below": (
        RUN,
        "the best unpaced cell of a pairing reaches at most {validity.FAR_BELOW:%} of the stated "
        "link's ceiling; or it has a lower link rate, and so have at least three cells (two, if "
        "their ceilings differ); or the rate that `rate-limit` finds is a lower link rate. A "
        "*lower link rate* is one that links negotiate (10, 100, 1000, 2500, 5000, 10,000 Mbit/s "
        "and higher; IEEE 802.3), at most {rates.UNLIKE_STATED:%} of the stated rate; a cell "
        "*has* it if its throughput is between {rates.STEP_BELOW:%} below and "
        "{rates.STEP_ABOVE:%} above the wire ceiling of such a link. The first two cases need an "
        "unpaced cell with messages of at least {validity.LARGE_MESSAGE_BYTES} bytes, and do not "
        "count if a limit of a host explains the best cell or `mesh-limit` names it",
    ),
    "rate-limit": (
        BOTTLENECK,
        "one rate limits the streams of one direction of a pairing (those that the page of "
        "findings describes). The medians for each protocol and message size differ by at most "
        "{link_limits.SAME:%}; TCP may be up to {link_limits.TCP_BELOW:%} below UDP. No cell is "
        "more than {link_limits.SAME:%} above the rate, and no trial more than "
        "{link_limits.FASTER:%}; at most a third of the streams are below it without a known "
        "reason. `link`: the rate is one in bytes on the wire, over at least three wire ceilings "
        "that differ by at least {link_limits.APART:%}, and the medians differ at least three "
        "times as much in bytes of frames or IP packets. `shaper`: the other way round. `either`: "
        "the records do not show which bytes count; at least three trials have one share of the "
        "wire ceiling within {link_limits.SAME:%} (one may be {2*link_limits.SAME:%} lower if its "
        "time without a CPU explains it twice; of more than three trials of one column, three "
        "must have it, and waits explain all that others miss), and with fewer than three "
        "ceilings no stream is below it without a known reason. `half-duplex`: as `either`, and "
        "with the acknowledgements that come back the data take the whole link, within "
        "{2*link_limits.SAME:%}. Not stated with data both ways. If the streams as a whole have "
        "no such rate, those with one value of one setting may have one (protocol, IP version, "
        "DSCP, message size, source port), in at least two cells, all of which have it; each "
        "other value then has a stream that is faster by more than {link_limits.PASSES:%}; or the "
        "same trials of all cells have one, if in each cell another trial is so much faster",
    ),
    "mesh-limit": (
        MESH,
        "among at least three hosts, in streams with the same settings, the *figure* of a pair is "
        "the median share of the wire ceiling of its trials; the *margin* is the larger of "
        "{stats.mesh.MARGIN:%} ({stats.mesh.MARGIN_UNREPEATED:%} if no pair was repeated) and "
        "{stats.mesh.SPREADS} pooled deviations within pairs, more with few trials (Student's t) "
        "or many pairs (Bonferroni's bound). `host`: with each peer the host is below the fastest "
        "pair by more than the margin, as sender or as receiver, and at least two of these peers "
        "reach the fastest pair's figure with another host. Two peers only: *consistent with*. "
        "`pair`: slower by more than the margin than the fastest pair of its sender and of its "
        "receiver, unless each of its trials has a limit that is not on the path. `mesh`: all "
        "pairs differ by at most the margin, which is not larger than the distance of the fastest "
        "pair from the ceiling; all stay below {stream_limits.FILLED:%} of it "
        "({stream_limits.FILLED_BOTH_WAYS:%} both ways), and fewer than half of the trials have a "
        "limit that is not on the path",
    ),
    "far-host": (
        MESH,
        "of at least four hosts, each measured with at least three others, one adds more time to "
        "its round trips than the median host. The difference exceeds each of three values: "
        "{stats.mesh.POLISHED_MARGIN:%} of the *typical* round trip (between two hosts that add "
        "the median time), 3 x {stats.TO_DEVIATION} times the median of the absolute residuals, "
        "and {stats.mesh.SPREADS} pooled deviations within pairs. The times are a median polish "
        "of the median round trips (Tukey, Exploratory Data Analysis, 1977)",
    ),
    "trend": (
        OVER_TIME,
        "over the blocks, the *figure of a block* rises or falls: the median over its trials of "
        "the logarithm of throughput or mean round trip, minus the cell's mean of it. Trials "
        "outside their block, paced streams and imported figures are left out. `proved`: over at "
        "least {over_time.LEAST_BLOCKS} blocks by the test of Mann and Kendall (p under "
        "{over_time.BY_CHANCE}, exact up to {stats.trends.EXACT_VALUES} blocks; tau of at least "
        "{over_time.LEAST_TAU}; Kendall, Rank Correlation Methods, 1970), by more than "
        "{over_time.LEAST_CHANGE:%} over the run (Theil-Sen). `possible`: over "
        "{over_time.LEAST_BLOCKS_CONSISTENT} to {over_time.LEAST_BLOCKS-1} blocks and at least "
        "{over_time.LEAST_CELLS_CONSISTENT} cells it only rises or only falls, by more than "
        "{over_time.LEAST_CHANGE:%}, at least a quarter of it after the second block, and "
        "Kendall's seasonal test has p under {over_time.BY_CHANCE} (season: the cell; Hirsch, "
        "Slack and Smith, Water Resources Research 18, 1982)",
    ),
    "first-trial-slower": (
        OVER_TIME,
        "with at least {over_time.FIRST_BLOCKS} trials per cell, the first trial is slower than "
        "the median of the later ones in significantly more than half of the cells (exact sign "
        "test, p under {over_time.BY_CHANCE}). In the first block, the median over all cells of "
        "the difference from this median is more than {over_time.FIRST_CHANGE:%}, and more than "
        "{over_time.FIRST_ALONE} times as large as in any later block",
    ),
    "dips": (
        OVER_TIME,
        "in more than half of a cell's trials, the throughput has a period by the autocorrelation "
        "of at least {stats.trends.LEAST_VALUES} intervals (Box and Jenkins, Time Series "
        "Analysis, 1970), between {stats.trends.LEAST_PERIOD} intervals and a quarter of the "
        "window. The median dip is deeper than {over_time.DEEP:%} of the median rate, than "
        "{over_time.GRAINS} times the largest receive call, and if paced than "
        "{over_time.MESSAGES} messages (or bursts of them) of all streams. `congestion`: TCP sent "
        "segments again in each of these trials",
    ),
    "below-floor": (
        ROUND_TRIPS,
        "the shortest round trip of a trial (the mean one, if single times are not recorded) is "
        "below the minimum time of both directions on the stated link, by more than "
        "{round_trips.TOLERANCE:%} plus {round_trips.TOLERANCE_NS/1e3} µs. The *minimum time* of "
        "a direction is the time of all its frames at the link's rate, with preamble, FCS and the "
        "gaps between them, and the time of the shortest frame for each stated router (`hops`). "
        "For a connection, the two packets that open it are included, without their options [IEEE "
        "802.3 framing; RFC 791, RFC 8200 fragments]. Not stated if both ends are on one host",
    ),
    "trip-waited-for-cpu": (
        ROUND_TRIPS,
        "the *wait* of an end is its run-queue delay or the time for which its quota throttled "
        "it, whichever is longer; the wait of a trial is the sum of both ends, or the steal of an "
        "end if that is longer. It is at least {round_trips.LEAST_SHARE:%} of the time of the "
        "trial's round trips, in a window of at least {derived.WINDOW_NS/1e9} s. Compared are all "
        "trials of the cell that waited less than half as long per round trip: each has a shorter "
        "mean round trip, and the median of these means is at least {round_trips.LEAST_SHARE:%} "
        "shorter ({round_trips.ALONE:%} with one compared trial), with at least four compared "
        "trials also by {round_trips.SCATTERS} median absolute deviations of these means (three "
        "standard deviations). The difference in waits explains at least half of the difference "
        "in means. Without a trial to compare with, the longest wait must be that of a quota that "
        "throttled the end in more than {round_trips.LEAST_SHARE:%} of its periods. Not stated "
        "for trials in which data stopped or a process did not run [schedstat of Linux; cgroup "
        "cpu.stat]",
    ),
    "first-packet-lost": (
        ROUND_TRIPS,
        "some connections took *about* 1, 2, 3, 4, 5 or 7 s (at most {round_trips.EARLY:%} "
        "shorter, and longer by at most an eighth plus four times the median), and the median is "
        "at most {round_trips.SHORT_NS/1e9} s. Of all connections that took at least 0.9 s, at "
        "least four in five took about one of these times, and at least half took about 1 s. The "
        "processes of the probes paused for less than half of the total time of the connections "
        "that took about one of these times [RFC 6298, section 2: the first time-out of TCP is 1 "
        "s]",
    ),
    "two-modes": (
        ROUND_TRIPS,
        "in more than half of the trials, the histogram of at least {stats.histogram.LEAST_COUNT} "
        "single times has two peaks at least 20 % apart, with at least a tenth of all times "
        "within 30 % of each. Between the peaks, the density falls to at most half of that at the "
        "lower peak, by at least {stats.histogram.SCATTERS} standard deviations of the counts "
        "[Gaussian kernel of 3 % on the logarithms: Silverman, Density Estimation, 1986]. The "
        "finding names a possible cause that a host's facts show, if it may take at least a "
        "quarter of the distance between the peaks: a sleep state of the CPUs of an end that "
        "sleeps while it waits, or interrupt moderation of its interface",
    ),
    "rtt-outliers": (
        ROUND_TRIPS,
        "in more than half of the trials, at least five round trips are *long* (more than ten "
        "times the median of their trial), and the *excess time*, by which they exceed the median "
        "in total, is at least a tenth of the time of all round trips. The finding names TCP "
        "segments that were sent again as the cause if there is at least one for every two long "
        "round trips, and waits for a CPU if they explain at least half of the excess time. Left "
        "out are trials that `trip-waited-for-cpu` or `first-packet-lost` explains, and those in "
        "which data stopped or a process did not run",
    ),
    "comparison": (
        ROUND_TRIPS,
        "cells of one pairing that differ in one setting with two to four values in the run: "
        "protocol, IP version, how the ends receive, TCP_NODELAY, UDP's checksum, congestion "
        "control, or how connections are closed. `differs`: over all pairs of cells with the same "
        "two values, Student's t test of the logarithms of the trials' means, paired by block "
        "(Welch's test for imported figures), with at least three trials, shows a difference of "
        "at least {stats.MARGIN:%}; all comparisons of a run are tested together (Benjamini and "
        "Hochberg, {buffers.LEVEL:%}). The number of differing pairs is stated instead of the "
        "mean if single pairs contradict it or only they show it. `inconclusive`: neither; with "
        "the smallest difference that would be detected in four of five such runs [Bloom, "
        "Evaluation Review 19, 1995].",
    ),
    "longer-path": (
        ROUND_TRIPS,
        "one clear step, of at least {path_times.LONGER:%} and {path_times.LONGER_NS/1e6} ms, in "
        "the shortest round trips without their time on the wire; on each side they differ by at "
        "most {path_times.ALIKE:%} of it. `packets`: between cells that differ in one setting of "
        "their packets. `trials`: between the trials of a cell. `times`: as `path-jitter`, and "
        "less than {path_times.LITTLE:%} of the usual ones are in the middle third of their times",
    ),
    "path-jitter": (
        ROUND_TRIPS,
        "in some trials, the usual round trips (without the longest, above the 95th percentile) "
        "take on average at least {path_times.LONGER:%} and {path_times.LONGER_NS/1e6} ms longer "
        "than the shortest, one at a time; waits explain at most {path_times.OF_HOSTS:%} of that",
    ),
    "trips": (
        ROUND_TRIPS,
        "over UDP, in some trials, at least {path_times.LEAST_ODD:%} of the requests or answers. "
        "`lost-there`: the server received fewer than the client sent. `copied-there`: more. "
        "`lost-back`: the rest that no late answer explains. `copied-back`: answers came twice",
    ),
    "trip-made-of": (
        ROUND_TRIPS,
        "the finding has up to four parts of a mean round trip, as medians over trials that are "
        "not paced and have one request in flight: the minimum time on the wire (see "
        "`below-floor`), if the shortest round trip is not below it; one of three times of the "
        "server (in its stack by time stamps, the time for which it held the answer back, the CPU "
        "time of its thread); the CPU time of the client's thread; and the time in which an end "
        "was ready to run but had no CPU. The CPU time of an end that spins is left out, because "
        "it includes waiting. At least two parts must be known in all trials, and the sum of the "
        "parts must be {100*round_trips.LEAST} to 100 % of the round trip. The rest is sleeping "
        "and waking, interrupts, and the devices between the ends",
    ),
    "search-limit": (
        RATES,
        "why the next rate of the grid failed. `line-rate`: a trial at the line rate passed, and "
        "the sender did not exceed it. `frame-rate`: at three or more neighbouring frame sizes, "
        "the largest at least four times the smallest, one frame rate is between the highest rate "
        "that passed and the next that failed (within {search_limits.SAME:%}), always below "
        "{search_limits.BELOW:%} of the line rate; three of the sizes have bounds at most "
        "{search_limits.CLOSE_FRAMES:%} apart. `bit-rate`: the same with one rate in bit/s and "
        "bounds at most {search_limits.CLOSE_BITS:%} apart, counted on the wire, in frames with "
        "or without FCS, or in IP packets. `device`: frames were lost or delayed between the "
        "hosts, and the hosts' own drops do not explain that. An observed device's CPU is named "
        "if its busiest core was at least {stream_rules.SATURATED:%} busy. `queue`: no frame was "
        "lost, but receiving took longer than sending, by more than the trial’s length times half "
        "of `resolution` (`absorbed`); the device is named only if more bytes waited than the "
        "socket buffers of our own hosts hold. `sender`: in three trials at one rate it sent less "
        "than requested, by more than 0.1 % and half a step. `receiver`: in three trials at one "
        "rate the drops of our own hosts explain the loss. `none`: even the lowest rate did not "
        "pass [RFC 2544, 26.1; Mogul and Ramakrishnan 1997]",
    ),
    "search-doubt": (
        RATES,
        "`not-monotone`: a trial of full length passed at a rate more than a step above the "
        "result, or failed below it because of the device. `outrun`: in two trials a sender "
        "without pacing exceeded 1.25 times the line rate; in the second, by more frames than its "
        "socket buffer holds. `paused`: an interface of a host counted pause frames [IEEE 802.3 "
        "annex 31B; Linux reports them since 5.10, for drivers that count them]",
    ),
    "socket-buffer/search-capped": (
        RATES,
        "the effective socket buffer of one end of a search is smaller than requested",
    ),
    "frame-loss": (
        RATES,
        "the frame loss test lost frames at an offered rate at least {search_more.MORE-1:%} above "
        "the result. `overload`: the device forwarded fewer than {search_more.SLOWED:%} of the "
        "frames per second that it forwards without loss; `steady`: at least "
        "{search_more.SLOWED:%}. `own-hosts`: drops of our own hosts explain the loss, or the "
        "sender sent fewer frames than requested [RFC 2544, 26.3; Mogul and Ramakrishnan 1997: "
        "receive livelock]",
    ),
    "back-to-back": (
        RATES,
        "the search for back-to-back frames ended because the device lost frames (`device`: the "
        "longest burst that passed, and the frames that waited meanwhile), or because of a limit "
        "of our own hosts or failed trials (`own-hosts`) [RFC 2544, 26.4; RFC 9004]",
    ),
    "mtu-mismatch": (
        PAYLOADS,
        "the path MTU that a payload search found is smaller than the MTU of the sender’s "
        "interface. `reported`: a router reported it, or an interface of the sender dropped "
        "longer packets [RFC 1191; RFC 8201]; over TCP also if the segments do not use the stated "
        "MTU. `black-hole`: longer messages (UDP: three) got neither an answer nor an ICMP "
        "message [RFC 2923]; the receiving host is named if its interface's MTU is the longest "
        "answered packet, or up to {search_more.OVER} bytes less",
    ),
    "fragments-lost": (
        PAYLOADS,
        "a UDP message one byte longer than the found payload, sent three times without DF and "
        "fragmented by the sender, got no answer",
    ),
    "payload-found": (
        PAYLOADS,
        "the search has a result: in each direction, the longest message that was answered and "
        "fits one packet",
    ),
    "byte-more": (
        PAYLOADS,
        "a UDP `sweep` over message sizes followed the search. In most trials the median "
        "throughput of sizes one and two bytes above the payload is lower than that of the "
        "payload and the two sizes below, by more than {search_more.LEAST:%} and more than twice "
        "the spread within each",
    ),
    "queue-on-path": (
        TCP_OVER_TIME,
        "the median of TCP's smoothed round trips exceeds the shortest one by at least "
        "{tcp_series.STANDING_US/1e3} ms (RFC 8289, CoDel's target) and by at least half of it, "
        "in at least {tcp_series.POINTS} samples, one every 10 ms, over at least "
        "{tcp_series.LEAST_US/1e6} s. The round trip followed the congestion window (correlation "
        "r of at least {tcp_series.TOGETHER}) or was steady (its 95th percentile is at most "
        "{tcp_series.STEADY} times its 10th); at most {tcp_series.ON_ITS_WAY} congestion windows "
        "were in flight; and the data in the queue, (95th percentile - shortest round trip) x "
        "throughput, are at least ten packets (RFC 6928). They are its own unless data went the "
        "other way, too. Not stated for paced streams, for streams within one host, or if a "
        "hypervisor gave more than {stream_rules.STARVED:%} of the CPU time of one end to others",
    ),
    "loss-recovery": (
        TCP_OVER_TIME,
        "the test has one stream, and *recoveries* make up {100*tcp_series.LEAST_SHARE} to "
        "{tcp_series.MOST_SHARE:%} of its window, which is divided into at least "
        "{tcp_series.SPANS} spans of {tcp_series.SPAN_US/1e3} ms (or of three round trips, if "
        "that is longer). A *slow run* is at least two consecutive spans with a rate of "
        "acknowledged bytes below {tcp_series.BACK:%} of the window's median rate, and of at most "
        "{tcp_series.DEEP:%} in the slowest span. It is a recovery if a segment was sent again in "
        "its first span or in the two spans before. The probability that this number of slow runs "
        "follows losses by chance is at most {tcp_series.CHANCE:%} (RFC 5681, RFC 9438: a loss "
        "reduces the congestion window to 50 or 70 %; then it grows once per round trip)",
    ),
    "other-traffic": (
        BOTTLENECK,
        "our own and the other traffic together fill at least {traffic.LINK_FULL:%} of the link "
        "(IEEE 802.3 framing), and neither `loss-limit/socket` nor `loss-limit/host` holds; or no "
        "rule except `not-determined` holds, and the probable other traffic is at least "
        "{stream_limits.LEAST_OTHERS:%} of the link, twice the possible error of the counters, "
        "and three quarters of the missing throughput (or three quarters together with the waits "
        "for a CPU, and the largest of these parts); or the probable other traffic was added to "
        "the rate of a stream of a finding `rate-limit`. In the first case the other traffic must "
        "be *certain*: within the window, an interface of one of the two hosts counted in one "
        "direction more bytes than our own traffic explains, by more than each of "
        "{traffic.OF_LINK:%} of what the link carries, {traffic.OF_OWN:%} of our traffic, and "
        "twice our traffic in one update interval of the counters. Our traffic is the segments in "
        "and out of every socket, with those sent again (TCP), or the messages of the send calls "
        "with their fragments (UDP); padding, FCS and VLAN tag of each frame; and "
        "{traffic.CONTROL_BYTES/1e3} kB plus {traffic.CONTROL_BYTES_PER_S/1e3} kB/s for the "
        "control connections. The excess is ignored if it may be our own UDP frames that a host "
        "dropped behind its interface (in a packet filter, where no counter shows them): our lost "
        "frames have enough bytes, the mean length of the extra frames is that of ours (within "
        "{traffic.AS_LONG:%} plus FCS and VLAN tag), and the link had room left or data stopped",
    ),
    "other-traffic-beside": (
        BOTTLENECK,
        "there is certain other traffic (see `other-traffic`), but the link had room left, so the "
        "other traffic is not the limit of the stream. There is one finding per host and direction",
    ),
    "queue-under-load": (
        UNDER_LOAD,
        "`standing`: the loaded median exceeds the *calm* one (the longer of those before and "
        "after the load) by at least {tcp_series.STANDING_US/1e3} ms (RFC 8289, CoDel's target) "
        "and by at least half of it; the data in the queue are the difference x the throughput of "
        "a load in one direction (over TCP only if it fills the path). `none`: it does not, and "
        "the load *fills the path*: it is at least {tcp_series.FULL:%} of the wire ceiling (both "
        "ways: the larger share). `not-full`: neither. Something else delays them if the calm "
        "median exceeds by as much the run's shortest round trip over the same path",
    ),
    "requests-lost-under-load": (
        UNDER_LOAD,
        "At least five requests were lost while the load ran. The share of requests lost under "
        "load is at least ten times the share of requests lost without load.",
    ),
    "facts-changed": (
        RUN,
        "a property of a host had more than one value during the run. The rule compares "
        "properties that change only if somebody changes or restarts the host, such as the "
        "kernel, the buffer limits or the interface",
    ),
    "interface": (
        RUN,
        "a host measured over a cable, and its interface is slower than the stated link "
        "(`speed`), has another MTU (`mtu`), or runs at half duplex (`duplex`)",
    ),
    "virtual-machine": (
        RUN,
        "one or more hosts run under a hypervisor. There is one finding for all hosts under the "
        "same hypervisor",
    ),
    "mtu-mismatch/stream": (
        DOUBTFUL,
        "in more than half of a cell's trials, the path MTU that the sender's system knows is "
        "smaller than the MTU of the stated link",
    ),
    "small-mss": (
        DOUBTFUL,
        "in more than half of a cell's trials, full segments are shorter than the path MTU that "
        "the sender's system knows and than the MTU of the stated link, and the receive window "
        "holds at least four (Linux cuts them for smaller windows)",
    ),
    "congestion-differs": (
        DOUBTFUL,
        "TCP senders used different congestion controls in cells for which the matrix does not "
        "set `congestion`",
    ),
    "interruption": (
        DOUBTFUL,
        "[data stopped](#when-data-stop): `final`, in the attempt that counts (of several trials, "
        "the one in which data stopped for the longest time); `earlier`, only in an earlier "
        "attempt at the trial; `one-stream`, in one of several streams for at least that time and "
        "at least {over_time.SILENT} times the mean interval between its receive calls, while "
        "others had data. The finding has the time without data, the start of the longest gap, "
        "the cause, and the result of each attempt",
    ),
    "host-delay": (
        DOUBTFUL,
        "`process`: the process of the probe at one end did not run during at least "
        "{over_time.STALLED:%} of the window: the sum of the delays of at least 20 ms of a timer "
        "that wakes it every 20 ms. This and the CPU time of its busiest thread are at most "
        "{over_time.RAN:%} of the window; else the timer was late while the thread ran. netlab "
        "does not repeat such a trial: a quota or a busy host would have the same effect again. "
        "`hypervisor`: it gave more than {stream_rules.STARVED:%} of the CPU time of an end's "
        "host to other machines, in a window of at least {derived.WINDOW_NS/1e9} s. Only the "
        "first of `interruption/final`, `process` and `hypervisor` is stated",
    ),
    "off-rate": (
        DOUBTFUL,
        "`less`: a paced sender left out messages that were due, and sent less than "
        "{stream_limits.OFFERED:%} of the offered rate and {stream_limits.FILLED:%} of the wire "
        "ceiling, as did its throughput, and no host or mesh is slow. `held`: its thread neither "
        "ran nor lacked a CPU for a time. This time, less the share of the messages that it sent "
        "(it may have slept before these), is at least {over_time.HELD:%} of the share that it "
        "left out. `more`: within the window of a paced stream more than {over_time.LATE:%} of "
        "the offered rate arrived, in short receive calls (no `coarse`), so it includes delayed "
        "messages; not of another tool (`engine`). Not stated with `interruption/final` or "
        "`host-delay`",
    ),
    "clock": (
        DOUBTFUL,
        "`step`: at one end of a stream or of round trips, the difference between the wall clock "
        "and the monotonic clock changed by more than 0.5 s during a trial. `rate`: in more than "
        "half of a cell's trials, a host's monotonic clock, which time synchronisation corrects, "
        "differed by more than {validity.CLOCK_PPM} ppm from CLOCK_MONOTONIC_RAW",
    ),
    "other-load": (
        DOUBTFUL,
        "in more than half of a cell's trials, a thread of the test at one end waited for a CPU "
        "for more than {stream_rules.STARVED:%} of the window, and no CPU quota throttled this "
        "end; or a hypervisor gave more than {stream_rules.STARVED:%} of the CPU time of one end "
        "to other machines. The limit of these trials is not `cpu-wait/sender-programs`, "
        "`cpu-wait/receiver-programs` or `cpu-wait/steal`",
    ),
    "power-saving": (
        DOUBTFUL,
        "the CPU governor, the power plan or the interface (EEE) saves power",
    ),
    "off-time": (
        RUN,
        "the window of a trial is longer or shorter than the requested time by more than "
        "{runs.TOLERANCE:%} of it plus the longest gap between messages (in round trips: the "
        "longest round trip plus the time-out of a request). Also stated if an imported document "
        "states a difference of more than {runs.TOLERANCE:%} for its trials",
    ),
    "deviation": (
        RUN,
        "the *scale* of some figures is the largest of {stats.TO_DEVIATION} times their median "
        "absolute deviation, 1 % of their median, and 3 print steps (units of the last digit in "
        "an imported table). `cell`: the median of a cell differs from that of its *neighbours*, "
        "the {stats.NEIGHBOURS} nearest other cells along the axis of socket buffers (at least "
        "{stats.LEAST_NEIGHBOURS}), by more than {stats.AXIS_LIMIT} times their scale (Hampel’s "
        "identifier with a minimum for the scale). `step`: two or more adjacent cells do so in "
        "the same direction by more than {stats.STEP_LIMIT} times the scale, so they confirm each "
        "other. `trial`: of at least {stats.LEAST_SIBLINGS} trials of a cell, one differs from "
        "their median by more than {stats.SIBLINGS_LIMIT} times their scale (modified z score; "
        "Iglewicz and Hoaglin 1993)",
    ),
    "wire-ceiling": (
        BOTTLENECK,
        "throughput is at least {stream_limits.FILLED:%} of the wire ceiling "
        "({stream_limits.FILLED_BOTH_WAYS:%} with data both ways), and is not above the ceiling "
        "as `above-wire/rate` defines it. If this holds for every trial of every "
        'cell, the sentence says "in every cell". Otherwise the sentence has the number of '
        "the cells or trials for which it holds",
    ),
    "above-wire": (
        DOUBTFUL,
        "in more than half of a cell's trials throughput is above the wire ceiling, by more than "
        "0.1 % (0.2 % in imported tables) plus its uncertainty (with `coarse`: the largest "
        "receive call and the change of the receive queue, as a share of all bytes). Unknown TCP "
        "options count as those with the least overhead, an unknown message size as the best one. "
        "`rate`: netprobe measured it. `tool`: another tool did (`engine`), and over the same "
        "link (the same hosts, `network` and `interface`) netprobe fills the wire in a cell and "
        "is above the ceiling in none. `either`: neither of the two. If netprobe's cells are "
        "above the ceiling too, those of the tool are `rate`",
    ),
    "one-way": (
        RUN,
        "a pairing carries less than half of what the same two ends carry in the other direction. "
        "The rule compares the medians over the socket buffer sizes that were measured in both "
        "directions. Not stated if findings `mesh-limit/host`, `mesh-limit/pair` or "
        "`mesh-limit/mesh` already name all compared cells of the slower direction",
    ),
    "unexplained-fall": (
        RUN,
        "at least {buffers.LEAST_FULL} cells of a column are *full*: they reach "
        "{stream_limits.FILLED:%} of the wire ceiling ({stream_limits.FILLED_BOTH_WAYS:%} with "
        "data both ways). At least {buffers.LEAST_FALLEN} further cells have larger socket "
        "buffers than all of these, and each is below their median by more than "
        "{stats.STEP_LIMIT} times the scale (that of `deviation/cell`, from the full cells). No "
        "rule finds the limit of any further cell",
    ),
    "no-timestamps": (
        RUN,
        "the options of TCP are not recorded; throughput is above the wire ceiling with "
        "timestamps in more than half of the cells of a column, and above that without timestamps "
        "in none, by more than 0.1 % (0.2 % in imported tables). Timestamps take 12 bytes of each "
        "segment (RFC 7323, section 3). Not stated for cells of another tool (`engine`), because "
        "its way of counting may be the cause",
    ),
    "socket-buffer": (
        RUN,
        "`capped`, `doubled`: the system of an end reported that it made a requested socket "
        "buffer smaller, or doubled it (Linux, `socket(7)`). `same`: cells have different "
        "requested buffers, but all four effective ones are the same. `no-effect`: at least "
        "{buffers.LEAST_LEVELS} sizes were measured, and the largest median of a cell is at most "
        "{buffers.NO_EFFECT:%} above the smallest, if need be without the cells of "
        "`deviation/cell`",
    ),
    "fragmented": (
        RUN,
        "a UDP message does not fit into one frame of the path. The finding has the length of the "
        "longest message that fits",
    ),
    "cannot-tell": (
        RUN,
        "every cell with streams has one trial, so no statistical test can show whether two "
        "pairings differ. Not stated if there are more than six pairings, or if pairings are "
        "named by host names instead of letters",
    ),
    "loss": (
        LOST,
        "messages were lost. `damaged` (InCsumErrors), `socket`, `backlog` (softnet), "
        "`interface`, `queue`: what both hosts counted there is at least {stream_rules.NAMED:%} "
        "of the loss; of messages of several packets the place that counted at least half of it, "
        "and more than any other. Drops that may belong to the other direction, or to a protocol "
        "without a handler, do not count; of the receiver's backlog and interface only the larger "
        "number does. `unsent`: the send calls reported that the interface or its queue refused "
        "messages. `path`: the rest, on two machines all of whose counters are known; those that "
        "are no drops of ours grew at interfaces only, by at most two frames per second; all "
        "messages were reassembled, and probable other traffic is less than half of the loss "
        "(else the receiver may have dropped our frames behind its interface). `unknown`: the "
        "rest, if not so",
    ),
    "delivery": (
        LOST,
        "in some trials, of at least {validity.ODD:%} of the UDP messages, or segments. "
        "`reordered`: arrived after a later one (RFC 4737). `copied`: arrived again. `twice`, in "
        "most trials of a cell: the receiver reported both copies of that share of the segments "
        "sent again (DSACK, RFC 2883). `again`: of more segments than TCP sent again. "
        "`overtaken`: TCP saw that segments had overtaken others.",
    ),
    "way-back": (
        LOST,
        "over one TCP stream, one way, the sender's system received at least "
        "{validity.ODD_BACK:%} fewer (`lost`) or more (`copied`) segments per second than the "
        "receiver's sent, in some trials",
    ),
    "sent-again": (
        LOST,
        "TCP sent segments again that did not arrive twice, more than {stream_rules.UNREPORTED:%} "
        "of all sent again; the place is found as for `loss`",
    ),
    "no-result": (
        RUN,
        "some trials of cells failed, or cells have no result at all; with the reason. `each`: in "
        "two or more trials of a cell no message arrived, in none it did, and others worked",
    ),
    "fewer-cells": (
        RUN,
        "the mean of a column includes fewer cells than the mean of another column with the same "
        "test, protocol, direction and buffer sizes",
    ),
}
"""Kind, with or without its value → heading and rule (with its source in brackets)."""

_THRESHOLD = re.compile(r"\{(?:([\d.]+)([*-]))?([\w.]+)(?:([/-])([\de]+))?(:%)?\}")
"""A number and ``*`` or ``-``, a constant of netlab.findings or of netlab, ``/`` or ``-`` and a
number, and whether the result is a percentage."""


def rule_of(kind: Kind) -> tuple[str, str]:
    """The heading and the rule of a kind, with the names of thresholds."""
    return RULES[kind] if kind in RULES else RULES[kind.name]


def when(kind: Kind) -> str:
    """The rule of a kind with the values of its thresholds."""

    def value_of(found: re.Match[str]) -> str:
        left, sign, path, then, right, percent = found.groups()
        module, _dot, name = path.rpartition(".")
        place = f"{findings.__name__}.{module}"
        if importlib.util.find_spec(f"{findings.__name__}.{path.partition('.')[0]}") is None:
            place = f"netlab.{module}"
        number = getattr(importlib.import_module(place), name)
        if left is not None:
            number = float(left) * number if sign == "*" else float(left) - number
        if right is not None:
            number = number / float(right) if then == "/" else number - float(right)
        return f"{100 * number:.10g} %" if percent else f"{number:,.10g}"

    return _THRESHOLD.sub(value_of, rule_of(kind)[1])
