"""Finding → one plain sentence with its figures, whatever its kind. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlab.experiment.records import REASONS
from netlab.findings.finding import Finding, Group, Kind
from netlab.report.text.run_index import RunIndex
from netlab.report.text.stream_findings import said_of_stream
from netlab.results.labels import count, figure, setting
from netlab.stats import rounded
from netlab.units import format_bytes, format_rate, format_seconds


def sentence(finding: Finding, index: RunIndex) -> str:
    """What it states, of what, and by which figures: one sentence with its full stop."""
    words = _WORDS.get(finding.kind)
    of_stream = said_of_stream(finding) or finding.kind.replace("-", " ")
    said = of_stream if words is None else words(finding, index)
    where = "" if finding.kind is Kind.UNREPEATED else of_what(finding.group)
    return f"{where}: {said}." if where else f"{said[:1].upper()}{said[1:]}."


def of_what(group: Group) -> str:
    """``LL UDP 64, streams 4``; empty for the whole run."""
    words = [setting(name, value) for name, value in group.conditions]
    return ", ".join(word for word in (str(group), *words) if word)


def _in_cells(finding: Finding, index: RunIndex) -> str:
    """``in 7 of 13 cells (socket buffers up to 44 KiB, but for 32 KiB)``."""
    every, those = index.cells_beside(finding.cells[0]), set(finding.cells)
    if len(every) <= len(those):
        return "in every cell" if len(those) > 1 else ""
    said = f"in {len(those)} of {count(len(every), 'cell')}"
    sized = [cell for cell in every if index.buffer_bytes(cell) is not None]
    its = [at for at, cell in enumerate(sized) if cell in those]
    # Where one buffer stands for several cells, which differ otherwise, it names none of them.
    one_each = len({index.buffer_bytes(cell) for cell in sized}) == len(sized)
    if not its or len(its) < len(those) or not one_each:
        return said
    if its[0] == 0:
        inside, edge = sized[: its[-1] + 1], f"up to {_buffer(sized[its[-1]], index)}"
    elif its[-1] == len(sized) - 1:
        inside, edge = sized[its[0] :], f"from {_buffer(sized[its[0]], index)} on"
    else:
        return said
    holes = [_buffer(cell, index) for cell in inside if cell not in those]
    but = f", but for {', '.join(holes)}" if holes else ""
    return f"{said} (socket buffers {edge}{but})" if len(holes) <= 2 else said


def amount(quantity: str, value: float) -> str:
    """A throughput or a round trip with its unit."""
    if quantity.endswith("_ns"):
        return format_seconds(value / 1e9).replace("us", "µs")
    # Two decimals always: the figure is looked up in a table that has them.
    return f"{figure(value / 1e6)} Mbit/s"


def _buffer(cell: str, index: RunIndex) -> str:
    size = index.buffer_bytes(cell)
    return "the system’s tuning" if size is None else format_bytes(size)


def _at(finding: Finding, index: RunIndex) -> str:
    """`` at a socket buffer of 60 KiB``; empty where that is the system's own."""
    known = index.buffer_bytes(finding.cells[0]) is not None
    return f" at a socket buffer of {_buffer(finding.cells[0], index)}" if known else ""


def _quantity(finding: Finding) -> str:
    known = ("throughput_bit_per_s", "rtt_mean_ns")
    return next((name for name in known if name in finding.evidence), known[0])


def _means(finding: Finding) -> str:
    """``mean 84.82 Mbit/s with it, 92.36 Mbit/s without, median 92.38 Mbit/s``."""
    said, quantity = finding.evidence, _quantity(finding)
    without = said.get("mean_without")
    words = [f"mean {amount(quantity, said['mean'])} with it"]
    words += [] if without is None else [f"{amount(quantity, without)} without"]
    return ", ".join([*words, f"median {amount(quantity, said['median'])}"])


def outlier_briefly(finding: Finding, index: RunIndex) -> str:
    """One of several, without saying again what it is."""
    said, quantity = finding.evidence, _quantity(finding)
    return (
        f"{of_what(finding.group)} at {_buffer(finding.cells[0], index)}, "
        f"{amount(quantity, said[quantity])} where its neighbours have "
        f"{amount(quantity, said['expected'])} ({_means(finding)})"
    )


def _outlier(finding: Finding, index: RunIndex) -> str:
    said, quantity = finding.evidence, _quantity(finding)
    return (
        f"{amount(quantity, said[quantity])}{_at(finding, index)} is an outlier; its neighbours "
        f"have {amount(quantity, said['expected'])} ({_means(finding)})"
    )


