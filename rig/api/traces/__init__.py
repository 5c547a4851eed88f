# SPDX-License-Identifier: Apache-2.0
"""A trace as users see it: samples, spans, edges, quick pictures, exact statistics,
export."""
