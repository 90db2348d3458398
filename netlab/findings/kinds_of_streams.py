"""Rows of the table of kinds: a target at a distance, limits of streams, links, mesh, trends."""

from netlab.findings import kind
from netlab.findings.kind import note, value, warning
from netlab.messages import _

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

note("target", rule="distance:at_a_distance", section=kind.AT_A_DISTANCE,
    condition="`fails`: one of five limits is below the `target`. A socket buffer, or the largest "
        "that auto-tuning may choose (tcp_rmem, tcp_wmem): at most all of it is in flight per "
        "round trip, of a Linux send buffer {distance.SENT_MOST:%} without `tso` and `gso`. A "
        "receive window without window scaling: {distance.UNSCALED_BYTES} bytes (RFC 7323, section "
        "2). Loss, in UDP streams with an offered rate of at most {distance.GENTLE:%} of the wire "
        "ceiling, by the sequential test of RFC 8337 (section 7.2): one packet in 3 x window² or "
        "four times as many, {distance.ERROR:%} for either error. The wire ceiling. The measured "
        "throughput, below {distance.FILLS:%} of the target. `passes`: both buffers allow enough "
        "even by the lower bounds (on Linux half of a receive buffer, {distance.SENT_LEAST:%} of a "
        "send buffer), a stream reached {distance.FILLS:%} of the target, and the loss is low "
        "enough, in these UDP streams or in all streams with segments sent again. `undecided`: the "
        "records show neither",
    values={
        "fails": value(_("{target_bit_per_s} over TCP at {target_rtt_ns} fails: {bounds}"),
            severity="warning", rank=60,
            advice=_("the tightest limit is listed first: enlarge that buffer or auto-tuning’s "
                "limit (tcp_rmem, tcp_wmem), remove the cause of the loss, or lower the target")),
        "passes": value(
            _("{target_bit_per_s} over TCP at {target_rtt_ns} passes: {receiver} and {sender} "
                "allow windows of at least {needed_window_bytes}, and the loss of {lost_packets} "
                "of {packets} packets is within RFC 8337’s limit of one in {run_length_packets}"),
            rank=64, advice=_("nothing in the records contradicts this")),
        "undecided": value(
            _("{target_bit_per_s} over TCP at {target_rtt_ns} is undecided: {doubts}"), rank=65,
            advice=_("send for longer, or with larger socket buffers, so that the records "
                "decide"))})
warning("cpu-bound", of_host=True, section=kind.BOTTLENECK,
    condition="`sender`: the one, unpaced stream kept its sending thread on a CPU for at least "
        "{stream_rules.ON_CPU:%} of the window; it waited for a CPU for less than "
        "{stream_rules.WAITED:%}, and for anything else for less than {stream_rules.WAITED:%} "
        "({2*stream_rules.WAITED:%} together if the first is not recorded). Over UDP, at least "
        "{stream_rules.DELIVERED:%} of the sent data arrived, and the sender sent less than "
        "{stream_rules.SENT_ENOUGH:%} of the wire ceiling. `receiver`: its queue was at least 80 % "
        "full in more than half of the samples (at least {stream_rules.QUEUE_LOOKS}); or at least "
        "{stream_rules.USEFUL:%} of the receive calls that did not wait found data, and its thread "
        "was on a CPU for at least {stream_rules.HURRIES:%} of the window",
    values={
        "sender": value(
            _("its thread ran {thread_share} of the time, {calls_per_s} calls a second"),
            _("its thread ran {thread_share} of the time"), limit=_("the sender’s CPU"),
            figures=("thread_share", "sender_run_queue_share", "calls_per_s"),
            advice=_("the sender limits the figure: use larger messages, more streams or a faster "
                "CPU")),
        "receiver": value(_("its receive queue was full in {queue_full_share} of the samples, "
                "{useful_share} of its receive calls found data"),
            _("its receive queue was full in {queue_full_share} of the samples"),
            _("{useful_share} of its receive calls found data"), limit=_("the receiver’s CPU"),
            figures=("queue_full_share", "useful_share", "receiver_thread_share"),
            advice=_("the receiver limits the figure: use larger messages, more streams or a "
                "faster CPU"))})
