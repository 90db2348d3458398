"""Rows of the table of kinds: round trips, searches, latency under load, TCP over time, traffic."""

from netlab.findings import kind
from netlab.findings.kind import note, value, warning
from netlab.messages import _

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning("below-floor", _("{what} took {typical_trip_ns} (the shortest {shortest_trip_ns}), but "
        "their frames alone take {floor_trip_ns} on {link}: a shaper passes short bursts faster, "
        "or the path is another one"),
    _("the shortest of the {what} took {shortest_trip_ns}, but its frames alone take "
        "{floor_trip_ns} on {link}: a shaper passes short bursts faster, or the path is another "
        "one"), rule="round_trips:below_floor", rank=11, section=kind.ROUND_TRIPS,
    advice=_("state the real rate of the link and the routers on it; on a link with a shaper use "
        "rates, not times"),
    condition="the shortest round trip of a trial (the mean one, if single times are not recorded) "
        "is below the minimum time of both directions on the stated link, by more than "
        "{round_trips.TOLERANCE:%} plus {round_trips.TOLERANCE_NS/1e3} µs. The *minimum time* of a "
        "direction is the time of all its frames at the link's rate, with preamble, FCS and the "
        "gaps between them, and the time of the shortest frame for each stated router (`hops`). "
        "For a connection, the two packets that open it are included, without their options [IEEE "
        "802.3 framing; RFC 791, RFC 8200 fragments]. Not stated if both ends are on one host")
warning("trip-waited-for-cpu", _("{cause} for {waited_trip_ns} of the mean time of {mean_trip_ns}; "
        "the mean of trials with shorter waits is {best_trip_ns}"),
    _("{cause} for {waited_trip_ns} of the mean time of {mean_trip_ns}"),
    rule="round_trips:waited", rank=12, section=kind.ROUND_TRIPS,
    advice=_("this time is due to the host, not to the path: stop other programs there, raise the "
        "quota, or let `quiet` in the matrix repeat such trials"),
    condition="the *wait* of an end is its run-queue delay or the time for which its quota "
        "throttled it, whichever is longer; the wait of a trial is the sum of both ends, or the "
        "steal of an end if that is longer. It is at least {round_trips.LEAST_SHARE:%} of the time "
        "of the trial's round trips, in a window of at least {derived.WINDOW_NS/1e9} s. Compared "
        "are all trials of the cell that waited less than half as long per round trip: each has a "
        "shorter mean round trip, and the median of these means is at least "
        "{round_trips.LEAST_SHARE:%} shorter ({round_trips.ALONE:%} with one compared trial), with "
        "at least four compared trials also by {round_trips.SCATTERS} median absolute deviations "
        "of these means (three standard deviations). The difference in waits explains at least "
        "half of the difference in means. Without a trial to compare with, the longest wait must "
        "be that of a quota that throttled the end in more than {round_trips.LEAST_SHARE:%} of its "
        "periods. Not stated for trials in which data stopped or a process did not run [schedstat "
        "of Linux; cgroup cpu.stat]")
warning("first-packet-lost", _("{lost_connections} of {connections} connections took up to "
        "{longest_trip_ns}, typical of a lost SYN or SYN-ACK, which is sent again after 1 s; "
        "without them the mean is {mean_without_trip_ns} instead of {mean_trip_ns}"),
    rule="round_trips:first_packet_lost", rank=13, section=kind.ROUND_TRIPS,
    advice=_("check the path for loss, and the server for a listen queue that overflows"),
    condition="some connections took *about* 1, 2, 3, 4, 5 or 7 s (at most {round_trips.EARLY:%} "
        "shorter, and longer by at most an eighth plus four times the median), and the median is "
        "at most {round_trips.SHORT_NS/1e9} s. Of all connections that took at least 0.9 s, at "
        "least four in five took about one of these times, and at least half took about 1 s. The "
        "processes of the probes paused for less than half of the total time of the connections "
        "that took about one of these times [RFC 6298, section 2: the first time-out of TCP is 1 "
        "s]")
