# SPDX-License-Identifier: Apache-2.0
"""Spectra and features of sound in whole numbers: the numbers of the firmware's
workloads/sound.
"""
