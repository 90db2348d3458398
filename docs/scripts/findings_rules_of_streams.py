"""The rules of limits, links, the mesh and courses over time in words; findings_rules.py: others.

They are the first rows of the table of kinds.
"""

from __future__ import annotations

from collections.abc import Mapping

RUN, BOTTLENECK, OVER_TIME = "About a run", "The bottleneck of a stream", "Over time"
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
        "thread was on a CPU for at least {stream_rules.HURRIES:%} of the window. `both`: over "
        "one unpaced TCP stream within one host, the threads of both ends together were on a CPU "
        "for at least {stream_rules.ON_CPU:%}",
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
        "cost throughput. At the sender, unless it sent all UDP messages that it could: its "
        "thread was on a CPU or waited for one for at least {stream_rules.ON_CPU:%} of the "
        "window, or the share of time without a CPU is at least half of the missing throughput "
        "(over UDP {stream_rules.SENDS:%}, and stops of its process did not take more). At the "
        "receiver: its thread was never idle in this way; or its queue was full "
        "(`cpu-bound/receiver`); or its socket dropped at least half of the lost messages, or its "
        "window was closed for at least half of the time, and the wait is large enough. If TCP's "
        "data stood still, the end that could have stopped them (the sender if TCP had no data "
        "for half of that time) waited {stream_limits.STOOD:%} as long. Otherwise a wait of half "
        "of the missing throughput is enough, over TCP with as much time without data, with a "
        "closed window or a full queue, where recorded. "
        "`quota`: a quota throttled the end in more than {stream_rules.STARVED:%} of its periods "
        "(`nr_throttled` of Linux control groups). `programs`: a thread was ready to run but had "
        "no CPU for more than {stream_rules.STARVED:%} of the window. `steal`: a hypervisor gave "
        "more than {stream_rules.STARVED:%} of the host's CPU time to other machines, and a "
        "thread waited for at most three times this share (a longer wait is due to other "
        "programs)",
    ),
    "unscaled-window": (
        BOTTLENECK,
        "the ends of the one TCP stream did not agree to scale its windows, so that they have at "
        "most {distance.UNSCALED_BYTES} bytes (RFC 7323, section 2); and one window per shortest "
        "round trip is the throughput within a factor of {stream_rules.WINDOW_FITS}, or "
        "`buffer-limit/receiver` holds. The host is named if window scaling is off on one host "
        "only, as the probe read it in this trial, or by the fact `tcp_window_scaling`",
    ),
    "buffer-limit": (
        BOTTLENECK,
        "for at least half of the window the one TCP stream waited for room in its send buffer "
        "(`sender`) or for the receive window (`receiver`); for room also if it waited at least "
        "as long as its throughput misses, {stream_rules.HELD:%} at least, and its round trip was "
        "at most {stream_rules.NO_QUEUE} times the shortest. The receive window is a limit only "
        "if one window per shortest round trip is at most {stream_rules.WINDOW_FITS} times the "
        "throughput, and the receive queue was full in at most half of the samples. BBR never "
        "waits for it: there one window allows at most {stream_rules.PACED_FITS} times the "
        "throughput",
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
        "(backlog, interface or queue), `damaged`, `path`, `unknown`: the place is that of "
        "`loss`. `sender-queue`: the sender's own system dropped more than "
        "{1-stream_rules.DELIVERED:%} of the messages",
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
        "the one TCP stream lost more than {stream_rules.UNREPORTED:%} of the segments that it "
        "sent again (the others were needless), and for at least half of the window neither the "
        "receive window nor the send buffer held it back (by TCP_INFO). Not stated if the "
        "probable other traffic is at least half of the missing throughput",
    ),
    "packet-rate": (
        BOTTLENECK,
        "UDP without pacing, with at least three neighbouring message sizes that fit one frame, "
        "the largest at least four times the smallest: the same number of frames arrives per "
        "second, within {limits.SAME_RATE:%}, and each throughput is below "
        "{limits.BELOW:%} of its wire ceiling. It replaces `loss-limit/path`, "
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
        "{link_limits.FASTER:%}; {link_limits.SCATTERS} standard deviations more where the path "
        "loses at any load; at most a third of the streams are below it without a known reason. "
        "Data that *arrive evenly* show a rate in one trial, or one cell, and, in most of those "
        "with loss, that it is not random: over UDP with loss, in times so long that this would "
        "scatter the messages by a variance of {arrivals.SCATTER}, they vary by at most "
        "{arrivals.EVEN:%} of it; else, in times of at least {arrivals.CALLS} receive calls, "
        "{arrivals.MOSTLY:%} of the rates, and the mean, are within {arrivals.LIKE:%} of the "
        "usual one. `link`: the rate is one in "
        "bytes on the wire, over at least three wire ceilings that differ by at least "
        "{link_limits.APART:%}, and the medians differ at least three times as much in bytes of "
        "frames or IP packets. `shaper`: the other way round. `either`: the records do not show "
        "which bytes count, and a stream has evidence of its limit, or its data arrive evenly and "
        "the memory of sockets held it back for at most {stream_rules.WAITED:%} of the window; at "
        "least three trials have one share of the wire ceiling within {link_limits.SAME:%} (one "
        "may be {2*link_limits.SAME:%} lower if its time without a CPU explains it twice; of more "
        "than three trials of one column, three must have it, and waits explain all that others "
        "miss), and with fewer than three ceilings no stream is below it without a known reason. "
        "`half-duplex`: as `either`, and with the acknowledgements that come back the data take "
        "the whole link, within {2*link_limits.SAME:%}. Not stated with data both ways; streams "
        "of which short stops of the sender's process explain half of the missing throughput do "
        "not count. If the streams as a whole have no such rate, those with one value of one "
        "setting may have one (protocol, IP version, DSCP, message size, source port), in at "
        "least two cells, all of which have it; each other value then has a stream that is faster "
        "by more than {link_limits.PASSES:%}; or the same trials of all cells have one, if in "
        "each cell another trial is so much faster. If there is none, that at which senders over "
        "UDP sent counts, where messages were lost on the path, and the sender neither ran, "
        "waited for a CPU nor was stopped for at least {link_limits.HELD:%} of the window",
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
}
"""Kind, with or without its value → heading and rule (with its source in brackets)."""