note("two-modes", _("the times fall into two groups, {lower_share} about {lower_trip_ns} and "
        "{upper_share} about {upper_trip_ns}; {suspect}"),
    _("the times fall into two groups, {lower_share} about {lower_trip_ns} and {upper_share} about "
        "{upper_trip_ns}"), rule="round_trips:two_groups", rank=66, section=kind.ROUND_TRIPS,
    advice=_("the mean describes neither group: use percentiles, and find what switches between "
        "them"), condition="in more than half of the trials, the histogram of at least "
        "{stats.histogram.LEAST_COUNT} single times has two peaks at least 20 % apart, with at "
        "least a tenth of all times within 30 % of each. Between the peaks, the density falls to "
        "at most half of that at the lower peak, by at least {stats.histogram.SCATTERS} standard "
        "deviations of the counts [Gaussian kernel of 3 % on the logarithms: Silverman, Density "
        "Estimation, 1986]. The finding names a possible cause that a host's facts show, if it may "
        "take at least a quarter of the distance between the peaks: a sleep state of the CPUs of "
        "an end that sleeps while it waits, or interrupt moderation of its interface")
note("rtt-outliers", _("{long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} instead of {mean_trip_ns}; TCP sent {segments} again"),
    _("{long_trips} of {trips} {what} took more than ten times the median of {median_trip_ns}, "
        "up to {longest_trip_ns}; without them the mean is {mean_without_trip_ns} instead of "
        "{mean_trip_ns}; the ends waited {waited_ns} for a CPU in that time"),
    _("{long_trips} of {trips} {what} took more than ten times the median of {median_trip_ns}, "
        "up to {longest_trip_ns}; without them the mean is {mean_without_trip_ns} instead of "
        "{mean_trip_ns}"), rule="round_trips:outliers", rank=68, section=kind.ROUND_TRIPS,
    advice=_("use the median, and find what delays single messages"),
    condition="in more than half of the trials, at least five round trips are *long* (more than "
        "ten times the median of their trial), and the *excess time*, by which they exceed the "
        "median in total, is at least a tenth of the time of all round trips. The finding names "
        "TCP segments that were sent again as the cause if there is at least one for every two "
        "long round trips, and waits for a CPU if they explain at least half of the excess time. "
        "Left out are trials that `trip-waited-for-cpu` or `first-packet-lost` explains, and those "
        "in which data stopped or a process did not run")
note("comparison", section=kind.ROUND_TRIPS, condition="cells of one pairing that differ in one "
        "setting with two to four values in the run: protocol, IP version, how the ends receive, "
        "TCP_NODELAY, UDP's checksum, congestion control, or how connections are closed. "
        "`differs`: over all pairs of cells with the same two values, Student's t test of the "
        "logarithms of the trials' means, paired by block (Welch's test for imported figures), "
        "with at least three trials, shows a difference of at least {stats.MARGIN:%}; all "
        "comparisons of a run are tested together (Benjamini and Hochberg, {buffers.LEVEL:%}). The "
        "number of differing pairs is stated instead of the mean if single pairs contradict it or "
        "only they show it. `inconclusive`: neither; with the smallest difference that would be "
        "detected in four of five such runs [Bloom, Evaluation Review 19, 1995].",
    values={
        "differs": value(_("{least_ratio} to {most_ratio} times as long as with {baseline}, shown "
                "in {differing} of {all_pairs} (n = {n})"),
            _("{only_ratio} times as long as with {baseline}, shown in 1 of {all_pairs} (n = {n})"),
            _("{ratio} times as long as with {baseline}, the mean of {pairs_of_cells} (99 %: "
                "{low_ratio} to {high_ratio}, n = {n})"),
            _("{ratio} times as long as with {baseline} (99 %: {low_ratio} to {high_ratio}, n = "
                "{n})"), rule="buffers:variants", rank=65,
            advice=_("the table of round trips has each cell with its interval")),
        "inconclusive": value(_("the comparison with {baseline} is inconclusive (n = {n}; a "
                "difference of {detectable_share} could have been detected)"), rank=80, leads=False,
            advice=_("more trials show smaller differences"))})
