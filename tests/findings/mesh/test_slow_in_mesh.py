"""Hosts against hosts: who is named, on meshes drawn at random with a cause or none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from made_findings import plan_of, run_of
from made_meshes import HOSTS, MadeMesh
from made_runs import made_record

from netlab.experiment.matrix import Link
from netlab.experiment.records import Value
from netlab.findings.analysis import RunEvidence
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.mesh.throughput import slow_in_mesh
from netlab.findings.sample import StreamSample
from netlab.report.text.findings import statement
from netlab.store.plan import PlannedCell

LINK = Link(1e8, 1500)
THREE = HOSTS[:3]


def found(mesh: MadeMesh, limited: Sequence[Finding] = (), seed: int = 1) -> tuple[Finding, ...]:
    return slow_in_mesh(mesh.samples(seed), limited, LINK)


def test_one_slow_host_of_three_is_named_and_no_pair() -> None:
    (said,) = found(MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2}, scatter=0))
    assert (said.kind, said.group) == (Kind.SLOW_HOST, Group(host="linux-c"))
    assert statement(said) == (
        "18.83 Mbit/s with every peer (linux-a and linux-b), both ways; others 94.10 Mbit/s: "
        "consistent with a link of 20 Mbit/s at that host, but the matrix states 100 Mbit/s"
    )
    assert len(said.cells) == 4
    assert len(said.trials) == 12


def test_among_four_it_is_said_without_a_doubt() -> None:
    (said,) = found(MadeMesh(HOSTS[:4], sends={"linux-c": 0.2}, receives={"linux-c": 0.2}))
    assert "with every peer, both ways; others 94." in statement(said)
    assert "as over a link of" in statement(said)


def test_one_slow_direction_is_told_from_both() -> None:
    sends = found(MadeMesh(HOSTS[:4], sends={"linux-b": 0.2}, scatter=0))
    assert [statement(each) for each in sends] == [
        "sends at most 18.83 Mbit/s to every peer; receives 94.10 Mbit/s"
    ]
    receives = found(MadeMesh(THREE, receives={"linux-b": 0.2}, scatter=0))
    assert [statement(each) for each in receives] == [
        "receives at most 18.83 Mbit/s from every peer (linux-a and linux-c); sends 94.10 Mbit/s: "
        "consistent with a slow receiver"
    ]


def test_a_pair_below_both_of_its_ends_is_told_once_for_both_ways() -> None:
    slow = {("linux-a", "linux-b"): 0.2, ("linux-b", "linux-a"): 0.2}
    (said,) = found(MadeMesh(THREE, pairs=slow, scatter=0))
    assert statement(said) == (
        "between linux-a and linux-b at most 18.83 Mbit/s, both ways, but each of them reaches "
        "94.10 Mbit/s with other hosts"
    )
    (one,) = found(MadeMesh(THREE, pairs={("linux-a", "linux-b"): 0.2}, scatter=0))
    assert statement(one).startswith("from linux-a to linux-b 18.83 Mbit/s, but")


def test_all_alike_are_the_mesh_and_no_host() -> None:
    (said,) = found(MadeMesh(THREE, every=0.2, scatter=0))
    assert (said.kind, said.group) == (Kind.SLOW_MESH, Group())
    assert statement(said) == (
        "all 3 pairs reach 18.83 Mbit/s, 20 % of what a link of 100 Mbit/s carries: no host "
        "stands out"
    )


def test_a_mesh_is_not_slow_where_another_protocol_fills_its_links() -> None:
    assert found(MadeMesh(THREE, every=0.9995)) == ()
    slow = MadeMesh(THREE, sends=dict.fromkeys(THREE, 0.5), protocols=("TCP", "UDP"))
    slow.slow_at = ("TCP",)
    assert found(slow) == ()


def test_a_host_that_is_slow_at_one_protocol_only_is_named_with_it() -> None:
    mesh = MadeMesh(HOSTS[:4], sends={"linux-a": 0.5}, receives={"linux-a": 0.5})
    mesh.protocols = ("TCP", "UDP")
    (both,) = found(mesh)
    assert both.group == Group(host="linux-a")
    mesh.slow_at = ("UDP",)
    (alone,) = found(mesh)
    assert alone.group == Group(host="linux-a", protocol="UDP")
    assert all(cell.endswith("UDP") for cell in alone.cells)
    assert "link" not in statement(alone), "TCP shows that its link carries more"


def test_what_limits_the_host_itself_is_said_instead_of_a_link() -> None:
    mesh = MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2})
    cells = tuple(dict.fromkeys(each.cell for each in mesh.samples() if "linux-c" in each.cell))
    starved = finding(Kind.RECEIVER_STARVED, Group(), cells)
    (said,) = found(mesh, [starved])
    assert statement(said).endswith("limited by other programs on the receiver’s CPU")
    (part,) = found(mesh, [replace(starved, cells=cells[1:])])
    assert "limited" not in statement(part)


def test_a_pair_or_mesh_that_its_hosts_limit_is_left_to_that() -> None:
    pair = MadeMesh(THREE, pairs={("linux-a", "linux-b"): 0.2})
    assert found(pair, [finding(Kind.SENDER_CPU, Group(), ("linux-b+linux-a-TCP",))]) == ()
    mesh = MadeMesh(THREE, every=0.5)
    every = tuple(each.cell for each in mesh.samples())
    assert found(mesh, [finding(Kind.SENDER_CPU, Group(), every)]) == ()
    assert found(mesh, [finding(Kind.CONGESTION, Group(), every)]) != ()


def test_two_hosts_are_no_mesh() -> None:
    assert found(MadeMesh(HOSTS[:2], every=0.2)) == ()


def test_neither_imports_nor_paced_streams_nor_loopback_are_asked() -> None:
    samples = MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2}).samples()
    for known in ({"imported": True}, {"offered_bit_per_s": 1e7}, {"same_host": True}):
        those: list[StreamSample] = [replace(each, **known) for each in samples]
        assert slow_in_mesh(those, (), LINK) == ()


def test_hosts_of_pairings_by_letters_are_those_of_the_records() -> None:
    (said,) = found(
        MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2}, letters=True)
    )
    assert said.group.host == "linux-c"


def test_where_the_server_sends_the_direction_is_its() -> None:
    mesh = MadeMesh(HOSTS[:4], sends={"linux-a": 0.2})
    turned = []
    for each in mesh.samples():
        server, client = each.pairing.split("+")
        back = each.conditions.replace("client-sends", "server-sends")
        turned.append(replace(each, pairing=f"{client}+{server}", conditions=back))
    (said,) = slow_in_mesh(turned, (), LINK)
    assert "sends at most" in statement(said)
    assert said.group.host == "linux-a"


def test_without_a_link_throughput_itself_is_compared() -> None:
    samples = [
        replace(each, ceiling_bit_per_s=None)
        for each in MadeMesh(THREE, sends={"linux-c": 0.2}, receives={"linux-c": 0.2}).samples()
    ]
    (said,) = slow_in_mesh(samples, (), None)
    assert "consistent with a slow host" in statement(said)


# ---- drawn at random -----------------------------------------------------------------------------

Names = frozenset[tuple[str, ...]]


def drawn_mesh(drawn: random.Random, strength: float) -> tuple[MadeMesh, Names]:
    """A mesh of 3 to 8 hosts with one cause, and what is to be said of it."""
    hosts = HOSTS[: drawn.randint(3, 8)]
    mesh = MadeMesh(
        hosts,
        scatter=drawn.choice([0.0005, 0.003, 0.01, 0.03]),
        trials=drawn.choice([2, 3, 5]),
        protocols=drawn.choice([("TCP",), ("UDP",), ("TCP", "UDP")]),
    )
    host, other = drawn.sample(hosts, 2)
    slow = 1 - strength
    pair = ("slow-pair", *sorted((host, other)))
    causes: dict[str, tuple[dict[str, object], set[tuple[str, ...]]]] = {
        "host": ({"sends": {host: slow}, "receives": {host: slow}}, {("slow-host", host, "both")}),
        "send": ({"sends": {host: slow}}, {("slow-host", host, "sends")}),
        "receive": ({"receives": {host: slow}}, {("slow-host", host, "receives")}),
        "pair": ({"pairs": {(host, other): slow, (other, host): slow}}, {pair}),
        "way": ({"pairs": {(host, other): slow}}, {pair}),
        "all": ({"every": slow}, {("slow-mesh",)}),
        "none": ({}, set()),
    }
    fields, expected = causes[drawn.choice(list(causes))]
    return replace(mesh, **fields), frozenset(expected)  # type: ignore[arg-type]


def named(findings: Sequence[Finding]) -> Names:
    ways = {"both_ways": "both", "sends_at_most": "sends", "receives_at_most": "receives"}
    names: set[tuple[str, ...]] = set()
    for each in findings:
        if each.kind is Kind.SLOW_HOST:
            (way,) = [w for name, w in ways.items() if f"{name}_bit_per_s" in each.evidence]
            names.add((str(each.kind), each.group.host, way))
        elif each.kind is Kind.SLOW_PAIR:
            names.add((str(each.kind), *each.group.pairing.split("+")))
        else:
            names.add((str(each.kind),))
    return frozenset(names)


@pytest.mark.parametrize(("strength", "missed"), [(0.4, 0.02), (0.2, 0.02), (0.1, 0.05)])
def test_drawn_causes_are_found_and_nothing_else(strength: float, missed: float) -> None:
    drawn = random.Random(f"mesh {strength}")  # noqa: S311
    count: Counter[str] = Counter()
    for seed in range(300):
        mesh, expected = drawn_mesh(drawn, strength)
        said = named(found(mesh, seed=seed))
        count["right"] += len(said & expected)
        count["wrong"] += len(said - expected)
        count["missed"] += len(expected - said)
    assert count["wrong"] <= 4, count
    assert count["missed"] <= missed * 300, count


def test_clean_meshes_are_silent_however_much_they_scatter() -> None:
    drawn = random.Random(7)  # noqa: S311
    wrong = 0
    for seed in range(400):
        mesh = MadeMesh(
            HOSTS[: drawn.randint(3, 8)],
            scatter=drawn.choice([0, 0.005, 0.02, 0.1]),
            trials=drawn.choice([1, 2, 3, 5]),
        )
        wrong += bool(found(mesh, seed=seed))
    assert wrong <= 8


def test_one_way_is_not_said_again_of_what_a_slow_sender_explains() -> None:
    """Of a whole run: cells, records and findings."""
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
            records.append(replace(record, server=server, client=client))
    run = run_of(plan_of(cells, repeats=3), records)
    kinds = {str(each.kind) for each in run.findings}
    assert "slow-host" in kinds
    assert not kinds & {"one-way", "slow-pair", "slow-mesh"}
    evidence = RunEvidence(run)
    assert evidence.of_mesh == {"linux-a+linux-c", "linux-b+linux-c"}
