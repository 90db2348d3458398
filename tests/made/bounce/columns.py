"""The columns of a ``bounce``."""

from bounce.settings import Bounce
from netlab.kinds.stream.settings import Stream
from netlab.trial.column import Column, setting_columns

COLUMNS = {
    **setting_columns(Bounce, but=Stream.names()),
    "bounces_per_s": Column("Float64", "1/s", "bounces of the ball"),
}
