"""The settings of ``stream`` tests: messages one way, or both ways at once. No I/O."""

from __future__ import annotations

from typing import Literal

from netlab.kinds.groups import AtRate, Counted, Directed, Talk
from netlab.messages import _
from netlab.trial.settings import Ask, Need, Or, of_settings, setting

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class Stream(Talk, Directed, AtRate, Counted):
    """A ``stream``: messages one way, or both ways at once."""

    in_files = (
        "protocol message_bytes socket_buffer_bytes duration_s count warm_up_s direction streams "
        "ip_version congestion nodelay dont_fragment rate_bit_per_s message_rate_per_s "
        "send_method dscp source_port interface receive server_cpu client_cpu network opening"
    )

    tcp_send_method: Literal["batch"] | None = setting(
        "tcp_send_method", Or("plain"), default=None, only_of="TCP",
        label=_("send method over TCP"), absent=_("plain"), asks=(Ask("method", "send"),),
        need=Need("", of="sender"), about="TCP only: one message per send call, or up to 32.",
        column="how messages are handed to TCP: batch, up to 32 a call; NA: plain, one a call")
    tcp_receive_call: Literal["message"] | None = setting(
        "tcp_receive_call", Or("all"), default=None, only_of="TCP", absent=_("all received data"),
        label=_("bytes per TCP receive call"), asks=(Ask("receive_call", "receive"),),
        about="TCP only: at most one message a receive call, or all that has arrived.",
        column="how the receiver reads TCP: message, at most one message a call; "
        "NA: all that has arrived, up to 256 KiB")
