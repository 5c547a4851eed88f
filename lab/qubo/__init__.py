# SPDX-License-Identifier: Apache-2.0
"""Targets of the QUBO task: campaigns, proofs, official costs, comparisons."""
