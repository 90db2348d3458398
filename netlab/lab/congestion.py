"""Which congestion controls the hosts may choose: all that this kernel has, as an admin allows.

The hosts' account is no root, and a kernel allows ordinary users some congestion controls only.
That list is the whole machine's, not a namespace's. So the first lab widens it and the last one
puts it back; what it was is written down before it is changed.
"""

from __future__ import annotations

from pathlib import Path

SETTINGS = Path("/proc/sys/net/ipv4")
AVAILABLE = "tcp_available_congestion_control"
ALLOWED = "tcp_allowed_congestion_control"
BEFORE = ".congestion-before"
"""Among the labs' folders, and no lab's name: the list as it was."""


def widen(root: Path, settings: Path = SETTINGS) -> None:
    """Allow every congestion control there is; does nothing where they are allowed already."""
    allowed, available = _words(settings / ALLOWED), _words(settings / AVAILABLE)
    missing = [name for name in available if name not in allowed]
    if not missing:
        return
    before = root / BEFORE
    if not before.exists():
        before.write_text(" ".join(allowed))
    (settings / ALLOWED).write_text(" ".join([*allowed, *missing]))


def restore(root: Path, settings: Path = SETTINGS) -> None:
    """Put the list back; does nothing where no lab has changed it."""
    before = root / BEFORE
    if before.exists():
        (settings / ALLOWED).write_text(" ".join(_words(before)))
        before.unlink()


def _words(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split()
