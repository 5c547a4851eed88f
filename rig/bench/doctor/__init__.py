# SPDX-License-Identifier: Apache-2.0
"""Examine this computer for `rig doctor`."""