note("trip-made-of",
    _("a mean time of {mean_trip_ns} consists of {trip_parts}; the rest is {rest_trip_ns}"),
    rule="round_trips:made_of", rank=79, leads=False, section=kind.ROUND_TRIPS,
    advice=_("shortening the largest part gains the most"),
    condition="the finding has up to four parts of a mean round trip, as medians over trials that "
        "are not paced and have one request in flight: the minimum time on the wire (see "
        "`below-floor`), if the shortest round trip is not below it; one of three times of the "
        "server (in its stack by time stamps, the time for which it held the answer back, the CPU "
        "time of its thread); the CPU time of the client's thread; and the time in which an end "
        "was ready to run but had no CPU. The CPU time of an end that spins is left out, because "
        "it includes waiting. At least two parts must be known in all trials, and the sum of the "
        "parts must be {100*round_trips.LEAST} to 100 % of the round trip. The rest is sleeping "
        "and waking, interrupts, and the devices between the ends")
note("search-limit", rule="search_limits:search_limits", section=kind.RATES,
    condition="why the next rate of the grid failed. `line-rate`: a trial at the line rate passed, "
        "and the sender did not exceed it. `frame-rate`: at three or more neighbouring frame "
        "sizes, the largest at least four times the smallest, one frame rate is between the "
        "highest rate that passed and the next that failed (within {search_limits.SAME:%}), always "
        "below {search_limits.BELOW:%} of the line rate; three of the sizes have bounds at most "
        "{search_limits.CLOSE_FRAMES:%} apart. `bit-rate`: the same with one rate in bit/s and "
        "bounds at most {search_limits.CLOSE_BITS:%} apart, counted on the wire, in frames with or "
        "without FCS, or in IP packets. `device`: frames were lost or delayed between the hosts, "
        "and the hosts' own drops do not explain that. An observed device's CPU is named if its "
        "busiest core was at least {stream_rules.SATURATED:%} busy. `queue`: no frame was lost, "
        "but receiving took longer than sending, by more than the trial’s length times half of "
        "`resolution` (the verdict `absorbed`). `sender`: in three trials at one rate it sent less "
        "than requested, by more than 0.1 % and half a step. `receiver`: in three trials at one "
        "rate the drops of our own hosts explain the loss. `none`: even the lowest rate did not "
        "pass [RFC 2544, 26.1; Mogul and Ramakrishnan 1997]",
    values={
        "frame-rate": value(_("the same frame rate {sizes}, {found_frames_per_s}/s, with the "
                "busiest core of {device} at {busiest_core_share}: the device’s CPU is the limit "
                "there, not the link"),
            _("the same frame rate {sizes}, {found_frames_per_s}/s: the device handles this many "
                "frames of any length, with the busiest core of {idle_device} at only "
                "{busiest_core_share}; the link is not the limit"),
            _("the same frame rate {sizes}, {found_frames_per_s}/s: the device handles this many "
                "frames of any length, as if its CPU were the limit; the link is not the limit"),
            rank=60, advice=_("nothing to do: the device needs the same time for each frame, "
                "whatever its length")),
        "line-rate": value(_("line rate {sizes}: no frame is lost at the full rate of the link of "
                "{link_rate_bit_per_s}, so the link is the limit there"),
            _("line rate {sizes}: the link is the limit there"), rank=61,
            advice=_("the device may do more than this link can show")),
        "bit-rate": value(_("the same bit rate {sizes}, {policed_bit_per_s} counted {accounted}: "
                "the limit there is a slower link, a shaper or a policer, not the time that a "
                "frame costs the device"), rank=62,
            advice=_("look for a link of that rate, a shaper or a policer behind the device")),
        "device": value(_("the device’s CPU is the limit {sizes}, with the busiest core of "
                "{device} at {busiest_core_share}: {rates}"),
            _("the device is the limit {sizes}: above {rates} it lost or delayed frames, and our "
                "own hosts dropped too few to explain that"), rank=63,
            advice=_("`observe` in the matrix records the device’s own load and drops")),
        "queue": value(
            _("{sizes} the device lost nothing at the next higher rate, but its queue grew by "
                "{queue_ns} within a trial: shorter trials would have passed at higher rates"),
            rank=64, advice=_("use long trials: short ones measure only the device’s queue")),
        "sender": value(_("our own sender, {at_host}, is the limit {sizes}, not the device: it "
                "could not send more than {rates}"),
            _("our own sender is the limit {sizes}, not the device: it could not send more than "
                "{rates}"), severity="warning", rank=11,
            advice=_("the device may do more: use several `streams`, `send_method: batch`, or a "
                "faster host")),
        "receiver": value(_("our own receiver, {at_host}, is the limit {sizes}, not the device: "
                "above {rates} its drops explain the loss, most of them {place}"),
            _("our own receiver is the limit {sizes}, not the device: above {rates} its drops "
                "explain the loss, most of them {place}"),
            _("our own receiver is the limit {sizes}, not the device: above {rates} its drops "
                "explain the loss"), severity="warning", rank=11,
            advice=_("the device may do more: enlarge `socket_buffer`, or use a faster receiver")),
        "none": value(_("no rate {sizes}: {because}"), severity="warning", rank=12,
            advice=_("check the trials of these sizes; other sizes are not affected"))})
