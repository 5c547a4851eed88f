# SPDX-License-Identifier: Apache-2.0
"""Experiments and comparisons outside the product: lab/README.md."""
