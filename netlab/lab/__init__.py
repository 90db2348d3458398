"""The virtual lab: hosts in network namespaces of this machine, and cables between them.

docs/lab.md has what it cannot show.
"""

from netlab.lab.doctor import LabNeed, examine
from netlab.lab.life import LabState, down, silent_hosts, status, up
from netlab.lab.options import LabOptions
from netlab.lab.programs import Missing, missing_for_windows, missing_packages

__all__ = [
    "LabNeed",
    "LabOptions",
    "LabState",
    "Missing",
    "down",
    "examine",
    "missing_for_windows",
    "missing_packages",
    "silent_hosts",
    "status",
    "up",
]
