"""Names of a run, which are the same in every language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.experiment.pairings import is_by_name, labels_of
from netlab.results.labels import NAMING
from netlab.store.source_facts import stated_of

if TYPE_CHECKING:
    from netlab.results.run import Run


def names_in(run: Run) -> frozenset[str]:
    """What a run calls by a name of its own: pairings, hosts, interfaces; and what a document says
    beside an imported table, word for word.
    """
    cells, remarks = run.plan.cells, stated_of(run.plan).remarks
    pairings = {cell.pairing for cell in cells}
    hosts = {name for each in pairings if is_by_name(each) for name in labels_of(each)}
    hosts |= {name for record in run.records for name in (record.server, record.client)}
    named = {str(cell.settings.get(name, "")) for cell in cells for name in sorted(NAMING)}
    quoted = {words for each in remarks for words in (each.text, each.source, *each.pairings)}
    return frozenset({*pairings, *hosts, *named, *quoted})
