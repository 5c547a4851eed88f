# SPDX-License-Identifier: Apache-2.0
"""Live values of a bench while it measures."""
