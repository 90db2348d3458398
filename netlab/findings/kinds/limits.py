"""What limits a stream below the wire's ceiling: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

_SECTION = "The bottleneck of a stream"

# A table: as few lines per row as possible.
# fmt: off

warning(
    "sender-cpu", _("its thread ran {thread_share} of the time, {calls_per_s} calls a second"),
    _("its thread ran {thread_share} of the time"), limit=_("the sender’s CPU"),
    figures=("thread_share", "sender_run_queue_share", "calls_per_s"), of_host=True,
    advice=_("the sender limits the figure: use larger messages, more streams or a faster CPU"),
    section=_SECTION,
    condition="the stream is not paced and has one sending thread. This thread was on a CPU for at "
        "least 95 % of the window. It waited for a CPU for less than 2 % of the window, and for "
        "anything else for less than 2 %")
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
    condition="the stream is not paced. The send calls take at least 80 % of the window. Without "
        "the longest 2 % of the calls, they take at least half of the window. In at least nine of "
        "ten samples there was room in the socket buffer for the next message")
warning(
    "sender-cpu-quota", _("throttled in {sender_throttled_share} of the quota’s periods"),
    limit=_("the sender’s CPU quota"), figures=("sender_throttled_share", "thread_share"),
    of_host=True, advice=_("raise the sender's CPU quota, or measure outside its container"),
    section=_SECTION,
    condition="the sender was throttled in more than 5 % of the periods of its CPU quota "
        "(`nr_throttled` of Linux control groups). In addition, the thread waited for nothing "
        "except a CPU, or its share of time without a CPU is at least half of the missing "
        "throughput")
warning(
    "sender-starved",
    _("its thread was ready to run but had no CPU {sender_run_queue_share} of the time"),
    limit=_("other programs on the sender’s CPU"),
    figures=("sender_run_queue_share", "thread_share"), of_host=True,
    advice=_("stop the other programs on the sender's CPU, or give the test its own CPU"),
    section=_SECTION,
    condition="the sending thread was ready to run but had no CPU for more than 5 % of the window, "
        "and it waited for nothing else. Also stated in two cases in which the thread waited for "
        "something else as well. First: the share of time without a CPU is at least half of the "
        "missing throughput, and no rule of this table except `not-determined` holds. Second: TCP "
        "has a plateau (see `link-or-shaper`), and throughput is at least as far below the plateau "
        "as the plateau is below the wire ceiling. The share of time without a CPU is at least "
        "half of the distance between throughput and plateau")
warning(
    "sender-queue-drops", _("dropped: {local_drops}"),
    limit=_("drops in the sender’s queue"),
    figures=("local_drops",),
    advice=_("lengthen the queue of the sender's interface, or offer a lower rate"),
    section=_SECTION,
    condition="the sender's own system dropped more than 5 % of the UDP messages")
warning(
    "sender-buffer",
    _("TCP waited {sndbuf_limited_share} of the time for room in a send buffer of "
        "{send_buffer_bytes}"),
    _("TCP waited {sndbuf_limited_share} of the time for room in its send buffer"),
    limit=_("the sender’s buffer"),
    figures=("sndbuf_limited_share", "send_buffer_bytes", "min_rtt_us"),
    advice=_("the socket limits the figure: enlarge the sender's buffer"),
    section=_SECTION,
    condition="TCP waited for its send buffer for at least half of the time")
warning(
    "receiver-cpu", _("its receive queue was full in {queue_full_share} of the samples, "
    "{useful_share} of its receive calls found data"),
    _("its receive queue was full in {queue_full_share} of the samples"),
    _("{useful_share} of its receive calls found data"),
    limit=_("the receiver’s CPU"),
    figures=("queue_full_share", "useful_share", "receiver_thread_share"),
    of_host=True,
    advice=_("the receiver limits the figure: use larger messages, more streams or a faster CPU"),
    section=_SECTION,
    condition="the receive queue was at least 80 % full in most samples. Also stated if at least "
        "95 % of the receive calls that did not wait found data, and the receiving thread was on a "
        "CPU for at least 80 % of the window")
warning(
    "receiver-cpu-quota", _("throttled in {receiver_throttled_share} of the quota’s periods"),
    limit=_("the receiver’s CPU quota"),
    figures=("receiver_throttled_share", "receiver_thread_share"), of_host=True,
    advice=_("raise the receiver's CPU quota, or measure outside its container"),
    section=_SECTION,
    condition="the receiver was throttled in more than 5 % of the periods of its CPU quota, and it "
        "fell behind (see `receiver-starved`)")
warning(
    "receiver-starved",
    _("its thread was ready to run but had no CPU {receiver_run_queue_share} of the time"),
    limit=_("other programs on the receiver’s CPU"),
    figures=("receiver_run_queue_share", "receiver_thread_share"), of_host=True,
    advice=_("stop the other programs on the receiver's CPU, or give the test its own CPU"),
    section=_SECTION,
    condition="a receiving thread was ready to run but had no CPU for more than 5 % of the window, "
        "and the receiver fell behind. It fell behind in any of these cases. Its queue was full "
        "in most samples. The thread waited for nothing except a CPU. Its socket dropped at least "
        "half of the lost messages. Or its receive window was closed for at least half of the "
        "time, and its share of time without a CPU is at least half of the missing throughput. "
        "Over TCP also stated if no other rule holds and each of two shares of time is at least "
        "half of the missing throughput: the time without a CPU, and the time with a closed window "
        "or a full queue. If the second is not recorded, the first is enough")
warning(
    "receiver-window",
    _("TCP waited for this window {rwnd_limited_share} of the time; {window_bytes} per round trip "
        "of {min_rtt_us} allow {window_limit_bit_per_s}"),
    limit=_("the receiver’s window"),
    figures=("rwnd_limited_share", "window_bytes", "min_rtt_us", "window_limit_bit_per_s"),
    of_host=True, advice=_("the socket limits the figure: enlarge the receiver's buffer"),
    section=_SECTION,
    condition="TCP waited for the receive window for at least half of the time. One such window "
        "per round trip (the shortest) allows at most 1.25 times the throughput. The receive queue "
        "was not full in most samples")
warning(
    "receive-queue-drops", _("{lost_share} lost, {lost_in_socket} of that in the socket"),
    limit=_("drops in the receiver’s queue"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("enlarge the receiver's buffer; if that does not help, its CPU is the limit"),
    section=_SECTION,
    condition="loss is the limit: a UDP sender sent at least 98 % of the offered rate (or of the "
        "wire ceiling, if that is lower) and messages were lost; or it sent less, and more than 5 "
        "% were lost. At least half of the lost messages were dropped because the receiving socket "
        "had no room. This finding is also stated if the drops of both hosts explain half of the "
        "loss, and most of them were in that socket")
warning(
    "host-drops", _("{lost_share} lost"), limit=_("drops at a host’s interface or backlog"),
    figures=("lost_share", "lost_messages"), of_host=True,
    advice=_("check the rings, queues, MTU and interrupts of the host that dropped the messages"),
    section=_SECTION,
    condition="loss is the limit (see `receive-queue-drops`). The sender sent at least 98 % of the "
        "offered rate or of the wire ceiling; or the loss is at least half of the missing "
        "throughput, or a fifth of all messages. At least half of the loss was dropped by an "
        "interface, its queue or the backlog of one of the two hosts. With data both ways, a drop "
        "that may belong to the other direction is not counted")
warning(
    "stolen-cpu", _("{most_stolen} of the CPUs’ time"),
    limit=_("CPU time given to other machines"),
    figures=("sender_steal_share", "receiver_steal_share"), of_host=True,
    advice=_("the hypervisor gave the CPU to other machines: measure on a dedicated machine, or "
        "let `quiet` in the matrix repeat such trials"),
    section=_SECTION,
    condition="the hypervisor gave more than 5 % of a host's CPU time to other machines. The "
        "thread waited for a CPU for at most three times as long (a longer wait is due to other "
        "programs). In addition, the receiver fell behind as for `receiver-starved`, or the sender "
        "waited for nothing except a CPU. If no other rule holds, it is enough that the time "
        "without a CPU is at least half of the missing throughput")
warning(
    "saturated-core", _("it was busy {busiest_core} of the time"), limit=_("one saturated core"),
    figures=("sender_busiest_core_share", "receiver_busiest_core_share"), of_host=True,
    advice=_("spread interrupts and threads over more CPUs, or pin them to different CPUs"),
    section=_SECTION,
    condition="one core was busy for at least 97 % of the window, but not because of a thread of "
        "the test. No thread of the test waited for a CPU for more than 5 % of the window. At "
        "least 10,000 messages were sent, or 10,000 full frames arrived, per second (fewer cannot "
        "fill a core)")
note(
    "congestion",
    _("{resent_segments} sent again; the congestion window limited TCP {cwnd_limited_share} of "
        "the time"),
    rank=70, limit=_("congestion control"),
    figures=("cwnd_limited_share", "retransmissions", "min_rtt_us"),
    advice=_("check the path for a slower link or a short queue"),
    section=_SECTION,
    condition="TCP sent segments again. For at least half of the time it had data to send, and "
        "neither the receive window nor the send buffer limited it (by the times in TCP_INFO). Not "
        "stated if other traffic probably used at least half of the missing throughput")
warning(
    "path-loss", _("{lost_share} lost"), limit=_("loss on the path"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("check the path for a slower link, a short queue or errors"),
    section=_SECTION,
    condition="loss is the limit, as for `host-drops`. The counters of both hosts' interfaces and "
        "backlogs, of the sender's queue and of the receiving socket are known, and they do not "
        "show these drops")
warning(
    "unplaced-loss", _("{lost_share} lost"), limit=_("loss at an unknown place"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("the two hosts do not count all their drops: watch them with the systems' own "
        "tools"),
    section=_SECTION,
    condition="loss is the limit, as for `host-drops`, but neither `host-drops` nor `path-loss` is "
        "shown: a counter is missing, or the hosts dropped only a part of the loss")
note(
    "packet-rate", _("{frames_per_s} frames a second, as with other sizes"), rank=69,
    limit=_("packets a second"), figures=("frames_per_s",), of_host=True,
    advice=_("the forwarding device or the receiver handles this many packets a second, "
        "whatever their size"),
    section=_SECTION,
    condition="UDP was measured with at least three message sizes that fit one frame. The largest "
        "is at least four times the smallest. With all of them the same number of frames arrive "
        "per second, within 5 %. Each throughput is below 95 % of its wire ceiling. No rule shows "
        "a host as the limit")
note(
    "pacing", _("{offered_bit_per_s} offered"), leads=False, limit=_("the offered rate"),
    figures=("offered_bit_per_s",), advice=_("offer a higher rate to find the limit"),
    section=_SECTION,
    condition="throughput is at least 98 % of the offered rate")
note(
    "not-determined",
    says=(
        _("its limit, at {of_ceiling} of the wire ceiling, cannot be determined from the "
            "records"),
        _("its limit cannot be determined from the records")),
    leads=False, limit=_("not determined"), explains=False,
    advice=_("the records do not show the limit"),
    section=_SECTION,
    condition="the records have all evidence that these rules need, and no rule holds. If evidence "
        "is missing, there is no finding")
