# SPDX-License-Identifier: Apache-2.0
"""Networks on Loihi 2, or in Lava's simulator on a processor; searches by Lava's
solver."""
