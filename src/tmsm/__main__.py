"""``python -m tmsm`` is the command ``tmsm``."""

from tmsm.cli import main

if __name__ == "__main__":
    main()
