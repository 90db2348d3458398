"""Figures above the wire ceiling are explained by the stated link rate or by the tool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

import draws
import pytest
from made_samples import CEILING, changed, tcp, udp

from netlab.findings.buffers import WAYS, above_ceiling
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind
from netlab.kinds import RoundTrip, Stream
from netlab.measurement.tool import remarks_of
from netlab.measurement.tools import TOOLS
from netlab.report.text.findings import statement

RATE = "the stated link rate is wrong"
TOOLS_ABOVE = (Kind.ABOVE_WIRE_TOOL, Kind.ABOVE_WIRE_EITHER)
OF_NETPERF = "; ".join(
    remarks_of(
        TOOLS["netperf"],
        Stream(protocol="UDP", message_bytes=1472, duration_s=1.0, receive="spinning"),
    )
)


def cell(engine: str, share: float, **more: Any) -> StreamSample:
    """A trial of an engine, at a share of the wire ceiling."""
    values = {
        "cell": f"{engine}-{share}",
        "conditions": (("engine", engine),) if engine else (),
        "engine": engine,
        "engine_remarks": OF_NETPERF if engine == "netperf" else "",
        "throughput_bit_per_s": share * CEILING,
    }
    return udp(**(values | more))


def only(samples: Sequence[StreamSample]) -> Finding:
    (finding,) = above_ceiling(samples)
    return finding


def said(samples: Sequence[StreamSample]) -> str:
    return str(statement(only(samples)))


# ---- right and wrong causes ----------------------------------------------------------------------


def test_a_tool_above_a_ceiling_that_netprobe_fills_is_reported_as_counting_too_much() -> None:
    samples = [cell("", 0.995), cell("netperf", 1.023), cell("iperf3", 0.997)]
    finding = only(samples)
    assert (finding.kind, finding.severity) == (Kind.ABOVE_WIRE_TOOL, "warning")
    assert (finding.cells, finding.trials) == (("netperf-1.023",), (("netperf-1.023", 1),))
    assert said(samples) == (
        "the figure of netperf is 2.3 % above the wire ceiling of 95.71 Mbit/s, netprobe’s are "
        "not: the tool divides by the sender’s time, and so counts bytes that then still waited in "
        "its buffer"
    )
    assert RATE not in said(samples)
    assert "rate" not in str(finding.advice)


def test_if_netprobe_is_above_the_wire_ceiling_the_stated_link_rate_is_called_wrong() -> None:
    samples = [cell("", 1.02), cell("netperf", 1.04), cell("iperf3", 0.99)]
    finding = only(samples)
    assert (finding.kind, finding.words) == (Kind.ABOVE_WIRE_RATE, {})
    assert finding.cells == ("-1.02", "netperf-1.04")
    assert RATE in said(samples)


def test_without_netprobe_a_tool_above_the_wire_ceiling_leaves_the_cause_open() -> None:
    samples = [cell("netperf", 1.04), cell("iperf3", 0.999)]
    assert only(samples).kind is Kind.ABOVE_WIRE_EITHER
    assert RATE in said(samples)
    assert "or netperf counts too much (the tool divides by the sender’s time" in said(samples)


@pytest.mark.parametrize("share", [0.3, 0.979])
def test_a_netprobe_cell_below_the_wire_ceiling_leaves_the_cause_of_an_excess_open(
    share: float,
) -> None:
    assert only([cell("", share), cell("netperf", 1.04)]).kind is Kind.ABOVE_WIRE_EITHER


def test_a_netprobe_cell_of_any_size_and_protocol_confirms_the_rate_of_its_link_only() -> None:
    above = cell("netperf", 1.04)
    probe = cell("", 0.995, message_bytes=64)
    assert only([above, probe]).kind is Kind.ABOVE_WIRE_TOOL
    of_tcp = tcp(cell="t", throughput_bit_per_s=0.99 * CEILING)
    assert only([above, of_tcp]).kind is Kind.ABOVE_WIRE_TOOL
    other_hosts = changed(probe, sender=changed(probe.sender, host="z"))
    other_network = changed(probe, conditions=(("network", "second"),))
    other_interface = changed(probe, conditions=(("interface", "eth7"),))
    for other in (other_hosts, other_network, other_interface):
        assert only([above, other]).kind is Kind.ABOVE_WIRE_EITHER
    turned = changed(
        probe,
        sender=changed(probe.sender, host="y"),
        receiver=changed(probe.receiver, host="x"),
    )
    forth = changed(
        above,
        sender=changed(above.sender, host="x"),
        receiver=changed(above.receiver, host="y"),
    )
    assert only([forth, turned]).kind is Kind.ABOVE_WIRE_TOOL


def test_a_netprobe_excess_over_one_link_does_not_decide_the_cause_on_another_link() -> None:
    other = cell("", 1.05, conditions=(("network", "second"),))
    by_kind = {
        finding.kind: finding.cells
        for finding in above_ceiling([cell("", 0.995), cell("netperf", 1.04), other])
    }
    assert by_kind == {
        Kind.ABOVE_WIRE_RATE: ("-1.05",),
        Kind.ABOVE_WIRE_TOOL: ("netperf-1.04",),
    }


def test_one_odd_netprobe_trial_does_not_decide_the_cause_of_an_excess() -> None:
    def trials(*shares: float) -> list[StreamSample]:
        return [cell("", share, cell="p", trial=n) for n, share in enumerate(shares, 1)]

    tool = cell("netperf", 1.04)
    for shares, kind in (
        ((0.99, 0.99, 1.05), Kind.ABOVE_WIRE_TOOL),
        ((0.99, 0.5, 0.5), Kind.ABOVE_WIRE_EITHER),
        ((0.99, 0.5), Kind.ABOVE_WIRE_EITHER),
        ((0.99, 0.99, 0.5), Kind.ABOVE_WIRE_TOOL),
        ((1.05, 1.05, 0.5), Kind.ABOVE_WIRE_RATE),
    ):
        assert {finding.kind for finding in above_ceiling([*trials(*shares), tool])} == {kind}


def test_each_tool_above_the_wire_ceiling_has_a_finding_with_its_way_of_counting() -> None:
    half = {"ceiling_bit_per_s": CEILING / 2, "highest_ceiling_bit_per_s": CEILING / 2}
    remark = "its server listens on all addresses of the host"
    findings = above_ceiling(
        [
            cell("", 0.995),
            cell("netperf", 1.04),
            cell("neper", 1.05, engine_remarks="a; its rate is the slope of a line through ten"),
            cell("iperf2", 0.53, engine_remarks=remark, **half),
        ]
    )
    ways = {finding.words["tool"]: str(statement(finding)) for finding in findings}
    assert list(ways) == ["iperf2", "neper", "netperf"], "the largest excess first"
    assert ways["netperf"].endswith("still waited in its buffer")
    assert ways["neper"].endswith("the slope of a line through a few samples")
    assert ways["iperf2"].endswith("the tool counts bytes and time in its own way")


def test_imports_above_the_wire_ceiling_are_reported_and_loopback_figures_are_not() -> None:
    assert only([cell("", 1.05, imported=True)]).kind is Kind.ABOVE_WIRE_RATE
    assert list(above_ceiling([cell("netperf", 1.05, same_host=True), cell("", 0.99)])) == []


def test_every_way_of_counting_that_findings_explain_is_a_remark_of_at_least_one_tool() -> None:
    base: dict[str, Any] = {"message_bytes": 1472, "duration_s": 2.0, "warm_up_s": 1.0}
    remarks = {
        remark
        for tool in TOOLS.values()
        for protocol in ("TCP", "UDP")
        for setup in (Stream(protocol=protocol, **base), RoundTrip(protocol=protocol, **base))
        if ("stream" if isinstance(setup, Stream) else "round_trip", protocol) in tool.follows
        for remark in remarks_of(tool, setup)
    }
    for begin in WAYS:
        assert [remark for remark in remarks if remark.startswith(begin)], begin


# ---- a random mix --------------------------------------------------------------------------------


def drawn(dice: Random) -> list[StreamSample]:
    """Cells of several engines, sizes and links, with one to three trials each."""
    samples = []
    for number in range(dice.randint(1, 8)):
        engine = dice.choice(["", "", "netperf", "iperf3"])
        settings: dict[str, str] = {"network": dice.choice(["one", "two"])}
        if engine:
            settings["engine"] = engine
        size = dice.choice([64, 1472])
        for trial in range(1, dice.randint(2, 4)):
            share = dice.choice([0.5, 0.97, 0.985, 1.0, 1.002, 1.05])
            slow_cell = cell(
                engine,
                share,
                cell=str(number),
                trial=trial,
                message_bytes=size,
                conditions=tuple(settings.items()),
            )
            samples.append(slow_cell)
    return samples


def expected(samples: Sequence[StreamSample]) -> dict[str, tuple[Kind, str]]:
    """Cell → cause and tool, by counting trials."""
    cells: dict[str, list[StreamSample]] = defaultdict(list)
    for sample in samples:
        cells[sample.cell].append(sample)

    def mostly(trials: Sequence[StreamSample], least: float, most: float) -> bool:
        shares = [trial.throughput_bit_per_s / CEILING for trial in trials]
        return 2 * sum(least < share <= most for share in shares) > len(shares)

    above = {name for name, trials in cells.items() if mostly(trials, 1.001, 9.0)}
    full = {name for name, trials in cells.items() if mostly(trials, 0.98, 1.001)}
    causes = {}
    for name in above:
        one = cells[name][0]
        network = dict(one.conditions)["network"]
        probes = {
            other
            for other, trials in cells.items()
            if not trials[0].engine and dict(trials[0].conditions)["network"] == network
        }
        if not one.engine or probes & above:
            causes[name] = (Kind.ABOVE_WIRE_RATE, "")
        else:
            causes[name] = (TOOLS_ABOVE[0] if probes & full else TOOLS_ABOVE[1], one.engine)
    return causes


def test_in_random_mixes_of_tools_each_cell_above_the_ceiling_is_reported_with_its_cause() -> None:
    dice, mixes = draws.chance(7), draws.drawn(100, 2000)
    kinds: dict[Kind, int] = defaultdict(int)
    for _ in range(mixes):
        samples = drawn(dice)
        causes = expected(samples)
        statements: dict[str, tuple[Kind, str]] = {}
        for finding in above_ceiling(samples):
            assert statement(finding)
            for name in finding.cells:
                assert name not in statements
                statements[name] = (finding.kind, finding.words.get("tool", ""))
            kinds[finding.kind] += 1
        assert statements == causes
    assert min(kinds[kind] for kind in (Kind.ABOVE_WIRE_RATE, *TOOLS_ABOVE)) > mixes / 20
