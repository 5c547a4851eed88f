# SPDX-License-Identifier: Apache-2.0
"""Speed measurements from which no table is made."""
