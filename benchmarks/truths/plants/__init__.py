"""How a cause is put into a standing lab, and taken out of it again.

Each plant is a context manager of the lab and a number, the dial: most often the share of the clean
rate that it is to cost. What must change from trial to trial yields what is to be called when one
begins.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from benchmarks.truths.site import Site
from netlab.experiment.schedule import Trial

OnTrial = Callable[[Trial], None]
"""Called when a trial begins."""
Plant = Callable[[Site, float], AbstractContextManager[OnTrial | None]]
