# SPDX-License-Identifier: Apache-2.0
"""A simulated board with its chip."""
