"""The command ``tmsm``."""

from tmsm.cli.app import main

__all__ = ["main"]
