"""The kind of test ``stream``: messages one way, or both ways at once."""

from netlab.kinds.kind import KindOfTest
from netlab.kinds.stream.settings import Stream
from netlab.messages import _

STREAM = KindOfTest(
    name=_("stream"),
    settings=Stream,
    about="Messages one way, or both ways at once.",
    subject=_("the throughput of streams"),
    has_flows=True,
    expects=frozenset({"throughput", "loss"}),
    procedure="stream",
)
