"""Streams over several CPUs, and a thousand of them, between two hosts of the lab: the records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from labs import needs_a_lab, run_matrix
from netprobe_agents import CPUS

from netlab import lab
from netlab.lab.plan import LabOptions
from netlab.store.reader import read

pytestmark = needs_a_lab

NAME = f"o{os.getpid()}"
SPREAD = CPUS[:2]
MATRIX = f"""\
title: Streams over CPUs
link: {{rate: 200Mbit, mtu: 1500}}
pairings: [LL]
defaults: {{duration: 300ms, warm_up: 200ms, message_size: 1400}}
tests:
  - test: stream
    protocol: [TCP, UDP]
    streams: 4
    direction: both
    rate: 20Mbit
    server_cpus: {SPREAD}
    client_cpus: [{SPREAD}, {SPREAD[::-1]}]
  - test: stream
    protocol: [TCP, UDP]
    streams: 1000
    rate: 60Mbit
"""


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Any, Any]]]:
    """Settings and values of every cell; each has a figure."""
    folder = tmp_path_factory.mktemp("cores")
    try:
        state = lab.up(LabOptions(name=NAME, rate=200e6))
        run_matrix(state, folder, MATRIX)
        records = read(folder / "run").latest.values()
        yield [(record.settings, record.values) for record in records]
    finally:
        lab.down(NAME)


def flows(settings: Any) -> list[str]:
    return ["to_server_", "to_client_"] if settings["direction"] == "both" else [""]


def test_each_stream_runs_on_the_cpu_that_the_matrix_assigns_at_both_ends(
    values: list[tuple[Any, Any]],
) -> None:
    spread = [value for value in values if "server_cpus" in value[0]]
    assert len(spread) == 4
    for settings, cell_values in spread:
        for flow in flows(settings):
            ends = ("client", "server") if flow != "to_client_" else ("server", "client")
            for role, end in zip(("sender", "receiver"), ends, strict=True):
                cpus = [int(cpu) for cpu in str(settings[f"{end}_cpus"]).split(",")]
                stream_cpus = [cpus[number % len(cpus)] for number in range(4)]
                assert cell_values[f"{flow}{role}_cpus"] == cpus
                assert cell_values[f"{flow}{role}_stream_cpus_open"] == stream_cpus
                assert cell_values[f"{flow}{role}_stream_cpus_close"] == stream_cpus


def test_the_bytes_of_all_streams_add_up_to_the_total_of_the_trial(
    values: list[tuple[Any, Any]],
) -> None:
    assert [settings for settings, _ in values if settings["streams"] == 1000]
    for settings, cell_values in values:
        for flow in flows(settings):
            for role, total in (("receiver", "received_bytes"), ("sender", "sent_bytes")):
                stream_bytes = cell_values[f"{flow}{role}_stream_bytes"]
                assert len(stream_bytes) == settings["streams"]
                assert sum(stream_bytes) == cell_values[f"{flow}{role}_{total}"]
                assert 0 < cell_values[f"{flow}{role}_fairness_index"] <= 1
