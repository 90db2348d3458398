"""Kinds of findings about what limits a stream below the wire ceiling."""

from netlab.findings.kinds.kind import note, value, warning
from netlab.messages import _

_SECTION = "The bottleneck of a stream"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "cpu-bound", of_host=True, section=_SECTION,
    condition="`sender`: the one, unpaced stream kept its sending thread on a CPU for at least 95 "
        "% of the window; it waited for a CPU for less than 2 %, and for anything else for less "
        "than 2 % (4 % together if the first is not recorded). Over UDP, at least 95 % of the sent "
        "data arrived, and the sender sent less than 98 % of the wire ceiling. `receiver`: its "
        "queue was at least 80 % full in more than half of the samples (at least 8); or at least "
        "95 % of the receive calls that did not wait found data, and its thread was on a CPU for "
        "at least 80 % of the window",
    values={
        "sender": value(
            _("its thread ran {thread_share} of the time, {calls_per_s} calls a second"),
            _("its thread ran {thread_share} of the time"), limit=_("the sender’s CPU"),
            figures=("thread_share", "sender_run_queue_share", "calls_per_s"),
            advice=_("the sender limits the figure: use larger messages, more streams or a faster "
                "CPU")),
        "receiver": value(
            _("its receive queue was full in {queue_full_share} of the samples, {useful_share} of "
                "its receive calls found data"),
            _("its receive queue was full in {queue_full_share} of the samples"),
            _("{useful_share} of its receive calls found data"), limit=_("the receiver’s CPU"),
            figures=("queue_full_share", "useful_share", "receiver_thread_share"),
            advice=_("the receiver limits the figure: use larger messages, more streams or a "
                "faster CPU"))})
warning(
    "sender-call-rate",
    _("{calls_per_s} calls a second, median {send_call_median_ns} (90th percentile "
        "{uneven_p90})"),
    _("{calls_per_s} calls a second, each takes {send_call_median_ns}"),
    limit=_("the sender’s call rate"),
    figures=(*("calls_per_s", "send_call_median_ns", "send_call_p90_ns", "in_calls_share"),
        *("in_ordinary_calls_share", "send_room_share", "thread_share")), of_host=True,
    advice=_("the sender's system limits the figure: use larger messages or more streams"),
    section=_SECTION,
    condition="the stream is not paced. The send calls take at least 80 % of the window, and at "
        "least half of it without the longest 2 % of the calls. The send buffer holds at least "
        "eight messages; at least nine of ten samples (of at least eight) had room for the next "
        "one. Over UDP also as for `cpu-bound/sender`")
