"""Kinds of findings about what limits a stream below the wire ceiling. No I/O."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

_SECTION = "The bottleneck of a stream"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "cpu-bound/sender",
    _("its thread ran {thread_share} of the time, {calls_per_s} calls a second"),
    _("its thread ran {thread_share} of the time"), limit=_("the sender’s CPU"),
    figures=("thread_share", "sender_run_queue_share", "calls_per_s"), of_host=True,
    advice=_("the sender limits the figure: use larger messages, more streams or a faster CPU"),
    section=_SECTION,
    condition="the test has one stream, which is not paced. The sending thread was on a CPU for at "
        "least 95 % of the window. This thread waited for a CPU for less than 2 % of the window, "
        "and for anything else for less than 2 %. If the wait for a CPU is not recorded, both "
        "waits together are less than 4 %. Over UDP, at least 95 % of the sent data arrived, and "
        "the sender sent less than 98 % of the wire ceiling")
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
    condition="the stream is not paced. The send calls together take at least 80 % of the window. "
        "Without the longest 2 % of the calls, they still take at least half of the window. The "
        "send buffer holds at least eight messages. It was sampled at least eight times, and at "
        "least nine of ten samples had room for the next message. Over UDP, at least 95 % of the "
        "sent data arrived, and the sender sent less than 98 % of the wire ceiling")
warning(
    "cpu-wait/sender-quota", _("throttled in {sender_throttled_share} of the quota’s periods"),
    limit=_("the sender’s CPU quota"), figures=("sender_throttled_share", "thread_share"),
    of_host=True, advice=_("raise the sender's CPU quota, or measure outside its container"),
    section=_SECTION,
    condition="a CPU quota throttled the sender in more than 5 % of the quota's periods "
        "(`nr_throttled` of Linux control groups). In addition, one of two conditions holds. "
        "First: the stream is not paced, and the sending thread was on a CPU, or waited for one, "
        "for at least 95 % of the window. Second: the sender's share of time without a CPU is at "
        "least half of the missing throughput")
warning(
    "cpu-wait/sender-programs",
    _("its thread was ready to run but had no CPU {sender_run_queue_share} of the time"),
    limit=_("other programs on the sender’s CPU"),
    figures=("sender_run_queue_share", "thread_share"), of_host=True,
    advice=_("stop the other programs on the sender's CPU, or give the test its own CPU"),
    section=_SECTION,
    condition="the sending thread was ready to run but had no CPU for more than 5 % of the window. "
        "In addition, one of three conditions holds. First: the sending thread was on a CPU, or "
        "ready to run, for at least 95 % of the window. For a paced stream, the share of time "
        "without a CPU must also be at least half of the missing throughput. Second: the share of "
        "time without a CPU is at least half of the missing throughput, and no rule of this table "
        "except `not-determined` holds. Third: the plateau of TCP shows the wait (see \"More about "
        "waits for a CPU\" below this table)")
warning(
    "loss-limit/sender-queue", _("dropped: {local_drops}"),
    limit=_("drops in the sender’s queue"),
    figures=("local_drops",),
    advice=_("lengthen the queue of the sender's interface, or offer a lower rate"),
    section=_SECTION,
    condition="the sender's own system dropped more than 5 % of the UDP messages")
warning(
    "buffer-limit/sender",
    _("TCP waited {sndbuf_limited_share} of the time for room in a send buffer of "
        "{send_buffer_bytes}"),
    _("TCP waited {sndbuf_limited_share} of the time for room in its send buffer"),
    limit=_("the sender’s buffer"),
    figures=("sndbuf_limited_share", "send_buffer_bytes", "min_rtt_us"),
    advice=_("the socket limits the figure: enlarge the sender's buffer"),
    section=_SECTION,
    condition="the test has one TCP stream, which waited for room in its send buffer for at least "
        "half of the window")
warning(
    "cpu-bound/receiver", _("its receive queue was full in {queue_full_share} of the samples, "
    "{useful_share} of its receive calls found data"),
    _("its receive queue was full in {queue_full_share} of the samples"),
    _("{useful_share} of its receive calls found data"),
    limit=_("the receiver’s CPU"),
    figures=("queue_full_share", "useful_share", "receiver_thread_share"),
    of_host=True,
    advice=_("the receiver limits the figure: use larger messages, more streams or a faster CPU"),
    section=_SECTION,
    condition="one of two conditions holds. First: the receive queue was at least 80 % full in "
        "more than half of the samples (at least 8 are needed). Second: at least 95 % of the "
        "receive calls that did not wait found data, and the receiving thread was on a CPU for at "
        "least 80 % of the window")
warning(
    "cpu-wait/receiver-quota", _("throttled in {receiver_throttled_share} of the quota’s periods"),
    limit=_("the receiver’s CPU quota"),
    figures=("receiver_throttled_share", "receiver_thread_share"), of_host=True,
    advice=_("raise the receiver's CPU quota, or measure outside its container"),
    section=_SECTION,
    condition="a CPU quota throttled the receiver in more than 5 % of the quota's periods. In "
        "addition, one of the five conditions of `cpu-wait/receiver-programs` holds")
warning(
    "cpu-wait/receiver-programs",
    _("its thread was ready to run but had no CPU {receiver_run_queue_share} of the time"),
    limit=_("other programs on the receiver’s CPU"),
    figures=("receiver_run_queue_share", "receiver_thread_share"), of_host=True,
    advice=_("stop the other programs on the receiver's CPU, or give the test its own CPU"),
    section=_SECTION,
    condition="a receiving thread was ready to run but had no CPU for more than 5 % of the window. "
        "In addition, one of five conditions holds. First: the receiver does not spin, and its "
        "thread was on a CPU, or ready to run, for at least 95 % of the window. Second: the "
        "receive queue was full in more than half of the samples (see `cpu-bound/receiver`). "
        "Third: loss is the limit (see `loss-limit/socket`), and the receiving socket dropped at "
        "least half of the lost messages. Fourth: TCP's receive window was closed for at least "
        "half of the trial's window, and the receiver's share of time without a CPU is large "
        "enough. It is large enough if it is at least half of the missing throughput. It is also "
        "large enough if the receiver does not spin, and its thread was on a CPU, or waited for "
        "one, for at least 95 % of the trial's window. Fifth, over TCP: no other rule holds, and "
        "two shares of time are each at least half of the missing throughput. One is the share of "
        "time without a CPU. The other is the share of time with a closed receive window, or with "
        "a full receive queue if that is larger. If this other share is not recorded, the share of "
        "time without a CPU is enough")
warning(
    "buffer-limit/receiver",
    _("TCP waited for this window {rwnd_limited_share} of the time; {window_bytes} per round trip "
        "of {min_rtt_us} allow {window_limit_bit_per_s}"),
    limit=_("the receiver’s window"),
    figures=("rwnd_limited_share", "window_bytes", "min_rtt_us", "window_limit_bit_per_s"),
    of_host=True, advice=_("the socket limits the figure: enlarge the receiver's buffer"),
    section=_SECTION,
    condition="the test has one TCP stream, which waited for the receive window for at least half "
        "of the trial's window. One receive window per shortest round trip is a rate of at most "
        "1.25 times the throughput. The receive queue was full in at most half of the samples")
warning(
    "loss-limit/socket", _("{lost_share} lost, {lost_in_socket} of that in the socket"),
    limit=_("drops in the receiver’s queue"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("enlarge the receiver's buffer; if that does not help, its CPU is the limit"),
    section=_SECTION,
    condition="over UDP, *loss is the limit* in two cases. First: messages were lost, and the "
        "sender sent at least 98 % of the offered rate (or of the wire ceiling, if that is lower). "
        "Second: the sender sent less, and more than 5 % of the messages were lost. The rule holds "
        "if loss is the limit, and the receiving socket had no room for at least half of the lost "
        "messages. It also holds if loss is the limit, and `loss/socket` gives the place of the "
        "loss")
warning(
    "loss-limit/host", _("{lost_share} lost"), limit=_("drops at a host’s interface or backlog"),
    figures=("lost_share", "lost_messages"), of_host=True,
    advice=_("check the rings, queues, MTU and interrupts of the host that dropped the messages"),
    section=_SECTION,
    condition="loss is the limit (see `loss-limit/socket`) and is *large enough*, in one of three "
        "ways. First: the sender sent at least 98 % of the offered rate (or of the wire ceiling, "
        "if that is lower). Second: the share of messages lost is at least half of the missing "
        "throughput. Third: the share of messages lost is at least 20 %. In addition, "
        "`loss/backlog`, `loss/interface` or `loss/queue` gives the place of the loss")
warning(
    "cpu-wait/steal", _("{most_stolen} of the CPUs’ time"),
    limit=_("CPU time given to other machines"),
    figures=("sender_steal_share", "receiver_steal_share"), of_host=True,
    advice=_("the hypervisor gave the CPU to other machines: measure on a dedicated machine, or "
        "let `quiet` in the matrix repeat such trials"),
    section=_SECTION,
    condition="the hypervisor gave more than 5 % of the CPU time of an end's host to other "
        "machines (the *steal*). A thread of this end waited for a CPU for at most three times "
        "this share of the window; a longer wait is due to other programs. In addition, one of "
        "three conditions holds. First, at the receiver: one of the first four conditions of "
        "`cpu-wait/receiver-programs` holds. Second, at the sender: the thread was on a CPU, or "
        "ready to run, for at least 95 % of the window. Third, at either end: the share of time "
        "without a CPU is at least half of the missing throughput, and no other rule holds")
warning(
    "saturated-core", _("it was busy {busiest_core} of the time"), limit=_("one saturated core"),
    figures=("sender_busiest_core_share", "receiver_busiest_core_share"), of_host=True,
    advice=_("spread interrupts and threads over more CPUs, or pin them to different CPUs"),
    section=_SECTION,
    condition="one core was busy for at least 97 % of the window, but not because of a thread of "
        "the test. Each thread of the test waited for a CPU for at most 5 % of the window. At "
        "least 10,000 messages per second were sent, or at least 10,000 full frames per second "
        "arrived. Fewer messages or frames cannot keep a core busy")
note(
    "congestion",
    _("{resent_segments} sent again; the congestion window limited TCP {cwnd_limited_share} of "
        "the time"),
    rank=70, limit=_("congestion control"),
    figures=("cwnd_limited_share", "retransmissions", "min_rtt_us"),
    advice=_("check the path for a slower link or a short queue"),
    section=_SECTION,
    condition="the test has one TCP stream, and TCP sent segments again. For at least half of the "
        "window, TCP had data to send, and neither the receive window nor the send buffer held TCP "
        "back (by the times in TCP_INFO). Not stated if the probable other traffic is at least "
        "half of the missing throughput")
warning(
    "loss-limit/path", _("{lost_share} lost"), limit=_("loss on the path"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("check the path for a slower link, a short queue or errors"),
    section=_SECTION,
    condition="loss is the limit and large enough (see `loss-limit/host`), and `loss/path` gives "
        "the place of the loss")
warning(
    "loss-limit/unknown", _("{lost_share} lost"), limit=_("loss at an unknown place"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("not all drops of the two hosts are known: watch them with the systems' own tools"),
    section=_SECTION,
    condition="loss is the limit and large enough (see `loss-limit/host`), but its place is "
        "unknown (see `loss/unknown`)")
note(
    "packet-rate", _("{frames_per_s} frames a second, as with other sizes"), rank=69,
    limit=_("packets a second"), figures=("frames_per_s",), of_host=True,
    advice=_("the forwarding device or the receiver handles this many packets a second, "
        "whatever their size"),
    section=_SECTION,
    condition="UDP was measured without pacing, and with at least three neighbouring message sizes "
        "that fit one frame. The largest of these sizes is at least four times the smallest. The "
        "number of frames that arrive per second is the same with all these sizes, within 5 %. "
        "Each throughput is below 95 % of its wire ceiling. In these trials, the finding replaces "
        "`loss-limit/path`, `loss-limit/unknown`, `not-determined`, and any limit without a "
        "recorded effect (a wait for a CPU, or other traffic). The finding also replaces other "
        "waits for a CPU, if more than half of these trials have no limit or one of the limits "
        "just named. A trial of another tool (`engine`) counts only if it lost more than 5 % of "
        "its messages, because nothing is recorded about the send calls of that tool")
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
    condition="the records have all evidence that the rules of this table need, and no rule holds. "
        "If evidence is missing, there is no finding")
