# SPDX-License-Identifier: Apache-2.0
"""Traces of other programs."""
