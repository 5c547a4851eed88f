# SPDX-License-Identifier: Apache-2.0
"""Training of the ASC model and its export to the firmware."""
