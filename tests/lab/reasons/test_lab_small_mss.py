"""Segments shorter than the path carries, and an MTU that changed, are named, and no other path."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path as Folder

import pytest
from made_parts import made_run
from made_runs import made_plan
from paths import ADDRESSES, Path, hosts_on, ip, needs_namespaces, record_of

from netlab.findings.finding import Kind
from netlab.kinds import Stream
from netlab.store.plan import PlannedCell
from netlab.trial.record import Status

pytestmark = [pytest.mark.lab, *needs_namespaces]

ANNOUNCED_BYTES = 1200
"""The MSS that the server announces, without room for options (ip-route(8), ``advmss``)."""
SETUPS = {
    "TCP": Stream(protocol="TCP", message_bytes=8192, duration_s=0.3),
    "UDP": Stream(protocol="UDP", message_bytes=1472, duration_s=0.3, message_rate_per_s=500.0),
}


@pytest.mark.produces("small-mss")
def test_a_small_mss_that_the_other_end_announces_is_told_and_no_smaller_path(
    tmp_path: Folder,
) -> None:
    with hosts_on(Path()) as ends:
        route = f"route add {ADDRESSES['client'][0]}/32 dev test advmss {ANNOUNCED_BYTES}"
        ip("-n", f"netlab-test-{os.getpid()}-server", *route.split())
        records = [record_of("stream", setup, ends) for setup in SETUPS.values()]
    assert {record.status for record in records} == {Status.OK}
    cells = tuple(
        PlannedCell(record.cell, record.pairing, record.test, dict(record.settings))
        for record in records
    )
    run = made_run(tmp_path, made_plan(cells=cells, repeats=1), records)
    assert records[1].values["lost_messages"] == 0
    assert Kind.MTU_MISMATCH_STREAM not in {finding.kind for finding in run.findings}
    (small,) = [finding for finding in run.findings if finding.kind is Kind.SMALL_MSS]
    assert small.cells == (records[0].cell,)
    assert small.evidence["small_mss_bytes"] == ANNOUNCED_BYTES - 12  # of timestamps
    assert small.evidence["path_mtu_bytes"] == 1500


@pytest.mark.produces("mtu-mismatch/changed")
def test_an_mtu_that_something_sets_while_the_run_measures_is_told_with_the_trials_after_it(
    tmp_path: Folder,
) -> None:
    with hosts_on(Path()) as ends:
        before = record_of("stream", SETUPS["TCP"], ends)
        own = f"netlab-test-{os.getpid()}-client"
        ip("-n", own, "link", "set", "dev", "test", "mtu", "1400")
        after = replace(record_of("stream", SETUPS["TCP"], ends), trial=2)
    assert {before.status, after.status} == {Status.OK}
    cell = PlannedCell(before.cell, before.pairing, before.test, dict(before.settings))
    run = made_run(tmp_path, made_plan(cells=(cell,), repeats=2), [before, after])
    kinds = {finding.kind: finding for finding in run.findings}
    assert Kind.MTU_MISMATCH_STREAM not in kinds
    told = kinds[Kind.MTU_MISMATCH_CHANGED]
    assert (told.trials, told.evidence["own_mtu_bytes"]) == (((before.cell, 2),), 1400)
