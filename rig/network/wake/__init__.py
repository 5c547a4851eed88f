# SPDX-License-Identifier: Apache-2.0
"""The streaming wake word of MLPerf Tiny: features of a signal in whole numbers, and
the headers of the firmware's workload `sww`."""
