"""Rows of the table of kinds: a target at a distance, limits of streams, links, mesh, trends."""

from netlab.findings.kind import note, value, warning
from netlab.messages import _

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

note("target", rule="distance:at_a_distance",
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
warning("cpu-bound", of_host=True,
    values={
        "sender": value(
            _("its thread ran {thread_share} of the time, {calls_per_s} calls a second"),
            _("its thread ran {thread_share} of the time"), limit=_("the sender’s CPU"),
            figures=("thread_share", "sender_run_queue_share", "calls_per_s"),
            advice=_("the sender limits the figure: use larger messages, more streams or a faster "
                "CPU")),
        "both": value(_("both ends are on this host; the sender’s thread ran {thread_share} of the "
                "time, the receiver’s {receiver_thread_share}"), limit=_("the host’s CPU"),
            figures=("thread_share", "receiver_thread_share"),
            advice=_("the host limits the figure, for there is no wire: measure between two "
                "hosts")),
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
    advice=_("the sender's system limits the figure: use larger messages or more streams"))
warning("cpu-wait", of_host=True,
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
warning("unscaled-window",
    _("window scaling is off on {at_host}: {window_bytes} per round trip of {min_rtt_us} allow "
        "{window_limit_bit_per_s}"),
    _("the ends did not agree to scale windows: {window_bytes} per round trip of {min_rtt_us} "
        "allow {window_limit_bit_per_s}"),
    limit=_("the receiver’s unscaled window"), of_host=True,
    figures=("rwnd_limited_share", "window_bytes", "min_rtt_us", "window_limit_bit_per_s"),
    advice=_("switch window scaling on (net.ipv4.tcp_window_scaling=1); if it is on at both ends, "
        "look for a firewall that removes the option"))
warning("buffer-limit",
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
warning("loss-limit", _("{lost_share} lost"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
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
        "damaged": value(limit=_("damaged packets"),
            figures=("lost_share", "lost_messages", "damaged_share"),
            advice=_("replace the cable, then look for the card or device that corrupts packets")),
        "path": value(limit=_("loss on the path"),
            advice=_("check the path for a slower link, a short queue or errors")),
        "unknown": value(limit=_("loss at an unknown place"),
            advice=_("not all drops of the two hosts are known: watch them with the systems' own "
                "tools"))})
warning(
    "saturated-core", _("it was busy {busiest_core} of the time"), limit=_("one saturated core"),
    figures=("sender_busiest_core_share", "receiver_busiest_core_share"), of_host=True,
    advice=_("spread interrupts and threads over more CPUs, or pin them to different CPUs"))
note("congestion", _("{resent_segments} sent again; the congestion window limited TCP "
        "{cwnd_limited_share} of the time"), rank=70, limit=_("congestion control"),
    figures=("cwnd_limited_share", "retransmissions", "min_rtt_us"),
    advice=_("check the path for a slower link or a short queue"))
note("packet-rate", _("{frames_per_s} frames a second, as with other sizes"), rank=69,
    limit=_("packets a second"), figures=("frames_per_s",), of_host=True,
    advice=_("the forwarding device or the receiver handles this many packets a second, "
        "whatever their size"))
note("pacing", _("{offered_bit_per_s} offered"), leads=False, limit=_("the offered rate"),
    figures=("offered_bit_per_s",), advice=_("offer a higher rate to find the limit"))
note("not-determined", says=(
        _("its limit, at {of_ceiling} of the wire ceiling, cannot be determined from the records"),
        _("its limit cannot be determined from the records")),
    leads=False, limit=_("not determined"), explains=False,
    advice=_("the records do not show the limit"))
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
    rule="validity:links", rank=2, limit=_("a slower link"),
    advice=_("check speed, duplex, cable and driver at both ends, and the stated rate of the link"))
warning("rate-limit", rank=2,
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
        "half-duplex": value(
            _("{rate_limit_bit_per_s} on the wire, and with the acknowledgements all of it"),
            limit=_("half duplex or a slower link"),
            says=(_("a limit of {rate_limit_bit_per_s} on the wire {direction}: with the "
                    "acknowledgements that come back, the link of {link_rate_bit_per_s} is full, "
                    "as at half duplex; {trials} of {of_trials} trials reach this rate and no "
                    "more"),),
            advice=_("measure UDP one way: at half duplex it fills the link; check the duplex mode "
                "at both ends, and look for a rate limit on the path")),
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
warning("mesh-limit", rule=lambda mesh: mesh, rank=3,
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
    rule="mesh:far_hosts", rank=67,
    advice=_("check what only this host has: a longer path, power saving, interrupt moderation"))
warning("trend",
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
    rule="over_time:first_trials", rank=74,
    advice=_("leave the first trial out of the means, or set a `warm_up` before each trial"))
