"""The recorded tables: CSV for machines, Markdown for people.  The page is made from these alone."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tmsm_experiments.cells import write_csv, write_whole
from tmsm_experiments.paper import tables
from tmsm_experiments.paper.families import COUNTED, RINGS, with_dagger
from tmsm_experiments.paper.methods import ALL, GEODESIC, PAPER
from tmsm_experiments.paper.settings import EXPERIMENTS

Row = dict[str, str]
_WORDS = ("catalogue", "family", "files", "source")


@dataclass(frozen=True)
class Results:
    """Tables and figures in a folder."""

    folder: Path

    @property
    def figures(self) -> Path:
        return self.folder / "figures"

    @property
    def cells(self) -> Path:
        return self.folder / "cells"

    def path(self, name: str) -> Path:
        return self.folder / "tables" / f"{name}.csv"

    def read(self, name: str) -> list[Row]:
        """The rows of a table; none where it was not made."""
        if not self.path(name).is_file():
            return []
        with self.path(name).open(newline="") as file:
            return list(csv.DictReader(file))

    def write(self, name: str, rows: Sequence[dict]) -> None:
        """Numbers with seven digits, so that another machine's last digits make no difference."""
        plain = [{k: f"{v:.7g}" if isinstance(v, float) else str(v) for k, v in row.items()} for row in rows]
        write_csv(self.path(name), plain)
        text = as_text(name, plain) + "\n"
        write_whole(self.path(name).with_suffix(".md"), lambda path: path.write_text(text))


def as_text(name: str, rows: list[Row], only: str = "") -> str:
    """A table's parts, each under its title; ``only`` those whose title ends so."""
    parts = ((title, table) for title, table in TABLES[name](rows).items() if title.endswith(only))
    return "\n\n".join(f"**{title}**\n\n{table}" if title else table for title, table in parts)


def illustration_table(rows: list[Row]) -> dict[str, str]:
    titles = {experiment.name: experiment.title for experiment in EXPERIMENTS}
    columns = ("model", "rows, of them seen", "method", "φ̂, θ̂ (rad)", "off by (°)", "stated error (°)", "κ̂")
    cells = [
        (
            titles[row["experiment"]],
            f"{int(row['rows']):,}, {int(row['seen']):,}",
            row["method"],
            f"{float(row['colatitude']):.3f}, {float(row['longitude']):.3f}",
            f"{float(row['degrees_off']):.1f}",
            f"{float(row['standard_error_degrees']):.1f}",
            f"{float(row['concentration']):.2f}",
        )
        for row in rows
    ]
    return {"": tables.markdown(columns, tables.without_repeats(cells, 2))}


def accuracy_table(rows: list[Row]) -> dict[str, str]:
    """Mean error (standard deviation) for each method and size, and the bound."""
    found = {}
    for experiment in EXPERIMENTS:
        for quantity in ("direction", "concentration"):
            chosen = [r for r in rows if r["experiment"] == experiment.name and r["quantity"] == quantity]
            if not chosen:
                continue
            sizes = sorted({int(row["n"]) for row in chosen})
            place = {(row["method"], int(row["n"])): row for row in chosen}
            lines = []
            for method in (name for name in ALL if (name, sizes[0]) in place):
                cells = [place[method, n] for n in sizes]
                texts = [f"{_short(c['mean'])} ({_short(c['standard_deviation'])})" for c in cells]
                lines.append((method, *texts))
            lines.append(("Cramér–Rao bound", *(_short(place[PAPER[0], n]["bound"]) for n in sizes)))
            table = tables.markdown(("method", *(f"n = {n:,}" for n in sizes)), lines)
            found[f"{experiment.title}: {quantity}"] = table
    return found


def projection_table(rows: list[Row]) -> dict[str, str]:
    columns = ("dropped coordinate", "mean error of the direction (°)")
    cells = [(r["dropped"], tables.with_error(float(r["degrees_off"]), float(r["error_of_mean"]))) for r in rows]
    return {"": tables.markdown(columns, cells)}


