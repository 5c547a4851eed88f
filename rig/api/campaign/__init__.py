# SPDX-License-Identifier: Apache-2.0
"""A campaign: a grid of benches, models, settings and repetitions, each cell an
ordinary session.
"""
