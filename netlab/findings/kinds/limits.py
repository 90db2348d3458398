"""What limits a stream below the wire's ceiling: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

_SECTION = "What limited a stream"

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "sender-cpu", _("its thread {thread_share} on a CPU, {calls_per_s} calls a second"),
    _("its thread {thread_share} on a CPU"), limit=_("the sender’s CPU"),
    figures=("thread_share", "sender_run_queue_share", "calls_per_s"), of_host=True,
    advice=_("the figure is the sender's: larger messages, more streams or a faster CPU"),
    section=_SECTION,
    stated="the one sending thread was on a CPU for 95 % of the window and more, waited for "
        "its CPU under 2 %, for anything else under 2 %; not paced")
warning(
    "sender-call-rate",
    _("{calls_per_s} calls a second of {send_call_median_ns} (nine of ten: {uneven_p90})"),
    _("{calls_per_s} calls a second, each takes {send_call_median_ns}"),
    limit=_("the sender’s call rate"),
    figures=(*("calls_per_s", "send_call_median_ns", "send_call_p90_ns", "in_calls_share"),
        *("in_ordinary_calls_share", "send_room_share", "thread_share")), of_host=True,
    advice=_("the figure is that of the sender's system: larger messages or more streams"),
    section=_SECTION,
    stated="send calls fill 80 % of the window and more, all but the longest of them half of "
        "it, and nine of ten found room in the socket")
warning(
    "sender-cpu-quota", _("throttled in {sender_throttled_share} of its periods"),
    limit=_("the sender’s CPU quota"), figures=("sender_throttled_share", "thread_share"),
    of_host=True, advice=_("raise the sender's CPU quota, or measure outside of its container"),
    section=_SECTION,
    stated="throttled in more than 5 % of the periods of its CPU quota (cgroups of Linux, "
        "`nr_throttled`), and that costs as much as `sender-starved` asks")
warning(
    "sender-starved", _("ready to run and without a CPU {sender_run_queue_share} of the time"),
    limit=_("others on the sender’s CPU"), figures=("sender_run_queue_share", "thread_share"),
    of_host=True,
    advice=_("end what else runs on the sender's CPU, or give the test one of its own"),
    section=_SECTION,
    stated="the sending thread was ready to run and had no CPU for more than 5 % of the "
        "window, and waited for nothing else; or that time is half of what throughput lacks "
        "and more, and no rule of this table but `not-determined` holds; or TCP has a plateau "
        "(`link-or-shaper`), stood for longer than its plateau lacks to the ceiling, and that "
        "time is half of it and more")
warning(
    "sender-queue-drops", _("{local_drops} dropped"), limit=_("drops in the sender’s queue"),
    figures=("local_drops",),
    advice=_("lengthen the queue of the sender's interface, or offer less"),
    section=_SECTION,
    stated="the sender's own system dropped more than 5 %")
warning(
    "sender-buffer",
    _("TCP waited for a buffer of {send_buffer_bytes} {sndbuf_limited_share} of the time"),
    _("TCP waited for a buffer {sndbuf_limited_share} of the time"),
    limit=_("the sender’s buffer"),
    figures=("sndbuf_limited_share", "send_buffer_bytes", "min_rtt_us"),
    advice=_("the figure is the socket's: enlarge the sender's buffer"),
    section=_SECTION,
    stated="TCP waited for its send buffer for half of the time and more")
warning(
    "receiver-cpu", _("its queue full at {queue_full_share} of the looks, {useful_share} of its "
        "receives found something"),
    _("its queue full at {queue_full_share} of the looks"),
    _("{useful_share} of its receives found something"),
    limit=_("the receiver’s CPU"),
    figures=("queue_full_share", "useful_share", "receiver_thread_share"),
    of_host=True,
    advice=_("the figure is the receiver's: larger messages, more streams or a faster CPU"),
    section=_SECTION,
    stated="the receive queue was full to 80 % and more at most looks; or 95 % and more of the "
        "receive calls that did not wait found something, and the receiving thread was on a "
        "CPU for 80 % of the window and more")
warning(
    "receiver-cpu-quota", _("throttled in {receiver_throttled_share} of its periods"),
    limit=_("the receiver’s CPU quota"),
    figures=("receiver_throttled_share", "receiver_thread_share"), of_host=True,
    advice=_("raise the receiver's CPU quota, or measure outside of its container"),
    section=_SECTION,
    stated="throttled in more than 5 % of its periods, and the receiver fell behind, as for "
        "`receiver-starved`")
warning(
    "receiver-starved", _("ready to run and without a CPU {receiver_run_queue_share} of the time"),
    limit=_("others on the receiver’s CPU"),
    figures=("receiver_run_queue_share", "receiver_thread_share"), of_host=True,
    advice=_("end what else runs on the receiver's CPU, or give the test one of its own"),
    section=_SECTION,
    stated="a receiving thread was ready to run and had no CPU for more than 5 % of the "
        "window, and fell behind: a full queue, nothing else that it waited for, drops in "
        "its socket, or a window closed for half of the time while that time is half of "
        "what throughput lacks. Over TCP also where no other rule holds and both that time "
        "and the time with the window closed are half of what is missing and more")
warning(
    "receiver-window",
    _("TCP waited for it {rwnd_limited_share} of the time: {window_bytes} in {min_rtt_us} are "
        "{window_limit_bit_per_s}"),
    limit=_("the receiver’s window"),
    figures=("rwnd_limited_share", "window_bytes", "min_rtt_us", "window_limit_bit_per_s"),
    of_host=True, advice=_("the figure is the socket's: enlarge the receiver's buffer"),
    section=_SECTION,
    stated="TCP waited for the receiver's window for half of the time and more; that window a "
        "round trip (the shortest) allows at most 1.25 times the throughput; the receiver "
        "is not behind")
warning(
    "receive-queue-drops", _("{lost_share} lost, {lost_in_socket} of that in the socket"),
    limit=_("drops in the receiver’s queue"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("enlarge the receiver's buffer; where that does not help it is its CPU"),
    section=_SECTION,
    stated="loss limits, and the receiving socket had no room for half of what was lost and "
        "more")
warning(
    "host-drops", _("{lost_share} lost"), limit=_("drops of a host’s own interface or backlog"),
    figures=("lost_share", "lost_messages"), of_host=True,
    advice=_("look at rings, queues, MTU and interrupts of the host that dropped"),
    section=_SECTION,
    stated="loss limits and is half of what throughput lacks, or a fifth of all messages; an "
        "interface, its queue or the backlog of one of the two hosts dropped half of it and "
        "more. With data both ways a drop that may have been of the other direction is "
        "counted for none")
warning(
    "stolen-cpu", _("{most_stolen} of the CPUs’ time"),
    limit=_("CPU time given to other machines"),
    figures=("sender_steal_share", "receiver_steal_share"), of_host=True,
    advice=_("the hypervisor gave the CPU to others: measure on a machine of its own, or have "
        "such trials measured again (quiet in the matrix)"),
    section=_SECTION,
    stated="the hypervisor gave more than 5 % of a host's CPU time to others, and the thread "
        "did not wait for a CPU for more than three times as long: then it waited for other "
        "programs; with what that led to, or its cost, as for `receiver-starved` and "
        "`sender-starved`")
warning(
    "saturated-core", _("busy {busiest_core}"), limit=_("one saturated core"),
    figures=("sender_busiest_core_share", "receiver_busiest_core_share"), of_host=True,
    advice=_("spread interrupts and threads over more CPUs, or pin them apart"),
    section=_SECTION,
    stated="one core was busy for 97 % of the window and more, no thread of the test keeps it "
        "so, none of them had to wait for a CPU for more than 5 %, and 10,000 messages or "
        "full frames a second or more went by: fewer fill no core")
note(
    "congestion",
    _("{resent_segments} sent again, held back {cwnd_limited_share} of the time"),
    rank=70, limit=_("congestion control"),
    figures=("cwnd_limited_share", "retransmissions", "min_rtt_us"),
    advice=_("look for a slower link or a short queue on the path"),
    section=_SECTION,
    stated="TCP was held back by neither window nor buffer for half of the time and more, and "
        "sent segments again (its account in TCP_INFO)")
warning(
    "path-loss", _("{lost_share} lost"), limit=_("loss on the path"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("look for a slower link, a short queue or errors on the path"),
    section=_SECTION,
    stated="loss limits, as for `host-drops`, and interface and backlog of both hosts, queue "
        "and socket were read and dropped nothing of it")
warning(
    "unplaced-loss", _("{lost_share} lost"), limit=_("loss of which it cannot be told where"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("what both hosts drop is not all counted: watch it with the systems' own tools"),
    section=_SECTION,
    stated="loss limits, as for `host-drops`, and neither is so: a counter is missing, or the "
        "hosts dropped a part of it")
note(
    "packet-rate", _("{frames_per_s} frames a second, as with other sizes"), rank=69,
    limit=_("packets a second"), figures=("frames_per_s",), of_host=True,
    advice=_("what forwards or receives takes so many packets a second, of any size"),
    section=_SECTION,
    stated="three sizes and more over a factor of four, in messages of one frame over UDP, "
        "arrive at the same frames a second within 5 %, each under 95 % of its ceiling, and "
        "no host is shown to be the limit")
note(
    "pacing", _("{offered_bit_per_s} offered"), leads=False, limit=_("the offered rate"),
    figures=("offered_bit_per_s",), advice=_("offer more to find the limit"),
    section=_SECTION,
    stated="throughput is 98 % of the offered rate and more")
note(
    "not-determined",
    says=(
        _("what limited it at {of_ceiling} of the wire ceiling is not determined by what is "
            "recorded"),
        _("what limited it is not determined by what is recorded")),
    leads=False, limit=_("not determined"), explains=False,
    advice=_("what is recorded does not show it"),
    section=_SECTION,
    stated="all of this is recorded, and none of it shows. Where it is not recorded, nothing "
        "is said")
