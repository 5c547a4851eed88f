# SPDX-License-Identifier: Apache-2.0
"""The procedure of MLPerf Tiny."""
