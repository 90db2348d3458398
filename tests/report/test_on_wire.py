"""The report states why the packets of a message cannot be known, as the arithmetic does."""

from __future__ import annotations

from typing import Any

import pytest
from made_grids import trial_of

from netlab.ethernet import Link, packets
from netlab.messages import Message
from netlab.report.sections.round_trips import packets_of
from netlab.trial.record import Record


def reading(protocol: str, mss_bytes: int | None, **settings: Any) -> Record:
    return trial_of({"mss_bytes": mss_bytes}, settings={"protocol": protocol, **settings})


@pytest.mark.parametrize("ip_version", [4, 6])
@pytest.mark.parametrize("mtu_bytes", [60, 1500])
@pytest.mark.parametrize(
    ("protocol", "size", "mss_bytes"),
    [("TCP", 0, 1428), ("TCP", 64, 9000), ("TCP", 64, 0), ("UDP", 70_000, None), ("UDP", -1, None)],
)
def test_a_message_that_no_link_can_carry_is_reported_with_the_reason(
    protocol: Any, size: int, mss_bytes: int | None, mtu_bytes: int, ip_version: Any
) -> None:
    link = Link(1e8, mtu_bytes)
    sentence = packets_of(reading(protocol, mss_bytes, ip_version=ip_version), size, link)
    with pytest.raises(ValueError) as excinfo:
        packets(protocol, size, mtu_bytes, ip_version=ip_version, mss_bytes=mss_bytes)
    assert sentence == f"{excinfo.value}."
    assert isinstance(sentence, Message)
