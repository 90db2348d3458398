"""Allows the account of the hosts to use every congestion control that this kernel has.

The account is not root, and the kernel allows ordinary users only some congestion controls. The
kernel's list of allowed congestion controls belongs to the whole machine, not to a namespace.
Therefore the first lab extends the list and the last lab restores it. The original list is saved
before the change.
"""

from __future__ import annotations

from pathlib import Path

SETTINGS = Path("/proc/sys/net/ipv4")
AVAILABLE = "tcp_available_congestion_control"
ALLOWED = "tcp_allowed_congestion_control"
BEFORE = ".congestion-before"
"""File with the original list, next to the labs' folders; no lab can have this name."""


def widen(root: Path, settings: Path = SETTINGS) -> None:
    """Allow every congestion control of this kernel; does nothing if all are allowed already."""
    allowed_names, available_names = _words(settings / ALLOWED), _words(settings / AVAILABLE)
    additions = [name for name in available_names if name not in allowed_names]
    if not additions:
        return
    backup = root / BEFORE
    if not backup.exists():
        backup.write_text(" ".join(allowed_names))
    (settings / ALLOWED).write_text(" ".join([*allowed_names, *additions]))


def restore(root: Path, settings: Path = SETTINGS) -> None:
    """Restore the list; does nothing if no lab has changed it."""
    backup = root / BEFORE
    if backup.exists():
        (settings / ALLOWED).write_text(" ".join(_words(backup)))
        backup.unlink()


def _words(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split()
