"""The settings of a ``payload_search``: the most payload that travels in one frame."""

from __future__ import annotations

from netlab.kinds.groups import Answered, CongestedTest
from netlab.trial.settings import of_settings, setting

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class PayloadSearch(Answered, CongestedTest):
    """A ``payload_search``: the most payload that travels in one frame."""

    in_files = (
        "protocol ip_version network sweep capture timeout_s duration_s socket_buffer_bytes "
        "congestion dscp interface"
    )

    duration_s: float = 1.0
    sweep: bool = setting(
        "sweep", default=False, about="Measure throughput at message sizes around the result.",
        column="whether throughput at message sizes around the result was requested")
    capture: bool = setting(
        "capture", default=False, about="Capture frames on the way, if the hosts allow it.",
        column="whether a capture of frames was requested")
