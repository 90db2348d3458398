"""The kind of test ``payload_search``: the most payload of one frame, and the path's MTU."""

from netlab.kinds.kind import KindOfTest
from netlab.kinds.payload_search.settings import PayloadSearch
from netlab.messages import _
from netlab.trial.column import Quantity, value_of

PAYLOAD_SEARCH = KindOfTest(
    name=_("payload_search"),
    settings=PayloadSearch,
    about="The largest payload that travels in one frame, and the path's MTU.",
    subject=_("the largest payload of one frame"),
    label=_("payload search"),
    quantities={
        "payload_bytes": Quantity(
            _("payload"), _("bytes"), 1, _("more"), _("less"), value_of("payload_bytes")
        )
    },
    expects=frozenset({"payload"}),
    columns="columns:COLUMNS",
    procedure="payload_search",
)
