"""Whether this machine is one of a run's hosts, according to the run's journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netlab.store.reader import StoredRun

SESSION = "session"
"""Kind of the journal's note that begins a session and describes the session's hosts."""


def machine_id() -> str | None:
    """This machine's id, if it has one (machine-id(5))."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            return Path(path).read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            continue
    return None


def measures_here(stored: StoredRun) -> bool | None:
    """Whether a host of the last session shares this machine's cores, as hosts of a virtual lab do;
    ``None`` if no session has described its hosts yet.
    """
    descriptions = [note.data.get("hosts") for note in stored.notes if note.kind == SESSION]
    if not descriptions or not isinstance(descriptions[-1], Mapping):
        return None
    own_id = machine_id()
    return any(_is_here(host, own_id) for host in descriptions[-1].values())


def _is_here(host: Any, own_id: str | None) -> bool:
    if not isinstance(host, Mapping):
        return False
    return host.get("local") is True or (own_id is not None and host.get("machine_id") == own_id)
