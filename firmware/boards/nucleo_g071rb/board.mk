# SPDX-License-Identifier: Apache-2.0
BOARDS += nucleo_g071rb
cpu_nucleo_g071rb := -mcpu=cortex-m0plus
chip_nucleo_g071rb := stm32
defines_nucleo_g071rb := -DNR_NULL_SLOT_BYTES=16384
