# SPDX-License-Identifier: Apache-2.0
"""Device ticks and trace seconds: how they are aligned."""
