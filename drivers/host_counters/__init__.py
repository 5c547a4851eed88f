# SPDX-License-Identifier: Apache-2.0
"""Energy counters of this computer: RAPL and NVML."""
