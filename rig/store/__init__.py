# SPDX-License-Identifier: Apache-2.0
"""The session folder: its files, their forms, and who writes them."""
