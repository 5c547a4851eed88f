# SPDX-License-Identifier: Apache-2.0
"""What the trace screen shows: its state, and what is computed for it; nothing is drawn
here."""
