# SPDX-License-Identifier: Apache-2.0
"""Step records and traces -> windows with latency and energy. Pure."""
