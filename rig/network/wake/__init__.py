# SPDX-License-Identifier: Apache-2.0
"""The streaming wake word of MLPerf Tiny: features of a signal in whole numbers, and
what the firmware's workload `sww` is made of."""
