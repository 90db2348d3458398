"""Values that a host must have: congestion controls, devices, CPUs; drawn at random."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.kinds import Stream
from netlab.runner.trial_faults import HostValues, wrong_values

ENDS = {"server": Host(name="s", os="L"), "client": Host(name="c", os="L")}


def said(values: HostValues, **settings: object) -> list[str]:
    """The faults of a cell whose ends both have ``values``."""
    setup = Stream(protocol="TCP", message_bytes=64, **settings)  # type: ignore[arg-type]
    cell = Cell(pairing="s+c", test="stream", setup=setup)
    return [*wrong_values(cell, ENDS, {"s": values, "c": values})]  # type: ignore[arg-type]


def test_a_setting_is_not_wrong_if_the_values_of_the_host_are_unknown() -> None:
    assert said(HostValues(), congestion="cubik", interface="e9", server_cpu=99) == []


def test_a_misspelt_congestion_control_is_reported_with_the_nearest_name() -> None:
    has = HostValues(congestion_available=("reno", "bbr", "cubic"))
    assert said(has, congestion="cubik") == [
        "`cubik` is not offered by c (it has reno, bbr, cubic); did you mean `cubic`?"
    ]
    assert len(said(has, congestion="cubik", direction="both")) == 2
    assert "by s " in said(has, congestion="cubik", direction="server-sends")[0]


def test_a_refused_congestion_control_is_reported_with_the_command_that_allows_it() -> None:
    has = HostValues(congestion_available=("reno", "cubic"), congestion_allowed=("reno",))
    (sentence,) = said(has, congestion="cubic")
    assert "the account on c may not choose `cubic` (it may: reno)" in sentence
    assert sentence.endswith("sysctl -w net.ipv4.tcp_allowed_congestion_control='reno cubic'")
    assert said(has, congestion="reno") == []


def test_a_cell_in_which_the_server_connects_needs_its_interface_at_the_server() -> None:
    has = HostValues.of({"addresses": "eth1=10.0.0.1/24"}, {})
    (sentence,) = said(has, interface="eth2", opening="server-connects")
    assert sentence.startswith("s has no interface `eth2` ")


def test_the_client_must_have_the_interface_that_a_cell_names() -> None:
    has = HostValues.of({"addresses": "lo=127.0.0.1/8,eth1=10.0.0.1/24,eth1=fd00::1/64"}, {})
    assert said(has, interface="eth1") == []
    assert said(has, interface="eth2") == [
        "c has no interface `eth2` (it has lo, eth1); did you mean `eth1`?"
    ]


@given(st.integers(1, 8), st.integers(0, 9), st.integers(0, 9))
def test_a_cpu_number_is_wrong_exactly_if_the_host_has_fewer_cpus(
    count: int, server: int, client: int
) -> None:
    sentences = said(HostValues.of({}, {"cpu_count": count}), server_cpu=server, client_cpu=client)
    assert len(sentences) == (server >= count) + (client >= count)


def test_each_cpu_of_a_list_that_the_host_lacks_is_reported() -> None:
    has = HostValues.of({}, {"cpu_count": 2})
    assert said(has, server_cpus="0,1", client_cpus="1") == []
    assert said(has, server_cpus="0,2,5") == [
        "s has no CPU 2: its CPUs are 0 to 1",
        "s has no CPU 5: its CPUs are 0 to 1",
    ]


@pytest.mark.parametrize("facts", [{}, {"congestion_available": 3}, {"addresses": None}])
def test_facts_of_a_wrong_type_count_as_unknown(facts: dict[str, object]) -> None:
    values = HostValues.of(facts, {"cpu_count": "many"})
    assert values == HostValues()
