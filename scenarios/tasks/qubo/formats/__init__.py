# SPDX-License-Identifier: Apache-2.0
"""Files of quadratic problems: one reader a format, and all give Entries."""
