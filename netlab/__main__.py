"""``python -m netlab``: the same as the command ``netlab``."""

from netlab.cli import main

if __name__ == "__main__":
    main()
