# SPDX-License-Identifier: Apache-2.0
"""The kinds of step, one file each."""
