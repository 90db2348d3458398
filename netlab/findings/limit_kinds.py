"""What limits a stream: these rows of the table of kinds. Pure."""

from netlab.findings.kind import Kind
from netlab.messages import _

LIMITS = (
    Kind(
        "wire-ceiling",
        "note",
        rule=lambda limited: limited,
        rank=61,
        limit=_("the wire"),
        explains=False,
        says=(
            _("at the wire’s limit, {filled} and more of {ceiling_bit_per_s}, {in_cells}"),
            _("at the wire’s limit, {filled} and more of {ceiling_bit_per_s}"),
            _("at the wire’s limit, {filled} and more of its ceiling, {in_cells}"),
            _("at the wire’s limit, {filled} and more of its ceiling"),
        ),
        advice=_("the link carries no more in messages of this size"),
    ),
    Kind(
        "sender-cpu",
        "warning",
        limit=_("the sender’s CPU"),
        of_host=True,
        figures=("thread_share", "sender_run_queue_share", "calls_per_s"),
        shown=(
            _("its thread {thread_share} on a CPU, {calls_per_s} calls a second"),
            _("its thread {thread_share} on a CPU"),
        ),
        advice=_("the figure is the sender's: larger messages, more streams or a faster CPU"),
    ),
    Kind(
        "sender-call-rate",
        "warning",
        limit=_("the sender’s call rate"),
        of_host=True,
        figures=(
            *("calls_per_s", "send_call_median_ns", "send_call_p90_ns", "in_calls_share"),
            *("in_ordinary_calls_share", "send_room_share", "thread_share"),
        ),
        shown=(
            _("{calls_per_s} calls a second of {send_call_median_ns} (nine of ten: {uneven_p90})"),
            _("{calls_per_s} calls a second, each takes {send_call_median_ns}"),
        ),
        advice=_("the figure is that of the sender's system: larger messages or more streams"),
    ),
    Kind(
        "sender-cpu-quota",
        "warning",
        limit=_("the sender’s CPU quota"),
        of_host=True,
        figures=("sender_throttled_share", "thread_share"),
        shown=_("throttled in {sender_throttled_share} of its periods"),
        advice=_("raise the sender's CPU quota, or measure outside of its container"),
    ),
    Kind(
        "sender-starved",
        "warning",
        limit=_("others on the sender’s CPU"),
        of_host=True,
        figures=("sender_run_queue_share", "thread_share"),
        shown=_("ready to run and without a CPU {sender_run_queue_share} of the time"),
        advice=_("end what else runs on the sender's CPU, or give the test one of its own"),
    ),
    Kind(
        "sender-queue-drops",
        "warning",
        limit=_("drops in the sender’s queue"),
        figures=("local_drops",),
        shown=_("{local_drops} dropped"),
        advice=_("lengthen the queue of the sender's interface, or offer less"),
    ),
    Kind(
        "sender-buffer",
        "warning",
        limit=_("the sender’s buffer"),
        figures=("sndbuf_limited_share", "send_buffer_bytes", "min_rtt_us"),
        shown=(
            _("TCP waited for a buffer of {send_buffer_bytes} {sndbuf_limited_share} of the time"),
            _("TCP waited for a buffer {sndbuf_limited_share} of the time"),
        ),
        advice=_("the figure is the socket's: enlarge the sender's buffer"),
    ),
    Kind(
        "receiver-cpu",
        "warning",
        limit=_("the receiver’s CPU"),
        of_host=True,
        figures=("queue_full_share", "receiver_thread_share"),
        shown=_("its queue full at {queue_full_share} of the looks"),
        advice=_("the figure is the receiver's: larger messages, more streams or a faster CPU"),
    ),
    Kind(
        "receiver-cpu-quota",
        "warning",
        limit=_("the receiver’s CPU quota"),
        of_host=True,
        figures=("receiver_throttled_share", "receiver_thread_share"),
        shown=_("throttled in {receiver_throttled_share} of its periods"),
        advice=_("raise the receiver's CPU quota, or measure outside of its container"),
    ),
    Kind(
        "receiver-starved",
        "warning",
        limit=_("others on the receiver’s CPU"),
        of_host=True,
        figures=("receiver_run_queue_share", "receiver_thread_share"),
        shown=_("ready to run and without a CPU {receiver_run_queue_share} of the time"),
        advice=_("end what else runs on the receiver's CPU, or give the test one of its own"),
    ),
    Kind(
        "receiver-window",
        "warning",
        limit=_("the receiver’s window"),
        of_host=True,
        figures=("rwnd_limited_share", "window_bytes", "min_rtt_us", "window_limit_bit_per_s"),
        shown=_(
            "TCP waited for it {rwnd_limited_share} of the time: {window_bytes} in {min_rtt_us} "
            "are {window_limit_bit_per_s}"
        ),
        advice=_("the figure is the socket's: enlarge the receiver's buffer"),
    ),
    Kind(
        "receive-queue-drops",
        "warning",
        limit=_("drops in the receiver’s queue"),
        figures=("lost_share", "lost_messages", "receive_queue_drops"),
        shown=_("{lost_share} lost, {lost_in_socket} of that in the socket"),
        advice=_("enlarge the receiver's buffer; where that does not help it is its CPU"),
    ),
    Kind(
        "stolen-cpu",
        "warning",
        limit=_("CPU time given to other machines"),
        of_host=True,
        figures=("sender_steal_share", "receiver_steal_share"),
        shown=_("{most_stolen} of the CPUs’ time"),
        advice=_(
            "the hypervisor gave the CPU to others: measure on a machine of its own, or have such "
            "trials measured again (quiet in the matrix)"
        ),
    ),
    Kind(
        "saturated-core",
        "warning",
        limit=_("one saturated core"),
        of_host=True,
        figures=("sender_busiest_core_share", "receiver_busiest_core_share"),
        shown=_("busy {busiest_core}"),
        advice=_("spread interrupts and threads over more CPUs, or pin them apart"),
    ),
    Kind(
        "congestion",
        "note",
        rank=70,
        limit=_("congestion control"),
        figures=("cwnd_limited_share", "retransmissions", "min_rtt_us"),
        shown=_(
            "{retransmissions} segments sent again, held back {cwnd_limited_share} of the time"
        ),
        advice=_("look for a slower link or a short queue on the path"),
    ),
    Kind(
        "path-loss",
        "warning",
        limit=_("loss on the path"),
        figures=("lost_share", "lost_messages", "receive_queue_drops"),
        shown=_("{lost_share} lost"),
        advice=_("look for a slower link, a short queue or errors on the path"),
    ),
    Kind(
        "packet-rate",
        "note",
        rank=69,
        limit=_("packets a second"),
        of_host=True,
        figures=("frames_per_s",),
        shown=_("{frames_per_s} frames a second, as with other sizes"),
        advice=_("what forwards or receives takes so many packets a second, of any size"),
    ),
    Kind(
        "pacing",
        "note",
        leads=False,
        limit=_("the offered rate"),
        figures=("offered_bit_per_s",),
        shown=_("{offered_bit_per_s} offered"),
        advice=_("offer more to find the limit"),
    ),
    Kind(
        "not-determined",
        "note",
        leads=False,
        limit=_("not determined"),
        explains=False,
        says=(
            _(
                "what limited it at {of_ceiling} of the wire ceiling is not determined by what is "
                "recorded"
            ),
            _("what limited it is not determined by what is recorded"),
        ),
        advice=_("what is recorded does not show it"),
    ),
)
