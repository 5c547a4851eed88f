# SPDX-License-Identifier: Apache-2.0
"""Calibration files: one made for tests, one with the virtual monitor's accuracy."""

CALIBRATION = """
source = "made up for a test"
clock_ppm = 50.0
[[current]]
up_to = 1.0
gain = 0.001
offset = 1e-5
[[voltage]]
up_to = 10.0
gain = 0.0005
offset = 0.0
"""
VIRTUAL_MONITOR = """
source = "the limits of the virtual monitor that recorded it"
clock_ppm = 50.0
[[current]]
up_to = 10.0
gain = 0.002
offset = 5e-6
noise = 20e-6
lsb = 1e-6
[[voltage]]
up_to = 100.0
gain = 0.001
offset = 0.0
"""