def storms_table(rows: list[Row]) -> dict[str, str]:
    known = any(float(row["km_to_truth"]) > 0.0 for row in rows)
    columns = [
        "catalogue",
        "border",
        "rows (groups)",
        "method",
        "centre",
        "± (°)",
        "κ̂ (95 %)",
        "p (Stein test)",
        "km inside the border",
    ]
    columns += ["km to the East Coast", "mean km to storm origins", *(["km to the mean of all fixes"] if known else [])]
    cells = [
        (
            row["catalogue"],
            row["border"],
            f"{int(row['rows']):,} ({int(row['groups']):,})",
            row["method"],
            tables.place(float(row["longitude"]), float(row["latitude"])),
            tables.significant(float(row["standard_error_degrees"]), 2),
            f"{float(row['concentration']):.1f} ({float(row['concentration_low']):.1f}–"
            f"{float(row['concentration_high']):.1f})",
            tables.p_value(float(row["stein_p"])),
            f"{float(row['km_inside']):,.0f}".replace("-", "−"),
            f"{float(row['km_to_east_coast']):,.0f}",
            f"{float(row['km_to_origins']):,.0f}",
            *([f"{float(row['km_to_truth']):,.0f}"] if known else []),
        )
        for row in rows
    ]
    return {"": tables.markdown(columns, tables.without_repeats(cells, 3))}


def families_table(rows: list[Row]) -> dict[str, str]:
    """A table for each catalogue; the densest place only where no truth is known."""
    found = {}
    for name in dict.fromkeys(row["catalogue"] for row in rows):
        chosen = [row for row in rows if row["catalogue"] == name]
        counted = any(row["family"] == COUNTED for row in chosen)
        columns = ["family", "p (Stein test)", "BIC for grouped rows, minus the lowest"]
        columns += ["mean log density of left-out rows, below the best"]
        columns += [f"{low:,}–{high:,} km outside" for low, high in RINGS]
        columns += [] if counted else ["densest place"]
        lowest = min((float(row["bic"]) for row in chosen if row["bic"] != "nan"), default=np.nan)
        cells = []
        for row in chosen:
            value = {key: float(text) for key, text in row.items() if key not in _WORDS}
            cell = [with_dagger(row["family"]), tables.p_value(value["stein_p"]), _whole(value["bic"] - lowest)]
            cell.append(_below(value["below_best"], value["below_best_error"]))
            for low, high in RINGS:
                cell.append(tables.with_error(value[f"outside_{low}_{high}"], value[f"error_{low}_{high}"]))
            if not counted:
                known = value["longitude"] == value["longitude"]
                cell.append(tables.place(value["longitude"], value["latitude"]) if known else "–")
            cells.append([f"**{text}**" for text in cell] if row["family"] == COUNTED else cell)
        number = next(f"{int(row['rows']):,} rows in {int(row['groups']):,} groups" for row in chosen)
        found[f"{name}, {number}"] = tables.markdown(columns, cells)
    return found


def variants_table(rows: list[Row]) -> dict[str, str]:
    """The other estimates of the centre; the errors by size of the groups are in the text."""
    columns = ("catalogue", "computed with", "centre", "km from TMSM's (geodesic)", "standard error of TMSM's in km")
    cells = [
        (
            row["catalogue"],
            row["variant"],
            tables.place(float(row["longitude"]), float(row["latitude"])),
            f"{float(row['km_from_tmsm']):,.0f}",
            f"{float(row['tmsm_error_km']):,.0f}",
        )
        for row in rows
        if row["variant"] != GEODESIC
    ]
    return {"": tables.markdown(columns, tables.without_repeats(cells, 1))}


def _below(value: float, error: float) -> str:
    return "best" if value == 0.0 else tables.with_error(-value, error)


def _whole(value: float) -> str:
    return "–" if value != value else f"{value:,.0f}"


def errata_table(rows: list[Row]) -> dict[str, str]:
    columns = ("what", "wrong", "right", "where", "computed", "stands in", "κ̂ (true κ)", "mean off by (°)")
    cells = [
        (
            row["erratum"],
            row["printed"],
            row["right"],
            row["place"],
            row["variant"],
            row["stands_in"],
            f"{tables.with_error(float(row['concentration']), float(row['error_of_mean']))} "
            f"({float(row['true_concentration']):g})",
            tables.significant(float(row["degrees_off"]), 2),
        )
        for row in rows
    ]
    return {"": tables.markdown(columns, tables.without_repeats(cells, 3))}


def _short(text: str) -> str:
    return tables.significant(float(text))


TABLES = {
    "illustration": illustration_table,
    "accuracy": accuracy_table,
    "projection": projection_table,
    "cyclones": storms_table,
    "storm_events": storms_table,
    "variants": variants_table,
    "families": families_table,
    "families_events": families_table,
    "errata": errata_table,
}
