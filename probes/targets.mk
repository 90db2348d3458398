# Every system that netprobe is built for, from one machine, with zig (pip install ziglang).
#   make cross              all of them: build/cross/OS-ARCHITECTURE/netprobe[.exe], stripped
#   make cross-windows-aarch64    one of them, named as `hello` names systems and architectures
#   make cross-… PROGRAMS='all contract'    with the platform contract's test beside it
#   make cross-windows-x86_64 CROSS_CC=x86_64-w64-mingw32-gcc    with another compiler than zig
# The same sources and the same compiler give the same bytes.
PYTHON   ?= python3
ZIG      ?= $(PYTHON) -m ziglang
TARGETS  := linux-x86_64 linux-aarch64 windows-x86_64 windows-aarch64 macos-x86_64 macos-aarch64 freebsd-x86_64

# What zig calls them: architecture-system-library.
zig_name  = $(lastword $(subst -, ,$(1)))-$(patsubst linux,linux-musl,$(patsubst windows,windows-gnu,$(firstword $(subst -, ,$(1)))))

CROSS_CC      ?= $(ZIG) cc -target $(call zig_name,$*)
CROSS_LDFLAGS ?= -s
PROGRAMS      ?= all

.PHONY: cross $(TARGETS:%=cross-%) targets
cross: $(TARGETS:%=cross-%)

targets:
	@printf '%s\n' $(TARGETS)

$(TARGETS:%=cross-%): cross-%:
	@$(MAKE) --no-print-directory CC='$(CROSS_CC)' \
	 TARGET_OS=$(firstword $(subst -, ,$*)) CFLAGS=-O2 LDFLAGS='$(CROSS_LDFLAGS)' \
	 OUT=$(BUILD)/cross/$*/netprobe$(if $(filter windows-%,$*),.exe) \
	 CONTRACT=$(BUILD)/cross/$*/contract$(if $(filter windows-%,$*),.exe) $(PROGRAMS)