warning("sender-call-rate",
    _("{calls_per_s} calls a second, median {send_call_median_ns} (90th percentile {uneven_p90})"),
    _("{calls_per_s} calls a second, each takes {send_call_median_ns}"),
    limit=_("the sender’s call rate"),
    figures=(*("calls_per_s", "send_call_median_ns", "send_call_p90_ns", "in_calls_share"),
        *("in_ordinary_calls_share", "send_room_share", "thread_share")), of_host=True,
    advice=_("the sender's system limits the figure: use larger messages or more streams"),
    section=kind.BOTTLENECK,
    condition="the stream is not paced. The send calls take at least {stream_rules.IN_CALLS:%} of "
        "the window, and at least half of it without the longest {1-derived.ORDINARY:%} of the "
        "calls. The send buffer holds at least eight messages; at least nine of ten samples (of at "
        "least eight) had room for the next one. Over UDP also as for `cpu-bound/sender`")
warning("cpu-wait", of_host=True, section=kind.BOTTLENECK, condition="an end waited for a CPU for "
        "more than {stream_rules.STARVED:%} of the window, and that cost throughput. At the "
        "sender: its thread was on a CPU or waited for one for at least {stream_rules.ON_CPU:%} of "
        "the window, or the share of time without a CPU is at least half of the missing "
        "throughput. At the receiver: its thread was never idle in this way; or its queue was full "
        "(`cpu-bound/receiver`); or its socket dropped at least half of the lost messages, or its "
        "window was closed for at least half of the time, and the wait is large enough. If no "
        "other rule holds, a wait of at least half of the missing throughput is enough, over TCP "
        "with a closed window or a full queue of that share, where recorded. `quota`: a quota "
        "throttled the end in more than {stream_rules.STARVED:%} of its periods (`nr_throttled` of "
        "Linux control groups). `programs`: a thread was ready to run but had no CPU for more than "
        "{stream_rules.STARVED:%} of the window. `steal`: a hypervisor gave more than "
        "{stream_rules.STARVED:%} of the host's CPU time to other machines, and a thread waited "
        "for at most three times this share (a longer wait is due to other programs)",
    values={
        "sender-quota": value(_("throttled in {sender_throttled_share} of the quota’s periods"),
            limit=_("the sender’s CPU quota"), figures=("sender_throttled_share", "thread_share"),
            advice=_("raise the sender's CPU quota, or measure outside its container")),
        "sender-programs": value(
            _("its thread was ready to run but had no CPU {sender_run_queue_share} of the time"),
            limit=_("other programs on the sender’s CPU"),
            figures=("sender_run_queue_share", "thread_share"),
            advice=_("stop the other programs on the sender's CPU, or give the test its own CPU")),
        "receiver-quota": value(_("throttled in {receiver_throttled_share} of the quota’s periods"),
            limit=_("the receiver’s CPU quota"),
            figures=("receiver_throttled_share", "receiver_thread_share"),
            advice=_("raise the receiver's CPU quota, or measure outside its container")),
        "receiver-programs": value(
            _("its thread was ready to run but had no CPU {receiver_run_queue_share} of the time"),
            limit=_("other programs on the receiver’s CPU"),
            figures=("receiver_run_queue_share", "receiver_thread_share"),
            advice=_("stop the other programs on the receiver's CPU, or give the test its own "
                "CPU")),
        "steal": value(
            _("{most_stolen} of the CPUs’ time"), limit=_("CPU time given to other machines"),
            figures=("sender_steal_share", "receiver_steal_share"),
            advice=_("the hypervisor gave the CPU to other machines: measure on a dedicated "
                "machine, or let `quiet` in the matrix repeat such trials"))})
warning("buffer-limit", section=kind.BOTTLENECK,
    condition="for at least half of the window the one TCP stream waited for room in its send "
        "buffer (`sender`) or for the receive window (`receiver`). The receive window is a limit "
        "only if one window per shortest round trip is at most {stream_rules.WINDOW_FITS} times "
        "the throughput, and the receive queue was full in at most half of the samples",
    values={
        "sender": value(_("TCP waited {sndbuf_limited_share} of the time for room in a send buffer "
                "of {send_buffer_bytes}"),
            _("TCP waited {sndbuf_limited_share} of the time for room in its send buffer"),
            limit=_("the sender’s buffer"),
            figures=("sndbuf_limited_share", "send_buffer_bytes", "min_rtt_us"),
            advice=_("the socket limits the figure: enlarge the sender's buffer")),
        "receiver": value(_("TCP waited for this window {rwnd_limited_share} of the time; "
                "{window_bytes} per round trip of {min_rtt_us} allow {window_limit_bit_per_s}"),
            limit=_("the receiver’s window"), of_host=True,
            figures=("rwnd_limited_share", "window_bytes", "min_rtt_us", "window_limit_bit_per_s"),
            advice=_("the socket limits the figure: enlarge the receiver's buffer"))})
