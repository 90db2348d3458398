"""What findings claim as data: words, places, directions, and what affected cells share."""

from __future__ import annotations

import json
from itertools import product
from random import Random

import pytest
from draws import chance, seeds
from folders import ROOT

from netlab.findings.analysis import load_cells
from netlab.findings.catalogue import Kind
from netlab.findings.claims import CLAIMED, HOST, WHAT, WHEN, WHERE, WHICH, Claim
from netlab.findings.selectors import common_terms
from netlab.report.text.findings import findings_json, in_english
from netlab.results.run import read_checked
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

VALUES: dict[str, tuple[Value | None, ...]] = {
    "protocol": ("TCP", "UDP"),
    "ip_version": (4, 6),
    "dscp": (None, 10, 46),
    "message_bytes": (64, 512, 1472),
    "streams": (1, 4),
}

NO_CAUSE = {
    # About the figure or the run, not about a cause on the path or the hosts.
    *("target/fails", "below-floor", "deviation/cell", "off-time", "off-rate/more"),
    *(
        "above-wire/rate",
        "above-wire/tool",
        "above-wire/either",
        "no-result/trials",
        "no-result/each",
    ),
    *("queue-under-load/not-full", "search-limit/none", "search-doubt/not-monotone"),
    *("search-doubt/outrun", "socket-buffer/search-capped"),
    *("frame-loss/own-hosts", "back-to-back/own-hosts"),
}


def drawn_cells(random: Random) -> list[PlannedCell]:
    names = random.sample([*VALUES], random.randint(2, 4))
    return [
        PlannedCell(str(number), "LL", "stream", settings)
        for number, values in enumerate(product(*(VALUES[name] for name in names)))
        for settings in [{n: v for n, v in zip(names, values, strict=True) if v is not None}]
    ]


def meets(cell: PlannedCell, terms: object) -> bool:
    assert isinstance(terms, tuple)
    return all(cell.settings.get(name) in values for name, values in terms)


@pytest.mark.parametrize("seed", seeds(100, 2000))
def test_the_terms_of_cells_with_one_value_of_some_settings_are_these_values(seed: int) -> None:
    random = chance(seed)
    cells = drawn_cells(random)
    chosen = random.choice(cells).settings
    every = [*cells[-1].settings]
    names = random.sample(every, random.randint(1, len(every) - 1))
    affected = frozenset(
        c.key for c in cells if all(c.settings.get(n) == chosen.get(n) for n in names)
    )
    terms = common_terms(cells, affected)
    if len(affected) < 2 * len(names) or len(cells) - len(affected) < 2:
        assert terms == ()
    else:
        assert dict(terms) == {name: (chosen.get(name),) for name in names}


@pytest.mark.parametrize("seed", seeds(100, 2000))
def test_the_terms_of_any_cells_select_these_and_no_others_or_there_are_none(seed: int) -> None:
    random = chance(seed)
    cells = drawn_cells(random)
    affected = frozenset(random.sample([cell.key for cell in cells], random.randint(1, len(cells))))
    terms = common_terms(cells, affected)
    assert not terms or {cell.key for cell in cells if meets(cell, terms)} == affected


def test_claims_are_in_words_of_the_lists_and_a_warning_without_one_is_of_no_cause() -> None:
    kinds = {str(kind) for kind in Kind}
    assert CLAIMED.keys() <= kinds
    for where, what, when, which in CLAIMED.values():
        assert where in ("", HOST, *WHERE)
        assert what in WHAT
        assert when in ("", *WHEN)
        assert which in ("", *WHICH)
    warnings = {str(kind) for kind in Kind if kind.severity == "warning"}
    assert warnings - CLAIMED.keys() == NO_CAUSE


def test_claims_of_a_recorded_run_name_the_direction_and_the_cells_that_alone_are_affected() -> (
    None
):
    folder = ROOT / "reports" / "lab-report-lab"
    plan = read_checked(folder).plan
    chosen = [
        cell.key
        for cell in plan.cells
        if (cell.pairing, cell.settings["socket_buffer_bytes"]) == ("LW", 16_384)
    ]
    run = load_cells(folder, chosen)
    (first, *_) = [f for f in run.findings if f.kind is Kind.SENDER_CALL_RATE]
    assert first.claim == Claim(
        where="sender",
        what="cpu",
        which="length",
        share=first.evidence["costs_share"],
        sender="windows-a",
        receiver="linux-a",
        only=(("message_bytes", (64, 576)),),
    )
    written = in_english(run)(first)
    assert written.endswith("; only with messages of 64, 576 bytes.")
    plain = next(o for o in json.loads(findings_json(run)) if o["sentence"] == written)
    assert plain["claim"] == {
        "where": "sender", "what": "cpu", "which": "length", "share": first.evidence["costs_share"],
        "sender": "windows-a", "receiver": "linux-a", "only": {"message_bytes": [64, 576]},
    }  # fmt: skip
    words = {f.claim.which for f in run.findings if f.claim}
    assert words <= {"", *WHICH}
