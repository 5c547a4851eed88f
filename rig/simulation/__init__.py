# SPDX-License-Identifier: Apache-2.0
"""The truth behind simulated devices and instruments."""
