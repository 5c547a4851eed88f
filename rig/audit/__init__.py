# SPDX-License-Identifier: Apache-2.0
"""The audit of published sessions: each is computed again, then measured again."""
