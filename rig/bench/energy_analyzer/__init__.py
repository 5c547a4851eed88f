# SPDX-License-Identifier: Apache-2.0
"""Monitors of benches as energy analyzers of other programs: of labgrid."""
