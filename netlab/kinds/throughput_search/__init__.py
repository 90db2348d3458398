"""The kind of test ``throughput_search``: the highest rate without loss (RFC 2544)."""

from netlab.kinds.kind import KindOfTest
from netlab.kinds.throughput_search.settings import ThroughputSearch
from netlab.messages import _
from netlab.trial.column import Quantity, value_of

THROUGHPUT_SEARCH = KindOfTest(
    name=_("throughput_search"),
    settings=ThroughputSearch,
    about="The highest rate that passes without loss (RFC 2544).",
    subject=_("the highest rate without loss"),
    label=_("highest rate without loss"),
    quantities={
        "frames_per_s": Quantity(
            _("frames"), "1/s", 1, _("more"), _("fewer"), value_of("frames_per_s")
        )
    },
    expects=frozenset({"frames"}),
    columns="columns:COLUMNS",
    procedure="throughput_search",
)
