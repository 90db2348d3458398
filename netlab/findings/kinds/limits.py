"""What limits a stream below the wire's ceiling: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "sender-cpu", _("its thread {thread_share} on a CPU, {calls_per_s} calls a second"),
    _("its thread {thread_share} on a CPU"), limit=_("the sender’s CPU"),
    figures=("thread_share", "sender_run_queue_share", "calls_per_s"), of_host=True,
    advice=_("the figure is the sender's: larger messages, more streams or a faster CPU"))
warning(
    "sender-call-rate",
    _("{calls_per_s} calls a second of {send_call_median_ns} (nine of ten: {uneven_p90})"),
    _("{calls_per_s} calls a second, each takes {send_call_median_ns}"),
    limit=_("the sender’s call rate"),
    figures=(*("calls_per_s", "send_call_median_ns", "send_call_p90_ns", "in_calls_share"),
        *("in_ordinary_calls_share", "send_room_share", "thread_share")), of_host=True,
    advice=_("the figure is that of the sender's system: larger messages or more streams"))
warning(
    "sender-cpu-quota", _("throttled in {sender_throttled_share} of its periods"),
    limit=_("the sender’s CPU quota"), figures=("sender_throttled_share", "thread_share"),
    of_host=True, advice=_("raise the sender's CPU quota, or measure outside of its container"))
warning(
    "sender-starved", _("ready to run and without a CPU {sender_run_queue_share} of the time"),
    limit=_("others on the sender’s CPU"), figures=("sender_run_queue_share", "thread_share"),
    of_host=True,
    advice=_("end what else runs on the sender's CPU, or give the test one of its own"))
warning(
    "sender-queue-drops", _("{local_drops} dropped"), limit=_("drops in the sender’s queue"),
    figures=("local_drops",),
    advice=_("lengthen the queue of the sender's interface, or offer less"))
warning(
    "sender-buffer",
    _("TCP waited for a buffer of {send_buffer_bytes} {sndbuf_limited_share} of the time"),
    _("TCP waited for a buffer {sndbuf_limited_share} of the time"),
    limit=_("the sender’s buffer"),
    figures=("sndbuf_limited_share", "send_buffer_bytes", "min_rtt_us"),
    advice=_("the figure is the socket's: enlarge the sender's buffer"))
warning(
    "receiver-cpu", _("its queue full at {queue_full_share} of the looks"),
    limit=_("the receiver’s CPU"), figures=("queue_full_share", "receiver_thread_share"),
    of_host=True,
    advice=_("the figure is the receiver's: larger messages, more streams or a faster CPU"))
warning(
    "receiver-cpu-quota", _("throttled in {receiver_throttled_share} of its periods"),
    limit=_("the receiver’s CPU quota"),
    figures=("receiver_throttled_share", "receiver_thread_share"), of_host=True,
    advice=_("raise the receiver's CPU quota, or measure outside of its container"))
warning(
    "receiver-starved", _("ready to run and without a CPU {receiver_run_queue_share} of the time"),
    limit=_("others on the receiver’s CPU"),
    figures=("receiver_run_queue_share", "receiver_thread_share"), of_host=True,
    advice=_("end what else runs on the receiver's CPU, or give the test one of its own"))
warning(
    "receiver-window",
    _("TCP waited for it {rwnd_limited_share} of the time: {window_bytes} in {min_rtt_us} are "
        "{window_limit_bit_per_s}"),
    limit=_("the receiver’s window"),
    figures=("rwnd_limited_share", "window_bytes", "min_rtt_us", "window_limit_bit_per_s"),
    of_host=True, advice=_("the figure is the socket's: enlarge the receiver's buffer"))
warning(
    "receive-queue-drops", _("{lost_share} lost, {lost_in_socket} of that in the socket"),
    limit=_("drops in the receiver’s queue"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("enlarge the receiver's buffer; where that does not help it is its CPU"))
warning(
    "host-drops", _("{lost_share} lost"), limit=_("drops of a host’s own interface or backlog"),
    figures=("lost_share", "lost_messages"), of_host=True,
    advice=_("look at rings, queues, MTU and interrupts of the host that dropped"))
warning(
    "stolen-cpu", _("{most_stolen} of the CPUs’ time"),
    limit=_("CPU time given to other machines"),
    figures=("sender_steal_share", "receiver_steal_share"), of_host=True,
    advice=_("the hypervisor gave the CPU to others: measure on a machine of its own, or have "
        "such trials measured again (quiet in the matrix)"))
warning(
    "saturated-core", _("busy {busiest_core}"), limit=_("one saturated core"),
    figures=("sender_busiest_core_share", "receiver_busiest_core_share"), of_host=True,
    advice=_("spread interrupts and threads over more CPUs, or pin them apart"))
note(
    "congestion",
    _("{retransmissions} segments sent again, held back {cwnd_limited_share} of the time"),
    rank=70, limit=_("congestion control"),
    figures=("cwnd_limited_share", "retransmissions", "min_rtt_us"),
    advice=_("look for a slower link or a short queue on the path"))
warning(
    "path-loss", _("{lost_share} lost"), limit=_("loss on the path"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("look for a slower link, a short queue or errors on the path"))
warning(
    "unplaced-loss", _("{lost_share} lost"), limit=_("loss of which it cannot be told where"),
    figures=("lost_share", "lost_messages", "receive_queue_drops"),
    advice=_("what both hosts drop is not all counted: watch it with the systems' own tools"))
note(
    "packet-rate", _("{frames_per_s} frames a second, as with other sizes"), rank=69,
    limit=_("packets a second"), figures=("frames_per_s",), of_host=True,
    advice=_("what forwards or receives takes so many packets a second, of any size"))
note(
    "pacing", _("{offered_bit_per_s} offered"), leads=False, limit=_("the offered rate"),
    figures=("offered_bit_per_s",), advice=_("offer more to find the limit"))
note(
    "not-determined",
    says=(
        _("what limited it at {of_ceiling} of the wire ceiling is not determined by what is "
            "recorded"),
        _("what limited it is not determined by what is recorded")),
    leads=False, limit=_("not determined"), explains=False,
    advice=_("what is recorded does not show it"))
