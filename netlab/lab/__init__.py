"""The virtual lab: hosts in network namespaces of this machine, and cables between them.

docs/lab.md describes its limits.
"""

from netlab.lab.doctor import LabNeed, examine
from netlab.lab.life import LabState, broken_pieces, down, status, up
from netlab.lab.options import LabOptions, linux_of
from netlab.lab.programs import Missing, missing_for_windows, missing_packages

__all__ = [
    "LabNeed",
    "LabOptions",
    "LabState",
    "Missing",
    "broken_pieces",
    "down",
    "examine",
    "linux_of",
    "missing_for_windows",
    "missing_packages",
    "status",
    "up",
]
