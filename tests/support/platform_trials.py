"""Requests of a trial on any system, and properties that its figures must have."""

from __future__ import annotations

from typing import Any

import pytest
from netprobe_agents import Trial

KEYS: dict[str, dict[str, Any]] = {
    "tcp": {"message": 65536},
    "udp": {"message": 1472, "message_rate": 1000},
}


def check(done: Trial, protocol: str) -> None:
    received, sent = done.received, done.sent
    assert received["throughput_bit_per_s"] > 100_000
    figure = 8e9 * received["received_bytes"] / received["elapsed_ns"]
    assert received["throughput_bit_per_s"] == pytest.approx(figure)
    if protocol == "udp":
        assert received["sent_messages"] == sent["sent_messages"]
        assert sent["sent_messages"] == received["total_messages"] + received["lost_messages"]
        assert received["duplicate_messages"] == received["foreign_messages"] == 0
