# SPDX-License-Identifier: Apache-2.0
# A thin front for meson, ninja and tools/. Every target first makes sure that what it needs is installed.
PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
TIME ?= 60
TARGET ?=
RELEASES ?=

.PHONY: help need need-run need-pack setup build run test test-kubernetes lint fuzz bench install uninstall format clean
.PHONY: release release-static need-releases deb image krew sbom tarball
.DEFAULT_GOAL := build

help:
	@echo 'make setup     install the packages of tools/packages'
	@echo 'make build     build/reeve, optimised and hardened'
	@echo 'make run       build it, start a control plane and show what it does; ARGS="..." are arguments of build/reeve instead'
	@echo 'make test      the tests with gcc, those of the code itself with clang too, under sanitizers; all of them: tools/test --all; the quick ones: tools/test --quick'
	@echo 'make test-kubernetes   the controllers on a real Kubernetes, whose binaries are in $$KUBEBUILDER_ASSETS'
	@echo 'make lint      format, clang-tidy, include table, banned calls'
	@echo 'make format    let clang-format rewrite the sources'
	@echo 'make fuzz      every fuzz target for TIME=60 seconds, or only TARGET=name'
	@echo 'make bench     all benchmarks, release build'
	@echo 'make install   into PREFIX=/usr/local, below DESTDIR'
	@echo 'make uninstall remove what that installed'
	@echo 'make deb       dist/reeve_VERSION_ARCH.deb, for the release of Debian this is'
	@echo 'make tarball   dist/reeve-VERSION-linux-ARCH.tar.gz, as static as can be, and dist/SHA256SUMS'
	@echo 'make image     dist/reeve-VERSION-image.tar, an OCI image, by buildah'
	@echo 'make krew      dist/reeve.yaml, to install "kubectl reeve" from where the tarball is published, RELEASES=https://…'
	@echo 'make sbom      dist/sbom.spdx.json, what the programs are made of'
	@echo 'make clean     remove all build folders and dist'

need:
	@tools/setup --check >/dev/null 2>&1 || tools/setup

# What building, running and packaging take is less than what tests do.
need-run:
	@tools/setup --run --check >/dev/null 2>&1 || tools/setup --run

need-pack:
	@tools/setup --pack --check >/dev/null 2>&1 || tools/setup --pack

setup:
	@tools/setup

build: need-run
	@test -f build/build.ninja || meson setup build --prefix '$(PREFIX)'
	@ninja -C build installed

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
	@grep -qF '"name": "prefix", "value": "$(PREFIX)"' build/meson-info/intro-buildoptions.json || \
		meson setup --reconfigure build -Dprefix='$(PREFIX)' >/dev/null
	@DESTDIR='$(DESTDIR)' meson install -C build --no-rebuild

uninstall:
	@test ! -f build/build.ninja || ninja -C build uninstall

# Packages: see packaging/README.md. The programs of both folders differ in how they are linked.
release: need-pack
	@test -f build-release/build.ninja || meson setup build-release --prefix /usr
	@ninja -C build-release installed

release-static: need-pack
	@test -f build-static/build.ninja || meson setup build-static --prefix /usr -Dstatic=true
	@ninja -C build-static installed

deb: release
	@packaging/deb build-release dist
	@lintian --allow-root --fail-on error,warning dist/reeve_*.deb

image: release
	@packaging/image build-release dist

tarball: release-static
	@packaging/tarball build-static dist

krew: need-releases tarball
	@packaging/krew dist '$(RELEASES)'

need-releases:
	@test -n '$(RELEASES)' || { echo 'make krew: say where dist/ is published: make krew RELEASES=https://…' >&2 && exit 1; }

sbom: release
	@packaging/sbom.py build-release dist/sbom.spdx.json

clean:
	rm -rf dist build-release build-static build build-asan-gcc build-asan-clang build-tsan build-lint build-fuzz .cache
