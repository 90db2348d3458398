"""Pairings that are checked at the same time before a run."""

from __future__ import annotations

from netlab.experiment.hosts import Host
from netlab.experiment.round_robin import Match
from netlab.runner.hosts.path_checks import groups_without_overlap


def host(name: str, machine: str | None = None) -> Host:
    return Host(name=name, os="L", machine=machine, addresses={"test": ("10.0.0.1",)})


A, B, C, D = (host(name) for name in "abcd")


def match_of(pairing: str) -> Match:
    server, client = pairing.split("+")
    return Match(pairing, server, client)


def test_letters_that_share_no_machine_are_tried_at_the_same_time() -> None:
    pairs = {"LL": (A, B), "WL": (C, A), "LW": (A, C), "WW": (C, D)}
    assert groups_without_overlap(pairs, match_of) == [("LL", "WW"), ("WL",), ("LW",)]


def test_two_systems_of_one_machine_are_not() -> None:
    pairs = {"LL": (A, host("b", "box")), "WW": (C, host("b-windows", "box"))}
    assert groups_without_overlap(pairs, match_of) == [("LL",), ("WW",)]


def test_names_play_their_tournament_after_them() -> None:
    pairs = {"a+b": (A, B), "c+d": (C, D), "LL": (A, B), "b+a": (B, A)}
    assert groups_without_overlap(pairs, match_of) == [("LL",), ("a+b", "c+d"), ("b+a",)]
