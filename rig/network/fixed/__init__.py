# SPDX-License-Identifier: Apache-2.0
"""Networks in whole numbers: quantised, run by an integer model, and laid out for
firmware."""
