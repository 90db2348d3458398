"""Round trips, searches, pairs, comparisons → their lines at the top of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from netlab.compare.align import Judged
from netlab.ethernet import ip_version_of
from netlab.experiment.cells import Comparison
from netlab.experiment.hosts import is_by_name, labels_of
from netlab.findings.finding import Finding, Kind
from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.report.sections import search_hosts
from netlab.report.sections.comparisons import NAME, in_words, ratio_span
from netlab.report.sections.latency_under_load import SECTION, TEST, chart_names, load_names
from netlab.report.tables.columns import pooled
from netlab.report.tables.elements import AnswerLine
from netlab.report.text.phrases import (
    in_us,
    increase_words,
    listed,
    mean_ms,
    percentile_words,
    rate_unit,
    rise_words,
    spanned,
    with_interval,
)
from netlab.results.labels import figure
from netlab.results.quantities import names_of, quantities_of
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.trial.quantity import Quantity
from netlab.trial.record import Record, by_cell

_PAYLOAD = "payload"


def payload_answers(
    records: Sequence[Record], findings: Sequence[Finding]
) -> tuple[AnswerLine, ...]:
    """A line for each IP version: the payload of one frame, by protocol.

    If pairings differ in their payloads, each payload is followed by its pairings. If a finding
    states the cost of one byte more than fits into a frame, the last line gives this cost.
    """
    versions: dict[int, list[Record]] = {}
    for record in records:
        if record.number("payload_bytes") is not None:
            versions.setdefault(ip_version_of(record.settings), []).append(record)
    lines = [_of_version(version, searches) for version, searches in sorted(versions.items())]
    costs = [finding for finding in findings if finding.kind is Kind.BYTE_MORE]
    return (*lines, *([_cost_of_one_byte(costs)] if costs else []))


def _of_version(version: int, records: Sequence[Record]) -> AnswerLine:
    protocols = dict.fromkeys(record.protocol for record in records)
    payloads = [_of_protocol(protocol, records) for protocol in protocols]
    mtus = sorted({round(mtu) for r in records if (mtu := r.number("path_mtu_bytes"))})
    sentence = _(
        "IPv{version}: one frame carries {payloads}",
        version=str(version),
        payloads=listed(payloads),
    )
    if mtus:
        sizes = listed([str(mtu) for mtu in mtus])
        sentence = _("{payloads}; path MTU {sizes} bytes", payloads=sentence, sizes=sizes)
    cells = tuple(dict.fromkeys(record.cell for record in records))
    return AnswerLine(
        sentence, cells, _PAYLOAD, f"{_PAYLOAD}-{records[0].protocol.lower()}-ipv{version}"
    )


def _of_protocol(protocol: str, records: Sequence[Record]) -> Message:
    """A text such as ``1472 bytes over UDP``, with the pairings if their payloads differ."""
    sizes: dict[int, dict[str, None]] = {}
    for record in records:
        payload = record.number("payload_bytes")
        if record.protocol == protocol and payload is not None:
            sizes.setdefault(round(payload), {})[record.pairing] = None
    parts = [
        str(size)
        if len(sizes) == 1
        else _("{size} ({pairings})", size=str(size), pairings=listed([*pairings]))
        for size, pairings in sizes.items()
    ]
    return _("{sizes} bytes over {protocol}", sizes=listed(parts), protocol=protocol)


def _cost_of_one_byte(findings: Sequence[Finding]) -> AnswerLine:
    shares = sorted(finding.evidence["cost_share"] for finding in findings)
    least, most = (f"{100 * share:.1f}" for share in (shares[0], shares[-1]))
    cells = tuple(dict.fromkeys(cell for finding in findings for cell in finding.cells))
    sentence = _(
        "UDP: one byte more than fits into a frame costs {span} % of throughput",
        span=spanned(least, most),
    )
    return AnswerLine(sentence, cells, _PAYLOAD, f"{_PAYLOAD}-udp")


FULL = 0.995
"""A rate of at least this share of the line rate counts as the line rate, because by default a
search tries rates in steps of 0.5 % of the line rate."""
ALIKE = 0.005
"""If the shares at all frame sizes differ by less than this, the line gives a single share."""
_SEARCHES = "rate-without-loss"


def search_answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """One line for each pair of ports and set of conditions."""
    names = names_of(records, leaving_out=("protocol", "frame_bytes"))
    groups: dict[str, list[Record]] = {}
    for record in records:
        words = [word for word in (record.pairing, names[record.cell]) if word]
        if record.number("line_share") is not None:
            groups.setdefault(joined(" ", words), []).append(record)
    return tuple(_search_answer(name, searches) for name, searches in groups.items())


def _search_answer(name: str, records: Sequence[Record]) -> AnswerLine:
    by_size: dict[int, list[Record]] = {}
    for record in records:
        by_size.setdefault(int(str(record.settings.get("frame_bytes", 0))), []).append(record)
    shares = {size: _search_share(by_size[size]) for size in sorted(by_size)}
    full: int | None = None
    for size in reversed(shares):
        if shares[size] < FULL:
            break
        full = size
    least = min(shares, key=lambda size: shares[size])
    cells = (by_size[least][0].cell, *(record.cell for record in records))
    alike = full is None and len(shares) > 1 and max(shares.values()) - shares[least] < ALIKE
    return AnswerLine(
        _of_all_sizes(name, records, shares[least])
        if alike
        else _search_sentence(name, full, least, by_size[least], shares[least]),
        tuple(dict.fromkeys(cells)),
        _SEARCHES,
        f"{_SEARCHES}-share",
    )


def _search_sentence(
    name: str, full: int | None, least: int, trials: Sequence[Record], share: float
) -> Message:
    line_rate = (
        _("{name}: no frame size reaches the line rate without loss", name=name)
        if full is None
        else _(
            "{name}: line rate without loss from {size} bytes upwards", name=name, size=str(full)
        )
    )
    if share >= FULL:
        return line_rate
    return _(
        "{said}; {size} bytes: {share} % of the line rate, {limit}",
        said=line_rate,
        size=str(least),
        share=f"{100 * share:.1f}",
        limit=_search_limits(trials),
    )


def _of_all_sizes(name: str, trials: Sequence[Record], share: float) -> Message:
    return _(
        "{name}: {share} % of the line rate without loss at every frame size; limit: {limit}",
        name=name,
        share=f"{100 * share:.1f}",
        limit=_search_limits(trials),
    )


def _search_limits(trials: Sequence[Record]) -> Message | str:
    limits = dict.fromkeys(search_hosts.limit_words(trial) for trial in trials)
    return joined("; ", [limit for limit in limits if limit]) or _("limit not known")


def _search_share(trials: Sequence[Record]) -> float:
    shares = [trial.number("line_share") for trial in trials]
    return mean([share for share in shares if share is not None])


MOST_TRIP_LINES = 4
"""Maximum number of lines of a test; if there would be more, all cells share one line."""
_PERCENTILES = (0.99,)


def trip_answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """Lines with the shortest and longest mean of each protocol and size, and their intervals."""
    lines: list[AnswerLine] = []
    for test in dict.fromkeys(record.test for record in records):
        results = [
            record
            for record in records
            if record.test == test and record.status == "ok" and _means_us([record])
        ]
        names = names_of(results, leaving_out=("protocol", "message_bytes"), brief=True)
        groups: dict[str, list[Record]] = {}
        for record in results:
            size = "" if record.message_bytes is None else str(record.message_bytes)
            words = [word for word in (record.protocol, size) if word]
            groups.setdefault(joined(" ", words), []).append(record)
        if len(groups) > MOST_TRIP_LINES:
            groups = {results[0].protocol: results}
            names = names_of(results, brief=True)
        lines += [_trip_answer(test, title, group, names) for title, group in groups.items()]
    return tuple(lines)


def _trip_answer(
    test: str, title: str, records: Sequence[Record], names: dict[str, str]
) -> AnswerLine:
    trials_of = by_cell(records)
    cells = sorted(trials_of, key=lambda cell: mean(_means_us(trials_of[cell])))
    section = test.replace("_", "-")
    subject = _("a connection with its answer") if test == "connect" else _("a round trip")
    if len(cells) == 1:
        trials = trials_of[cells[0]]
        histogram = pooled(trials)
        text = _(
            "{title}: {time} {what} ({trials})",
            title=title,
            time=_time(trials),
            what=subject,
            trials=counted("{number} trial", "{number} trials", len(trials)),
        )
        percentiles = () if histogram is None else percentile_words(histogram, _PERCENTILES, in_us)
        return AnswerLine(joined(", ", [text, *percentiles]), tuple(cells), section, section)
    if _overlap([trials_of[cell] for cell in cells]):
        # No cell is named, because chance may decide which cell has the shortest mean.
        least, most = (_interval(trials_of[cell]) for cell in (cells[0], cells[-1]))
        sentence = _(
            "{title}: {what} takes {least} to {most} µs",
            title=title,
            what=subject,
            least=least,
            most=most,
        )
        return AnswerLine(sentence, (cells[-1], *cells[:-1]), section, section)
    several = len({record.pairing for record in records}) > 1
    least, most = (
        _(
            "{time} ({cell})",
            time=_time(trials_of[cell]),
            cell=_trip_name(trials_of[cell], names, several=several),
        )
        for cell in (cells[0], cells[-1])
    )
    sentence = _(
        "{title}: {what} takes {least} to {most}", title=title, what=subject, least=least, most=most
    )
    return AnswerLine(sentence, (cells[-1], *cells[:-1]), section, section)


def _trip_name(trials: Sequence[Record], names: dict[str, str], *, several: bool) -> str:
    words = [trials[0].pairing] if several else []
    return joined(", ", [*words, *([names[trials[0].cell]] if names[trials[0].cell] else [])])


def _means_us(trials: Sequence[Record]) -> list[float]:
    """The means of the trials. Trials without a mean (imported pings with a lost answer) are left
    out.
    """
    (quantity,) = quantities_of(trials[0])
    means = [quantity.in_unit(trial) for trial in trials]
    return [value for value in means if value is not None]


def _overlap(cells: Sequence[Sequence[Record]]) -> bool:
    """Whether the intervals of all cells have a value in common."""
    values = [_means_us(trials) for trials in cells]
    if any(len(means) < MIN_TRIALS for means in values):
        return False
    ends = [(mean(means), interval(means).half_width) for means in values]
    return max(mid - half for mid, half in ends) <= min(mid + half for mid, half in ends)


def _time(trials: Sequence[Record]) -> Message:
    """A text such as ``124.0 ± 1.4 µs``, with as many digits as the interval justifies."""
    return joined(" ", [_interval(trials), "µs"])


def _interval(trials: Sequence[Record]) -> str:
    values = _means_us(trials)
    if len(values) < MIN_TRIALS:
        return figure(mean(values))
    return with_interval(mean(values), interval(values).half_width)


MOST_LOAD_LINES = 3
"""Maximum number of lines; if there would be more, all cells share one line."""


def load_answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """One line for each cell with a result, or one line with the least and the largest increase.

    ``records``: all records of the run. Pairs of named hosts are left out here;
    ``pair_answers`` makes their lines.
    """
    of_test = [
        record for record in records if record.test == TEST and not is_by_name(record.pairing)
    ]
    names, charts = load_names(of_test), chart_names(records)
    cells = by_cell([r for r in of_test if r.status == "ok" and r.number("loaded_rtt_count")])
    increases = {
        cell: increase
        for cell, trials in cells.items()
        if (increase := mean_ms(trials, "increase_ns")) is not None
    }
    if len(cells) <= MOST_LOAD_LINES or not increases:
        return tuple(
            AnswerLine(
                rise_words(trials, _load_name(trials, names)), (cell,), SECTION, charts[cell]
            )
            for cell, trials in list(cells.items())[:MOST_LOAD_LINES]
        )
    ranking = sorted(increases, key=increases.__getitem__)
    least, most = (
        _("{time} ({load})", time=increase_words(cells[cell]), load=_load_name(cells[cell], names))
        for cell in (ranking[0], ranking[-1])
    )
    clauses = [_("Under load round trips take longer by {least} to {most}", least=least, most=most)]
    lossy_cells = [cell for cell in cells if cell not in increases]
    if lossy_cells:
        clauses.append(
            counted(
                "in {number} cell at least half of the requests are lost",
                "in {number} cells at least half of the requests are lost",
                len(lossy_cells),
            )
        )
    by_relevance = (ranking[-1], *ranking[:-1], *lossy_cells)
    return (AnswerLine(joined("; ", clauses), by_relevance, SECTION, charts[by_relevance[0]]),)


def _load_name(trials: Sequence[Record], names: dict[str, str]) -> Message:
    return joined(", ", [trials[0].pairing, names[trials[0].cell]])


_EVERY_HOST = "every-host-with-every-other"
_TIMES = ("µs", "ms")
"""Units of times: the pair with the largest figure is the slowest."""


def pair_answers(records: Sequence[Record]) -> tuple[AnswerLine, ...]:
    """One line for each quantity and combination of settings, without pairs inside one host."""
    names = names_of(records)
    groups: dict[tuple[str, str], dict[str, list[Record]]] = {}
    quantities: dict[str, Quantity] = {}
    for record in records:
        server, client = labels_of(record.pairing)
        if record.same_host or server == client:
            continue
        for quantity in quantities_of(record):
            if quantity.in_unit(record) is not None:
                quantities[quantity.name] = quantity
                pairs = groups.setdefault((names[record.cell], quantity.name), {})
                pairs.setdefault(record.pairing, []).append(record)
    return tuple(
        _pair_answer(title, quantities[quantity], pairs, number)
        for number, ((title, quantity), pairs) in enumerate(groups.items(), start=1)
    )


def _pair_answer(
    title: str, quantity: Quantity, pairs: dict[str, list[Record]], number: int
) -> AnswerLine:
    means = {pairing: _pair_mean(trials, quantity) for pairing, trials in pairs.items()}
    slow = max if quantity.unit in _TIMES else min
    worst = slow(means, key=lambda pairing: means[pairing])
    usual_means = [value for pairing, value in means.items() if pairing != worst] or [means[worst]]
    server, client = labels_of(worst)
    slowest = _("{client} to {server}", client=client, server=server)
    unit, spell = _unit_of(quantity, max(means.values()))
    sentence = _(
        "{title}: {least} to {most} {unit} between {pairs}; slowest {slowest}: {worst} {unit}",
        title=title,
        least=spell(min(usual_means)),
        most=spell(max(usual_means)),
        unit=unit,
        pairs=counted("{number} pair", "{number} pairs", len(usual_means)),
        slowest=slowest,
        worst=spell(means[worst]),
    )
    cells = [pairs[worst][0].cell, *(trials[0].cell for trials in pairs.values())]
    return AnswerLine(
        sentence if len(means) > 1 else _alone(title, slowest, means[worst], quantity),
        tuple(dict.fromkeys(cells)),
        _EVERY_HOST,
        f"{_EVERY_HOST}-{number}",
    )


def _alone(title: str, slowest: str, value: float, quantity: Quantity) -> Message:
    unit, spell = _unit_of(quantity, value)
    return _(
        "{title}: {value} {unit}, {pair}", title=title, value=spell(value), unit=unit, pair=slowest
    )


def _unit_of(quantity: Quantity, most: float) -> tuple[str, Callable[[float], str]]:
    """(unit of a line's numbers, function that formats them); Gbit/s from 1000 Mbit/s upwards."""
    if quantity.unit != "Mbit/s":
        return quantity.unit, lambda value: figure(value, 1)
    unit, scale = rate_unit(most * quantity.scale)
    decimals = 1 if scale == quantity.scale else 3
    return unit, lambda value: figure(value * quantity.scale / scale, decimals)


def _pair_mean(trials: Sequence[Record], quantity: Quantity) -> float:
    figures = [quantity.in_unit(trial) for trial in trials]
    return mean([value for value in figures if value is not None])


def comparison_answers(
    verdicts: Sequence[tuple[Comparison, Sequence[Judged]]],
) -> tuple[AnswerLine, ...]:
    """One line for each comparison that has pairs of cells.

    If several comparisons have several pairs of cells each and show no difference, they share one
    line, in the place of the first of these comparisons.
    """
    answered = [(comparison, rows) for comparison, rows in verdicts if rows]
    alike = [(comparison, rows) for comparison, rows in answered if _shows_nothing(rows)]
    lines: list[AnswerLine] = []
    for number, (comparison, rows) in enumerate(answered, 1):
        if len(alike) > 1 and _shows_nothing(rows):
            if comparison is alike[0][0]:
                lines.append(_without_difference(alike))
        else:
            lines.append(_comparison_answer(comparison, rows, number))
    return tuple(lines)


def _shows_nothing(rows: Sequence[Judged]) -> bool:
    """Whether no pair of cells differs, and each quantity has several pairs."""
    numbers = _pairs_by_quantity(rows).values()
    return min(numbers) > 1 and all(row.verdict.verdict != "different" for row in rows)


def _pairs_by_quantity(rows: Sequence[Judged]) -> dict[Quantity, int]:
    """Quantity → its number of pairs of cells."""
    numbers: dict[Quantity, int] = {}
    for row in rows:
        numbers[row.aligned.quantity] = numbers.get(row.aligned.quantity, 0) + 1
    return numbers


def _without_difference(
    comparisons: Sequence[tuple[Comparison, Sequence[Judged]]],
) -> AnswerLine:
    """One line for comparisons in which no pair of cells differs."""
    texts = []
    for comparison, rows in comparisons:
        numbers = [
            _("{quantity}, {cells} pairs", quantity=quantity.name, cells=str(number))
            for quantity, number in _pairs_by_quantity(rows).items()
        ]
        texts.append(_("{name} ({numbers})", name=comparison.name, numbers=joined("; ", numbers)))
    cells = [
        cell for _name, rows in comparisons for row in rows for cell in row.aligned.cells[::-1]
    ]
    sentence = _(
        "no significant difference in any pair of cells: {comparisons}",
        comparisons=joined("; ", texts),
    )
    return AnswerLine(sentence_case(sentence), tuple(dict.fromkeys(cells)), NAME)


def _comparison_answer(comparison: Comparison, rows: Sequence[Judged], table: int) -> AnswerLine:
    by_difference: dict[str, list[str]] = {}
    for quantity in dict.fromkeys(row.aligned.quantity for row in rows):
        for difference in _differences(quantity, rows):
            by_difference.setdefault(difference, []).append(quantity.name)
    clauses = [
        _("{quantity} {difference}", quantity=listed(names), difference=difference)
        for difference, names in by_difference.items()
    ]
    different = [row for row in rows if row.verdict.verdict == "different"]
    cells = [cell for row in (*different, *rows) for cell in row.aligned.cells[::-1]]
    sentence = joined(": ", [comparison.name, joined("; ", clauses)])
    return AnswerLine(sentence, tuple(dict.fromkeys(cells)), NAME, table=table)


def _differences(quantity: Quantity, rows: Sequence[Judged]) -> Iterator[str]:
    """A text about the differences in one quantity.

    For one pair of cells, the text states the difference and its interval. For several pairs, it
    states the range of the significant differences, and how many pairs differ significantly.
    """
    pairs = [row for row in rows if row.aligned.quantity is quantity]
    if len(pairs) == 1:
        yield in_words(pairs[0].verdict, quantity, taken_back=pairs[0].taken_back)
        return
    different = [row.verdict for row in pairs if row.verdict.verdict == "different"]
    ratios = sorted(verdict.ratio for verdict in different if verdict.ratio is not None)
    if not ratios:
        yield _(
            "without a significant difference in any of {cells} pairs of cells",
            cells=str(len(pairs)),
        )
        return
    yield _(
        "{differences} in {some} of {all} pairs of cells",
        differences=ratio_span(ratios[0], ratios[-1], quantity)
        if len(different) > 1
        else in_words(different[0], quantity),
        some=str(len(different)),
        all=str(len(pairs)),
    )
