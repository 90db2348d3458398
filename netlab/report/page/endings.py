"""How trials ended, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from netlab.experiment.records import Status
from netlab.messages import Message, _, counted

ENDINGS: Mapping[str, Message] = {
    Status.OK: _("ok"),
    Status.FAILED: _("failed"),
    Status.IMPOSSIBLE: _("impossible"),
    Status.PENDING: _("pending"),
}
"""Over a column, and of one trial."""


def ended(status: Status, number: int) -> Message:
    """``2,000 failed``."""
    match status:
        case Status.OK:
            return counted("{number} ok", "{number} ok", number)
        case Status.FAILED:
            return counted("{number} failed", "{number} failed", number)
        case Status.IMPOSSIBLE:
            return counted("{number} impossible", "{number} impossible", number)
        case Status.PENDING:
            return counted("{number} pending", "{number} pending", number)
