#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pair.sh PYTHON: the Joulescope's tests with another Python and the maker's newest libraries of
# host and traces, in an environment of their own (make pairs).
set -eu
cd "$(dirname "$0")/.."
venv=build/pair
mkdir -p build
[ -x $venv/bin/python ] || "$1" -m venv $venv
grep -v -e '^pyjoulescope_driver=' -e '^pyjls=' constraints.txt > $venv/constraints.txt
$venv/bin/python -m pip install -qq --upgrade -c $venv/constraints.txt \
    -e '.[joulescope]' pyjls pyjoulescope_driver hypothesis pytest pytest-timeout
$venv/bin/python -c 'import sys, pyjls, pyjoulescope_driver as driver
print("Python", sys.version.split()[0], "with pyjoulescope_driver", driver.__version__, "and pyjls",
      pyjls.__version__)'
# Those that must run alone hold the pace of a clock: once is enough. What pyjls 0.17 does not tell
# where its log is off, 0.19 raises.
exec $venv/bin/python -m pytest -q -p no:cacheprovider -m "not alone" \
    -k "not log_of_pyjls_was_switched_off" tests/drivers/joulescope tests/rig/trace/test_writer_refused.py
