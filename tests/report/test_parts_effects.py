"""The section on what matters: tables and pictures with the shares, intervals and means."""

from __future__ import annotations

import re

import pytest
from folders import REPORTS
from made_reports import RECORDED

from netlab.findings.analysis import Analysis, load
from netlab.report.first_picture import effects_pictures
from netlab.report.sections import effects

RUNS = [path.name for path in RECORDED if "pinned" not in path.name]


def recorded(name: str) -> Analysis:
    return load(REPORTS / name)


@pytest.mark.parametrize("name", RUNS)
def test_the_section_has_the_share_of_each_term_and_the_size_of_each_setting(name: str) -> None:
    run = recorded(name)
    known = [kind.effects for kind in run.effects if kind.effects is not None]
    part = effects.part(run.effects)
    if not known:
        assert part is None
        return
    assert part is not None
    for own, shares, sizes in zip(known, part.sheets, part.details, strict=True):
        figures = [line.places[0].value for line in shares.lines]
        expected = [100 * term.share if term.degrees else None for term in own.terms]
        assert figures == expected
        with_intervals = any(term.low is not None for term in own.terms)
        assert ("95 % interval" in shares.columns) == with_intervals
        assert len(sizes.lines) == len({size.axis for size in own.sizes})


def test_a_size_is_named_with_its_means_and_where_it_is() -> None:
    part = effects.part(recorded("lab-report").effects)
    assert part is not None
    tcp = {line.label: [place.words for place in line.places] for line in part.details[0].lines}
    assert tcp["sender’s system"] == [
        "up to 462 times",
        "Linux 94.02, Windows 0.2037 Mbit/s",
        "at receiver’s system Windows",
    ]
    assert tcp["socket buffer"] == ["up to 2.7 %", "60 KiB 26.97, 64 KiB 27.69 Mbit/s", ""]


@pytest.mark.parametrize("name", RUNS)
def test_the_pictures_have_a_row_for_each_term_and_each_mean_with_whiskers(name: str) -> None:
    known = [kind.effects for kind in recorded(name).effects if kind.effects is not None]
    pictures = effects_pictures(recorded(name).effects)
    if not known:
        assert not pictures
        return
    shares, *means = pictures
    with_sizes = [own for own in known if own.sizes]
    terms = [term for own in known for term in own.terms if term.degrees]
    marks = [mark.tag for mark in shares.scenes[0].marks]
    assert marks.count("circle") == len(terms)
    looks = [dict(mark.attributes).get("class") for mark in shares.scenes[0].marks]
    assert looks.count("whisker") == sum(term.low is not None for term in terms)
    for own, picture in zip(with_sizes, means, strict=True):
        levels = sum(len(size.means) for size in effects.largest_sizes(own))
        assert [mark.tag for mark in picture.scenes[0].marks].count("circle") == levels
        assert re.search("means of the settings", picture.title)
