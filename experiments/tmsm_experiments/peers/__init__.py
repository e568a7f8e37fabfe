"""Other packages beside tmsm, on the same rows: ``make peers``. One file for each package."""