warning("loss-limit", _("{lost_share} lost"), section=kind.BOTTLENECK,
    figures=("lost_share", "lost_messages", "receive_queue_drops"), condition="over UDP, messages "
        "were lost although the sender sent at least {stream_rules.SENT_ENOUGH:%} of the offered "
        "rate (or of the wire ceiling, if that is lower), or more than "
        "{1-stream_rules.DELIVERED:%} were lost. In places other than `socket`, the loss must also "
        "be *large enough*: the sender sent these {stream_rules.SENT_ENOUGH:%}, or the share lost "
        "is at least half of the missing throughput, or at least {stream_rules.LOST_MUCH:%}. "
        "`socket`: the receiving socket had no room for at least half of the lost messages, or "
        "`loss/socket` gives the place. `host` (backlog, interface or queue), `path`, `unknown`: "
        "the place is that of `loss`. `sender-queue`: the sender's own system dropped more than "
        "{1-stream_rules.DELIVERED:%} of the messages",
    values={
        "sender-queue": value(_("dropped: {local_drops}"), limit=_("drops in the sender’s queue"),
            figures=("local_drops",),
            advice=_("lengthen the queue of the sender's interface, or offer a lower rate")),
        "socket": value(_("{lost_share} lost, {lost_in_socket} of that in the socket"),
            limit=_("drops in the receiver’s queue"),
            advice=_("enlarge the receiver's buffer; if that does not help, its CPU is the limit")),
        "host": value(limit=_("drops at a host’s interface or backlog"), of_host=True,
            figures=("lost_share", "lost_messages"), advice=_("check the rings, queues, MTU and "
                "interrupts of the host that dropped the messages")),
        "path": value(limit=_("loss on the path"),
            advice=_("check the path for a slower link, a short queue or errors")),
        "unknown": value(limit=_("loss at an unknown place"),
            advice=_("not all drops of the two hosts are known: watch them with the systems' own "
                "tools"))})
warning(
    "saturated-core", _("it was busy {busiest_core} of the time"), limit=_("one saturated core"),
    figures=("sender_busiest_core_share", "receiver_busiest_core_share"), of_host=True,
    advice=_("spread interrupts and threads over more CPUs, or pin them to different CPUs"),
    section=kind.BOTTLENECK, condition="one core was busy for at least {stream_rules.SATURATED:%} "
        "of the window, but not because of a thread of the test, and no thread of the test waited "
        "for a CPU for more than {stream_rules.STARVED:%}. At least {stream_rules.WORK_PER_S} "
        "messages were sent, or full frames arrived, per second; fewer cannot keep a core busy")
note("congestion", _("{resent_segments} sent again; the congestion window limited TCP "
        "{cwnd_limited_share} of the time"), rank=70, limit=_("congestion control"),
    figures=("cwnd_limited_share", "retransmissions", "min_rtt_us"),
    advice=_("check the path for a slower link or a short queue"), section=kind.BOTTLENECK,
    condition="the one TCP stream sent segments again, and for at least half of the window neither "
        "the receive window nor the send buffer held it back (by TCP_INFO). Not stated if the "
        "probable other traffic is at least half of the missing throughput")
note("packet-rate", _("{frames_per_s} frames a second, as with other sizes"), rank=69,
    limit=_("packets a second"), figures=("frames_per_s",), of_host=True,
    advice=_("the forwarding device or the receiver handles this many packets a second, "
        "whatever their size"), section=kind.BOTTLENECK,
    condition="UDP without pacing, with at least three neighbouring message sizes that fit one "
        "frame, the largest at least four times the smallest: the same number of frames arrives "
        "per second, within {stream_rules.SAME_RATE:%}, and each throughput is below "
        "{stream_rules.BELOW:%} of its wire ceiling. It replaces `loss-limit/path`, "
        "`loss-limit/unknown`, `not-determined` and limits without a recorded effect; other waits "
        "for a CPU only if more than half of these trials have none. Trials of another tool "
        "(`engine`) count only if they lost more than {1-stream_rules.DELIVERED:%}")
