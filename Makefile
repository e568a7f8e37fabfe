# Every target sets up what it needs: a .venv made on first use, renewed when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := .venv-peers
PEERS_LIST := experiments/tmsm_experiments/peers/requirements.txt
OLDEST := .venv-oldest

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-oldest test-dist check format bench reproduce coverage docs gallery tutorials notebooks study figures peers dist clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,check]'
	@touch $@

demo: $(READY)  ## Run the main job on embedded data: the centre of the Milky Way, seen from the north
	@MPLBACKEND=Agg $(BIN)/tmsm demo

quick: $(READY)  ## Run the laws and the contract on a spread sample of their cases, in a minute
	$(BIN)/python -m pytest --numprocesses auto -m "not slow" tests/laws tests/contract

test: $(READY)  ## Run the whole test suite
	$(BIN)/python -m pytest --numprocesses auto

# Warnings are errors in the tests. Two are not tmsm's: NumPy before 2.4 warns of pyproj, and JAX of a fork by Dask's pools.
test-oldest: $(OLDEST)/.ready  ## Run the suite with the oldest dependencies (PYTHON=python3.11 WORDS='a part of tests')
	$(OLDEST)/bin/python -m pytest --numprocesses auto $(WORDS) \
		-W 'ignore:Conversion of an array:DeprecationWarning' -W 'ignore:os.fork:RuntimeWarning'

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-oldest.txt \
		--editable '.[test]'
	@touch $@

test-dist: dist  ## Install the wheel and the sdist in empty environments outside of the checkout, and run the demo there
	for file in dist/*; do $(PYTHON) tools/try_distribution.py $$file || exit 1; done

check: $(READY)  ## Lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## Put every file into the project's format
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

bench: $(READY)  ## Measure speed, memory and accuracy as ratios, in one run
	@$(BIN)/python -m benchmarks

reproduce: $(READY)  ## Run the paper's experiments anew: docs/reproduction.md (DATA=folder with NOAA's storm files)
	@$(BIN)/tmsm reproduce all --out docs $(if $(DATA),--data '$(DATA)')

study: $(READY)  ## Run the study of weights anew (an hour); its tables go to docs/weights.md
	$(BIN)/python -m tmsm_experiments.weights
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	$(BIN)/python -m tmsm_experiments.weights.report

coverage: $(READY)  ## Run the study of coverage anew (an hour, resumable); its table goes to docs/coverage.md
	$(BIN)/python -m tmsm_experiments.coverage $(WORDS)

docs: $(READY)  ## Build the documentation as a static site in build/site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/mkdocs build --quiet --strict
	@echo "Open build/site/index.html. Its search box needs a server: $(BIN)/python -m http.server --directory build/site"

gallery: $(READY)  ## Run the examples anew and put them on docs/gallery.md, with their pictures
	MPLBACKEND=Agg $(BIN)/python -m tools.build_gallery

tutorials: $(READY)  ## Run the tutorials anew and put them on docs/tutorials, with what they show
	MPLBACKEND=Agg $(BIN)/python -m tools.build_tutorials

notebooks: $(READY)  ## Write the tutorials as notebooks into build/notebooks
	$(BIN)/python -m tools.build_tutorials --notebooks build/notebooks
	@echo "Open them in Jupyter: pip install jupyterlab, then jupyter lab build/notebooks"

figures: $(READY)  ## Draw the pictures of the documentation anew
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot,sky]'
	for figure in docs/figures/*.py; do MPLBACKEND=Agg $(BIN)/python -P $$figure || exit 1; done

peers:  ## Measure other packages beside tmsm, in .venv-peers; the tables go to docs/neighbours.md
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(PEERS_LIST) \
	|| sed 's/ *#.*//' $(PEERS_LIST) | while read -r peer; do test -z "$$peer" \
	|| $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check "$$peer" \
	|| echo "… $$peer could not be installed" >&2; done
	$(PEERS)/bin/python -m tmsm_experiments.peers

dist: $(READY)  ## Build the wheel and the sdist in dist
	rm -rf dist
	$(BIN)/python -m hatchling build

clean:  ## Remove the environments, all caches and what was built
	rm -rf $(VENV) $(OLDEST) $(PEERS) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
