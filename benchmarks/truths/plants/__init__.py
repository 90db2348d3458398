"""Plants: context managers that put a cause into a lab, and remove it at their end.

Each plant takes the lab and a number, the dial: in most cases the share of the clean rate that the
cause should cost. A plant that changes from trial to trial yields a function, which must be called
when a trial begins.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from benchmarks.truths.site import Site
from netlab.experiment.schedule import Trial

OnTrial = Callable[[Trial], None]
"""A function to be called when a trial begins."""
Plant = Callable[[Site, float], AbstractContextManager[OnTrial | None]]
