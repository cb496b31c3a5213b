# Cotangent: everything starts here. `make help` lists the targets.
#
#   make PRESET=debug          another build, in a tree of its own: build/debug/
#   make CC=clang              another compiler; objects of each are kept apart
#   make CFLAGS=-O1            added after the preset's flags; a change of any flag rebuilds
#   make WERROR=1              warnings are errors
#   make V=1                   shows the commands
#   make SUITE=tensor test     one suite of tests

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

PRESET ?= release
V      ?= 0
ifeq ($(origin CC),default)
CC := cc
endif
ifeq ($(origin CXX),default)
CXX := c++
endif
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
INCDIR  ?= $(PREFIX)/include/cotangent
BINDIR  ?= $(PREFIX)/bin
VERSION := $(shell sed -n 's/^.define CT_VERSION  *"\(.*\)"/\1/p' cotangent.h)
SOMAJOR := $(firstword $(subst ., ,$(VERSION)))

# Two cores build twice as fast; -j of one's own wins.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

ifeq ($(V),0)
say = @printf '  %-5s %s\n' '$(1)' '$(2)';
else
say =
endif

comma := ,

# ---- flags

preset.release := -O2 -g
preset.debug   := -O0 -g3 -DCT_DEBUG
preset.asan    := -O1 -g -DCT_DEBUG -fno-omit-frame-pointer -fsanitize=address,undefined \
                  -fno-sanitize-recover=all
preset.tsan    := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
preset.cov     := -O0 -g --coverage
PRESETS := $(patsubst preset.%,%,$(filter preset.%,$(.VARIABLES)))
ifeq ($(filter $(PRESET),$(PRESETS)),)
$(error PRESET=$(PRESET) is unknown; there are: $(sort $(PRESETS)))
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wvla -Wundef -Wpointer-arith -Wcast-qual -Wwrite-strings \
            -Wdouble-promotion -Wformat=2
ifeq ($(WERROR),1)
WARNINGS += -Werror
endif

# The library needs an x86-64-v3 CPU. What finds out whether it has one runs on any, and so does
# what comes before: the files with constructors.
ifneq ($(filter x86_64% amd64%,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)),)
MARCH      := -march=x86-64-v3
ISA_LEVELS := scalar avx2 avx512
else
MARCH      :=
ISA_LEVELS := scalar
endif
BASELINE := tensor/cpu.c tensor/error.c tensor/alloc.c tensor/pool.c tensor/topology.c \
            tensor/placement.c cli/main.c cli/messages.c

isa.scalar := -DCT_ISA_LEVEL=0
isa.avx2   := -DCT_ISA_LEVEL=1
isa.avx512 := -DCT_ISA_LEVEL=2 -mavx512f -mavx512dq -mavx512bw -mavx512vl \
              -mprefer-vector-width=512

# Interleaves the chains of neighbouring vectors, which gcc does not do by itself: 5 to 15 % of
# tanh, sigmoid and their like.
IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
SCHEDULE := $(if $(IS_CLANG),,-fschedule-insns -fsched-pressure)

# Pieces of a few hundred bytes are cleared and copied by vectors: the string instructions that gcc
# takes for them need some 20 ns to start.
PIECES := $(if $(or $(IS_CLANG),$(if $(MARCH),,other)),,-mmemset-strategy=vector_loop:1024:noalign$(comma)libcall:-1:noalign \
          -mmemcpy-strategy=vector_loop:1024:noalign$(comma)libcall:-1:noalign)

LIB_PKGS  := sleef hwloc jansson nettle
TEST_PKGS := check zlib
LIB_DEP_LIBS     := $(shell pkg-config --libs $(LIB_PKGS) 2>/dev/null) -lm -pthread
LIB_DEP_CFLAGS   := $(shell pkg-config --cflags $(LIB_PKGS) 2>/dev/null)
CHECK_LIBS       := $(shell pkg-config --libs $(TEST_PKGS) 2>/dev/null)
CHECK_CFLAGS     := $(shell pkg-config --cflags $(TEST_PKGS) 2>/dev/null)
DEPS_PRESENT     := $(shell pkg-config --exists $(LIB_PKGS) $(TEST_PKGS) 2>/dev/null && echo yes)

