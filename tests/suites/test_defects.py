"""The list of planted defects: where they are located anew, and the text with one planted."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from folders import ROOT

from benchmarks.defects import __main__ as planting
from benchmarks.defects import c_sites, defects, python_sites
from benchmarks.defects.defects import Defect

SOURCE = '''
def close(self, timeout_s):
    """Say goodbye."""
    if self.closed:
        return
    try:
        with self._lock:
            self.client.end(escape(text), timeout_s=timeout_s)
    finally:
        self.file.close()
    self.rate = count * 1000 if count < 5 else first + 1
'''
C_SOURCE = """
static void begin(struct test *test)
{
    if (!test->on) {
        listen(test->socket);
    }
    for (int i = 0; i < 3; i++) {
        test->at_ns = now + wait_ns * 1000;
    }
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "netlab" / "one").mkdir(parents=True)
    (tmp_path / "netlab" / "one" / "closing.py").write_text(SOURCE)
    (tmp_path / "probes" / "src").mkdir(parents=True)
    (tmp_path / "probes" / "src" / "begin.c").write_text(C_SOURCE)
    return tmp_path


def test_places_for_planted_defects_are_found_in_python_code() -> None:
    found = {(place.kind, place.pattern) for place in python_sites.places(SOURCE)}
    assert found >= {
        ("check dropped", "if self.closed"),
        ("finally dropped", "finally: self.file.close()"),
        ("lock dropped", "with self._lock"),
        ("direction swapped", "self.client"),
        ("text not cleaned", "escape(text)"),
        ("deadline never set", "self.client.end(escape(text), timeout_s=timeout_s)"),
        ("call dropped", "self.file.close()"),
        ("unit dropped", "count * 1000"),
        ("comparison altered", "count < 5"),
        ("condition inverted", "count * 1000 if count < 5 else first + 1"),
        ("sign swapped", "first + 1"),
    }


def test_places_for_planted_defects_are_found_in_c_code() -> None:
    assert {(place.kind, place.pattern) for place in c_sites.places(C_SOURCE)} >= {
        ("check negated", "if (!test->on) {"),
        ("call dropped", "listen(test->socket);"),
        ("comparison altered", "for (int i = 0; i < 3; i++) {"),
        ("unit dropped", "test->at_ns = now + wait_ns * 1000;"),
        ("sign swapped", "test->at_ns = now + wait_ns * 1000;"),
    }


def test_a_planted_defect_alters_its_statement_alone(tree: Path) -> None:
    pattern = "finally: self.file.close()"
    defect = Defect(1, "finally dropped", "netlab/one/closing.py", "close", pattern, 0)
    (located,) = defects.locate(tree, [defect])
    text = located.plant(SOURCE)
    assert "finally" not in text
    assert "with self._lock" in text and '"""Say goodbye."""' in text
    ast.parse(text)
    marked = located.mark(SOURCE)
    assert "    __import__('defect_hits').hit(1)\n    try:" in marked
    ast.parse(marked)


def test_a_planted_defect_is_found_in_a_renamed_file_but_not_after_its_code_changed(
    tree: Path,
) -> None:
    file = tree / "netlab" / "one" / "closing.py"
    defect = Defect(1, "sign swapped", "netlab/one/closing.py", "close", "first + 1", 0)
    file.rename(tree / "netlab" / "one" / "elsewhere.py")
    (located,) = defects.locate(tree, [defect])
    assert located.path.name == "elsewhere.py"
    assert "first - 1" in located.plant(SOURCE)
    located.path.write_text(SOURCE.replace("first + 1", "first"))
    assert [*defects.locate(tree, [defect])] == []


def test_the_same_seed_draws_the_same_defects_of_every_package(tree: Path) -> None:
    drawn = defects.draw(tree, 20, "seed")
    assert drawn == defects.draw(tree, 20, "seed") != defects.draw(tree, 20, "other")
    assert {defect.path.split("/")[0] for defect in drawn} == {"netlab", "probes"}
    assert len([*defects.locate(tree, drawn)]) == len(drawn)


def test_at_least_sixty_listed_defects_can_be_planted_in_the_code() -> None:
    listed = defects.read()
    located = [*defects.locate(ROOT, listed)]
    assert len(located) >= 60
    packages = {
        path.name for path in (ROOT / "netlab").iterdir() if (path / "__init__.py").exists()
    }
    named = {defect.path.split("/")[1] for defect in listed}
    assert packages - named <= {"testing"}


def test_the_comparison_fails_if_a_defect_found_before_is_missed_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, results in (("before", ("found", "missed")), ("after", ("missed", "found"))):
        outcomes = [
            f'{{"number": {n}, "result": "{result}", "found_by": "x"}}'
            for n, result in enumerate(results, 1)
        ]
        (tmp_path / name).write_text(f"[{', '.join(outcomes)}]")
    assert planting.compare(tmp_path / "before", tmp_path / "before") == 0
    capsys.readouterr()
    assert planting.compare(tmp_path / "before", tmp_path / "after") == 1
    output = capsys.readouterr().out
    assert "1 were found before and are missed after" in output
    assert "number=1" in output


@pytest.mark.lab
def test_a_test_that_fails_without_the_defect_as_well_does_not_find_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "netlab").mkdir(parents=True)
    (tree / "netlab" / "times.py").write_text("def ns(us):\n    return us * 1000\n")
    (tree / "test_times.py").write_text(
        "from netlab.times import ns\n\n"
        "def test_red(): assert ns(0) == 1\n"
        "def test_zero(): assert ns(0) == 0\n"
        "def test_one(): assert ns(1) == 1000\n"
    )
    (tree / "pytest.ini").write_text("[pytest]\n")
    recorder = planting.RECORDER.format(folder=str(tmp_path))
    (tmp_path / "defect_recorder.py").write_text(recorder)
    (one,) = defects.locate(tree, [*defects.draw(tree, 1, "seed")])
    assert one.place.kind == "unit dropped"
    site = planting.Site(tree, tmp_path)
    results = []
    for names in (["test_red", "test_zero"], ["test_red", "test_zero", "test_one"], []):
        tests = [f"test_times.py::{name}" for name in names]
        outcome = planting.tried(site, one, tests, 60, [])
        results.append((outcome["result"], outcome["found_by"]))
    assert results == [("missed", ""), ("found", "test_times.py::test_one"), ("no test", "")]
    assert "* 1000" in one.path.read_text()


def test_each_defect_of_the_list_has_its_place_in_the_code_of_today() -> None:
    listed = defects.read()
    assert {one.defect.number for one in defects.locate(ROOT, listed)} == {
        defect.number for defect in listed
    }
