"""``repeats``, ``until``, ``quiet`` and ``scale`` decide how often a cell is measured."""

from __future__ import annotations

from typing import Any

from made_matrices import ROUND_TRIPS, load

from netlab.ethernet import Link
from netlab.experiment.matrix import StealRule, StopRule, expand

__all__ = ["load"]


def test_a_test_may_have_its_own_number_of_repeats(load: Any) -> None:
    text = ROUND_TRIPS + (
        "    repeats: 15\n  - {test: stream, protocol: TCP, message_size: 64}\nrepeats: 10\n"
    )
    matrix = load(text)
    assert [matrix.repeats_of(cell) for cell in expand(matrix)] == [15, 15, 15, 15, 10]
    assert matrix.repeats == 10
    assert matrix.content["repeats"] == 10
    assert [section.get("repeats") for section in matrix.content["tests"]] == [15, None]
    everywhere = load(text, repeats="3")
    assert {everywhere.repeats_of(cell) for cell in expand(everywhere)} == {3}
    assert everywhere.own_repeats == {}


def test_the_rule_until_has_defaults_and_does_not_apply_to_tests_with_their_own_repeats(
    load: Any,
) -> None:
    matrix = load(ROUND_TRIPS + "until: {within: 2.5 %}\npause: 3s\n")
    assert matrix.until == StopRule(within=0.025, confidence=0.95, at_least=5, at_most=30)
    assert (matrix.repeats, matrix.pause_s) == (30, 3.0)
    (cell, *_) = expand(matrix)
    assert (matrix.fewest_of(cell), matrix.repeats_of(cell)) == (5, 30)
    assert matrix.until_of(cell) == matrix.until
    own = load(ROUND_TRIPS + "    repeats: 4\nuntil: {within: 2.5 %}\n")
    (cell, *_) = expand(own)
    assert (own.until_of(cell), own.fewest_of(cell), own.repeats_of(cell)) == (None, 4, 4)


def test_the_rule_quiet_can_be_overridden_and_is_no_part_of_the_matrix_content(load: Any) -> None:
    plain, quiet = load(ROUND_TRIPS), load(ROUND_TRIPS + "quiet: {steal: 0.5 %}\n")
    assert (plain.quiet, quiet.quiet) == (None, StealRule(steal=0.005, tries=3))
    assert load(ROUND_TRIPS, quiet="{steal: 1 %, tries: 5}").quiet == StealRule(steal=0.01, tries=5)
    assert plain.content_hash == quiet.content_hash


def test_an_override_of_repeats_cancels_the_rule_until_of_the_matrix_and_vice_versa(
    load: Any,
) -> None:
    text = ROUND_TRIPS + "    repeats: 4\n"
    matrix = load(text + "until: {within: 2.5 %}\n", repeats="2")
    assert (matrix.until, matrix.repeats) == (None, 2)
    matrix = load(text + "repeats: 9\n", until="{within: 1 %, at_least: 6}")
    assert matrix.until == StopRule(within=0.01, confidence=0.95, at_least=6, at_most=30)
    assert {matrix.repeats_of(cell) for cell in expand(matrix)} == {30}


def test_the_content_hash_depends_on_hops_repeats_and_the_rule_until_not_on_pause_or_compare(
    load: Any,
) -> None:
    plain = load(ROUND_TRIPS)
    same = load(
        ROUND_TRIPS + "pause: 3s\ncompare: [{name: x, baseline: {server_receive: blocking}, "
        "contender: {server_receive: spinning}}]\n"
    )
    assert same.content_hash == plain.content_hash
    hops = load(ROUND_TRIPS + "link: {rate: 1Gbit, hops: 1}\n")
    assert hops.link is not None
    assert hops.link.hops == 1
    direct = load(ROUND_TRIPS + "link: {rate: 1Gbit}\n")
    assert hops.content_hash != direct.content_hash
    tunnel = load(ROUND_TRIPS + "link: {rate: 1Gbit, mtu: 1420, overhead: 60}\n")
    assert tunnel.link == Link(1e9, 1420, overhead_bytes=60)
    bare = load(ROUND_TRIPS + "link: {rate: 1Gbit, mtu: 1420}\n")
    assert tunnel.content_hash != bare.content_hash
    assert (
        bare.content_hash
        == load(ROUND_TRIPS + "link: {rate: 1Gbit, mtu: 1420, overhead: 0}\n").content_hash
    )
    assert load(ROUND_TRIPS + "until: {within: 1 %}\n").content_hash != plain.content_hash
    assert load(ROUND_TRIPS + "    repeats: 2\n").content_hash != plain.content_hash


def test_the_override_scale_multiplies_every_count_and_is_part_of_the_content(load: Any) -> None:
    matrix = load(ROUND_TRIPS, scale="0.1")
    counts = {(s["message_bytes"], s["count"]) for s in (cell.settings for cell in expand(matrix))}
    assert counts == {(18, 1000), (1472, 100)}
    assert (matrix.scale, matrix.content["scale"]) == (0.1, 0.1)
    assert load(ROUND_TRIPS).scale == 1
    assert "scale" not in load(ROUND_TRIPS).content
    least = {cell.settings["count"] for cell in expand(load(ROUND_TRIPS, scale="1e-9"))}
    assert least == {1}
    text = ROUND_TRIPS.replace("{message_size: 1472}, set", "{count: 10000}, set")
    assert {c.settings["count"] for c in expand(load(text, scale="0.01"))} == {10}
