"""The counts of what netlab consists of, on pages and code of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import ROOT

from benchmarks.cost import shape

PAGE = """\
# A heading of many words is no paragraph at all

Four words are here.

- one item
- another item of five words

| cell | three small words |
|---|---|

```text
code is not prose, however many words of it stand in one block
```
"""
CODE = """\
class Told:
    def twice(self, number):
        return [each * 2 for each in (number,)]

def never():
    return (lambda: 1)()

print(Told().twice(3))
"""


def test_the_longest_paragraph_and_table_cell_of_a_page_are_counted_in_words() -> None:
    assert shape.longest([PAGE], shape.paragraphs) == 5
    assert shape.longest([PAGE], shape.table_cells) == 3


@pytest.mark.lab
def test_functions_that_run_are_counted_with_their_files_and_others_are_not(tmp_path: Path) -> None:
    package = tmp_path / "netlab"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(CODE, "utf-8")
    codes, depths = shape.executed(tmp_path)
    assert codes == {
        ("__main__.py", "1 Told"): False,
        ("__main__.py", "2 Told.twice"): True,
        ("__main__.py", "3 Told.twice.<locals>.<listcomp>"): False,
    }
    assert depths == {}


@pytest.mark.lab
def test_one_cell_on_loopback_runs_functions_and_its_requests_have_a_depth() -> None:
    codes, depths = shape.executed(ROOT, "--no-report")
    assert ("measurement/engines.py", "measure") in {
        (file, name.partition(" ")[2]) for (file, name), is_function in codes.items() if is_function
    }
    assert not [file for file, _name in codes if file.startswith("report/page")]
    assert {"receive", "send"} <= depths.keys()
    assert all(1 < depth < 20 for depth in depths.values())
