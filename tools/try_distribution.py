"""Install a wheel or an sdist in an empty environment outside of the checkout, and run the demonstration there.

    python tools/try_distribution.py dist/tmsm-….whl

Dependencies come from the registry that pip knows. `make test-dist` does this for all of `dist`; the quick form of it,
with the packages that are installed already, is tests/packaging/test_distribution.py.
"""

import argparse
import os
import subprocess
import tempfile
import venv
from pathlib import Path

DEMO = ("curve.png", "diagnostics.png", "report.html", "sky.png")
CHECK = "import tmsm, tmsm_experiments; print(tmsm.__version__, tmsm.__file__)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="a wheel or an sdist")
    file = parser.parse_args().file.resolve()
    with tempfile.TemporaryDirectory() as place:
        home, empty = Path(place) / "environment", Path(place) / "empty"
        empty.mkdir()
        venv.create(home, with_pip=True)

        def run(command: str, *arguments: str) -> str:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
            environment |= {"MPLBACKEND": "Agg"}
            done = subprocess.run(
                [home / "bin" / command, *arguments], cwd=empty, env=environment, stdout=subprocess.PIPE, text=True
            )
            if done.returncode:
                raise SystemExit(f"{file.name}: {command} {' '.join(arguments)} failed.")
            return done.stdout.strip()

        run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{file}[plot,report]")
        run("python", "-m", "pip", "--disable-pip-version-check", "check")
        version, where = run("python", "-c", CHECK).split(maxsplit=1)
        if not Path(where).is_relative_to(home) or run("tmsm", "--version") != f"tmsm {version}":
            raise SystemExit(f"{file.name}: what was installed is not what is imported: {where}")
        run("tmsm", "demo")
        written = sorted(path.name for path in (empty / "tmsm-demo").iterdir())
        if written != list(DEMO):
            raise SystemExit(f"{file.name}: the demonstration wrote {written}.")
        python = run("python", "--version")
    print(f"{file.name}: installed, imported, and the demonstration ran, with {python}.")


if __name__ == "__main__":
    main()