warning(
    "cpu-wait", of_host=True, section=_SECTION,
    condition="an end waited for a CPU for more than 5 % of the window, and that cost throughput. "
        "`quota`: a quota throttled the end in more than 5 % of its periods (`nr_throttled` of "
        "Linux control groups). `programs`: a thread was ready to run but had no CPU for more than "
        "5 % of the window. `steal`: a hypervisor gave more than 5 % of the host's CPU time to "
        "other machines, and a thread waited for at most three times this share (a longer wait is "
        "due to other programs). Costs at the sender: its thread was on a CPU or waited for one "
        "for at least 95 % of the window, or the share of time without a CPU is at least half of "
        "the missing throughput. Costs at the receiver: its thread was never idle in this way; or "
        "its queue was full (`cpu-bound/receiver`); or its socket dropped at least half of the "
        "lost messages, or its window was closed for at least half of the time, and the wait is "
        "large enough. If no other rule holds, a wait of at least half of the missing throughput "
        "is enough, over TCP with a closed window or a full queue of that share, where recorded "
        "(see also \"More about waits for a CPU\" below this table)",
    values={
        "sender-quota": value(
            _("throttled in {sender_throttled_share} of the quota’s periods"),
            limit=_("the sender’s CPU quota"), figures=("sender_throttled_share", "thread_share"),
            advice=_("raise the sender's CPU quota, or measure outside its container")),
        "sender-programs": value(
            _("its thread was ready to run but had no CPU {sender_run_queue_share} of the time"),
            limit=_("other programs on the sender’s CPU"),
            figures=("sender_run_queue_share", "thread_share"),
            advice=_("stop the other programs on the sender's CPU, or give the test its own CPU")),
        "receiver-quota": value(
            _("throttled in {receiver_throttled_share} of the quota’s periods"),
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
warning(
    "buffer-limit", section=_SECTION,
    condition="for at least half of the window the one TCP stream waited for room in its send "
        "buffer (`sender`) or for the receive window (`receiver`). The receive window is a limit "
        "only if one window per shortest round trip is at most 1.25 times the throughput, and the "
        "receive queue was full in at most half of the samples",
    values={
        "sender": value(
            _("TCP waited {sndbuf_limited_share} of the time for room in a send buffer of "
                "{send_buffer_bytes}"),
            _("TCP waited {sndbuf_limited_share} of the time for room in its send buffer"),
            limit=_("the sender’s buffer"),
            figures=("sndbuf_limited_share", "send_buffer_bytes", "min_rtt_us"),
            advice=_("the socket limits the figure: enlarge the sender's buffer")),
        "receiver": value(
            _("TCP waited for this window {rwnd_limited_share} of the time; {window_bytes} per "
                "round trip of {min_rtt_us} allow {window_limit_bit_per_s}"),
            limit=_("the receiver’s window"), of_host=True,
            figures=("rwnd_limited_share", "window_bytes", "min_rtt_us", "window_limit_bit_per_s"),
            advice=_("the socket limits the figure: enlarge the receiver's buffer"))})
warning(
    "loss-limit", _("{lost_share} lost"), section=_SECTION,
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    condition="*loss is the limit* over UDP if messages were lost and the sender sent at least 98 "
        "% of the offered rate (or of the wire ceiling, if that is lower), or if more than 5 % "
        "were lost. `socket`: the receiving socket had no room for at least half of the lost "
        "messages, or `loss/socket` gives the place. Elsewhere the loss must also be *large "
        "enough*: the sender sent these 98 %, or the share lost is at least half of the missing "
        "throughput, or at least 20 %. The place is that of `loss`: `host` (backlog, interface or "
        "queue), `path` or `unknown`. `sender-queue`: the sender's own system dropped more than 5 "
        "% of the messages",
    values={
        "sender-queue": value(
            _("dropped: {local_drops}"), limit=_("drops in the sender’s queue"),
            figures=("local_drops",),
            advice=_("lengthen the queue of the sender's interface, or offer a lower rate")),
        "socket": value(
            _("{lost_share} lost, {lost_in_socket} of that in the socket"),
            limit=_("drops in the receiver’s queue"),
            advice=_("enlarge the receiver's buffer; if that does not help, its CPU is the limit")),
        "host": value(
            limit=_("drops at a host’s interface or backlog"), of_host=True,
            figures=("lost_share", "lost_messages"),
            advice=_("check the rings, queues, MTU and interrupts of the host that dropped the "
                "messages")),
        "path": value(
            limit=_("loss on the path"),
            advice=_("check the path for a slower link, a short queue or errors")),
        "unknown": value(
            limit=_("loss at an unknown place"),
            advice=_("not all drops of the two hosts are known: watch them with the systems' own "
                "tools"))})
warning(
    "saturated-core", _("it was busy {busiest_core} of the time"), limit=_("one saturated core"),
    figures=("sender_busiest_core_share", "receiver_busiest_core_share"), of_host=True,
    advice=_("spread interrupts and threads over more CPUs, or pin them to different CPUs"),
    section=_SECTION,
    condition="one core was busy for at least 97 % of the window, but not because of a thread of "
        "the test, and no thread of the test waited for a CPU for more than 5 %. At least 10,000 "
        "messages were sent, or full frames arrived, per second; fewer cannot keep a core busy")
note(
    "congestion",
    _("{resent_segments} sent again; the congestion window limited TCP {cwnd_limited_share} of "
        "the time"),
    rank=70, limit=_("congestion control"),
    figures=("cwnd_limited_share", "retransmissions", "min_rtt_us"),
    advice=_("check the path for a slower link or a short queue"),
    section=_SECTION,
    condition="the one TCP stream sent segments again, and for at least half of the window neither "
        "the receive window nor the send buffer held it back (by TCP_INFO). Not stated if the "
        "probable other traffic is at least half of the missing throughput")
note(
    "packet-rate", _("{frames_per_s} frames a second, as with other sizes"), rank=69,
    limit=_("packets a second"), figures=("frames_per_s",), of_host=True,
    advice=_("the forwarding device or the receiver handles this many packets a second, "
        "whatever their size"),
    section=_SECTION,
    condition="UDP without pacing, with at least three neighbouring message sizes that fit one "
        "frame, the largest at least four times the smallest: the same number of frames arrives "
        "per second, within 5 %, and each throughput is below 95 % of its wire ceiling. It "
        "replaces `loss-limit/path`, `loss-limit/unknown`, `not-determined` and limits without a "
        "recorded effect; other waits for a CPU only if more than half of these trials have none. "
        "Trials of another tool (`engine`) count only if they lost more than 5 %")
note(
    "pacing", _("{offered_bit_per_s} offered"), leads=False, limit=_("the offered rate"),
    figures=("offered_bit_per_s",), advice=_("offer a higher rate to find the limit"),
    section=_SECTION, condition="throughput is at least 98 % of the offered rate")
note(
    "not-determined",
    says=(
        _("its limit, at {of_ceiling} of the wire ceiling, cannot be determined from the "
            "records"),
        _("its limit cannot be determined from the records")),
    leads=False, limit=_("not determined"), explains=False,
    advice=_("the records do not show the limit"),
    section=_SECTION,
    condition="the records have all evidence that the rules of this table need, and no rule holds. "
        "If evidence is missing, there is no finding")
