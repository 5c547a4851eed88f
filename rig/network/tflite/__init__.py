# SPDX-License-Identifier: Apache-2.0
"""Networks in .tflite files, quantised to int8: read, run in whole numbers, and turned
into tables of the firmware."""
