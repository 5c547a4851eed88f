# SPDX-License-Identifier: Apache-2.0
"""The truth of simulated devices and instruments."""
