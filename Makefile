# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` do all the set-up themselves, as root or not.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Tests that run side by side, more than there are processors, as many wait for a line or an
# instrument. JOBS=0: one after the other.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
JOBS       ?= $(shell echo $$(($(PROCESSORS) < 2 ? 4 : 8)))

PRODUCT    := rig drivers sut_backends scenarios gui

# What a run needs; the tools and the vendors' packages that tests need come with `make setup`.
PACKAGES := $(VENV)/$(if $(LOCKED),installed,ready)

.PHONY: gui docs screenshots demo test coverage check setup lock firmware clean fuzz pairs
.PHONY: peers mutants pythons release

demo: firmware
	$(BIN)/rig demo --bench benches/posix-asc.toml

# The window, on a finished virtual session of five trials, of which one drifts.
gui: setup
	$(BIN)/rig gui --demo

# The documentation site, build/site/index.html: for a browser, without a server or a network. Its
# tools have an environment of their own: they want Python 3.11.5, the rig does with 3.11.0.
docs:
	@test -x build/docs/bin/zensical || { $(PYTHON) -m venv build/docs && \
	    build/docs/bin/python -m pip install -qq -c constraints.txt $(DOCS_TOOLS); }
	build/docs/bin/zensical build --clean --strict

# Wheel, source distribution, SBOM and checksums in dist/, from the last commit. KEY=FILE: an SSH
# key that signs the checksums.
release: setup
	$(BIN)/python tools/release.py $(if $(KEY),--key $(KEY))

# The wheel of dist/ runs the README with other interpreters: make pythons PYTHONS="python3.13 ..."
PYTHONS ?= $(wildcard $(HOME)/.pyenv/versions/3.1[1-9]*/bin/python)
pythons:
	@tests/pythons.sh $(PYTHONS)

# The pictures of the pages: the window, without a display, and a terminal.
screenshots: setup
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m benchmarks.screenshots
	$(BIN)/python -m benchmarks.terminal_pictures

# For the tests, by their hashes, where there is npm: the emulator of the Raspberry Pi Pico, and
# playwright-core, which drives an installed Chromium.
build/node/node_modules: tools/node/package-lock.json
	@mkdir -p build/node && cp tools/node/package*.json build/node/
	@npm ci --silent --prefix build/node && touch $@

test: setup
	@command -v npm >/dev/null && $(MAKE) --no-print-directory build/node/node_modules || \
	    echo "make test: without npm, tests of the emulated Pico and of pages in a browser are skipped"
	@$(MAKE) --no-print-directory firmware || \
	    echo "make test: the firmware is not built, so its tests are skipped"
	@$(BIN)/python tests/run.py $(JOBS) $(if $(COVERAGE),--coverage) $(if $(FULL),--full)

# All tests, with the branches counted that they take; fewer than the floor in pyproject.toml fail.
# FULL=1: at their full length, which takes more than twice the time.
coverage:
	@$(MAKE) --no-print-directory test COVERAGE=1

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@# What only one system has is asked for by name (sys.platform) before it is used.
	$(BIN)/mypy --platform win32 --no-warn-unreachable $(PRODUCT:%=-p %)
	$(BIN)/mypy --platform darwin --no-warn-unreachable $(PRODUCT:%=-p %)
	$(BIN)/lint-imports
	$(BIN)/python tools/lints.py
	$(MAKE) -C firmware check

firmware: $(PACKAGES)
	@command -v $${CC:-cc} >/dev/null || \
	    { echo "A C compiler is missing (Debian: apt-get install gcc libc6-dev make)."; exit 1; }
	@$(MAKE) -s --no-print-directory -j $(PROCESSORS) -C firmware posix host

fuzz:
	$(MAKE) -C firmware fuzz

# The Joulescope's tests with the other pair of Python and host library: 3.12 or newer, which the
# maker's newest wants, while constraints.txt has its last for 3.11.
pairs:
	@for python in python3.12 python3.13 $$HOME/.pyenv/versions/3.1[2-9]*/bin/python; do \
	    $$python -c 'import ensurepip, venv' 2>/dev/null && exec tests/pair.sh $$python; \
	done; echo "make pairs: no Python 3.12 is found, so nothing is tried with the newest host \
	library of the Joulescope"

# A random sample of mutants of the results' arithmetic, of which the tests must kill 85 %.
# cosmic-ray, whose operators make them, has an environment of its own.
SAMPLE ?= 100
SEED   ?= 0
mutants: setup
	@test -x build/mutants/bin/cosmic-ray || { $(PYTHON) -m venv build/mutants && \
	    build/mutants/bin/python -m pip install -qq cosmic-ray==8.7.0; }
	$(BIN)/python tools/mutants/mutants.py build/mutants/bin/python --sample $(SAMPLE) \
	    --seed $(SEED)

# Programs of others against the simulated instruments.
peers: setup
	@tests/peers.sh $(BIN)/python

setup: $(VENV)/installed

# LOCKED=1, as CI and releases have it: the packages of constraints.lock, each with its hash, for
# Python 3.11 on Linux (x86-64). Else the versions of constraints.txt, on any system.
DOCS_TOOLS = mkdocstrings-python zensical
EXTRAS := dask dev gui joulescope keysight nvml onnx tflite witness
COMMA  := ,
SPACE  := $(subst ,, )
ifdef LOCKED
INSTALL = $(BIN)/python -m pip install -qq --require-hashes -r constraints.lock && \
    $(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .
else
INSTALL = $(BIN)/python -m pip install -qq -c constraints.txt \
    -e '.[$(subst $(SPACE),$(COMMA),$(EXTRAS))]'
endif

# constraints.lock, made again from constraints.txt; uv has to be installed.
lock:
	uv pip compile -q pyproject.toml $(EXTRAS:%=--extra %) --constraint constraints.txt \
	    --python-version 3.11 --python-platform x86_64-manylinux_2_34 --generate-hashes \
	    --no-header --no-annotate --no-emit-index-url -o constraints.lock

# -qq: errors only; where pip knows several places, it warns of each package that one of them lacks.
# The venv needs ensurepip, which Debian packages apart from Python; virtualenv does without.
$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	    { rm -rf $(VENV); $(PYTHON) -m virtualenv -q $(VENV); } || \
	    { echo "No virtual environment can be made (Debian: apt-get install python3-venv)."; exit 1; }
	$(if $(LOCKED),,$(BIN)/python -m pip install -qq -c constraints.txt -e .)
	@touch $@

$(VENV)/installed: $(VENV)/ready constraints.lock
	$(INSTALL)
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info
	$(MAKE) -C firmware clean