warning("search-doubt", rule="search_more:doubts", section=kind.RATES,
    condition="`not-monotone`: a trial of full length passed at a rate more than a step above the "
        "result, or failed below it because of the device. `outrun`: in two trials a sender "
        "without pacing exceeded 1.25 times the line rate; in the second, by more frames than its "
        "socket buffer holds. `paused`: an interface of a host counted pause frames [IEEE 802.3 "
        "annex 31B; Linux reports them since 5.10, for drivers that count them]",
    values={
        "not-monotone": value(_("no sharp limit {sizes}: a rate above the result passed, or a rate "
                "below the result failed"), rank=13,
            advice=_("the limit is not always present: look for other work or traffic of the "
                "device")),
        "outrun": value(
            _("frames were sent faster than the line rate of {link_rate_bit_per_s} {sizes}: the "
                "link has another rate, but the shares of the line rate refer to the stated one"),
            _("frames were sent faster than the line rate {sizes}: the link has another rate, but "
                "the shares of the line rate refer to the stated one"), rank=14,
            advice=_("state the rate that the link has")),
        "paused": value(_("flow control {sizes}: interfaces counted {pause_frames} pause frames, "
                "which slow the sender down before frames are lost"), severity="note", rank=66,
            advice=_("switch flow control off (ethtool -A INTERFACE rx off tx off) to see what is "
                "lost"))})
warning("socket-buffer/search-capped", _("requested socket buffers of {asked_buffer_bytes} were "
        "capped at {least_buffer_bytes} {sizes}"), rank=65, section=kind.RATES,
    condition="the effective socket buffer of one end of a search is smaller than requested",
    advice=_("raise rmem_max and wmem_max of the host; otherwise its receiver may be the limit"))
note("frame-loss", rule="search_more:beyond", section=kind.RATES, condition="the frame loss test "
        "lost frames at an offered rate at least {search_more.MORE-1:%} above the result. "
        "`overload`: the device forwarded fewer than {search_more.SLOWED:%} of the frames per "
        "second that it forwards without loss; `steady`: at least {search_more.SLOWED:%}. "
        "`own-hosts`: drops of our own hosts explain the loss, or the sender sent fewer frames "
        "than requested [RFC 2544, 26.3; Mogul and Ramakrishnan 1997: receive livelock]",
    values={
        "overload": value(_("overload slows the device {sizes}: at a higher offered rate it "
                "forwards {overloads}"), rank=65,
            advice=_("the device spends its time on frames that it drops later: limit the rate "
                "that it accepts")),
        "steady": value(_("{sizes} the device drops the excess over the rate found, and keeps "
                "forwarding at that rate: {losses}"), rank=79, leads=False,
            advice=_("above that rate the device has no room for the excess")),
        "own-hosts": value(_("the frame loss rate {sizes} is partly caused by our own hosts: at "
                "{shares} of the line rate their drops explain the loss, or they sent fewer frames "
                "than requested"), severity="warning", rank=55,
            advice=_("at these rates the figure does not describe the device: use faster hosts"))})
