# SPDX-License-Identifier: Apache-2.0
"""Uncertainty: limits of error, their effects on windows and metrics, budgets."""
