"""The recorded results, one row for each setting, number of rows and weight."""

import csv
from pathlib import Path

ORDER = [
    "hemisphere", "cap", "S4", "S9", "ball", "box in R2", "box in R3", "box in R5", "lon/lat box", "band",
    "US, plains", "US, Atlantic", "US, Arizona",
    "box of angles", "box of angles, corner", "box in T3", "rotations", "axis of rotations", "direction × energy",
    "triangle, middle", "triangle, corner", "ellipsoid, wavy", "hyperbolic ball",
]  # fmt: skip
RESULTS = Path(__file__).with_name("results.csv")


def read() -> list[dict[str, str]]:
    if not RESULTS.is_file():
        return []
    with RESULTS.open(newline="") as file:
        return sorted(csv.DictReader(file), key=lambda row: ORDER.index(row["setting"]))


def write(setting: str, found: list[dict[str, str]]) -> None:
    """Put the results of a setting in the place of earlier ones."""
    rows = [row for row in read() if row["setting"] != setting] + found
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
