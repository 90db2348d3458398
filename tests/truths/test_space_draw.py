"""The space of causes: its list, its draw by words, and the matrices that are drawn."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.space import words as space_words
from benchmarks.space.draw import (
    LARGER,
    LEAST_A_WORD,
    SMALLER,
    Planned,
    chosen,
    drawn,
    every_cause,
    planned_from_json,
)
from benchmarks.space.rows import ROWS
from benchmarks.space.words import SHARES, patterns
from netlab.config.matrix_file import load_matrix
from netlab.experiment.matrix import expand
from netlab.findings.claims import WHAT, WHEN, WHERE, WHICH, Claim

EVERY: dict[str, tuple[Planned, ...]] = {}


def every(seed: str) -> tuple[Planned, ...]:
    """All runs of a seed, drawn once."""
    return EVERY.setdefault(seed, drawn(seed))


def test_a_seed_draws_the_same_space_each_time_and_another_seed_another_one() -> None:
    assert drawn("1") == every("1")
    assert {run.name for run in every("1")} == {run.name for run in every("2")}
    assert every("1") != every("2")


@pytest.mark.parametrize("seed", ["1", "2", "a hash"])
def test_each_word_is_planted_in_twenty_runs_or_more(seed: str) -> None:
    causes = [run.parts[0] for run in every(seed) if run.kind == "cause"]
    assert Counter(words.share for words in causes) == SHARES
    counts = Counter(pair for words in causes for pair in words.each())
    vocabularies = {"where": WHERE, "what": WHAT, "which": WHICH, "when": WHEN}
    rare = {
        (kind, word): counts[kind, word]
        for kind, vocabulary in vocabularies.items()
        for word in vocabulary
        if counts[kind, word] < LEAST_A_WORD
    }
    assert rare == {}


def test_a_space_has_healthy_runs_and_mixtures_whose_first_cause_is_the_larger() -> None:
    kinds = Counter(run.kind for run in every("1"))
    assert kinds == {"cause": 400, "healthy": 100, "mixture": 100}
    for run in every("1"):
        shares = [part.share for part in run.parts]
        assert shares == [LARGER, SMALLER] if run.kind == "mixture" else len(shares) <= 1
        assert len({(part.where, part.what) for part in run.parts}) == len(run.parts)


def test_at_most_a_fifth_of_the_causes_cannot_be_told_from_others() -> None:
    merged = [row.name for row in ROWS.values() if row.merged]
    assert merged and len(merged) <= len(ROWS) / 5, merged


def test_the_words_of_every_row_are_in_the_vocabularies_and_all_words_have_a_row() -> None:
    used = {
        "where": {row.where for row in ROWS.values()},
        "what": {row.what for row in ROWS.values()},
        "which": {which for _, which, _ in every_cause()},
        "when": {when for _, _, when in every_cause()},
    }
    assert used == {"where": {*WHERE}, "what": {*WHAT}, "which": {*WHICH}, "when": {*WHEN}}


def test_no_row_forbids_what_it_says_may_follow_or_the_cause_itself() -> None:
    for row, where, what in itertools.product(ROWS.values(), WHERE, WHAT):
        claim = Claim(where=where, what=what)
        is_cause = (where, what) == (row.where, row.what)
        may = is_cause or any(pattern.names(claim) for pattern in row.follows)
        assert not (may and any(pattern.names(claim) for pattern in row.never)), (row.name, claim)


def test_a_pattern_with_an_unknown_word_is_refused() -> None:
    (pattern,) = patterns("path|path-back:drops")
    assert pattern.covers(Claim(where="path", what="drops")) and not pattern.covers(
        Claim(where="path", what="delay")
    )
    assert pattern.covers(Claim(where="", what="drops")) and not pattern.names(
        Claim(where="", what="drops")
    )
    with pytest.raises(ValueError, match="'paths' is no word"):
        patterns("paths:drops")


def test_a_planned_run_of_the_space_is_read_back_from_json_unchanged() -> None:
    for run in every("1")[:200]:
        assert planned_from_json(json.loads(json.dumps(run.as_json()))) == planned_from_json(
            json.loads(json.dumps(planned_from_json(run.as_json()).as_json()))
        )
        assert planned_from_json(json.loads(json.dumps(run.as_json()))).parts == run.parts


def test_runs_of_the_space_can_be_chosen_by_words_and_number() -> None:
    those = chosen(every("1"), {"where": "path", "what": "rate"}, 3)
    assert len(those) == 3
    assert {(part.where, part.what) for run in those for part in run.parts} == {("path", "rate")}
    assert chosen(every("1"), {}, 7) == every("1")[:7]


def test_every_matrix_of_the_space_is_one_that_netlab_accepts_with_an_affected_cell(
    tmp_path: Path,
) -> None:
    hosts = tmp_path / "hosts.yaml"
    address = "os: L, local: true, addresses: {{test: [198.18.0.{0}, 'fd00::{0}']}}"
    lines = [f"  {name}: {{{address.format(n)}}}" for n, name in enumerate(("linux-a", "linux-b"))]
    hosts.write_text("hosts:\n" + "\n".join(lines) + "\n")
    runs = random.Random(7).sample(every("1"), 120)  # noqa: S311
    shapes = {str([sorted(test) for test in run.stand.tests]): run for run in runs}
    for run in shapes.values():
        path = tmp_path / f"{run.name}.yaml"
        path.write_text(run.stand.matrix(run.name, run.seed))
        cells = expand(load_matrix(path, {}, hosts))
        acted_on = [cell for cell in cells if run.stand.acts(cell.settings)]
        assert 1 <= len(acted_on) <= len(cells) <= 4, (run.name, run.parts)
        if run.stand.acts_on:
            assert len(acted_on) < len(cells), (run.name, run.parts)


def test_every_place_with_every_thing_is_planted_or_has_a_reason_why_not() -> None:
    (*reasons,) = patterns(*space_words.UNPLANTABLE)
    for where, what in itertools.product(WHERE, WHAT):
        why_not = [pattern for pattern in reasons if pattern.names(Claim(where=where, what=what))]
        assert len(why_not) == (f"{where} {what}" not in ROWS), (where, what, why_not)
    assert any(space_words.MACHINE in why for why in space_words.UNPLANTABLE.values())
