# SPDX-License-Identifier: Apache-2.0
"""Functions that several scenarios share: how long windows are made, gaps to a target
cost, limits.
"""
