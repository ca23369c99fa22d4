# SPDX-License-Identifier: MIT
# A thin front for CMake and the scripts; `make help` lists what there is.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ARGS ?=
MAKEFLAGS += --no-print-directory

.PHONY: all setup run test test-long bench install format clean help

all:
	@scripts/setup --check build
	@cmake -S . -B $(BUILD) $(if $(VERBOSE),,>/dev/null) && cmake --build $(BUILD) --parallel $(JOBS)

setup:
	@scripts/setup all

run:
	@scripts/setup run
	@$(MAKE) all
	@mkdir -p out
	@$(BUILD)/thrum tour --out out/tour.html
	@echo "The tour is the page out/tour.html: open it in a browser."

test:
	@scripts/setup all
	@scripts/test

test-long:
	@scripts/setup all
	@scripts/test-long

bench: all
	@$(BUILD)/thrum bench $(ARGS)

install:
	@scripts/setup --check build
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig || true; fi

format:
	@scripts/check-format --fix

clean:
	rm -rf $(BUILD) out

help:
	@echo "make            build into $(BUILD)/: libthrum, the command $(BUILD)/thrum, examples, benchmarks, tests"
	@echo "make setup      install the Debian packages that are missing"
	@echo "make run        set up, build and write the tour of what thrum does to out/tour.html"
	@echo "make test       set up and run everything that must hold (scripts/test), about 16 minutes"
	@echo "make test-long  stress with invariants on, 10 minutes (STRESS_SECONDS, STRESS_FIRST, STRESS_SEED)"
	@echo "make bench      compare with other runtimes (ARGS=... is handed to thrum bench)"
	@echo "make install    install to PREFIX ($(PREFIX)), below DESTDIR if given"
	@echo "make format     lay out the sources with clang-format"
	@echo "make clean      remove $(BUILD)/ and out/"
