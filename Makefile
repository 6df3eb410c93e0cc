# Two commands do everything on a fresh machine: `make serve` and `make test`.
.PHONY: serve demo test check bench faults fuzz reference client lock clean
PY := .venv/bin/python
WORKERS ?= 4

# The data folder that ARGS names, if it does: the model goes into the same one.
DATA := $(shell printf '%s' '$(ARGS)' | sed -n 's/.*\(--data[ =][^ ]*\).*/\1/p')

serve: ## set up, install the embedding model, run the server; ARGS="--port 9000" passes options on
	@scripts/setup run
	@.venv/bin/deedbox model install --if-missing $(DATA) || echo "The server starts without search." >&2
	@.venv/bin/deedbox serve $(ARGS)

demo: ## set up, install the embedding model, show a server with samples; nothing of it stays
	@scripts/setup run
	@.venv/bin/deedbox model install --if-missing || echo "The demo starts without search." >&2
	@.venv/bin/deedbox demo $(ARGS)

# A folder in memory with 4 GB of room, if there is one: there the suite need not wait for the disk.
MEMORY := $(shell [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $$4}')" -gt 4000000 ] 2>/dev/null && echo /dev/shm)

# Bytecode is written whatever the environment says: the plugins' and the tests' own is made anew by each process else.
test: ## set up and run the suite; on SQLite; DATABASE=postgres tries on PostgreSQL what stands on the database, DATABASE=postgres BLOBS=s3 everything on both
	@scripts/setup test
	@scripts/test-deps
	@PYTEST_DEBUG_TEMPROOT=$(MEMORY) PYTHONDONTWRITEBYTECODE= DATABASE=$(DATABASE) BLOBS=$(BLOBS) $(PY) -m pytest -n $(WORKERS) --dist worksteal --ignore tests/faults $(ARGS)

check: ## ruff, mypy and import-linter
	@scripts/setup test
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo

bench: ## every figure, beside its peer, into README; ONLY="lifecycle bulk" runs some
	@scripts/setup test
	@scripts/test-deps
	@$(PY) scripts/bench.py $(ONLY)

faults: ## the fault and attack tests; FAULTS=small takes minutes, in full they take hours
	@scripts/setup test
	@scripts/test-deps
ifeq ($(FAULTS),small)
	@PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -n $(WORKERS) --dist worksteal tests/faults $(ARGS)
else
	@scripts/fault-deps
	@scripts/setup producers
	@FAULTS=full $(PY) -m pytest -n $(WORKERS) -rP tests/faults tests/signing/test_machine.py tests/signing/bulk/test_machine.py $(ARGS)
endif

fuzz: ## schemathesis in full, stateful phase included, against a running server
	@scripts/setup test
	@scripts/test-deps
	@FAULTS=full PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -rP tests/faults/test_r7_description.py $(ARGS)

reference: ## write docs/reference from the code
	@scripts/setup test
	@$(PY) scripts/reference.py

client: ## write the Python client from the OpenAPI document
	@scripts/setup test
	@$(PY) scripts/client.py

lock: ## lock the dependencies of pyproject.toml
	@scripts/lock

clean: ## remove what make made, not the data folder
	@rm -rf .venv .venv-bench .venv-producers .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
