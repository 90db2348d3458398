"""The rule of each kind of finding in words, and its heading in docs/findings.md.

Only the documentation needs them. A threshold in a rule is the name of its constant in braces, so
that no rule is out of date: ``{stream_rules.STARVED:%}``, ``{stream_end.WINDOW_NS/1e9}``.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import runpy
from collections.abc import Mapping
from pathlib import Path

from netlab import findings
from netlab.findings.catalogue import Kind

OF_STREAMS = runpy.run_path(str(Path(__file__).with_name("findings_rules_of_streams.py")))
RUN, BOTTLENECK, OVER_TIME = (OF_STREAMS[name] for name in ("RUN", "BOTTLENECK", "OVER_TIME"))
DOUBTFUL, LOST = "What makes a stream's figure doubtful", "Where messages were lost"
TCP_OVER_TIME, UNDER_LOAD = "TCP over time", "Latency under load"
ROUND_TRIPS = "Round trips and connections"
RATES = "Searches for the highest rate (RFC 2544)"
PAYLOADS = "Searches for the largest payload"

RULES: Mapping[str, tuple[str, str]] = {
    **OF_STREAMS["RULES"],
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
        "trial's round trips, in a window of at least {stream_end.WINDOW_NS/1e9} s. Compared are "
        "all trials of the cell that waited less than half as long per round trip: each has a "
        "shorter mean round trip, and the median of these means is at least "
        "{round_trips.LEAST_SHARE:%} shorter ({round_trips.ALONE:%} with one compared trial), "
        "with at least four compared trials also by {round_trips.SCATTERS} median absolute "
        "deviations of these means (three standard deviations). The difference in waits explains "
        "at least half of the difference in means. Without a trial to compare with, the longest "
        "wait must be that of a quota that throttled the end in more than "
        "{round_trips.LEAST_SHARE:%} of its periods. Not stated for trials in which data stopped "
        "or a process did not run [schedstat of Linux; cgroup cpu.stat]",
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
        "their packets. `trials`: between the trials of a cell. `times`: as `path-jitter`, but of "
        "those usual round trips that are longer than the shortest one by more than a sixth of "
        "their range, less than {path_times.LITTLE:%} are farther than that from the longest one "
        "(or from that of the shortest {path_times.NEARLY:%}, if it is above a quarter of the "
        "range); compared with the mean of the short ones. Over TCP streams as well, as for "
        "`path-jitter`; trials that are longer by more than {path_times.AS_A_WHOLE} times (TCP, "
        "and against shorter trials: {path_times.SMOOTHED}) of what they vary do not vary",
    ),
    "path-jitter": (
        ROUND_TRIPS,
        "in some trials, the usual round trips (without the longest, above the 95th percentile) "
        "take on average at least {path_times.LONGER:%} and {path_times.LONGER_NS/1e6} ms longer "
        "than the shortest of the trial, one at a time ({path_times.PACED:%} with messages of "
        "several segments that BBR paces); waits explain at most {path_times.OF_HOSTS:%} of that. "
        "Late answers count as the time-out; round trips of messages in parts that take twice as "
        "long, within {path_times.TWICE}, are due to Nagle's algorithm. The finding has the "
        "shortest of all cells with the same hosts and message size, and the way: how much later "
        "than the fastest one requests arrived, by both clocks, is less than "
        "{path_times.ONE_WAY:%} of that (the answers vary), or more than {1-path_times.ONE_WAY:%} "
        "(the requests). Also those of a TCP stream (samples of tcp_info) that the memory of "
        "sockets held back for at least {path_times.HOLDS:%} of the window, so that its own data "
        "form no queue: its ends waited for a CPU for at most {stream_rules.WAITED:%} of the "
        "window, and of its cell another trial varies by at most {path_times.OTHERS:%} of that; "
        "or its rate is at most {path_times.HALF:%} of the wire ceiling, and falls by at least "
        "{path_times.FOLLOWS:%} of what round trips are longer, or they vary by more than a "
        "window of its own data takes",
    ),
    "trips": (
        ROUND_TRIPS,
        "in some trials, at least {path_times.LEAST_ODD:%} of the requests or answers (over TCP: "
        "of the segments with data), and at least {path_times.FEW_ODD}. `lost-there`: the server "
        "received fewer than the client sent. `copied-there`: more. `lost-back`: the rest that no "
        "late answer explains. `copied-back`: answers came twice. `damaged-there`, "
        "`damaged-back`: with a wrong checksum, and not lost. `overtaken-there`, "
        "`overtaken-back`: after later ones (over TCP only if fewer were lost, and without a "
        "number)",
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
        "(`speed`), has another MTU (`mtu`), or runs at half duplex (`duplex`). `mtus`, in place "
        "of `mtu`: all of at least two such hosts have the same other MTU",
    ),
    "virtual-machine": (
        RUN,
        "one or more hosts run under a hypervisor. There is one finding for all hosts under the "
        "same hypervisor",
    ),
    "mtu-mismatch/stream": (
        DOUBTFUL,
        "in more than half of a cell's trials, the path MTU that the sender's system knows is "
        "smaller than the MTU of the stated link; trials of `mtu-mismatch/changed` do not count",
    ),
    "mtu-mismatch/changed": (
        DOUBTFUL,
        "in some trials, the sender's interface had a smaller MTU, as the probe read it then, "
        "than in other trials with this sender",
    ),
    "small-mss": (
        DOUBTFUL,
        "in more than half of a cell's trials, full segments are shorter than the path MTU that "
        "the sender's system knows and than the MTU of the stated link, and the receive window "
        "holds at least four (Linux cuts them for smaller windows); the receiver announced no "
        "longer ones (its `advmss`), or that is not known",
    ),
    "clamped-mss": (
        DOUBTFUL,
        "as `small-mss`, but the receiver takes longer segments than these (its `advmss`)",
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
        "{over_time.STALLED:%} of the window: the sum of the delays of at least 5 ms of a timer "
        "that wakes it every 10 ms. This and the CPU time of its busiest thread are at most "
        "{over_time.RAN:%} of the window; else the timer was late while the thread ran. The waits "
        "of each end for a CPU (run-queue delay, quota) are less than {over_time.WAITED:%} of "
        "that: other findings report these. netlab does not repeat such a trial: a busy host "
        "would have the same effect again. `hypervisor`: it gave more than "
        "{stream_rules.STARVED:%} of the CPU time of an end's host to other machines, in a window "
        "of at least {stream_end.WINDOW_NS/1e9} s. Only the first of `interruption/final`, "
        "`process` and `hypervisor` is stated",
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
        "`host-delay`; `less` and `held` not where `path-pauses`, or a known limit, but not a "
        "loss, explains most trials",
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
        "for more than {stream_rules.STARVED:%} of the window, no CPU quota throttled this end, "
        "and no other host of the run has its kernel; or a hypervisor gave more than "
        "{stream_rules.STARVED:%} of the CPU time of one end to other machines. The limit of "
        "these trials is not known (or is `pacing`), they show no `path-pauses` or `two-rates`, "
        "and neither stopped data nor short stops of the sender's process explain half of the "
        "missing throughput",
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
        "messages were reassembled, and other traffic that the sender's interface did not send "
        "is less than half of the loss (else the receiver may have dropped our frames behind its "
        "interface). `unknown`: the rest, if not so",
    ),
    "delivery": (
        LOST,
        "in some trials, of at least {validity.ODD:%} of the UDP messages, or segments. "
        "`reordered`: arrived after a later one (RFC 4737). `copied`: arrived again. `twice`, in "
        "most trials of a cell: the receiver reported both copies of that share of the segments "
        "sent again (DSACK, RFC 2883). `again`: of more segments than TCP sent again, by more "
        "than {validity.FEW}. `overtaken`: TCP saw that segments had overtaken others. `marked`: "
        "any number of packets reached the receiver's host marked (CE; IpExt InCEPkts, in the "
        "whole test), the sender's TCP was told so in its window (tcpi_delivered_ce), and neither "
        "the offered rate nor, for at least {stream_rules.CLOSED:%} of the window, a window or a "
        "buffer held it back; then `not-determined` is not stated [RFC 3168]",
    ),
    "path-pauses": (
        OVER_TIME,
        "in a cell's trials at least {uneven.LEAST_PAUSES} *pauses*, and in those with pauses at "
        "least {uneven.LEAST_PAUSED:%} of the windows missing in them and in the times beside "
        "them. A pause is a run of times with less than {uneven.LESS:%} of the usual bytes (the "
        "lower quartile of the times with data), at least one with less than {uneven.STOPPED:%}. "
        "Its last part is compared with the time after it, in which what waited comes. The times "
        "have at least {uneven.USUAL_CALLS} usual receive calls, and over TCP two round trips; "
        "there are at least {arrivals.LEAST_GROUPS}. Waits and stops of the hosts explain at most "
        "{uneven.OF_WAITS:%} of that; TCP sent nothing again (but needlessly), other traffic "
        "takes less than {uneven.LOWER:%} of the link, UDP lost at most {uneven.OF_HOSTS:%} of "
        "what is missing, and data did not stop",
    ),
    "two-rates": (
        OVER_TIME,
        "no `path-pauses`; in a UDP trial, unless {stream_limits.OFFERED:%} of an offered rate "
        "arrived, the received bytes have two levels, apart by at least {uneven.LOWER:%} of the "
        "higher one, {uneven.STEP_CALLS} receive calls, and {uneven.APART} standard deviations of "
        "what random loss of as many messages would leave, in times of at most {uneven.FINEST:%} "
        "of the window. At least {uneven.OFTEN:%} of the times are near each level, and at most "
        "{uneven.BETWEEN:%} in the middle third between both. The hosts explain at most "
        "{uneven.OF_HOSTS:%} of the loss of rate, else as for `path-pauses`, and no end lacks a "
        "CPU for more than {stream_rules.STARVED:%} of the window. If more is lost, the rates of "
        "at least {uneven.INNER} times within slower ones vary by at most {arrivals.EVEN:%} of "
        "the variance after random loss",
    ),
    "way-back": (
        LOST,
        "over one TCP stream, one way, the sender's system received at least "
        "{validity.ODD_BACK:%} fewer (`lost`) or more (`copied`) segments per second than the "
        "receiver's sent, in some trials, and in the whole connection; more, by what may be under "
        "way at an edge: in a round "
        "trip, while an end did not run, and while only one window was open. `damaged`, "
        "`overtaken`: at least {validity.ODD:%}, and more than {validity.FEW}, came to the sender "
        "with a wrong checksum, or after later ones (by their timestamps); damaged ones that are "
        "at least {stream_rules.COVERED:%} of those missing are not lost",
    ),
    "sent-again": (
        LOST,
        "TCP sent segments again that did not arrive twice, more than {stream_rules.UNREPORTED:%} "
        "of all sent again; the place is found as for `loss`",
    ),
    "no-result": (
        RUN,
        "some trials of cells failed, or cells have no result at all; with the reason. `each`: in "
        "two or more trials of a cell no message arrived, in none it did, and others worked. "
        "`mtu`: their packets are too long for the path (`path-mtu`), by the check after them",
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
