# SPDX-License-Identifier: Apache-2.0
# make io-manager | avr-harness | io-manager-test     The IO manager, for an ATmega328P: gcc-avr
#                                                     avr-libc binutils-avr.
# make ina-monitor                                    The energy monitor with an INA219, INA226 or
#                                                     INA228, for the same.
# The harness, which runs it on a PC: libsimavr-dev libelf-dev. The test of its logic needs a C
# compiler only.

AVR_CC ?= avr-gcc
AVR_SIZE ?= avr-size
AVR_OBJCOPY ?= avr-objcopy
AVR_MCU := atmega328p
AVR_HZ := 16000000
NR_HOST_BAUD ?= 115200
NR_DUT_BAUD ?= 9600
IO_MANAGER_RAM_B := 2048

IO_MANAGER := $(wildcard io_manager/*.c)
IO_MANAGER_HEADERS := $(wildcard io_manager/*.h)
IO_MANAGER_BUILD = $(shell cat $(sort $(IO_MANAGER) $(IO_MANAGER_HEADERS)) | $(HASH) | cut -c 1-12)
AVR_FLAGS = -mmcu=$(AVR_MCU) -DF_CPU=$(AVR_HZ)UL $(STRICT) -Os \
    -ffunction-sections -fdata-sections -Wl,--gc-sections \
    -DNR_HOST_BAUD=$(NR_HOST_BAUD) -DNR_DUT_BAUD=$(NR_DUT_BAUD) -DNR_BUILD='"$(IO_MANAGER_BUILD)"'

.PHONY: io-manager avr-harness io-manager-test io-manager-warnings io-manager-cppcheck
io-manager: $(BUILD)/io_manager/io_manager.elf $(BUILD)/io_manager/io_manager.hex
avr-harness: $(BUILD)/tests/avr_harness

# Prints what it takes, and refuses to leave less than 512 bytes for the stack.
$(BUILD)/io_manager/%.elf: $(IO_MANAGER) $(IO_MANAGER_HEADERS) avr.mk
	@mkdir -p $(@D)
	$(AVR_CC) $(AVR_FLAGS) -o $@.new $(IO_MANAGER)
	@$(AVR_SIZE) $@.new | awk 'NR == 2 { ram = $$2 + $$3; exit ram > $(IO_MANAGER_RAM_B) - 512 } \
	    END { printf "io manager: %d bytes of flash, %d of $(IO_MANAGER_RAM_B) bytes of RAM\n", \
	        $$1 + $$2, ram }'
	@mv $@.new $@

$(BUILD)/io_manager/%.hex: $(BUILD)/io_manager/%.elf
	@$(AVR_OBJCOPY) -O ihex $< $@

INA_MONITOR := $(wildcard ina_monitor/*.c) io_manager/host_uart.c io_manager/edge_clock.c
INA_MONITOR_HEADERS := $(wildcard ina_monitor/*.h) $(IO_MANAGER_HEADERS)
# At 115 200 baud, 2.1 % off, 400 samples a second fit; this rate is exact.
INA_HOST_BAUD ?= 500000
INA_BUILD = $(shell cat $(sort $(INA_MONITOR) $(INA_MONITOR_HEADERS)) | $(HASH) | cut -c 1-12)
INA_FLAGS = $(filter-out -DNR_%,$(AVR_FLAGS)) -Iio_manager -DNR_HOST_BAUD=$(INA_HOST_BAUD) \
    -DNR_BUILD='"$(INA_BUILD)"'

.PHONY: ina-monitor
ina-monitor: $(BUILD)/ina_monitor/ina_monitor.elf $(BUILD)/ina_monitor/ina_monitor.hex
$(BUILD)/ina_monitor/%.elf: $(INA_MONITOR) $(INA_MONITOR_HEADERS) avr.mk
	@mkdir -p $(@D)
	$(AVR_CC) $(INA_FLAGS) -o $@.new $(INA_MONITOR)
	@mv $@.new $@
$(BUILD)/ina_monitor/%.hex: $(BUILD)/ina_monitor/%.elf
	@$(AVR_OBJCOPY) -O ihex $< $@

# -lsimavr wants libelf, which its package does not bring.
$(BUILD)/tests/avr_harness: tests/avr_harness.c avr.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu99 $(WARNINGS) $(CFLAGS) -isystem /usr/include/simavr -o $@ $< -lsimavr -lelf -lm

$(BUILD)/tests/io_manager: tests/test_io_manager.c io_manager/nr_io_manager.c \
    $(IO_MANAGER_HEADERS) tests/check.h avr.mk
	@mkdir -p $(@D)
	$(CC) $(STRICT) $(SANITIZE) -Iio_manager -Itests -o $@ $(filter %.c,$^)

io-manager-test: $(BUILD)/tests/io_manager
	@$<

test: io-manager-test

# ---- checks ----

warnings: io-manager-warnings
io-manager-warnings:
	@mkdir -p $(BUILD)/check
	@set -e; for level in -O0 -Os -O3; do \
	    $(CC) $(STRICT) $$level -ffreestanding -Iio_manager -c -o $(BUILD)/check/io_manager.o \
	        io_manager/nr_io_manager.c; done

cppcheck: io-manager-cppcheck
io-manager-cppcheck:
	@if command -v cppcheck >/dev/null 2>&1; then \
	    cppcheck $(CPPCHECK) -DF_CPU=$(AVR_HZ)UL -Iio_manager io_manager ina_monitor; fi
