# `make demo` and `make test` each set up all they need, from nothing; nothing has to be activated.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := install --quiet --disable-pip-version-check
DATASETS3 := datasets==3.6.0
TORCH := torch==2.13.0

.PHONY: demo test test-datasets3 test-serve lint dev bench clean

demo: $(VENV)/.demo
	$(BIN)/quadrag demo

# The suite runs against the wheel, as users get it, not against this folder.
test: $(VENV)/.test lint
	rm -rf build dist
	$(BIN)/python -m build --quiet --wheel --no-isolation
	$(BIN)/pip $(PIP) --no-deps --force-reinstall dist/*.whl
	$(BIN)/pytest

# The dataset tests once more under datasets 3.6.0, and both versions on each other's caches.
test-datasets3: $(VENV)3/.test
	rm -rf build dist
	$(VENV)3/bin/python -m build --quiet --wheel --no-isolation
	$(VENV)3/bin/pip $(PIP) --no-deps --force-reinstall dist/*.whl
	QUADRAG_OTHER_PYTHON=$(CURDIR)/$(BIN)/python $(VENV)3/bin/pytest -m datasets

# Models loaded here and `transformers serve`; installs torch.
test-serve: $(VENV)-serve/.test
	rm -rf build dist
	$(VENV)-serve/bin/python -m build --quiet --wheel --no-isolation
	$(VENV)-serve/bin/pip $(PIP) --no-deps --force-reinstall dist/*.whl
	$(VENV)-serve/bin/pytest -m serve

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# For work on quadrag itself: an editable install with all that the tests need.
dev: $(VENV)/.test
	$(BIN)/pip $(PIP) --no-deps --editable .

bench: dev
	$(BIN)/pip $(PIP) openai
	$(BIN)/python benchmarks/chat_throughput.py

$(VENV)/.demo: setup.cfg pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip $(PIP) --editable .
	touch $@

$(VENV)/.test: setup.cfg pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip $(PIP) --editable '.[test]'
	touch $@

$(VENV)3/.test: setup.cfg pyproject.toml
	test -x $(VENV)3/bin/python || $(PYTHON) -m venv $(VENV)3
	$(VENV)3/bin/pip $(PIP) $(DATASETS3) --editable '.[test]'
	touch $@

# torch first: a range alone would bring its newest build, with several gigabytes of CUDA packages.
$(VENV)-serve/.test: setup.cfg pyproject.toml
	test -x $(VENV)-serve/bin/python || $(PYTHON) -m venv $(VENV)-serve
	$(VENV)-serve/bin/pip $(PIP) $(TORCH)
	$(VENV)-serve/bin/pip $(PIP) --editable '.[test,local]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)3 $(VENV)-serve build dist *.egg-info