note("back-to-back", section=kind.RATES,
    condition="the search for back-to-back frames ended because the device lost frames (`device`: "
        "the longest burst that passed, and the frames that waited meanwhile), or because of a "
        "limit of our own hosts or failed trials (`own-hosts`) [RFC 2544, 26.4; RFC 9004]",
    values={
        "device": value(
            _("{sizes} the device passes a burst of {bursts} at line rate"), rank=80, leads=False,
            advice=_("the device’s queue has room for this many frames of that size")),
        "own-hosts": value(
            _("the longest burst {sizes} is not known: {because}"), severity="warning", rank=55,
            advice=_("use faster hosts or a larger `socket_buffer`: nothing is known about the "
                "device"))})
warning("mtu-mismatch", rule="search_more:payloads", rank=5, section=kind.PAYLOADS,
    condition="the path MTU that a payload search found is smaller than the MTU of the sender’s "
        "interface. `reported`: a router reported it, or an interface of the sender dropped longer "
        "packets [RFC 1191; RFC 8201]; over TCP also if the segments do not use the stated MTU. "
        "`black-hole`: longer messages (UDP: three) got neither an answer nor an ICMP message [RFC "
        "2923]; the receiving host is named if its interface's MTU is the longest answered packet, "
        "or up to {search_more.OVER} bytes less",
    values={
        "black-hole": value(
            _("{way} packets of more than {path_mtu_bytes} bytes vanish without an ICMP message to "
                "the sender: a black hole; the interface of {narrow_host} has this MTU"),
            _("{way} packets of more than {path_mtu_bytes} bytes vanish without an ICMP message to "
                "the sender: a black hole"),
            advice=_("let ICMP “fragmentation needed” and “packet too big” pass, or give both ends "
                "of each cable one MTU")),
        "reported": value(_("{way} the path carries packets of {path_mtu_bytes} bytes, but the "
                "sender’s interface sends up to {interface_mtu_bytes}; the interface of "
                "{narrow_host} has the smaller MTU: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes, but the sender’s "
                "interface sends up to {interface_mtu_bytes}: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes, but the matrix states "
                "{link_mtu_bytes}: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes: {known_by}"),
            advice=_("use the same MTU on the whole path, or state the path’s MTU in the matrix "
                "(`link`, `mtu`)"))})
warning("fragments-lost", _("{way} messages of {next_message_bytes} bytes do not arrive, although "
        "the sender may fragment them: fragments do not pass"), rank=5, section=kind.PAYLOADS,
    condition="a UDP message one byte longer than the found payload, sent three times without DF "
        "and fragmented by the sender, got no answer",
    advice=_("look for a firewall that drops fragments; until you have corrected it, send no "
        "messages that need fragments"))
note("payload-found", _("messages of {payload_message_bytes} bytes fill a frame {way}, in packets "
        "of {path_mtu_bytes} bytes: {known_by}"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}, in packets of "
        "{path_mtu_bytes} bytes"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}: {known_by}"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}"), rank=66,
    section=kind.PAYLOADS,
    condition="the search has a result: in each direction, the longest message that was answered "
        "and fits one packet", advice=_("messages of this length have the least header overhead"))
