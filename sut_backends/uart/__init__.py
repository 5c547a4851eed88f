# SPDX-License-Identifier: Apache-2.0
"""The system under test behind a UART."""
