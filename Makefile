# Each target sets up .venv by itself, and again only when the pins change.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
CORE := .venv/.core
PIP = $(BIN)/pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt
CASES ?= 20000

.PHONY: demo test check docs bench house reproduce fuzz lock setup clean

# The demo needs the core alone: 0.4 GB, where all extras take 2.2 GB.
demo: $(CORE)
	$(BIN)/oddshift demo

# Tests start hundreds of processes, so compiled modules are kept even where the environment forbids it. Each worker
# begins with half of the files and takes over from the other one at the end: few fixtures are made twice. Lint and types
# are checked at the same time, because they use one core; a failure of either fails the target.
test: $(STAMP)
	@$(MAKE) --no-print-directory check & checked=$$!; \
	env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal; \
	tested=$$?; wait $$checked || { echo "lint or types failed, see above"; exit 1; }; exit $$tested

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python docs/write_api.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html; to search it too: $(BIN)/mkdocs serve"

bench: $(STAMP)
	env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

# How large the package is and how far the four commands run through it, for docs/architecture.md.
house: $(STAMP)
	$(BIN)/python -m studies.house --write

# The paper again; finished cells are skipped: make reproduce NAME=toy, NAME=all, NAME=page, or the list without a name.
reproduce: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m studies.paper $(NAME) $(if $(NAME),--out docs/results)

fuzz: $(STAMP)
	ODDSHIFT_FUZZ=$(CASES) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 tests/fuzz
	ODDSHIFT_ROUNDS=200 $(BIN)/python -m pytest tests/test_repeated_release.py -k "at_once or killed"

lock: $(STAMP)
	$(BIN)/python write_lock.py

setup: $(STAMP)

$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

# pip would compile on one core, and a third of the files for nothing; files that no Python can compile do no harm.
$(STAMP): $(CORE)
	$(PIP) -e ".[dev,bench,text,tables,attackers,cluster,postgres,sign,docs]"
	$(BIN)/python -m compileall -q -j 0 -x '/tests/' .venv/lib > /dev/null || true
	touch $@

clean:
	rm -rf .venv build dist
