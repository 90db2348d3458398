"""Names of the directions of an interface."""

from __future__ import annotations

from netlab.messages import Message, _

_WAYS = {False: _("sending"), True: _("receiving")}


def way(*, receiving: bool) -> Message:
    """``sending`` or ``receiving``."""
    return _WAYS[receiving]
