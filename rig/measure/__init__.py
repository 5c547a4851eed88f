# SPDX-License-Identifier: Apache-2.0
"""Windows with latency and energy, from step records and traces. Pure."""
