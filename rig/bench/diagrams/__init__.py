# SPDX-License-Identifier: Apache-2.0
"""The picture of a wiring diagram, and the page of a board's wiring."""
