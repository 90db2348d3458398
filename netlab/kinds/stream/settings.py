"""The settings of ``stream`` tests: messages one way, or both ways at once. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from netlab.ethernet import Link
from netlab.kinds import groups
from netlab.kinds.groups import SentMessages, SettingFault
from netlab.messages import _
from netlab.trial.settings import Ask, Need, Or, of_settings, setting

ADAPTIVE_WARM_UP_S = 0.1
"""Minimum warm-up in which a receiver can try both receive calls (docs/protocol.md)."""

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class Stream(groups.Talk, groups.Directed, groups.AtRate, groups.Counted):
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

    # fmt: on
    probe_test = "stream"

    def faults(self) -> Iterator[SettingFault]:
        """As for all tests."""
        yield from groups.too_long(self)
        yield from super().faults()
        if self.receive == "adaptive" and self.warm_up_s < ADAPTIVE_WARM_UP_S:
            yield (
                "receive",
                "an adaptive receiver chooses its method in the warm-up: "
                f"set `warm_up` to {ADAPTIVE_WARM_UP_S:g} s or more",
            )
        if self.receive == "adaptive" and self.count is not None:
            yield (
                "receive",
                "`adaptive` needs a warm-up, and a test with `count` has none: "
                "set another `receive`, or `duration` instead of `count`",
            )
        if self.source_port is not None and (self.streams > 1 or self.direction == "both"):
            yield (
                "source_port",
                "one source port serves only one stream: it excludes several `streams` and "
                "`direction: both`",
            )

    def sent_by(self, end: str) -> SentMessages | None:
        """As for all tests."""
        if self.is_idle(end):
            return None
        if self.protocol == "TCP":
            return SentMessages("TCP", None)
        return SentMessages("UDP", self.message_bytes, self.dont_fragment)

    def window_s(self) -> float | None:
        """As for all tests."""
        asked_s = super().window_s()
        if asked_s is not None or self.count is None or self.rate_bit_per_s is None:
            return asked_s
        return self.warm_up_s + 8 * self.message_bytes * self.count / self.rate_bit_per_s

    def least_s(self, link: Link | None) -> float | None:
        """As for all tests."""
        if self.count is None or link is None:
            return None
        message_s = groups.on_cable_s(self, self.message_bytes, link, alone=False)
        return None if message_s is None else self.warm_up_s + self.count * message_s
