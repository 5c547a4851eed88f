# SPDX-License-Identifier: Apache-2.0
"""Two sessions side by side."""
