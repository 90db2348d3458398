"""Requests of a trial on any system, and properties that its figures must have."""

from __future__ import annotations

from typing import Any

import pytest
from netprobe_agents import Trial

KEYS: dict[str, dict[str, Any]] = {
    "tcp": {"message": 65536},
    "udp": {"message": 1472, "message_rate": 1000},
}


def check(outcome: Trial, protocol: str) -> None:
    receiver_record, sender_record = outcome.received, outcome.sent
    assert receiver_record["throughput_bit_per_s"] > 0
    figure = 8e9 * receiver_record["received_bytes"] / receiver_record["elapsed_ns"]
    assert receiver_record["throughput_bit_per_s"] == pytest.approx(figure)
    if protocol == "udp":
        assert receiver_record["sent_messages"] == sender_record["sent_messages"]
        assert (
            sender_record["sent_messages"]
            == receiver_record["total_messages"] + receiver_record["lost_messages"]
        )
        assert receiver_record["duplicate_messages"] == receiver_record["foreign_messages"] == 0
