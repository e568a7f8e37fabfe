"""``python -m experiments.weights [setting …]``: the study behind weight="auto".

Results go to results.csv beside this file; settings that were not asked for keep theirs.
"""

import sys

from experiments.weights.results import write
from experiments.weights.settings import settings
from experiments.weights.simulate import simulate

SEEDS = {100: 600, 300: 600, 1_000: 400, 10_000: 200, 100_000: 20}


def main(only: list[str]) -> None:
    for setting in settings():
        if only and setting.name not in only:
            continue
        found = []
        for n, n_seeds in SEEDS.items():
            print(f"{setting.name}, n = {n:,}, {n_seeds} seeds", file=sys.stderr, flush=True)
            for result in simulate(setting, n, range(n_seeds), ("auto", *setting.weights)):
                found.append({k: f"{v:.5g}" if isinstance(v, float) else str(v) for k, v in result.row().items()})
                print(
                    f"{result.setting:<14} {result.n:>7,} {result.weight:<17} {result.efficiency:.3f} "
                    f"± {result.efficiency_error:.3f}, stated {result.stated:.3f}, bias {result.bias:+.2f} sd, "
                    f"covers {100 * result.coverage:.1f} %",
                    flush=True,
                )
        write(setting.name, found)


if __name__ == "__main__":
    main(sys.argv[1:])