def _step(finding: Finding, index: RunIndex) -> str:
    said, quantity = finding.evidence, _quantity(finding)
    sizes = " and ".join(_buffer(cell, index) for cell in finding.cells)
    return (
        f"a step to {amount(quantity, said[quantity])} at socket buffers of {sizes}; the cells "
        f"beside have {amount(quantity, said['expected'])}"
    )


def _stray_trial(finding: Finding, index: RunIndex) -> str:
    said, quantity = finding.evidence, _quantity(finding)
    more = said["stray_trials"] - 1
    others = f", nor do {more:.0f} others" if more else ""
    return (
        f"trial {said['trial']:.0f} of {said['trials']:.0f}{_at(finding, index)} does not go "
        f"with the others{others}: {amount(quantity, said[quantity])}, they have "
        f"{amount(quantity, said['expected'])} ({_means(finding)})"
    )


def _wire(finding: Finding, index: RunIndex) -> str:
    ceiling = finding.evidence.get("ceiling_bit_per_s")
    of = "of its ceiling" if ceiling is None else f"of {amount('', ceiling)}"
    least = "96" if finding.group.flow else "98"
    where = _in_cells(finding, index)
    said = f"at the wire’s limit, {least} % and more {of}"
    return f"{said}, {where}" if where else said


def fall(finding: Finding, index: RunIndex) -> str:
    """Where it begins, and how deep it goes."""
    said = finding.evidence
    return (
        f"from a socket buffer of {_buffer(finding.cells[0], index)} on it falls from "
        f"{amount('', said['expected'])} to {amount('', said['least'])}, which the data do not "
        "explain"
    )


