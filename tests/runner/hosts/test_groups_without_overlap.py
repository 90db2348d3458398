"""Pairings that are checked at the same time before a run."""

from __future__ import annotations

from netlab.experiment.hosts import Host, Match
from netlab.runner.trial_faults import groups_without_overlap


def host(name: str, machine: str | None = None) -> Host:
    return Host(name=name, os="L", machine=machine, addresses={"test": ("10.0.0.1",)})


A, B, C, D = (host(name) for name in "abcd")


def match_of(pairing: str) -> Match:
    server, client = pairing.split("+")
    return Match(pairing, server, client)


def test_pairings_that_share_no_machine_are_checked_at_the_same_time() -> None:
    pairs = {"LL": (A, B), "WL": (C, A), "LW": (A, C), "WW": (C, D)}
    assert groups_without_overlap(pairs, match_of) == [("LL", "WW"), ("WL",), ("LW",)]


def test_pairings_that_share_a_machine_are_checked_one_after_the_other() -> None:
    pairs = {"LL": (A, host("b", "box")), "WW": (C, host("b-windows", "box"))}
    assert groups_without_overlap(pairs, match_of) == [("LL",), ("WW",)]


def test_pairings_by_host_name_are_checked_after_pairings_by_letter() -> None:
    pairs = {"a+b": (A, B), "c+d": (C, D), "LL": (A, B), "b+a": (B, A)}
    assert groups_without_overlap(pairs, match_of) == [("LL",), ("a+b", "c+d"), ("b+a",)]
