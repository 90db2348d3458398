"""Two matrix files are the same experiment if their content is the same."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from made_matrices import SMALL, load

from netlab.config.matrix_file import load_matrix
from netlab.experiment.matrix import expand

__all__ = ["load"]


def test_inventory_sections_of_a_matrix_are_no_part_of_its_content(load: Any) -> None:
    inside = load(SMALL + "hosts: {a: {local: true}}\npairs: {LL: {server: a, client: b}}\n")
    assert inside.has_inventory
    assert not load(SMALL).has_inventory
    assert inside.content_hash == load(SMALL).content_hash


def test_one_experiment_written_in_two_ways_has_one_content_and_equal_cell_keys(load: Any) -> None:
    text = """\
# The same, otherwise.
parallel: true
common_window: false
seed: 99
order: shuffled
tests:
- message_size: {from: 64B, to: 1500, step: 1436}
  "protocol": [UDP, TCP]
  duration: 2000ms
  test: stream
pairings:
- WL
- LL
title: 'another title'
"""
    assert load(text).content == load(SMALL).content
    assert load(text).content_hash == load(SMALL).content_hash
    assert {c.key for c in expand(load(text))} == {c.key for c in expand(load(SMALL))}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: small", "title: small\nlink: {rate: 1Gbit}"),
        ("[LL, WL]", "[LL]"),
        ("[64, 1500]", "[64]"),
        ("title: small", "title: small\nrepeats: 2"),
        ("2s", "3s"),
    ],
)
def test_another_experiment_has_another_content_hash(old: str, new: str, load: Any) -> None:
    assert load(SMALL.replace(old, new)).content_hash != load(SMALL).content_hash


AXES: dict[str, list[Any]] = {
    "message_size": [1, "64", "1KiB", 1500, "32KiB"],
    "socket_buffer": ["auto", "16KiB", "64kB"],
    "protocol": ["TCP", "UDP"],
    "duration": ["1s", "500ms"],
    "nodelay": [True, False],
    "streams": [1, 2, 3],
    "dscp": [0, 46],
}


@given(st.data())
def test_cell_keys_are_unique_and_independent_of_order_and_format_of_the_matrix(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    names = ["message_size", "protocol"]
    names += data.draw(st.lists(st.sampled_from(sorted(AXES.keys() - {*names})), unique=True))
    axes = {
        name: data.draw(st.lists(st.sampled_from(AXES[name]), min_size=1, unique=True))
        for name in names
    }
    if axes["protocol"] == ["UDP"]:
        axes.pop("nodelay", None)
    shuffled = {
        name: data.draw(st.permutations(axes[name])) for name in data.draw(st.permutations([*axes]))
    }
    path = tmp_path_factory.mktemp("keys") / "m.yaml"
    summaries = []
    for test, flow in ((axes, True), (shuffled, False)):
        document = {"title": "t", "pairings": ["LL", "WW"], "tests": [{"test": "stream", **test}]}
        path.write_text(yaml.safe_dump(document, default_flow_style=flow, sort_keys=False))
        matrix = load_matrix(path)
        cells = expand(matrix)
        keys = [cell.key for cell in cells]
        assert len(set(keys)) == len(keys) == len(set(cells))
        summaries.append((sorted(keys), matrix.content_hash))
    assert summaries[0] == summaries[1]