def _no_timestamps(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    return (
        f"{amount('', said['throughput_bit_per_s'])} is consistent with no TCP timestamps (ceiling "
        f"{amount('', said['ceiling_without_bit_per_s'])}; "
        f"{amount('', said['ceiling_with_bit_per_s'])} with them); not recorded"
    )


def _no_effect(finding: Finding, _: RunIndex) -> str:
    said, quantity = finding.evidence, finding.words["quantity"]
    but = f", but for {count(int(said['outliers']), 'outlier')}" if said["outliers"] else ""
    return (
        f"the socket buffer had no effect from {_size(said['from_socket_buffer_bytes'])} to "
        f"{_size(said['to_socket_buffer_bytes'])}: {amount(quantity, said['least'])} to "
        f"{amount(quantity, said['most'])}{but}"
    )


def _capped(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    most = said.get("most_effective_bytes")
    effect = "" if most is None else f"; {_size(most)} is the most in effect"
    return (
        f"socket buffers of {_sizes(said)} were not given as asked for, but capped by the "
        f"{finding.words['ends'].replace(', ', ' and the ')}{effect}"
    )


def _doubled(finding: Finding, _: RunIndex) -> str:
    return (
        f"socket buffers of {_sizes(finding.evidence)} were doubled by the system of the "
        f"{finding.words['ends'].replace(', ', ' and of the ')}"
    )


def _same_buffer(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    return (
        f"socket buffers of {_sizes(said)} came to one of {_size(said['effective_bytes'])} in "
        f"effect: {count(len(finding.cells), 'cell')} of one point"
    )


def _fragmented(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    return (
        f"each message is {said['fragments']:.0f} fragments at an MTU of {said['mtu_bytes']:.0f} "
        f"bytes; up to {said['largest_whole_message_bytes']:.0f} bytes are one frame"
    )


def _far_below(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    others = said.get("others_ceiling_share")
    beside = "" if others is None else f", of which other pairings reach {_percent(others)}"
    return (
        f"nowhere more than {amount('', said['throughput_bit_per_s'])}, "
        f"{_percent(said['ceiling_share'])} of what the link of "
        f"{format_rate(said['link_rate_bit_per_s'])} carries{beside}: suspect a host, the cable or "
        "its duplex rather than what was varied"
    )


def _one_way(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    ratio = said["ratio"]
    return (
        f"{amount('', said['throughput_bit_per_s'])}, where {finding.words['against']} has "
        f"{amount('', said['other_bit_per_s'])}: {float(f'{ratio:.2g}'):g} times as much "
        "the other way round"
    )


def _link_speed(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    return (
        f"{finding.words['interface'] or 'its interface'} runs at "
        f"{format_rate(said['interface_speed_bit_per_s'])}, the link is stated with "
        f"{format_rate(said['link_rate_bit_per_s'])}"
    )


def _link_mtu(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    return (
        f"{finding.words['interface'] or 'its interface'} has an MTU of "
        f"{said['interface_mtu_bytes']:.0f} bytes, the link is stated with "
        f"{said['link_mtu_bytes']:.0f}"
    )


def _duplex(finding: Finding, _: RunIndex) -> str:
    return f"{finding.words['interface'] or 'its interface'} runs at half duplex"


def _changed(finding: Finding, _: RunIndex) -> str:
    changes = [f"{name.replace('_', ' ')} {said}" for name, said in finding.words.items()]
    more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
    return f"its facts changed in the course of the run: {'; '.join(changes[:3])}{more}"


def _virtual(finding: Finding, _: RunIndex) -> str:
    words = finding.words
    return f"virtual, under {words['hypervisor']}: {words['hosts']}"


def _off_time(finding: Finding, _: RunIndex) -> str:
    """How long trials took, and who says so."""
    said = finding.evidence
    span = f"{format_seconds(said['shortest_s'])} to {format_seconds(said['longest_s'])}"
    asked = f"{span} where {format_seconds(said['asked_s'])} were asked for"
    if "trials" in said:
        return f"{said['trials']:.0f} of {said['of_trials']:.0f} trials took {asked}"
    return f"trials took {asked} ({finding.words['source']})"


def _failed(finding: Finding, _: RunIndex) -> str:
    trials = count(int(finding.evidence["trials"]), "trial")
    return f"{trials} failed{_of_sizes(finding)}: {why(finding)}"


def _missing(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    return (
        f"{said['cells']:.0f} of {count(int(said['of_cells']), 'cell')} without a result"
        f"{_of_sizes(finding)}: {why(finding)}"
    )


def _fewer(finding: Finding, _: RunIndex) -> str:
    said = finding.evidence
    return (
        f"its mean rests on {count(int(said['cells']), 'cell')}, others beside it on "
        f"{said['most_cells']:.0f}"
    )


def _unrepeated(finding: Finding, _: RunIndex) -> str:
    """Which two, and how little lies between them."""
    said, group = finding.evidence, finding.group
    least, most = said["least_difference_bit_per_s"], said["most_difference_bit_per_s"]
    span = f"{_signed(least)} to {_signed(most)}" if least != most else _signed(most)
    both = f"{group.pairing} against {finding.words['against']}, {group.protocol}"
    return f"{both}: cannot tell, n = 1; the means of columns differ by {span} Mbit/s"


def _of_sizes(finding: Finding) -> str:
    sizes = finding.words.get("message_bytes", "")
    return f", messages of {sizes} bytes" if sizes else ""


def why(finding: Finding) -> str:
    """The reason of blanks: its sentence and its word."""
    word = finding.words["reason"]
    known = REASONS.get(word)
    return word if known is None else f"{known.sentence.rstrip('.')} ({word})"


def _sizes(said: Mapping[str, float]) -> str:
    least, most = said["least_asked_bytes"], said["most_asked_bytes"]
    return _size(least) if least == most else f"{_size(least)} to {_size(most)}"


def _size(size_bytes: float) -> str:
    return format_bytes(int(size_bytes))


def _signed(bit_per_s: float) -> str:
    return f"{rounded(bit_per_s / 1e6, 2):+f}"


def _percent(share: float) -> str:
    return f"{float(f'{100 * share:.3g}'):g} %"


_WORDS: Mapping[Kind, Callable[[Finding, RunIndex], str]] = {
    Kind.OUTLIER: _outlier,
    Kind.STEP: _step,
    Kind.STRAY_TRIAL: _stray_trial,
    Kind.WIRE_CEILING: _wire,
    Kind.FALL: fall,
    Kind.NO_TIMESTAMPS: _no_timestamps,
    Kind.BUFFER_NO_EFFECT: _no_effect,
    Kind.BUFFER_CAPPED: _capped,
    Kind.BUFFER_DOUBLED: _doubled,
    Kind.SAME_BUFFER: _same_buffer,
    Kind.FRAGMENTED: _fragmented,
    Kind.LINK_FAR_BELOW: _far_below,
    Kind.ONE_WAY: _one_way,
    Kind.LINK_SPEED: _link_speed,
    Kind.LINK_MTU: _link_mtu,
    Kind.DUPLEX: _duplex,
    Kind.FACTS_CHANGED: _changed,
    Kind.VIRTUAL_MACHINE: _virtual,
    Kind.OFF_TIME: _off_time,
    Kind.FAILED: _failed,
    Kind.MISSING: _missing,
    Kind.FEWER_CELLS: _fewer,
    Kind.UNREPEATED: _unrepeated,
}
