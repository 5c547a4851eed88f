# SPDX-License-Identifier: Apache-2.0
"""The task `tflite`: any int8 model in a .tflite file over samples of its user."""
