# SPDX-License-Identifier: Apache-2.0
"""Networks on SpiNNaker: mapped on a virtual board, or run on a machine; SpiNNaker 2 as
well."""
