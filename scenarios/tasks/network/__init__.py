# SPDX-License-Identifier: Apache-2.0
"""The task `network`: any NIR file over samples of its user."""