note("pacing", _("{offered_bit_per_s} offered"), leads=False, limit=_("the offered rate"),
    figures=("offered_bit_per_s",), advice=_("offer a higher rate to find the limit"),
    section=kind.BOTTLENECK, condition="throughput is at least {stream_limits.OFFERED:%} of the "
        "offered rate")
note("not-determined", says=(
        _("its limit, at {of_ceiling} of the wire ceiling, cannot be determined from the records"),
        _("its limit cannot be determined from the records")),
    leads=False, limit=_("not determined"), explains=False,
    advice=_("the records do not show the limit"), section=kind.BOTTLENECK,
    condition="the records have all evidence that the rules of this section need, and no rule "
        "holds. If evidence is missing, there is no finding")
warning("link-far-below", _("as much as a link of {step_rate_bit_per_s} carries"),
    _("{ceiling_share} of what the link of {link_rate_bit_per_s} carries"), says=(
        _("at most {throughput_bit_per_s}, {direction}: as much as a link of "
            "{step_rate_bit_per_s} carries, but the matrix states {link_rate_bit_per_s}"),
        _("at most {throughput_bit_per_s}, as much as a link of {step_rate_bit_per_s} carries: "
            "{ceiling_share} of what the stated link of {link_rate_bit_per_s} carries, while "
            "other pairings reach {others_ceiling_share}"),
        _("at most {throughput_bit_per_s}, as much as a link of {step_rate_bit_per_s} carries, "
            "but the matrix states {link_rate_bit_per_s}"),
        _("at most {throughput_bit_per_s}, {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries, while other pairings reach {others_ceiling_share}: "
            "suspect a host, the cable or its duplex mode, not the settings that the matrix "
            "varies"),
        _("at most {throughput_bit_per_s}, {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries: suspect a host, the cable or its duplex mode, not the "
            "settings that the matrix varies")),
    rule="validity:links", rank=2, limit=_("a slower link"), section=kind.RUN,
    advice=_("check speed, duplex, cable and driver at both ends, and the stated rate of the link"),
    condition="the best unpaced cell of a pairing reaches at most {validity.FAR_BELOW:%} of the "
        "stated link's ceiling; or it has a lower link rate, and so have at least three cells "
        "(two, if their ceilings differ); or the rate that `rate-limit` finds is a lower link "
        "rate. A *lower link rate* is one that links negotiate (10, 100, 1000, 2500, 5000, 10,000 "
        "Mbit/s and higher; IEEE 802.3), at most {rates.UNLIKE_STATED:%} of the stated rate; a "
        "cell *has* it if its throughput is between {rates.STEP_BELOW:%} below and "
        "{rates.STEP_ABOVE:%} above the wire ceiling of such a link. The first two cases need an "
        "unpaced cell with messages of at least {validity.LARGE_MESSAGE_BYTES} bytes, and do not "
        "count if a limit of a host explains the best cell or `mesh-limit` names it")
