# SPDX-License-Identifier: Apache-2.0
"""Systems under test on a UART."""