note("byte-more", _("with messages longer than {payload_message_bytes} bytes throughput is "
        "{cost_share} lower, {next_bit_per_s} instead of {whole_bit_per_s}; the framing of a "
        "second frame explains {wire_cost_share}"),
    _("with messages longer than {payload_message_bytes} bytes throughput is {cost_share} lower, "
        "{next_bit_per_s} instead of {whole_bit_per_s}"),
    rule="search_more:byte_more", rank=67, section=kind.PAYLOADS, condition="a UDP `sweep` over "
        "message sizes followed the search. In most trials the median throughput of sizes one and "
        "two bytes above the payload is lower than that of the payload and the two sizes below, by "
        "more than {search_more.LEAST:%} and more than twice the spread within each",
    advice=_("keep messages within one frame, or make them so long that they fill many frames"))
note("queue-on-path",
    _("up to {queue_bytes} of its own data waited in a queue on the path: round trips grew from "
        "{least_rtt_us} to {half_rtt_us} (median) and {most_rtt_us} (95th percentile)"),
    rule="tcp_series:queues", rank=78, leads=False, section=kind.TCP_OVER_TIME,
    figures=("queue_bytes", "least_rtt_us", "half_rtt_us", "most_rtt_us"),
    advice=_("other traffic on the path waits for the same time (a test of latency under load "
        "shows it): use a shorter queue, or one with CoDel"),
    condition="the median of TCP's smoothed round trips exceeds the shortest one by at least "
        "{tcp_series.STANDING_US/1e3} ms (RFC 8289, CoDel's target) and by at least half of it, in "
        "at least {tcp_series.POINTS} samples, one every 10 ms, over at least "
        "{tcp_series.LEAST_US/1e6} s. The round trip followed the congestion window (correlation r "
        "of at least {tcp_series.TOGETHER}) or was steady (its 95th percentile is at most "
        "{tcp_series.STEADY} times its 10th); at most {tcp_series.ON_ITS_WAY} congestion windows "
        "were in flight; and the data in the queue, (95th percentile - shortest round trip) x "
        "throughput, are at least ten packets (RFC 6928). Not stated for paced streams, for "
        "streams within one host, or if a hypervisor gave more than {stream_rules.STARVED:%} of "
        "the CPU time of one end to other machines")
note("loss-recovery", _("after losses TCP took up to {longest_us} to return to 95 % of its usual "
        "rate: {recovering_share} of the window in all, {resent_segments} sent again"),
    rule="tcp_series:recoveries", rank=79, leads=False, section=kind.TCP_OVER_TIME,
    figures=("longest_us", "recovering_share", "retransmissions", "recoveries"),
    advice=_("recovery takes longer over a longer round trip: check the path for errors or a "
        "short queue, or try another congestion control"),
    condition="the test has one stream, and *recoveries* make up {100*tcp_series.LEAST_SHARE} to "
        "{tcp_series.MOST_SHARE:%} of its window, which is divided into at least "
        "{tcp_series.SPANS} spans of {tcp_series.SPAN_US/1e3} ms (or of three round trips, if that "
        "is longer). A *slow run* is at least two consecutive spans with a rate of acknowledged "
        "bytes below {tcp_series.BACK:%} of the window's median rate, and of at most "
        "{tcp_series.DEEP:%} in the slowest span. It is a recovery if a segment was sent again in "
        "its first span or in the two spans before. The probability that this number of slow runs "
        "follows losses by chance is at most {tcp_series.CHANCE:%} (RFC 5681, RFC 9438: a loss "
        "reduces the congestion window to 50 or 70 %, and then the window grows once per round "
        "trip)")
