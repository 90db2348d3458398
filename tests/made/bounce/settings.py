"""The settings of a ``bounce``."""

from __future__ import annotations

from netlab.kinds.groups import Setup
from netlab.messages import _
from netlab.trial.settings import Ask, Whole, of_settings, setting


@of_settings
class Bounce(Setup):
    """A ``bounce``: a ball is thrown, and the other host throws it back."""

    height: int = setting(
        "height",
        Whole(1, 9),
        default=1,
        label=_("height of the throw"),
        asks=(Ask("height", "ask"),),
        about="How high the ball is thrown.",
    )

    probe_test = "bounce"
