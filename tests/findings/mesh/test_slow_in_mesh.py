"""Findings about a mesh name slow hosts and slow pairs of hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from random import Random

import pytest
from draws import chance, drawn
from made_findings import plan_of, run_of
from made_meshes import HOSTS, MadeMesh
from made_runs import made_record
from made_samples import changed

from netlab.ethernet import Link
from netlab.findings.analysis import RunEvidence
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.mesh import slow_in_mesh
from netlab.report.text.findings import statement
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

LINK = Link(1e8, 1500)
THREE = HOSTS[:3]


def findings_of(
    mesh: MadeMesh, limited: Sequence[Finding] = (), seed: int = 1
) -> tuple[Finding, ...]:
    return slow_in_mesh(mesh.samples(seed), limited, LINK)


def test_one_slow_host_of_three_is_named_and_no_slow_pair() -> None:
    (result,) = findings_of(
        MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2}, scatter=0)
    )
    assert (result.kind, result.group) == (Kind.MESH_LIMIT_HOST, Group(host="linux-c"))
    assert statement(result) == (
        "18.83 Mbit/s with every peer (linux-a and linux-b), both ways; other hosts reach "
        "94.10 Mbit/s: "
        "consistent with a link of 20 Mbit/s at that host, but the matrix states 100 Mbit/s"
    )
    assert len(result.cells) == 4
    assert len(result.trials) == 12


def test_in_a_mesh_of_four_hosts_the_slow_host_is_stated_as_certain() -> None:
    (result,) = findings_of(MadeMesh(HOSTS[:4], sends={"linux-c": 0.2}, receives={"linux-c": 0.2}))
    assert "with every peer, both ways; other hosts reach 94." in statement(result)
    assert "this fits a link of" in statement(result)


def test_a_host_that_is_slow_only_at_sending_or_receiving_is_named_with_its_direction() -> None:
    sends = findings_of(MadeMesh(HOSTS[:4], sends={"linux-b": 0.2}, scatter=0))
    assert [statement(entry) for entry in sends] == [
        "sends at most 18.83 Mbit/s to every peer; receives 94.10 Mbit/s"
    ]
    receives = findings_of(MadeMesh(THREE, receives={"linux-b": 0.2}, scatter=0))
    assert [statement(entry) for entry in receives] == [
        "receives at most 18.83 Mbit/s from every peer (linux-a and linux-c); sends 94.10 Mbit/s: "
        "consistent with a slow receiver"
    ]


def test_a_slow_pair_of_hosts_has_one_finding_for_both_directions() -> None:
    slow = {("linux-a", "linux-b"): 0.2, ("linux-b", "linux-a"): 0.2}
    (result,) = findings_of(MadeMesh(THREE, pairs=slow, scatter=0))
    assert statement(result) == (
        "between linux-a and linux-b at most 18.83 Mbit/s, both ways, but each of them reaches "
        "94.10 Mbit/s with other hosts"
    )
    (pair_finding,) = findings_of(MadeMesh(THREE, pairs={("linux-a", "linux-b"): 0.2}, scatter=0))
    assert statement(pair_finding).startswith("from linux-a to linux-b 18.83 Mbit/s, but")


def test_equally_slow_pairs_are_a_slow_mesh_and_no_slow_host() -> None:
    (result,) = findings_of(MadeMesh(THREE, every=0.2, scatter=0))
    assert (result.kind, result.group) == (Kind.MESH_LIMIT_MESH, Group())
    assert statement(result) == (
        "all 3 pairs reach 18.83 Mbit/s, 20 % of what a link of 100 Mbit/s carries: no host "
        "stands out"
    )


def test_a_mesh_is_not_slow_if_another_protocol_fills_its_links() -> None:
    assert findings_of(MadeMesh(THREE, every=0.9995)) == ()
    slow = MadeMesh(THREE, sends=dict.fromkeys(THREE, 0.5), protocols=("TCP", "UDP"))
    slow.slow_at = ("TCP",)
    assert findings_of(slow) == ()


def test_a_host_that_is_slow_at_one_protocol_only_is_named_with_this_protocol() -> None:
    mesh = MadeMesh(HOSTS[:4], sends={"linux-a": 0.5}, receives={"linux-a": 0.5})
    mesh.protocols = ("TCP", "UDP")
    (joint_finding,) = findings_of(mesh)
    assert joint_finding.group == Group(host="linux-a")
    mesh.slow_at = ("UDP",)
    (udp_finding,) = findings_of(mesh)
    assert udp_finding.group == Group(host="linux-a", protocol="UDP")
    assert all(cell.endswith("UDP") for cell in udp_finding.cells)
    assert "link" not in statement(udp_finding), "TCP shows that its link carries more"


def test_a_slow_host_limited_by_its_cpu_is_reported_without_a_slow_link() -> None:
    mesh = MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2})
    cells = tuple(
        dict.fromkeys(sample.cell for sample in mesh.samples() if "linux-c" in sample.cell)
    )
    starved = finding(Kind.CPU_WAIT_RECEIVER_PROGRAMS, Group(), cells)
    (result,) = findings_of(mesh, [starved])
    assert statement(result).endswith("limited by other programs on the receiver’s CPU")
    (part,) = findings_of(mesh, [changed(starved, cells=cells[1:])])
    assert "limited" not in statement(part)


def test_a_pair_or_mesh_limited_by_its_hosts_has_no_mesh_finding() -> None:
    pair = MadeMesh(THREE, pairs={("linux-a", "linux-b"): 0.2})
    assert (
        findings_of(pair, [finding(Kind.CPU_BOUND_SENDER, Group(), ("linux-b+linux-a-TCP",))]) == ()
    )
    mesh = MadeMesh(THREE, every=0.5)
    cells = tuple(sample.cell for sample in mesh.samples())
    assert findings_of(mesh, [finding(Kind.CPU_BOUND_SENDER, Group(), cells)]) == ()
    assert findings_of(mesh, [finding(Kind.CONGESTION, Group(), cells)]) != ()


def test_two_hosts_have_no_mesh_finding() -> None:
    assert findings_of(MadeMesh(HOSTS[:2], every=0.2)) == ()


def test_mesh_findings_leave_out_imports_paced_streams_and_loopback() -> None:
    samples = MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2}).samples()
    for change in ({"imported": True}, {"offered_bit_per_s": 1e7}, {"same_host": True}):
        variants: list[StreamSample] = [changed(sample, **change) for sample in samples]
        assert slow_in_mesh(variants, (), LINK) == ()


def test_a_slow_host_is_named_by_the_host_name_in_its_records_if_pairings_are_letters() -> None:
    (result,) = findings_of(
        MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2}, letters=True)
    )
    assert result.group.host == "linux-c"


def test_mesh_findings_follow_the_direction_if_the_server_sends() -> None:
    mesh = MadeMesh(HOSTS[:4], sends={"linux-a": 0.2})
    mirror_samples = []
    for sample in mesh.samples():
        server, client = sample.pairing.split("+")
        back = tuple({**dict(sample.conditions), "direction": "server-sends"}.items())
        mirror_samples.append(changed(sample, pairing=f"{client}+{server}", conditions=back))
    (result,) = slow_in_mesh(mirror_samples, (), LINK)
    assert "sends at most" in statement(result)
    assert result.group.host == "linux-a"


def test_without_a_stated_link_mesh_findings_compare_throughput() -> None:
    samples = [
        changed(sample, ceiling_bit_per_s=None)
        for sample in MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2}).samples()
    ]
    (result,) = slow_in_mesh(samples, (), None)
    assert "consistent with a slow host" in statement(result)


# ---- drawn at random -----------------------------------------------------------------------------

Names = frozenset[tuple[str, ...]]


def drawn_mesh(rng: Random, strength: float) -> tuple[MadeMesh, Names]:
    """A mesh of 3 to 8 hosts with one cause, and the expected findings."""
    hosts = HOSTS[: rng.randint(3, 8)]
    mesh = MadeMesh(
        hosts,
        scatter=rng.choice([0.0005, 0.003, 0.01, 0.03]),
        trials=rng.choice([2, 3, 5]),
        protocols=rng.choice([("TCP",), ("UDP",), ("TCP", "UDP")]),
    )
    host, peer = rng.sample(hosts, 2)
    slow = 1 - strength
    pair = ("mesh-limit/pair", *sorted((host, peer)))
    causes: dict[str, tuple[dict[str, object], set[tuple[str, ...]]]] = {
        "host": (
            {"sends": {host: slow}, "receives": {host: slow}},
            {("mesh-limit/host", host, "both")},
        ),
        "send": ({"sends": {host: slow}}, {("mesh-limit/host", host, "sends")}),
        "receive": ({"receives": {host: slow}}, {("mesh-limit/host", host, "receives")}),
        "pair": ({"pairs": {(host, peer): slow, (peer, host): slow}}, {pair}),
        "way": ({"pairs": {(host, peer): slow}}, {pair}),
        "all": ({"every": slow}, {("mesh-limit/mesh",)}),
        "none": ({}, set()),
    }
    fields, expected_names = causes[rng.choice(list(causes))]
    return changed(mesh, **fields), frozenset(expected_names)


def named(findings: Sequence[Finding]) -> Names:
    ways = {"both_ways": "both", "sends_at_most": "sends", "receives_at_most": "receives"}
    names: set[tuple[str, ...]] = set()
    for entry in findings:
        if entry.kind is Kind.MESH_LIMIT_HOST:
            (way,) = [w for name, w in ways.items() if f"{name}_bit_per_s" in entry.evidence]
            names.add((str(entry.kind), entry.group.host, way))
        elif entry.kind is Kind.MESH_LIMIT_PAIR:
            names.add((str(entry.kind), *entry.group.pairing.split("+")))
        else:
            names.add((str(entry.kind),))
    return frozenset(names)


@pytest.mark.parametrize(("strength", "missed"), [(0.4, 0.02), (0.2, 0.02), (0.1, 0.05)])
def test_in_random_meshes_the_cause_is_rarely_missed_and_wrong_findings_are_rare(
    strength: float, missed: float
) -> None:
    rng, n = chance(f"mesh {strength}"), drawn(24, 300)
    count: Counter[str] = Counter()
    for seed in range(n):
        mesh, expected_names = drawn_mesh(rng, strength)
        findings = named(findings_of(mesh, seed=seed))
        count["right"] += len(findings & expected_names)
        count["wrong"] += len(findings - expected_names)
        count["missed"] += len(expected_names - findings)
    assert count["wrong"] <= n // 75, count
    assert count["missed"] <= missed * n, count


def test_random_meshes_without_a_cause_rarely_have_a_finding() -> None:
    rng, n = chance(7), drawn(40, 400)
    wrong = 0
    for seed in range(n):
        mesh = MadeMesh(
            HOSTS[: rng.randint(3, 8)],
            scatter=rng.choice([0, 0.005, 0.02, 0.1]),
            trials=rng.choice([1, 2, 3, 5]),
        )
        wrong += bool(findings_of(mesh, seed=seed))
    assert wrong <= n // 50


def test_a_slow_direction_explained_by_a_slow_host_has_no_second_finding() -> None:
    """The same for a whole run, with cells, records and findings."""
    cells, records = [], []
    for server, client in permutations(THREE, 2):
        settings: dict[str, Value] = {"protocol": "TCP", "message_bytes": 1448, "duration_s": 5.0}
        cell = PlannedCell(f"{server}+{client}", f"{server}+{client}", "stream", settings)
        cells.append(cell)
        for trial in (1, 2, 3):
            values: dict[str, Value] = {
                "throughput_bit_per_s": 18.8e6 if client == "linux-c" else 94.1e6 + trial,
                "same_host": False,
                "tcp_timestamps": True,
            }
            record = made_record(cell, trial, values=values)
            records.append(changed(record, server=server, client=client))
    run = run_of(plan_of(cells, repeats=3), records)
    kinds = {str(entry.kind) for entry in run.findings}
    assert "mesh-limit/host" in kinds
    assert not kinds & {"one-way", "mesh-limit/pair", "mesh-limit/mesh"}
    evidence = RunEvidence(run)
    assert evidence.of_mesh == {"linux-a+linux-c", "linux-b+linux-c"}
