/* SPDX-License-Identifier: Apache-2.0 */
/* I2C at 400 kHz: PC4 is SDA, PC5 is SCL (A4 and A5 of an Arduino Uno). A step that the hardware
   does not end within about 1 ms fails. */
#ifndef TWI_H
#define TWI_H

#include <stdbool.h>
#include <stdint.h>

void twi_begin(void);
bool twi_write(uint8_t address, uint8_t reg, uint16_t value);
/* `size_b` bytes of a register, the highest first; false where the chip does not acknowledge */
bool twi_read(uint8_t address, uint8_t reg, uint8_t size_b, uint32_t *value);

#endif