# Results must not depend on the user's flags: what decides them comes last.
COMPILE = $(CC) $(MARCH_OF) $(preset.$(PRESET)) $(WARNINGS) -I. -D_GNU_SOURCE $(LIB_DEP_CFLAGS) \
          -fPIC -fvisibility=hidden -pthread $(CPPFLAGS) $(EXTRA) $(CFLAGS) $(CONTRACT) -MMD -MP
CONTRACT := -std=c17 -ffp-contract=off -fno-fast-math
MARCH_OF  = $(MARCH)
EXTRA    :=
LINK      = $(CC) $(preset.$(PRESET)) $(CFLAGS) -pthread $(LDFLAGS)

# ---- trees

OBJ := build/obj/$(notdir $(CC))-$(PRESET)
OUT := $(if $(filter release,$(PRESET)),build,build/$(PRESET))
GEN := $(OBJ)/gen

LIB_DIRS  := tensor fixed dual autodiff nn optim io
KERN_SRC  := $(sort $(wildcard */kernels/*.c))
LIB_SRC   := $(sort $(foreach d,$(LIB_DIRS),$(wildcard $(d)/*.c)))
CLI_SRC   := $(sort $(wildcard cli/*.c))
PROBE_SRC := $(sort $(wildcard tests/*_probe.c))
TEST_SRC  := $(filter-out $(PROBE_SRC),$(sort $(wildcard tests/*.c)))
EXAMPLES  := $(patsubst examples/%.c,$(OUT)/examples/%,$(sort $(wildcard examples/*.c)))
# ct-bench and libct-rows.so are made of the frame and bench/rows_*.c; a spike, a tuning program is one file.
BENCHES   := $(patsubst bench/%.c,$(OUT)/bench/%,$(sort $(wildcard bench/spike_*.c bench/tune_*.c bench/calls.c)))
ROWS_SRC  := bench/frame.c bench/limits.c bench/machine.c bench/scaling.c $(sort $(wildcard bench/rows_*.c))
ROWS_OBJ  := $(ROWS_SRC:%.c=$(OBJ)/%.o)
PUBLIC_H  := cotangent.h $(sort $(foreach d,$(LIB_DIRS),$(wildcard $(d)/ct_*.h)))

per_isa  = $(foreach i,$(ISA_LEVELS),$(patsubst %.c,$(OBJ)/%.$(i).o,$(1)))
LIB_OBJ := $(LIB_SRC:%.c=$(OBJ)/%.o) $(call per_isa,$(KERN_SRC))
CLI_OBJ := $(CLI_SRC:%.c=$(OBJ)/%.o) $(OBJ)/gen/digits_data.o
# The tests look at the command from inside too: all of it but main.
TEST_OBJ := $(TEST_SRC:%.c=$(OBJ)/%.o) $(call per_isa,$(PROBE_SRC)) \
            $(filter-out $(OBJ)/cli/main.o $(OBJ)/cli/cmd_%,$(CLI_OBJ))
PROGRAM_OBJ := $(patsubst $(OUT)/%,$(OBJ)/%.o,$(EXAMPLES) $(BENCHES)) $(ROWS_OBJ) $(OBJ)/bench/bench.o $(OBJ)/bench/shared.o
ALL_OBJ := $(LIB_OBJ) $(CLI_OBJ) $(TEST_OBJ) $(PROGRAM_OBJ)

COMMAND := $(OUT)/bin/cotangent
TESTS   := $(OUT)/bin/ct-tests
PRINTER := $(OUT)/bin/ct-print-ops
STATIC  := $(OUT)/lib/libcotangent.a
BENCH   := $(OUT)/bench/ct-bench
ROWS_SO := $(OUT)/bench/libct-rows.so
SHARED  := $(OUT)/lib/libcotangent.so.$(VERSION)

# ---- main targets

all: $(COMMAND) $(STATIC) $(SHARED) $(EXAMPLES) ## builds the command, the libraries and the examples

run: ## sets up what is missing, builds, and trains a network on handwritten digits into run/
	@scripts/deps.sh
	@$(MAKE) all
	@$(COMMAND) train --out run

test: ## sets up what is missing, builds, and runs the tests; ends with one line of counts
	@scripts/deps.sh
	@$(MAKE) all $(TESTS) $(PRINTER)
	@$(TESTS) $(SUITE)

check: test ## the same as test

test-all: ## all tests, the slow ones too, then asan, then a clang build in build/clang
	@scripts/deps.sh
	@CK_EXCLUDE_TAGS= $(MAKE) test
	@CK_EXCLUDE_TAGS= $(MAKE) asan
	@if command -v clang >/dev/null; then CK_EXCLUDE_TAGS= $(MAKE) CC=clang OUT=build/clang test; \
	 else echo 'clang is not installed: its build was skipped'; fi

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@# A fork is dear there, so the two suites with the most memory run without.
	@# Tests ask for more memory than there is: NULL is the answer they want.
	@export CK_TIMEOUT_MULTIPLIER=8 UBSAN_OPTIONS=print_stacktrace=1 \
	 ASAN_OPTIONS=allocator_may_return_null=1; \
	 $(MAKE) PRESET=asan SUITE='-vmath -kernels' test && CK_FORK=no $(MAKE) PRESET=asan SUITE='vmath kernels' test

tsan: ## the tests under ThreadSanitizer
	@CK_TIMEOUT_MULTIPLIER=20 $(MAKE) PRESET=tsan test

cov: ## the tests with line coverage; prints a line per source file
	@find build/obj -path '*-cov/*' -name '*.gcda' -delete 2>/dev/null || true
	@CK_TIMEOUT_MULTIPLIER=8 $(MAKE) PRESET=cov test
	@scripts/coverage.sh build/obj/$(notdir $(CC))-cov

# ROWS= selects rows by parts of their titles: ROWS=gemm, ROWS='softmax f64'.
bench: ## measures the library beside plain code and the machine's limits, in ratios; ROWS=gemm selects
	@scripts/deps.sh
	@$(MAKE) all $(BENCH)
	@$(BENCH) --json $(OUT)/bench/limits.json $(ROWS)
	@$(BENCH) --two --json $(OUT)/bench/two.json $(ROWS)

bench-smoke: $(BENCH) ## opens every row of the benchmark once and checks its answer; a few seconds
	@$(BENCH) --smoke $(ROWS)

bench-peers: ## the same rows beside PyTorch, NumPy, JAX, BLAS libraries, libmvec; COTANGENT_PEERS is where they live
	@scripts/deps.sh
	@$(MAKE) all $(ROWS_SO)
	@OUT=$(OUT)/bench bench/peers/run.sh $(ROWS)

bench-report: ## makes docs/bench.md and its pictures from what bench and bench-peers measured
	@peers=$${COTANGENT_PEERS:-$$HOME/.cache/cotangent-peers}; [ -x "$$peers/venv/bin/python" ] && peers=$$peers/venv; \
	 "$$peers/bin/python" bench/report.py $(OUT)/bench docs

tune: ## measures candidates for the constants of this machine: tiles and blocks
	@scripts/deps.sh
	@$(MAKE) all $(filter $(OUT)/bench/tune_%,$(BENCHES))
	@set -e; for b in $(filter $(OUT)/bench/tune_%,$(BENCHES)); do echo "== $$b"; $$b; done

bench-calls: $(OUT)/bench/calls ## counts the instructions of calls beside their arithmetic, by callgrind
	@bench/count_instructions.sh $(OUT)/bench/calls $(ROWS)

bench-spikes: ## measures again what the contract's constants were decided by
	@scripts/deps.sh
	@$(MAKE) all $(BENCHES)
	@set -e; for b in $(filter $(OUT)/bench/spike_%,$(BENCHES)); do echo "== $$b"; $$b; done

fuzz: ## random chains of views, ops and writes, and random programs; SEED=n and COUNT=n choose which and how many
	@scripts/deps.sh
	@$(MAKE) all $(TESTS)
	@CT_FUZZ_SEED=$${SEED:-$$(date +%s)000} CT_FUZZ_CHAINS=$${COUNT:-200000} CT_FUZZ_PROGRAMS=$${COUNT:-200000} $(TESTS) chains programs

# ---- compiling

# One line in a file that changes only when the flags do: objects depend on it.
stamp = @mkdir -p $(@D); printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' >$@

$(OBJ)/flags: FORCE
	$(call stamp,$(COMPILE) $(foreach i,$(ISA_LEVELS),$(isa.$(i)) $(PIECES)))
$(OUT)/link-flags: FORCE
	$(call stamp,$(LINK) $(LIB_DEP_LIBS) $(CHECK_LIBS) $(OBJ) $(VERSION))
$(OBJ)/lib-list: FORCE
	$(call stamp,$(LIB_OBJ))
$(OBJ)/cli-list: FORCE
	$(call stamp,$(CLI_OBJ))
$(OBJ)/test-list: FORCE
	$(call stamp,$(TEST_OBJ))
$(OBJ)/rows-list: FORCE
	$(call stamp,$(ROWS_OBJ))

deps-present: # says what to type when a library is missing
	$(if $(DEPS_PRESENT),@:,@scripts/deps.sh --check)

# private: else what they depend on would be made with these flags too
$(BASELINE:%.c=$(OBJ)/%.o): private MARCH_OF :=
$(call per_isa,tensor/kernels/kern_map.c): private EXTRA = $(SCHEDULE)
$(TEST_SRC:%.c=$(OBJ)/%.o): private EXTRA = $(CHECK_CFLAGS) -I$(GEN) -Wno-missing-prototypes
$(OBJ)/tests/suite_readme.o: private EXTRA = $(CHECK_CFLAGS) -Wno-missing-prototypes -DCC_TEXT='"$(CC)"' \
    -DFLAGS_TEXT='"$(preset.$(PRESET))"' -DLIBS_TEXT='"$(LIB_DEP_LIBS)"'
$(OBJ)/tests/main.o: $(GEN)/suite_list.inc

$(OBJ)/%.o: %.c Makefile $(OBJ)/flags | deps-present
	@mkdir -p $(@D)
	$(call say,CC,$<) $(COMPILE) -c -o $@ $<
$(OBJ)/gen/%.o: $(OBJ)/gen/%.c Makefile $(OBJ)/flags | deps-present
	$(call say,CC,$(<F)) $(COMPILE) -c -o $@ $<

define isa_rules
$(OBJ)/%.$(1).o: %.c Makefile $(OBJ)/flags | deps-present
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1))) $$(COMPILE) $(if $(filter release,$(PRESET)),-O3) $(isa.$(1)) $(PIECES) -c -o $$@ $$<
endef
$(foreach i,$(ISA_LEVELS),$(eval $(call isa_rules,$(i))))

# ---- generated sources

$(GEN)/digits_data.c: data/digits.csv scripts/embed.sh
	@mkdir -p $(@D)
	$(call say,GEN,$(@F)) scripts/embed.sh digits_csv $< >$@

$(GEN)/suite_list.inc: $(OBJ)/test-list scripts/suite-list.sh
	@mkdir -p $(@D)
	$(call say,GEN,$(@F)) scripts/suite-list.sh $(TEST_SRC) >$@

# ---- linking

$(STATIC): $(LIB_OBJ) $(OBJ)/lib-list $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,AR,$@) rm -f $@.tmp && $(AR) rcsD $@.tmp $(LIB_OBJ) && mv $@.tmp $@

$(SHARED): $(LIB_OBJ) $(OBJ)/lib-list $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,LD,$@) $(LINK) -shared -Wl,-soname,libcotangent.so.$(SOMAJOR) $(NO_UNDEFINED) \
	  -o $@ $(LIB_OBJ) $(LIB_DEP_LIBS) && \
	  ln -sf $(@F) $(@D)/libcotangent.so.$(SOMAJOR) && ln -sf $(@F) $(@D)/libcotangent.so
# A sanitizer's symbols come from the program that loads the library.
NO_UNDEFINED := $(if $(filter asan tsan,$(PRESET)),,-Wl$(comma)-z$(comma)defs)

$(COMMAND): $(CLI_OBJ) $(STATIC) $(OBJ)/cli-list $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,LD,$@) $(LINK) -o $@ $(CLI_OBJ) $(STATIC) $(LIB_DEP_LIBS)

$(TESTS): $(TEST_OBJ) $(STATIC) $(OBJ)/test-list $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,LD,$@) $(LINK) -o $@ $(TEST_OBJ) $(STATIC) $(LIB_DEP_LIBS) $(CHECK_LIBS)

# Only the table: it must build while the generated headers are still old.
$(PRINTER): $(OBJ)/docs/print_ops.o $(OBJ)/tensor/op_table.o $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,LD,$@) $(LINK) -o $@ $(filter %.o,$^)

$(OUT)/examples/%: $(OBJ)/examples/%.o $(STATIC) $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,LD,$@) $(LINK) -o $@ $< $(STATIC) $(LIB_DEP_LIBS)
$(OUT)/bench/spike_vmath: $(call per_isa,tests/vmath_probe.c)
$(OUT)/bench/%: $(OBJ)/bench/%.o $(STATIC) $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,LD,$@) $(LINK) -o $@ $(filter %.o,$^) $(STATIC) $(LIB_DEP_LIBS)

$(BENCH): $(OBJ)/bench/bench.o $(ROWS_OBJ) $(STATIC) $(OBJ)/rows-list $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,LD,$@) $(LINK) -o $@ $(filter %.o,$^) $(STATIC) $(LIB_DEP_LIBS)
$(ROWS_SO): $(OBJ)/bench/shared.o $(ROWS_OBJ) $(STATIC) $(OBJ)/rows-list $(OUT)/link-flags
	@mkdir -p $(@D)
	$(call say,LD,$@) $(LINK) -shared -Wl$(comma)--exclude-libs$(comma)ALL -o $@ $(filter %.o,$^) $(STATIC) $(LIB_DEP_LIBS)

# ---- checks of the source

layers: ## checks that no folder includes what its layer may not know
	@scripts/layers.sh

headers: ## compiles each public header alone, as C17 and as C++17
	@scripts/headers.sh '$(CC)' '$(CXX)' $(PUBLIC_H)

syms: $(SHARED) ## checks that the shared library exports the public interface and nothing else
	@scripts/symbols.sh $(SHARED) '$(CC)'

ops: $(PRINTER) ## rewrites the headers and docs/ops.md that follow from tensor/ops.def
	@scripts/write-ops.sh $(PRINTER)

docs: ## the reference by Doxygen, in build/docs
	@command -v doxygen >/dev/null || { echo 'doxygen is not installed: apt-get install doxygen'; exit 1; }
	@mkdir -p build/docs
	@(cat docs/Doxyfile; echo 'PROJECT_NUMBER = $(VERSION)') | doxygen -
	@echo 'build/docs/html/index.html'

FORMATTED = $(filter-out %.inc,$(wildcard $(foreach d,$(LIB_DIRS) tensor/kernels optim/kernels cli tests examples bench docs,$(d)/*.[ch])))
format: ## clang-format over the C sources (the op table keeps its columns)
	@clang-format -i $(FORMATTED)

tidy: ## clang-tidy with the short list of .clang-tidy
	@clang-tidy --quiet $(LIB_SRC) $(CLI_SRC) -- -std=c17 -D_GNU_SOURCE -I. $(MARCH)

# ---- install

install: all ## installs into DESTDIR and PREFIX
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCDIR)
	install -m 755 $(COMMAND) $(DESTDIR)$(BINDIR)/
	install -m 644 $(STATIC) $(DESTDIR)$(LIBDIR)/
	install -m 755 $(SHARED) $(DESTDIR)$(LIBDIR)/
	ln -sf $(notdir $(SHARED)) $(DESTDIR)$(LIBDIR)/libcotangent.so.$(SOMAJOR)
	ln -sf $(notdir $(SHARED)) $(DESTDIR)$(LIBDIR)/libcotangent.so
	@set -e; for h in $(PUBLIC_H) tensor/ops.def; do \
	  install -D -m 644 $$h $(DESTDIR)$(INCDIR)/$$h; done
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCDIR@|$(INCDIR)|; s|@VERSION@|$(VERSION)|' \
	  -e 's|@PKGS@|$(LIB_PKGS)|' scripts/cotangent.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/cotangent.pc

uninstall: ## removes what install put there
	rm -f $(DESTDIR)$(BINDIR)/cotangent $(DESTDIR)$(LIBDIR)/libcotangent.* \
	  $(DESTDIR)$(LIBDIR)/pkgconfig/cotangent.pc
	rm -rf $(DESTDIR)$(INCDIR)

clean: ## removes build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

FORCE:
.PHONY: all run test check test-all asan tsan cov bench bench-smoke bench-calls bench-peers bench-report bench-spikes tune layers headers syms ops docs format tidy \
        install uninstall clean help deps-present FORCE
.SECONDARY: $(ALL_OBJ)

-include $(ALL_OBJ:.o=.d) $(OBJ)/docs/print_ops.d
