# SPDX-License-Identifier: Apache-2.0
"""Traces of the Joulescope's own programs, and JLS files of others."""
