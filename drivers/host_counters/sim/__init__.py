# SPDX-License-Identifier: Apache-2.0
"""Simulated RAPL and NVML counters."""
