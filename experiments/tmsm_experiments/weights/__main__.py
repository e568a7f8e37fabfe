"""``python -m tmsm_experiments.weights [setting …]``: the study behind weight="auto".

Results go to results.csv beside this file; settings that were not asked for keep theirs.
"""

import sys
from dataclasses import replace

import tmsm
from tmsm_experiments.weights.results import write
from tmsm_experiments.weights.setting import Setting
from tmsm_experiments.weights.settings import settings
from tmsm_experiments.weights.simulate import simulate


def main(only: list[str]) -> None:
    for setting in settings():
        if only and setting.name not in only:
            continue
        found = []
        for n, n_seeds in setting.seeds.items():
            print(f"{setting.name}, n = {n:,}, {n_seeds} seeds", file=sys.stderr, flush=True)
            # The default is one of the weights.
            chosen = default_weight(setting, n)
            results = simulate(setting, n, range(n_seeds), default=chosen)
            results += [replace(result, weight="auto") for result in results if result.weight == chosen]
            for result in results:
                found.append({k: f"{v:.5g}" if isinstance(v, float) else str(v) for k, v in result.row().items()})
                print(
                    f"{result.setting:<21} {result.n:>7,} {result.weight:<17} {result.efficiency:.3f} "
                    f"± {result.efficiency_error:.3f}, stated {result.stated:.3f}, bias {result.bias:+.2f} sd, "
                    f"covers {100 * result.coverage:.1f} %",
                    flush=True,
                )
        write(setting.name, found)


def default_weight(setting: Setting, n: int) -> str:
    """The name of the weight that weight="auto" takes."""
    fit = tmsm.ScoreMatching(setting.model, setting.region).fit(setting.sample(n, 0))
    return type(fit.weight_).__name__.lower()


if __name__ == "__main__":
    main(sys.argv[1:])
