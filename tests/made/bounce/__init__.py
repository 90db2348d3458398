"""A made-up kind of test: how often a ball bounces on the other host."""

from bounce.settings import Bounce
from netlab.kinds.kind import KindOfTest
from netlab.messages import _
from netlab.trial.column import Quantity, value_of

BOUNCE = KindOfTest(
    name=_("bounce"),
    settings=Bounce,
    about="A ball that the other host throws back.",
    subject=_("the bounces of a ball"),
    label=_("bounces"),
    quantities={
        "bounces_per_s": Quantity(
            _("bounces"), "1/s", 1, _("more"), _("fewer"), value_of("bounces_per_s")
        )
    },
    columns="columns:COLUMNS",
    figures=("bounces_per_s",),
)
