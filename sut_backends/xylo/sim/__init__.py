# SPDX-License-Identifier: Apache-2.0
"""A simulated Xylo board behind the calls of samna."""
