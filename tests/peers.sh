#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers.sh PYTHON: programs of others, from PyPI, against our simulated instruments, our arithmetic
# of .tflite files and our image of the ESP32-C6, and CMSIS-NN in a folder (make peers). PYTHON runs the tests and the simulators; the programs
# have environments of their own, as they bring half a gigabyte along.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build

# peer NAME REQUIREMENTS PURPOSE VARIABLE TESTS...
peer() {
    venv=build/$1
    requirements=$2
    purpose=$3
    variable=$4
    shift 4
    [ -x $venv/bin/python ] || "$python" -m venv $venv
    $venv/bin/python -m pip install -qq -r "$requirements" || {
        echo "make peers: $requirements cannot be installed here, so $purpose"
        return
    }
    sed -n 's/==/ /p' "$requirements"
    env "$variable=$PWD/$venv/bin/python" "$python" -m pytest -q -p no:cacheprovider "$@"
}

python=$1
peer peers tests/drivers/peers/requirements.txt "the simulated N6705 is not tried with qcodes" \
    PEERS_PYTHON tests/drivers/peers/test_n6705.py
peer peers-ppk2 tests/drivers/peers/ppk2_requirements.txt "the simulated PPK2 is not tried with ppk2-api" \
    PPK2_API_PYTHON tests/drivers/peers/test_ppk2.py
peer peers-otii tests/drivers/peers/otii_requirements.txt "the simulated Otii is not tried with its maker's client" \
    OTII_CLIENT_PYTHON tests/drivers/peers/test_otii.py
peer peers-unicorn tests/firmware/esp32c6_requirements.txt "the image of the ESP32-C6 is not run" \
    UNICORN_PYTHON tests/firmware/test_esp32c6.py
# The firmware with CMSIS-NN, where CMSIS_NN names its folder.
[ -z "${CMSIS_NN:-}" ] || "$python" -m pytest -q -p no:cacheprovider tests/firmware/test_cmsis_nn.py
peer peers-tflite tests/vectors/tflite/requirements.txt "tflite-micro is not compared" \
    TFLITE_MICRO_PYTHON tests/rig/network/test_tflite.py -k tflite_micro_itself
