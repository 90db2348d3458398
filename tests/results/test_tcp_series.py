"""Only consistent TCP series are read from a record."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.remote.answers import fault_in_record
from netlab.results.columns import describe, is_listed
from netlab.results.tcp_series import TCP_SERIES, TcpSeries, tcp_series_of
from netlab.results.value_types import check_values

NAMES = [name.removeprefix("tcp_series_") for name in TCP_SERIES]
COUNTS = st.integers(0, 2**63 - 1)


@st.composite
def recorded(draw: st.DrawFn) -> dict[str, list[int]]:
    times = sorted(draw(st.sets(COUNTS, min_size=1, max_size=40)))
    size = len(times)
    other_series = {
        name: draw(st.lists(COUNTS, min_size=size, max_size=size)) for name in NAMES[1:]
    }
    return {
        f"tcp_series_{name}": series for name, series in {"time_us": times, **other_series}.items()
    }


@given(answer=recorded(), flow=st.sampled_from(["", "to_server_", "to_client_"]))
def test_a_tcp_series_from_a_probe_is_stored_and_read_back_for_its_direction(
    answer: dict[str, list[int]], flow: str
) -> None:
    assert fault_in_record({"type": "progress", **answer}) is None
    values = {f"{flow}sender_{name}": series for name, series in answer.items()}
    check_values(values)
    series_read = tcp_series_of(values, flow)
    assert series_read == TcpSeries(**{name: answer[f"tcp_series_{name}"] for name in NAMES})
    for wrong_flow in {"", "to_server_", "to_client_"} - {flow}:
        assert tcp_series_of(values, wrong_flow) is None


@given(
    answer=recorded(),
    left_out=st.sets(st.sampled_from(NAMES)),
    short_name=st.sampled_from(NAMES[1:]),
)
def test_missing_or_truncated_tcp_series_are_read_as_empty(
    answer: dict[str, list[int]], left_out: set[str], short_name: str
) -> None:
    values = {
        f"sender_tcp_series_{name}": answer[f"tcp_series_{name}"]
        for name in NAMES
        if name not in left_out
    }
    if short_name not in left_out:
        values[f"sender_tcp_series_{short_name}"] = answer[f"tcp_series_{short_name}"][1:]
    series = tcp_series_of(values)
    present = set(NAMES[1:]) - left_out - {short_name}
    if "time_us" in left_out or not present:
        assert series is None
    else:
        assert series is not None
        assert {name for name in NAMES[1:] if getattr(series, name)} == present


@pytest.mark.parametrize(
    "times", [[], [3, 3], [5, 4], [1, "2"], [1, None], [-1, 2], [1, 2.5], [False, True], 7, "1,2"]
)
def test_a_tcp_series_without_ascending_times_is_not_read(times: Any) -> None:
    values = {"sender_tcp_series_time_us": times, "sender_tcp_series_rtt_us": [1, 2]}
    assert tcp_series_of(values) is None


@pytest.mark.parametrize("bad", [[-1], [1.5], ["x"], 7, "x", [True], [2**63]])
def test_an_invalid_tcp_series_in_a_probe_answer_is_rejected(bad: Any) -> None:
    for name in TCP_SERIES:
        assert name in (fault_in_record({"type": "progress", name: bad}) or "")


@pytest.mark.parametrize("bad", [[-1], [1.5], ["x"], 7, "x", [2**64]])
def test_an_invalid_tcp_series_in_a_run_folder_is_refused(bad: Any) -> None:
    for name in TCP_SERIES:
        with pytest.raises(ValueError, match="should be a list of whole numbers"):
            check_values({f"to_client_sender_{name}": bad})


def test_each_column_of_a_tcp_series_has_a_described_meaning() -> None:
    for name in (*TCP_SERIES, "receive_calls", "empty_receives"):
        assert is_listed(name)
        assert describe(f"to_server_sender_{name}").meaning.startswith("data to the server")
    for name in ("receiver_receive_calls", "receiver_empty_receives"):
        assert describe(name).dtype == "Int64"
        check_values({name: 12})
