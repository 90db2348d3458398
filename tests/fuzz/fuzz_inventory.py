"""An inventory: hosts and pairs, or every fault with its place."""

from __future__ import annotations

import tempfile
from pathlib import Path

from netlab.config.inventory import load_inventory
from netlab.errors import NetlabError

FILE = Path(tempfile.mkdtemp(prefix="netlab-fuzz-", dir="/dev/shm")) / "hosts.yaml"


def one_input(data: bytes) -> None:
    FILE.write_bytes(data)
    try:
        load_inventory(FILE)
    except NetlabError as error:
        str(error).encode()
