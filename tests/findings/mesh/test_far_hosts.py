"""Findings about round trips of a mesh name the host that lengthens its round trips."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from draws import chance, drawn
from made_findings import plan_of, run_of
from made_meshes import HOSTS
from made_runs import made_record

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Group, Kind
from netlab.findings.mesh import far_hosts
from netlab.report.text.findings import statement
from netlab.stats.mesh import host_effects
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value


def run(
    hosts: Sequence[str],
    added_us: Mapping[str, float],
    *,
    scatter_us: float = 1.0,
    both_ways: bool = True,
    seed: int = 1,
) -> Analysis:
    """A run with 100 µs between any two hosts, plus what each host adds."""
    rng = random.Random(seed)  # noqa: S311
    cells, records = [], []
    for server, client in (permutations if both_ways else combinations)(hosts, 2):
        settings: dict[str, Value] = {"protocol": "UDP", "message_bytes": 64}
        cell = PlannedCell(f"{server}+{client}", f"{server}+{client}", "round_trip", settings)
        cells.append(cell)
        for trial in (1, 2, 3):
            rtt_us = 100 + added_us.get(server, 0) + added_us.get(client, 0)
            rtt_ns = 1000 * (rtt_us + rng.gauss(0, scatter_us))
            values: dict[str, Value] = {"rtt_p50_ns": round(rtt_ns), "same_host": False}
            records.append(replace(made_record(cell, trial, values=values), test="round_trip"))
    return run_of(plan_of(cells, repeats=3), records)


def test_a_far_host_is_named_with_the_time_added_to_each_round_trip() -> None:
    analysis = run(HOSTS[:4], {"linux-b": 50.0}, scatter_us=0)
    (finding,) = far_hosts(analysis, imported=False)
    assert (finding.kind, finding.group.host) == (Kind.FAR_HOST, "linux-b")
    assert statement(finding) == "adds 50 µs to each of its round trips; 100 µs is typical"
    assert len(finding.cells) == 6
    assert of_run(analysis) == ["linux-b"]
    assert list(far_hosts(analysis, imported=True)) == []


def test_a_far_host_is_found_by_the_hosts_of_the_records_if_pairings_are_letters() -> None:
    cell = PlannedCell("LL-trip", "LL", "round_trip", {"protocol": "UDP", "message_bytes": 64})
    a, b, c, d = HOSTS[:4]
    ends = [*permutations((a, b, c, d), 2), ("", b), (b, ""), ("", "")]
    records = []
    for trial, (server, client) in enumerate(ends, start=1):
        rtt_ns = 100_000 + 50_000 * (b in (server, client))
        record = made_record(cell, trial, values={"rtt_p50_ns": rtt_ns, "same_host": False})
        records.append(replace(record, test="round_trip", server=server, client=client))
    (finding,) = far_hosts(run_of(plan_of([cell]), records), imported=False)
    assert (finding.kind, finding.group) == (Kind.FAR_HOST, Group(host=b))
    assert finding.evidence == pytest.approx({"added_ns": 50_000, "typical_ns": 100_000})
    # The records without a host are not compared.
    trials = [trial for trial, pair in enumerate(ends, start=1) if b in pair and "" not in pair]
    assert finding.trials == tuple((cell.key, trial) for trial in trials)
    assert finding.cells == (cell.key,)


def test_a_far_host_adds_the_time_of_the_settings_with_the_shortest_typical_round_trip() -> None:
    """With large messages the host adds 90 µs to 300 µs, with small ones 50 µs to 100 µs."""
    b, hosts = HOSTS[1], HOSTS[:4]
    cells, records = [], []
    for at, (size, typical_ns, added_ns) in enumerate(
        [(1400, 300_000, 90_000), (64, 100_000, 50_000)]
    ):
        for place, (server, client) in enumerate(permutations(hosts, 2)):
            settings: dict[str, Value] = {"protocol": "UDP", "message_bytes": size}
            if place % 2:  # the same settings in another order
                settings = dict(reversed(settings.items()))
            pairing = f"{server}+{client}"
            cell = PlannedCell(f"{pairing}-{size}", pairing, "round_trip", settings)
            rtt_ns = typical_ns + added_ns * (b in (server, client))
            cells.append(cell)
            values: dict[str, Value] = {"rtt_p50_ns": rtt_ns, "same_host": False}
            records.append(made_record(cell, 1, values=values))
            # Within one host, round trips are not compared.
            within: dict[str, Value] = {"rtt_p50_ns": 10 * rtt_ns, "same_host": True}
            records.append(made_record(cell, 2 + at, values=within))
    (finding,) = far_hosts(run_of(plan_of(cells), records), imported=False)
    assert finding.group == Group(host=b)
    assert finding.evidence == pytest.approx({"added_ns": 50_000, "typical_ns": 100_000})
    of_host = tuple(cell.key for cell in cells if b in cell.pairing.split("+"))
    assert finding.cells == of_host
    assert finding.trials == tuple((cell, 1) for cell in of_host)


def of_run(analysis: Analysis) -> list[str]:
    return [finding.group.host for finding in analysis.findings if finding.kind is Kind.FAR_HOST]


def test_a_mesh_of_three_hosts_has_no_far_host_finding() -> None:
    assert of_run(run(HOSTS[:3], {"linux-b": 50.0})) == []


def test_the_delay_that_each_host_adds_is_recovered_exactly() -> None:
    rng = chance(5)
    for _ in range(drawn(10, 50)):
        hosts = HOSTS[: rng.randint(5, 8)]
        delays_us = dict.fromkeys(hosts, 0.0) | {rng.choice(hosts): rng.uniform(1, 9)}
        trials = {(a, b): [10 + delays_us[a] + delays_us[b]] for a, b in permutations(hosts, 2)}
        effects = host_effects(trials)
        assert effects is not None
        assert effects.added == pytest.approx(delays_us)
        assert effects.typical == pytest.approx(10)


@pytest.mark.parametrize("both_ways", [True, False])
def test_in_random_meshes_far_hosts_are_named_and_other_hosts_only_rarely(both_ways: bool) -> None:
    rng, n = chance(3), drawn(20, 150)
    wrong = missed = 0
    for seed in range(n):
        hosts = HOSTS[: rng.randint(4, 8)]
        far = rng.choice([*hosts, ""])
        analysis = run(
            hosts,
            {far: rng.uniform(30, 300)},
            scatter_us=rng.choice([0.5, 3, 8]),
            both_ways=both_ways,
            seed=seed,
        )
        findings = {finding.group.host for finding in far_hosts(analysis, imported=False)}
        expected_hosts = {far} - {""}
        wrong, missed = (
            wrong + len(findings - expected_hosts),
            missed + len(expected_hosts - findings),
        )
    assert wrong <= n // 75
    assert missed <= n // 18
