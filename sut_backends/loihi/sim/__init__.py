# SPDX-License-Identifier: Apache-2.0
"""A stand-in for what lava-loihi adds to Lava, with the same interface; no chip, no
measurement."""
