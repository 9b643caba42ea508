# SPDX-License-Identifier: Apache-2.0
# A thin front for meson, ninja and tools/. Every target first makes sure that what it needs is installed.
PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
TIME ?= 60
TARGET ?=

.PHONY: help need need-run setup build run test test-kubernetes lint fuzz bench install format clean
.DEFAULT_GOAL := build

help:
	@echo 'make setup     install the packages of tools/packages'
	@echo 'make build     build/reeve, optimised and hardened'
	@echo 'make run       build it, start a control plane and show what it does; ARGS="..." are arguments of build/reeve instead'
	@echo 'make test      all tests with gcc, all but the slowest with clang, under sanitizers'
	@echo 'make test-kubernetes   the controllers on a real Kubernetes, whose binaries are in $$KUBEBUILDER_ASSETS'
	@echo 'make lint      format, clang-tidy, include table, banned calls'
	@echo 'make format    let clang-format rewrite the sources'
	@echo 'make fuzz      every fuzz target for TIME=60 seconds, or only TARGET=name'
	@echo 'make bench     all benchmarks, release build'
	@echo 'make install   into PREFIX=/usr/local, below DESTDIR'
	@echo 'make clean     remove all build folders'

need:
	@tools/setup --check >/dev/null 2>&1 || tools/setup

# What building and running take is less than what tests do.
need-run:
	@tools/setup --run --check >/dev/null 2>&1 || tools/setup --run

setup:
	@tools/setup

build: need-run
	@test -f build/build.ninja || meson setup build --prefix '$(PREFIX)'
	@ninja -C build

run: need-run
	@test -f build/build.ninja || meson setup build --prefix '$(PREFIX)' >/dev/null
	@ninja -C build reeve reeve-fetch
	@$(if $(ARGS),build/reeve $(ARGS),REEVE=build/reeve examples/tour.sh)

test: need
	@tools/test

test-kubernetes: need
	@tools/test-kubernetes

lint: need
	@tools/lint

format: need
	@tools/lint-format --fix

fuzz: need
	@tools/fuzz --time '$(TIME)' $(if $(TARGET),--target '$(TARGET)')

bench: build
	@meson test -C build --benchmark --verbose --num-processes 1

install: build
	@meson configure build -Dprefix='$(PREFIX)'
	@DESTDIR='$(DESTDIR)' meson install -C build

clean:
	rm -rf build build-asan-gcc build-asan-clang build-tsan build-lint build-fuzz .cache
