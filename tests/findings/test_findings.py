"""Limits of streams are found in synthetic samples and in recorded runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import FIXTURES, REPORTS
from hypothesis import given
from hypothesis import strategies as st
from made_histograms import of_values
from made_runs import made_cell, made_plan, made_record
from made_samples import changed, end_of, sample_of

from netlab.findings.analysis import load, load_cells
from netlab.findings.derived import StreamSample, samples
from netlab.findings.finding import Kind
from netlab.findings.limits import limits
from netlab.findings.stream_limits import is_above, limit_of
from netlab.report.sections.findings import findings_and_limits
from netlab.report.tables.elements import Part
from netlab.stats.histogram import Histogram
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Value

SECOND_NS = 1_000_000_000
CEILING = 94_148_244.0


def calls_of(each_ns: int, count: int = 500) -> Histogram:
    return of_values([each_ns] * count, 4)


def sample(**changes: object) -> StreamSample:
    """A Windows client whose calls take 24 µs each, at 28 % of the ceiling, nothing lost."""
    calls = int(changes.get("calls", 41_000))  # type: ignore[call-overload]
    defaults: dict[str, object] = {
        "cell": "a",
        "pairing": "WW",
        "protocol": "TCP",
        "message_bytes": 64,
        "throughput_bit_per_s": calls * 64 * 8.0,
        "ceiling_bit_per_s": CEILING,
        "calls": calls,
        "call_times": calls_of(24_000),
        "room_looks": 160,
        "room_share": 1.0,
        "send_buffer_bytes": 65536,
    }
    of_sender = {"window_ns": SECOND_NS, "thread_ns": 400_000_000}
    of_sender = {name: changes.pop(name, default) for name, default in of_sender.items()}  # type: ignore[misc]
    return sample_of(**({"sender": end_of(**of_sender)} | defaults | changes))


def test_send_calls_that_fill_the_window_without_waiting_for_room_are_the_limit() -> None:
    assert limit_of(sample()) is Kind.SENDER_CALL_RATE


def test_a_sender_thread_that_never_leaves_its_cpu_is_limited_by_its_cpu_and_not_by_calls() -> None:
    assert limit_of(sample(thread_ns=985_000_000)) is Kind.CPU_BOUND_SENDER
    assert limit_of(sample(thread_ns=940_000_000)) is Kind.SENDER_CALL_RATE


@pytest.mark.parametrize(
    ("thread_ns", "delay_ns", "bound"),
    [
        (970_000_000, 15_000_000, True),
        (950_000_000, 15_000_000, False),
        (965_000_000, 25_000_000, False),
        (970_000_000, None, True),
        (955_000_000, None, False),
    ],
)
def test_a_sender_is_limited_by_its_cpu_if_each_kind_of_waiting_is_below_2_percent(
    thread_ns: int, delay_ns: int | None, bound: bool
) -> None:
    end = end_of(window_ns=SECOND_NS, thread_ns=thread_ns, run_queue_delay_ns=delay_ns)
    assert (limit_of(sample(sender=end)) is Kind.CPU_BOUND_SENDER) == bound


def test_a_stream_at_the_wire_ceiling_is_limited_by_the_wire_even_with_a_busy_sender() -> None:
    full = sample(throughput_bit_per_s=0.99 * CEILING, thread_ns=SECOND_NS)
    assert limit_of(full) is Kind.WIRE_CEILING
    assert limit_of(changed(full, throughput_bit_per_s=0.979 * CEILING)) is not Kind.WIRE_CEILING
    two_way_sample = changed(full, throughput_bit_per_s=0.965 * CEILING, flow="to server")
    assert limit_of(two_way_sample) is Kind.WIRE_CEILING


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        ("it was paced, and fell short", {"offered_bit_per_s": 5e7}),
        ("the link is not known", {"ceiling_bit_per_s": None}),
        ("the calls waited for the queue", {"room_share": 0.6}),
        ("room was not sampled", {"room_looks": None, "room_share": None}),
        ("it was looked too seldom", {"room_looks": 7}),
        ("the calls fill three quarters of the window", {"call_times": calls_of(18_000)}),
        ("too few calls were timed", {"call_times": calls_of(24_000, 49)}),
        ("no call was timed", {"call_times": None}),
        ("five messages fill the buffer", {"send_buffer_bytes": 320}),
        ("the buffer is not known", {"send_buffer_bytes": None}),
        ("a fifth of it was lost", {"protocol": "UDP", "throughput_bit_per_s": 0.8 * 41_000 * 512}),
        ("the window was short", {"window_ns": 100_000_000, "calls": 4_100}),
        ("the calls were not counted", {"calls": None, "throughput_bit_per_s": 2e7}),
    ],
)
def test_a_limit_by_send_calls_is_not_named_without_its_evidence(
    why: str, changes: dict[str, object]
) -> None:
    fields = {"throughput_bit_per_s": 41_000 * 512.0} | changes
    if changes.get("calls") is None and "calls" in changes:
        fields.pop("calls")
        stream_sample = changed(sample(**fields), calls=None)
    else:
        stream_sample = sample(**fields)
    assert limit_of(stream_sample) is None, why


def test_a_full_send_buffer_with_a_few_long_calls_is_not_a_call_rate_limit() -> None:
    """As on Linux: a third of the buffer is freed before a call returns."""
    times = of_values([400] * 490 + [5_000_000] * 10, 4)
    stream_sample = sample(calls=180_000, call_times=times, room_share=0.05)
    assert limit_of(stream_sample) is None
    assert (stream_sample.in_ordinary_calls_share or 0) < 0.1, "the longest calls are left out"


def test_a_few_long_send_calls_do_not_count_as_the_cost_of_calls() -> None:
    times = of_values([10_000] * 496 + [4_000_000] * 4, 4)
    interrupted = sample(call_times=times)
    assert interrupted.in_ordinary_calls_share == pytest.approx(0.41, rel=0.05)
    assert (interrupted.in_calls_share or 0) > 1
    assert limit_of(interrupted) is None


def test_a_sender_interrupted_at_times_is_still_limited_by_its_send_calls() -> None:
    times = of_values([15_000] * 495 + [700_000] * 5, 4)
    busy = sample(call_times=times)
    assert busy.in_ordinary_calls_share == pytest.approx(0.61, rel=0.05)
    assert limit_of(busy) is Kind.SENDER_CALL_RATE


def test_two_streams_are_limited_by_send_calls_only_if_calls_fill_the_window_of_each_stream() -> (
    None
):
    assert limit_of(sample(streams=2)) is None
    assert limit_of(sample(streams=2, calls=82_000)) is Kind.SENDER_CALL_RATE
    assert (
        limit_of(sample(streams=2, calls=82_000, thread_ns=SECOND_NS)) is not Kind.CPU_BOUND_SENDER
    )


def test_a_loopback_stream_without_a_ceiling_is_limited_by_the_cpu_of_the_sender() -> None:
    loopback = sample(same_host=True, ceiling_bit_per_s=None, thread_ns=SECOND_NS)
    assert limit_of(loopback) is Kind.CPU_BOUND_SENDER


def test_a_call_rate_finding_names_its_cells_evidence_and_advice() -> None:
    (finding,) = limits([sample(), sample(cell="b", calls=43_000)])
    assert (finding.kind, finding.severity, str(finding.group)) == (
        Kind.SENDER_CALL_RATE,
        "warning",
        "WW TCP 64",
    )
    assert finding.cells == ("a", "b")
    assert finding.evidence["calls_per_s"] == 42_000
    assert finding.evidence["send_call_median_ns"] == pytest.approx(24_000, rel=0.032)
    assert finding.evidence["thread_share"] == pytest.approx(0.4)
    assert "larger messages" in finding.advice


def test_a_figure_that_one_cell_lacks_is_left_out_of_the_evidence() -> None:
    (finding,) = limits([sample(), sample(cell="b", thread_ns=None)])
    assert "thread_share" not in finding.evidence


def test_a_cell_has_a_limit_only_if_more_than_half_of_its_trials_show_the_limit() -> None:
    odd = sample(room_share=0.2)
    assert limits([sample(), sample(), odd])[0].cells == ("a",)
    assert limits([sample(), odd]) == ()


def test_findings_are_grouped_by_pairing_protocol_message_size_and_direction() -> None:
    stream_samples = [
        sample(),
        sample(pairing="LW"),
        sample(protocol="UDP"),
        sample(message_bytes=32, throughput_bit_per_s=41_000 * 256.0),
        sample(flow="to client"),
    ]
    assert len({finding.group for finding in limits(stream_samples)}) == 5


@given(
    share=st.floats(0, 1.2),
    room=st.floats(0, 1),
    thread_ns=st.integers(0, SECOND_NS),
    each_ns=st.integers(1, 50_000),
    offered_rate=st.none() | st.floats(1e6, 1e8),
)
def test_any_stream_has_at_most_one_limit_and_the_limit_has_its_evidence(
    share: float, room: float, thread_ns: int, each_ns: int, offered_rate: float | None
) -> None:
    stream_sample = sample(
        throughput_bit_per_s=share * CEILING,
        calls=max(1, round(share * CEILING / 512)),
        room_share=room,
        thread_ns=thread_ns,
        call_times=calls_of(each_ns),
        offered_bit_per_s=offered_rate,
    )
    limit = limit_of(stream_sample)
    assert (limit is Kind.WIRE_CEILING) == (share >= 0.98)
    if offered_rate is not None:
        paced = limit is Kind.PACING
        assert limit is None or paced or limit is Kind.WIRE_CEILING
        assert not paced or share * CEILING >= 0.98 * offered_rate
    if limit is Kind.CPU_BOUND_SENDER:
        assert thread_ns >= 0.96 * SECOND_NS
    if limit is Kind.SENDER_CALL_RATE:
        assert room >= 0.9 and (stream_sample.in_calls_share or 0) >= 0.8
    assert len(limits([stream_sample])) == (limit is not None)


# ---- from records --------------------------------------------------------------------------------


def test_in_a_recorded_run_wine_clients_are_limited_by_send_calls_and_linux_by_the_wire() -> None:
    """A recorded run in the virtual lab at 100 Mbit/s, on two busy CPUs."""
    unpaced = [stream for stream in samples(load(FIXTURES / "limits-wine")) if not stream.paced]
    findings_by_group = {str(finding.group): finding for finding in limits(unpaced)}
    assert {name: str(finding.kind) for name, finding in findings_by_group.items()} == {
        "LL TCP 64": "wire-ceiling",
        "LL TCP 1448": "wire-ceiling",
        "LL UDP 64": "loss-limit/socket",
        "LL UDP 1448": "wire-ceiling",
        "LW TCP 64": "sender-call-rate",
        "LW TCP 1448": "wire-ceiling",
        "LW UDP 64": "sender-call-rate",
        "LW UDP 1448": "wire-ceiling",
    }
    evidence = findings_by_group["LW TCP 64"].evidence
    assert evidence["calls_per_s"] * evidence["send_call_median_ns"] == pytest.approx(6.35e8, 0.02)
    assert evidence["send_room_share"] == 1.0


def test_paced_trials_of_a_recorded_run_are_limited_by_pacing() -> None:
    paced = [stream for stream in samples(load(FIXTURES / "limits-wine")) if stream.paced]
    assert len(paced) == 2
    assert {finding.kind for finding in limits(paced)} == {Kind.PACING}


def test_in_a_recorded_run_linux_senders_of_small_tcp_messages_are_limited_by_the_cpu() -> None:
    limit_findings = limits(samples(load(FIXTURES / "limits-linux")))
    assert {(str(finding.group), str(finding.kind)) for finding in limit_findings} == {
        ("LL TCP 64", "cpu-bound/sender"),
        ("LL TCP 512", "cpu-bound/sender"),
        ("LL UDP 64", "sender-call-rate"),
        ("LL UDP 512", "loss-limit/socket"),
        # Of 60 % of the ceiling that it sends, the socket loses some.
        ("LL UDP 512", "sender-call-rate"),
    }


def test_an_imported_run_shows_no_limit_but_the_wire_ceiling() -> None:
    table_samples = samples(load(REPORTS / "lab-report"))
    assert {limit_of(stream) for stream in table_samples} == {Kind.WIRE_CEILING, None}
    assert not any(is_above(stream) for stream in table_samples)


def test_old_records_without_waiting_times_show_no_limit_but_the_wire_ceiling(
    tmp_path: Path,
) -> None:
    values: dict[str, Value] = {
        "throughput_bit_per_s": 92.3e6,
        "sender_thread_ns": 10**10,
        "sender_elapsed_ns": 10**10,
    }
    only = sending_of(tmp_path / "run", values)
    assert limit_of(only) is Kind.WIRE_CEILING
    assert limit_of(changed(only, throughput_bit_per_s=5e7)) is None


def test_chosen_cells_of_a_run_folder_are_read_alone_and_their_values_are_checked(
    tmp_path: Path,
) -> None:
    chosen, other = made_cell(message_bytes=1500), made_cell(message_bytes=64)
    plan = made_plan(cells=(chosen, other), repeats=2)
    with RunFolder.open_for_writing(tmp_path / "run", plan) as run:
        for cell, trial, rate in ((chosen, 1, 9e7), (chosen, 2, "quick"), (other, 1, 8e7)):
            values: dict[str, Value] = {"throughput_bit_per_s": rate}
            run.append(made_record(cell, trial=trial, values=values))
    analysis = load_cells(tmp_path / "run", {chosen.key})
    assert [(record.cell, record.trial) for record in analysis.records] == [(chosen.key, 1)]
    assert [stream.throughput_bit_per_s for stream in analysis.samples] == [9e7]
    assert len(analysis.damage) == 1


def test_findings_of_a_run_folder_are_sentences_only_if_it_is_read_with_their_words() -> None:
    said = load(REPORTS / "lab-report", lambda _: lambda finding: f"It is {finding.kind.name}.")
    assert len(said.findings) > 0
    assert [finding.sentence for finding in said.findings] == [
        f"It is {finding.kind.name}." for finding in said.findings
    ]
    silent = load(REPORTS / "lab-report")
    assert silent.findings == said.findings
    assert {finding.sentence for finding in silent.findings} == {""}


def sending_of(folder: Path, values: dict[str, Value], protocol: str = "UDP") -> StreamSample:
    cell = made_cell(message_bytes=1500)
    cell = changed(cell, settings={**cell.settings, "protocol": protocol})
    plan = made_plan(cells=(cell,), repeats=1)
    with RunFolder.open_for_writing(folder, plan) as run:
        run.append(made_record(cell, values={"throughput_bit_per_s": 9e7, **values}))
    (only,) = samples(load(folder))
    return only


# ---- in the report -------------------------------------------------------------------------------


def limits_part(fixture: str) -> Part:
    (part,) = (
        part for part in findings_and_limits(load(FIXTURES / fixture)) if part.name == "limits"
    )
    return part


def test_the_report_has_one_line_for_cells_with_one_limit() -> None:
    part = limits_part("limits-wine")
    (sheet,) = part.sheets
    lines = {line.label: [place.text for place in line.places] for line in sheet.lines}
    assert lines["LL TCP 64, 1448"] == ["the wire", "2 of 2", "99.5 to 99.7", ""]
    limit, cells, share, why = lines["LW UDP 64"]
    assert (limit, cells, share) == ("the sender’s call rate", "1 of 1", "49.4")
    assert why == "48,000 calls a second, each takes 18 µs"
    assert lines["LW TCP 64"][3] == "53,000 calls a second, median 12 µs (90th percentile 25 µs)"
    assert "larger messages or more streams" in part.paragraphs[-1]


def test_the_report_states_where_udp_messages_were_lost() -> None:
    part = limits_part("limits-linux")
    lines = {line.label: [place.text for place in line.places] for line in part.sheets[0].lines}
    assert lines["LL TCP 64"][:2] == ["the sender’s CPU", "1 of 1"]
    assert lines["LL TCP 64"][3].startswith(
        "its thread ran 98 % of the time, 2,000,000 calls a second"
    )
    assert lines["LL UDP 512"][0] == "drops in the receiver’s queue"
    assert lines["LL UDP 512"][3] == "9.7 % lost, 100 % of that in the socket"
