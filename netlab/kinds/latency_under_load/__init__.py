"""The kind of test ``latency_under_load``: round trips while streams fill the path."""

from netlab.kinds.kind import KindOfTest
from netlab.kinds.latency_under_load.settings import LatencyUnderLoad
from netlab.messages import _
from netlab.trial.column import Quantity, value_of

LATENCY_UNDER_LOAD = KindOfTest(
    name=_("latency_under_load"),
    settings=LatencyUnderLoad,
    about="Round trips before, during and after streams that fill the path.",
    subject=_("the latency under a load"),
    label=_("latency under load"),
    quantities={
        "increase_ns": Quantity(
            _("increase of the round trip under load"),
            *("ms", 1e6, _("larger"), _("smaller")),
            value_of("increase_ns"),
        )
    },
    has_flows=True,
    columns="columns:COLUMNS",
    procedure="latency_under_load",
)