warning("rate-limit", rank=2, section=kind.BOTTLENECK,
    condition="one rate limits the unpaced streams of one direction of a pairing (those that the "
        "page of findings describes). The medians for each protocol and message size differ by at "
        "most {link_limits.SAME:%}; TCP may be up to {link_limits.TCP_BELOW:%} below UDP. No cell "
        "is more than {link_limits.SAME:%} above the rate, and no trial more than "
        "{link_limits.FASTER:%}; at most a third of the streams are below it without a known "
        "reason. `link`: the rate is one in bytes on the wire, over at least three wire ceilings "
        "that differ by at least {link_limits.APART:%}, and the medians differ at least three "
        "times as much in bytes of frames or IP packets. `shaper`: the other way round. `either`: "
        "the records do not show which bytes count; at least three trials have one share of the "
        "wire ceiling within {link_limits.SAME:%} (one may be {2*link_limits.SAME:%} lower if its "
        "time without a CPU explains it twice; of more than three trials of one column, three "
        "must have it, and waits explain all that others miss), and with fewer than three ceilings "
        "no stream is below it without a known reason. Not stated with data both ways",
    values={
        "link": value(_("{rate_limit_bit_per_s} on the wire"), limit=_("a slower link"), says=(
                _("a link of {rate_limit_bit_per_s} {direction}, but the matrix states "
                    "{link_rate_bit_per_s}: {trials} of {of_trials} trials, with {columns} "
                    "combinations of protocol and message size, reach this rate on the wire and "
                    "no more"),
                _("a link of {rate_limit_bit_per_s}, but the matrix states {link_rate_bit_per_s}: "
                    "{trials} of {of_trials} trials, with {columns} combinations of protocol and "
                    "message size, reach this rate on the wire and no more")),
            advice=_("check speed, duplex, cable and driver at both ends, and the stated rate of "
                "the link")),
        "shaper": value(
            _("{rate_limit_bit_per_s} in bytes of {counted}"), limit=_("a shaper or policer"),
            says=(_("a shaper or policer limits the rate {direction} to {rate_limit_bit_per_s}, "
                    "counted in {counted}: {trials} of {of_trials} trials, with {columns} "
                    "combinations of protocol and message size, reach this rate and no more"),
                _("a shaper or policer limits the rate to {rate_limit_bit_per_s}, counted in "
                    "{counted}: {trials} of {of_trials} trials, with {columns} combinations of "
                    "protocol and message size, reach this rate and no more")),
            advice=_("look for a rate limit on the path: in a switch, a router or a host's queue")),
        "either": value(
            _("{rate_limit_bit_per_s} on the wire"), limit=_("a slower link or a shaper"), says=(
                _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper) {direction}: "
                    "{trials} of {of_trials} trials, {with_others}, reach {ceiling_share} of what "
                    "the link of {link_rate_bit_per_s} carries, and no more"),
                _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper) "
                    "{direction}: {trials} of {of_trials} trials reach {ceiling_share} of what "
                    "the link of {link_rate_bit_per_s} carries, and no more"),
                _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper): {trials} "
                    "of {of_trials} trials reach {ceiling_share} of what the link of "
                    "{link_rate_bit_per_s} carries, and no more")),
            advice=_("check the speed of the links at both ends and the stated rate, and look for "
                "a rate limit on the path"))})
warning("mesh-limit", rule=lambda mesh: mesh, rank=3, section=kind.MESH,
    condition="among at least three hosts, in streams with the same settings, the *figure* of a "
        "pair is the median share of the wire ceiling of its trials; the *margin* is the larger of "
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
    values={
        "host": value(_("{both_ways_bit_per_s} with every peer, both ways; other hosts reach "
                "{others_bit_per_s}: limited by {limits}"),
            _("{both_ways_bit_per_s} with every peer ({one_peer} and {other_peer}), both ways; "
                "other hosts reach {others_bit_per_s}: consistent with a link of "
                "{as_link_rate_bit_per_s} at that host, but the matrix states "
                "{link_rate_bit_per_s}"),
            _("{both_ways_bit_per_s} with every peer, both ways; other hosts reach "
                "{others_bit_per_s}: this fits a link of {as_link_rate_bit_per_s} at that host, "
                "but the matrix states {link_rate_bit_per_s}"),
            _("{both_ways_bit_per_s} with every peer ({one_peer} and {other_peer}), both ways; "
                "other hosts reach {others_bit_per_s}: consistent with a slow host"),
            _("{both_ways_bit_per_s} with every peer, both ways; other hosts reach "
                "{others_bit_per_s}"),
            _("sends at most {sends_at_most_bit_per_s} to every peer; receives "
                "{receives_bit_per_s}; other hosts reach {others_bit_per_s}: limited by {limits}"),
            _("sends at most {sends_at_most_bit_per_s} to every peer ({one_peer} and "
                "{other_peer}); receives {receives_bit_per_s}: consistent with a slow sender"),
            _("sends at most {sends_at_most_bit_per_s} to every peer; receives "
                "{receives_bit_per_s}"),
            _("sends at most {sends_at_most_bit_per_s} to every peer; other hosts reach "
                "{others_bit_per_s}"),
            _("receives at most {receives_at_most_bit_per_s} from every peer; sends "
                "{sends_bit_per_s}; other hosts reach {others_bit_per_s}: limited by {limits}"),
            _("receives at most {receives_at_most_bit_per_s} from every peer ({one_peer} and "
                "{other_peer}); sends {sends_bit_per_s}: consistent with a slow receiver"),
            _("receives at most {receives_at_most_bit_per_s} from every peer; sends "
                "{sends_bit_per_s}"),
            _("receives at most {receives_at_most_bit_per_s} from every peer; other hosts reach "
                "{others_bit_per_s}"), rank=2,
            advice=_("check what only this host has: its cable and port, its driver, its CPU")),
        "pair": value(_("between {one} and {other} at most {throughput_bit_per_s}, both ways, but "
                "each of them reaches {expected_bit_per_s} with other hosts"),
            _("from {sending} to {receiving} {throughput_bit_per_s}, but each of them reaches "
                "{expected_bit_per_s} with other hosts"), says_of_what=True,
            advice=_("check what only these two share: the link between their switches, a route, a "
                "filter")),
        "mesh": value(_("all {pairs} pairs reach {throughput_bit_per_s}, {ceiling_share} of what a "
                "link of {link_rate_bit_per_s} carries: no host stands out"),
            advice=_("check what all of them share, such as the switch, and the stated rate of the "
                "link"))})
