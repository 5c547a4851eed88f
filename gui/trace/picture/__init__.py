# SPDX-License-Identifier: Apache-2.0
"""The stacked picture of a trace, its overview, and the mouse on both."""
