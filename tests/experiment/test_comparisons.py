"""A comparison pairs the cells that differ only in the compared settings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from netlab.experiment.cells import Comparison
from netlab.trial.settings import Level

Plain = dict[str, Level]


def cell(**settings: Level) -> Plain:
    return {"pairing": "LL", "test": "round_trip", "message_bytes": 18, **settings}


WAITS = Comparison("waits", {"server_receive": "blocking"}, {"server_receive": "spinning"})


def test_two_cells_that_differ_only_in_the_compared_setting_are_a_pair() -> None:
    cells = [
        cell(server_receive="blocking"),
        cell(server_receive="spinning", message_bytes=1472),
        cell(server_receive="blocking", message_bytes=1472),
        cell(server_receive="spinning"),
        cell(server_receive="spinning", message_bytes=64),
    ]
    assert WAITS.pairs_in(cells) == [(0, 3), (2, 1)]
    assert [WAITS.side_of(candidate) for candidate in cells[:2]] == ["baseline", "contender"]
    assert WAITS.fault(cells) is None


def test_two_pairings_can_be_compared() -> None:
    systems = Comparison("systems", {"pairing": "LL"}, {"pairing": "WL"})
    assert systems.pairs_in([cell(), cell(pairing="WL"), cell(pairing="WW")]) == [(0, 1)]
    assert systems.side_of(cell(pairing="WW")) is None


def test_a_setting_left_to_the_host_can_be_compared_with_a_value() -> None:
    tuned = Comparison("buffers", {"socket_buffer_bytes": None}, {"socket_buffer_bytes": 65536})
    assert tuned.pairs_in([cell(), cell(socket_buffer_bytes=65536)]) == [(0, 1)]


def test_a_comparison_of_protocols_ignores_settings_that_only_one_protocol_has() -> None:
    protocols = Comparison("protocols", {"protocol": "TCP"}, {"protocol": "UDP"})
    cells = [
        cell(protocol="UDP", dont_fragment=True),
        cell(protocol="TCP", congestion="cubic", nodelay=True, dont_fragment=False),
    ]
    assert protocols.pairs_in(cells) == [(1, 0)]


def test_a_comparison_without_pairs_is_refused_with_a_reason() -> None:
    cells = [cell(server_receive="blocking", message_bytes=1), cell(server_receive="spinning")]
    assert WAITS.fault(cells) == "no two cells differ in these settings alone"
    assert WAITS.fault(cells[:1]) == "the contender matches no cell"
    assert WAITS.fault(cells[1:]) == "the baseline matches no cell"
    assert (
        Comparison("x", {"dscp": 1}, {"dscp": 1}).fault(cells)
        == "`baseline` and `contender` are equal"
    )
    uneven = Comparison("x", {"dscp": 1}, {"dscp": 2, "ip_version": 4})
    assert (
        uneven.fault(cells)
        == "`baseline` and `contender` must name the same settings, one value each"
    )


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 2)), unique=True))
def test_compared_pairs_agree_in_all_other_settings_and_share_no_cell(
    levels: list[tuple[bool, int, int]],
) -> None:
    checksum = Comparison("checksum", {"udp_checksum": True}, {"udp_checksum": False})
    cells = [cell(udp_checksum=on, message_bytes=size, dscp=dscp) for on, size, dscp in levels]
    pairs = checksum.pairs_in(cells)
    indices = [index for pair in pairs for index in pair]
    assert len(indices) == len(set(indices))
    for first, second in pairs:
        assert cells[first] | {"udp_checksum": False} == cells[second]
    settings = {(size, dscp) for on, size, dscp in levels if on}
    assert len(pairs) == len(settings & {(size, dscp) for on, size, dscp in levels if not on})
