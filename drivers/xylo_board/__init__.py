# SPDX-License-Identifier: Apache-2.0
"""The ADC on a Xylo board as an energy monitor."""