note("far-host", _("adds {added_ns} to each of its round trips; {typical_ns} is typical"),
    rule="mesh:far_hosts", rank=67, section=kind.MESH,
    condition="of at least four hosts, each measured with at least three others, one adds more "
        "time to its round trips than the median host. The difference exceeds each of three "
        "values: {stats.mesh.POLISHED_MARGIN:%} of the *typical* round trip (between two hosts "
        "that add the median time), 3 x {stats.TO_DEVIATION} times the median of the "
        "absolute residuals, and {stats.mesh.SPREADS} pooled deviations within pairs. The times "
        "are a median polish of the median round trips (Tukey, Exploratory Data Analysis, 1977)",
    advice=_("check what only this host has: a longer path, power saving, interrupt moderation"))
warning("trend", section=kind.OVER_TIME,
    condition="over the blocks, the *figure of a block* rises or falls: the median over its trials "
        "of the logarithm of throughput or mean round trip, minus the cell's mean of it. Trials "
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
    values={
        "proved": value(_("{what}: {change_share} from the first to the last of {blocks} blocks, "
                "over {lasted_s}, as the median of {counted_cells}; chance alone gives such a "
                "change in one of {one_of} runs"),
            _("{what}: {change_share} from the first to the last of {blocks} blocks, as the median "
                "of {counted_cells}; chance alone gives such a change in one of {one_of} runs"),
            rule="over_time:drifts", rank=12, advice=_("conditions changed during the run: find "
                "what changed (heat, other load), and compare cells only within a block")),
        "possible": value(_("{what}: {change_share} from the first to the last of {blocks} blocks, "
                "as the median of {counted_cells}: consistent with drift, but {blocks} blocks are "
                "too few to prove it"), severity="note", rank=74,
            advice=_("repeat the cells at least 6 times to distinguish drift from chance"))})
note("first-trial-slower", _("{what} of the first trials: {change_share} compared with the later "
        "ones, slower in {slower_cells} of {counted_cells} (n = {blocks} trials each)"),
    rule="over_time:first_trials", rank=74, section=kind.OVER_TIME,
    condition="with at least {over_time.FIRST_BLOCKS} trials per cell, the first trial is slower "
        "than the median of the later ones in significantly more than half of the cells (exact "
        "sign test, p under {over_time.BY_CHANCE}). In the first block, the median over all cells "
        "of the difference from this median is more than {over_time.FIRST_CHANGE:%}, and more than "
        "{over_time.FIRST_ALONE} times as large as in any later block",
    advice=_("leave the first trial out of the means, or set a `warm_up` before each trial"))
warning("dips", rule="over_time:dips", section=kind.OVER_TIME, condition="in more than half of a "
        "cell's trials, the throughput has a period by the autocorrelation of at least "
        "{stats.trends.LEAST_VALUES} intervals (Box and Jenkins, Time Series Analysis, 1970), "
        "between {stats.trends.LEAST_PERIOD} intervals and a quarter of the window. The median dip "
        "is deeper than {over_time.DEEP:%} of the median rate, and than {over_time.GRAINS} times "
        "the largest receive call. `congestion`: TCP sent segments again in each of these trials",
    values={
        "unexplained": value(_("the rate dips by {depth_share} once every {period_ns}"), rank=13,
            advice=_("look for something with this period: a timer, a CPU quota, a scan, other "
                "traffic")),
        "congestion": value(_("the rate dips by {depth_share} once every {period_ns}, and TCP sent "
                "{resent_segments} again: this is TCP’s congestion control"),
            severity="note", rank=74, advice=_("TCP probes the rate of the path this way: check "
                "the queue before the slowest link"))})
