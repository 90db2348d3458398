"""``python -m netlab``: the same as the command ``netlab``."""

from __future__ import annotations

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Exit at once if the user presses Ctrl-C during the imports: nothing has been started yet, and
    # a traceback would not help.
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(130))

from netlab.cli import main

if __name__ == "__main__":
    main()
