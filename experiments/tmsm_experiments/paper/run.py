"""``tmsm reproduce``: run experiments, write tables, figures and the page."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tmsm_experiments.cells import Store
from tmsm_experiments.paper import (
    accuracy,
    benchmark_figure,
    catalogues,
    errata,
    families,
    families_figure,
    illustration,
    page,
    projection,
    storms,
    variants,
)
from tmsm_experiments.paper.results import Results, as_text

FOLDER = "reproduction"
PROJECTION_TRIALS = 256


@dataclass(frozen=True)
class Request:
    """What is asked for; ``say`` takes lines for the user."""

    out: Path
    trials: int
    jobs: int
    seed: int
    data: Path | None
    say: Callable[[str], None]

    @property
    def results(self) -> Results:
        return Results(self.out / FOLDER)

    @property
    def store(self) -> Store:
        return Store(self.results.cells)

    def table(self, name: str, rows: list[dict]) -> None:
        self.results.write(name, rows)
        self.say(as_text(name, self.results.read(name)))


def run_illustration(request: Request) -> None:
    found = illustration.run(request.seed)
    request.table("illustration", [row for result in found for row in result.rows()])
    illustration.draw(found, request.results.figures)


def run_accuracy(request: Request) -> None:
    found = accuracy.simulate(request.store, request.trials, request.jobs, request.seed)
    rows = [{**row, "seed": request.seed} for result in found for row in result.rows()]
    request.table("accuracy", rows)
    benchmark_figure.draw(found, request.results.figures)


def run_projection(request: Request) -> None:
    trials = min(request.trials, PROJECTION_TRIALS)
    request.table("projection", projection.compare(request.store, trials, request.jobs, request.seed))
    projection.draw(request.seed, request.results.figures)


def run_storms(request: Request) -> None:
    request.table("cyclones", storms.run(request.store, request.jobs, None))
    storms.draw(catalogues.EMBEDDED, None, request.results.figures, "cyclones")
    if request.data is not None:
        request.table("storm_events", storms.run(request.store, request.jobs, request.data))
        request.table("variants", variants.run(request.store, request.jobs, request.data))
        storms.draw(catalogues.AGENCY, request.data, request.results.figures, "storm_events")


def run_families(request: Request) -> None:
    request.table("families", families.run(request.store, request.jobs, None))
    if request.data is not None:
        request.table("families_events", families.run(request.store, request.jobs, request.data))
    families_figure.draw(request.results, request.results.figures)


def run_errata(request: Request) -> None:
    request.table("errata", errata.run(request.store, request.jobs, request.seed))


PARTS: dict[str, tuple[str, Callable[[Request], None]]] = {
    "illustration": ("Illustration: one sample, most of it unseen", run_illustration),
    "accuracy": ("Accuracy: error against the number of rows", run_accuracy),
    "projection": ("Projection: the coordinate that is dropped", run_projection),
    "storms": ("Storms: seen inside the United States only", run_storms),
    "errata": ("Errors in print", run_errata),
    "families": ("Families: the same storms under other models", run_families),
}


def reproduce(what: str, request: Request) -> None:
    """Run one part, or all of them and the page."""
    if request.data is not None and what in ("storms", "families", "all"):
        catalogues.check(request.data)
    for name, (title, run) in PARTS.items():
        if what in (name, "all"):
            request.say(f"\n{title}\n")
            run(request)
    request.say(f"\nTables and figures: {request.results.folder}")
    if what == "all":
        request.say(f"Verdicts: {page.write(request.results, request.out)}")