warning("other-traffic", _("it uses {other_bit_per_s} of the link at {at_host} ({way}); together "
        "with this stream it fills {link_filled_share} of the link"),
    _("it uses {other_bit_per_s} of the link; together with this stream it fills "
        "{link_filled_share} of the link"),
    limit=_("other traffic on the link"), figures=("other_bit_per_s", "link_filled_share"),
    advice=_("stop the other traffic on that interface, or measure on a dedicated link"),
    section=kind.BOTTLENECK, condition="our own and the other traffic together fill at least "
        "{traffic.LINK_FULL:%} of the link (IEEE 802.3 framing), and neither `loss-limit/socket` "
        "nor `loss-limit/host` holds; or no rule except `not-determined` holds, and the probable "
        "other traffic is at least {stream_limits.LEAST_OTHERS:%} of the link, twice the possible "
        "error of the counters, and three quarters of the missing throughput (or three quarters "
        "together with the waits for a CPU, and the largest of these parts); or the probable other "
        "traffic was added to the rate of a stream of a finding `rate-limit`. In the first case "
        "the other traffic must be *certain*: within the window, an interface of one of the two "
        "hosts counted in one direction more bytes than our own traffic explains, by more than "
        "each of {traffic.OF_LINK:%} of what the link carries, {traffic.OF_OWN:%} of our traffic, "
        "and twice our traffic in one update interval of the counters. Our traffic is the segments "
        "in and out of every socket, with those sent again (TCP), or the messages of the send "
        "calls with their fragments (UDP); padding, FCS and VLAN tag of each frame; and "
        "{traffic.CONTROL_BYTES/1e3} kB plus {traffic.CONTROL_BYTES_PER_S/1e3} kB/s for the "
        "control connections. The excess is ignored if it may be our own UDP frames that a host "
        "dropped behind its interface (in a packet filter, where no counter shows them): our lost "
        "frames have enough bytes, the mean length of the extra frames is that of ours (within "
        "{traffic.AS_LONG:%} plus FCS and VLAN tag), and the link had room left or data stopped")
note("other-traffic-beside", _("{in_trials} other traffic used {other_bit_per_s} of the link "
        "({way}); the link had room left"),
    _("other traffic used {other_bit_per_s} of the link ({way}); the link had room left"),
    rule="stream_rules:partial_traffic", rank=72, leads=False, section=kind.BOTTLENECK,
    advice=_("the link was not full: the other traffic did not limit the streams, but may have "
        "delayed them"),
    condition="there is certain other traffic (see `other-traffic`), but the link had room left, "
        "so the other traffic is not the limit of the stream. There is one finding per host and "
        "direction")
note("queue-under-load", rule="tcp_series:under_load", section=kind.UNDER_LOAD,
    condition="`standing`: the loaded median exceeds the idle median by at least "
        "{tcp_series.STANDING_US/1e3} ms (RFC 8289, CoDel's target) and by at least half of it; "
        "the data in the queue are the difference x the load's throughput, if the load has one "
        "direction. `none`: it does not, and the load is at least {tcp_series.FULL:%} of the wire "
        "ceiling (both ways: the larger share). `not-full`: the load is less than that, and there "
        "is no standing queue",
    values={
        "not-full": value(_("the load was {throughput_bit_per_s}, only {load_share} of what the "
                "path carries: the increase of the round trips does not describe a full path"),
            severity="warning", rank=20, advice=_("raise the rate, use more streams, or load for "
                "longer if TCP has not reached the rate yet")),
        "standing": value(
            _("under load the median round trip grew from {idle_rtt_ns} to {loaded_rtt_ns} (99th "
                "percentile {loaded_p99_ns}): about {queue_bytes} of payload wait on the path"),
            _("under load the median round trip grew from {idle_rtt_ns} to {loaded_rtt_ns}"),
            rank=30, advice=_("other traffic on the path waits for the same time: use a shorter "
                "queue, one with CoDel, or a congestion control that does not fill the queue")),
        "none": value(_("the path is full but has no significant queue: the median round trip is "
                "{loaded_rtt_ns} under load, {idle_rtt_ns} before the load"), rank=31,
            advice=_("nothing to do: other traffic on the path hardly waits"))})
note("requests-lost-under-load",
    _("{lost_requests} of {requests} requests were lost under load ({lost_requests_share}), and "
        "{idle_lost_requests} of {idle_requests} before the load"), rank=32,
    section=kind.UNDER_LOAD,
    advice=_("a full tail-drop queue drops packets of every flow; a queue that serves flows fairly "
        "(fq_codel) does not"),
    condition="At least five requests were lost while the load ran. The share of requests lost "
        "under load is at least ten times the share of requests lost without load.")
