# SPDX-License-Identifier: Apache-2.0
"""Files and texts from outside, read and shown safely; tables and JSON as text."""
