# einc. `make` builds, `make demo` and `make test` install what is missing first: see README.md.
#
#   make                      the command and the library, in build/
#   make demo                 answers questions over the token embeddings in examples/data
#   make test [ONLY='a b']    all tests, or those whose names contain one of the words
#   make gpu                  what needs an NVIDIA GPU: tests and benchmarks there, into docs/gpu-results.md
#   make install [PREFIX=/usr/local] [DESTDIR=]        and make uninstall
#   make DEBUG=1 …            without optimisation (build-debug/)
#   make SANITIZE=1 …         with the address and undefined-behaviour sanitizers (build-sanitize/)
#   make CC=clang CFLAGS=…    builds anew when they changed
BUILD ?= build$(if $(DEBUG),-debug)$(if $(SANITIZE),-sanitize)
PREFIX ?= /usr/local
CC ?= cc
CFLAGS ?= $(if $(DEBUG),-O0,-O2) -g
SANITIZERS = $(if $(SANITIZE),-fsanitize=address$(,)undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
WARNINGS = -std=c11 -Wall -Wextra -Wpedantic -Werror
DEFINES = -D_GNU_SOURCE -DEINC_BUILDING
INCLUDES = -Icompiler -Iruntime -I$(BUILD)
ALL_CFLAGS = $(CFLAGS) $(SANITIZERS) $(WARNINGS) $(DEFINES) $(INCLUDES) -fPIC -fvisibility=hidden -MMD -MP
ALL_LDFLAGS = $(CFLAGS) $(SANITIZERS) $(LDFLAGS)
LIBS = -lm -ldl -lpthread
VERSION := $(shell sed -n 's/^\#define EINC_VERSION "\(.*\)"/\1/p' runtime/einc.h)
ABI := $(shell sed -n 's/^\#define EINC_ABI \([0-9]*\).*/\1/p' runtime/einc.h)
, := ,

# The library's snippets, each file after those that it uses; then the skeletons.
LIBRARY = $(addsuffix .c,types mask words stream coming pages integer arith minmax extremes convert real real_round half memory gather real_exp real_hyper real_log \
	  real_trig real_erf real_pow fold fold_some turn complex complex_exp size asked following bundle state place dot pairs pieces tiles) cuda/team.cu cuda/copy.cu cuda/mma.cu \
	  cuda/tma.cu cuda/wgmma.cu cuda/maps.cu
SKELETONS = kernel.c rank.c rank_few.c rank_on.c rank_merge.c contract.c contract_vectors.c contract_pairs.c contract_tiles.c contract_waiting.c host.h main.c cuda/macros.cu cuda/functions.cu cuda/kernel.cu \
	    cuda/contract.cu $(patsubst %,cuda/contract_%.cu,threads places plain brief squares mma narrow double parts again copies lines chunks values whole whole_copies \
	    whole_places whole_lines quick quick_double quick_lines quick_apart) \
	    cuda/fuse.cu $(patsubst %,cuda/fuse_%.cu,mma plain odd) cuda/hopper.cu cuda/hopper_fuse.cu cuda/peaks.cu

COMPILER = $(patsubst compiler/%.c,$(BUILD)/compiler/%.o,$(wildcard compiler/*.c)) \
	   $(BUILD)/parse.o $(BUILD)/lex.o $(BUILD)/embedded.o
RUNTIME = $(patsubst runtime/%.c,$(BUILD)/runtime/%.o,$(wildcard runtime/*.c)) $(BUILD)/identity.o
CLI = $(patsubst cli/%.c,$(BUILD)/cli/%.o,$(wildcard cli/*.c))

all: $(BUILD)/libeinc.a $(BUILD)/einc

# With all symbols, for the command and the tests; what is installed exports einc_* only.
$(BUILD)/libeinc.a: $(COMPILER) $(RUNTIME) $(BUILD)/objects
	rm -f $@
	ar rcs $@ $(COMPILER) $(RUNTIME)

$(BUILD)/einc: $(CLI) $(BUILD)/libeinc.a $(BUILD)/objects
	$(CC) $(ALL_LDFLAGS) -o $@ $(CLI) $(BUILD)/libeinc.a $(LIBS)

$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/parse.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# What bison, flex and the embedding make.
$(BUILD)/%.o: $(BUILD)/%.c $(BUILD)/flags
	$(CC) $(ALL_CFLAGS) -Wno-overlength-strings -Wno-misleading-indentation -c -o $@ $<

$(BUILD)/parse.c $(BUILD)/parse.h &: compiler/parse.y | $(BUILD)/flags
	bison -Wall -Werror -d -o $(BUILD)/parse.c $<

$(BUILD)/lex.c $(BUILD)/lex.h &: compiler/lex.l | $(BUILD)/flags
	flex -o $(BUILD)/lex.c --header-file=$(BUILD)/lex.h $<

$(BUILD)/parse.o: $(BUILD)/lex.h
$(BUILD)/lex.o: $(BUILD)/parse.h

# Templates as strings: compiler/library.h.
$(BUILD)/embedded.c: $(LIBRARY:%=templates/%) $(SKELETONS:%=templates/%) Makefile | $(BUILD)/flags
	( echo '#include "library.h"'; echo 'const EmbeddedFile embedded_files[] = {'; \
	  for f in $(LIBRARY) $(SKELETONS); do \
	    case " $(SKELETONS) " in *" $$f "*) library=false;; *) library=true;; esac; \
	    echo "{ \"$$f\","; sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' templates/$$f; echo ", $$library },"; \
	  done; echo '{ 0 } };' ) > $@

# What texts depend on besides what is asked for: runtime/request.c.
$(BUILD)/identity.c: $(COMPILER)
	echo "extern const char build_identity[]; const char build_identity[] = \"$$(cat $(COMPILER) | sha256sum | cut -c -64)\";" > $@

# Files that change when what they record does, so that what depends on them is made anew; the first is the first thing
# of a build.
FLAGS := $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)
OBJECTS = $(COMPILER) $(RUNTIME) $(CLI)
quoted = $(subst ','\'',$(1))
unless_recorded = $(if $(subst :$(strip $(2)):,,:$(strip $(file <$(1))):),FORCE)

$(BUILD)/flags: $(call unless_recorded,$(BUILD)/flags,$(FLAGS))
	@scripts/install-deps build --check
	@mkdir -p $(@D)
	@echo '$(call quoted,$(FLAGS))' > $@

$(BUILD)/objects: $(call unless_recorded,$(BUILD)/objects,$(OBJECTS)) | $(BUILD)/flags
	@echo '$(OBJECTS)' > $@

# ---- installation ----

INCLUDEDIR = $(PREFIX)/include
LIBDIR = $(PREFIX)/lib
MANDIR = $(PREFIX)/share/man/man1
COMPLETIONDIR = $(PREFIX)/share/bash-completion/completions
SHARED = libeinc.so.$(ABI)

# One object in which everything but what is marked EINC_API is local.
$(BUILD)/lib/libeinc.a: $(BUILD)/libeinc.a
	@mkdir -p $(@D)
	ld -r -o $(BUILD)/lib/einc.o --whole-archive $<
	objcopy --localize-hidden $(BUILD)/lib/einc.o
	rm -f $@
	ar rcs $@ $(BUILD)/lib/einc.o

$(BUILD)/lib/$(SHARED): $(BUILD)/libeinc.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(SHARED) -Wl,-z,defs -o $@ -Wl,--whole-archive $< -Wl,--no-whole-archive \
	    $(LIBS)

install: $(BUILD)/einc $(BUILD)/lib/libeinc.a $(BUILD)/lib/$(SHARED)
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(INCLUDEDIR)" "$(DESTDIR)$(LIBDIR)/pkgconfig" \
	    "$(DESTDIR)$(MANDIR)" "$(DESTDIR)$(COMPLETIONDIR)"
	install -m 755 $(BUILD)/einc "$(DESTDIR)$(PREFIX)/bin/einc"
	install -m 644 runtime/einc.h "$(DESTDIR)$(INCLUDEDIR)/einc.h"
	install -m 644 $(BUILD)/lib/libeinc.a "$(DESTDIR)$(LIBDIR)/libeinc.a"
	install -m 755 $(BUILD)/lib/$(SHARED) "$(DESTDIR)$(LIBDIR)/$(SHARED)"
	ln -sf $(SHARED) "$(DESTDIR)$(LIBDIR)/libeinc.so"
	sed 's|@PREFIX@|$(PREFIX)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|' \
	    scripts/einc.pc.in > "$(DESTDIR)$(LIBDIR)/pkgconfig/einc.pc"
	install -m 644 docs/einc.1 "$(DESTDIR)$(MANDIR)/einc.1"
	install -m 644 cli/einc.bash "$(DESTDIR)$(COMPLETIONDIR)/einc"
	$(if $(DESTDIR),,-ldconfig 2>/dev/null || true)

uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/einc" "$(DESTDIR)$(INCLUDEDIR)/einc.h" "$(DESTDIR)$(LIBDIR)/libeinc.a" \
	    "$(DESTDIR)$(LIBDIR)/$(SHARED)" "$(DESTDIR)$(LIBDIR)/libeinc.so" "$(DESTDIR)$(LIBDIR)/pkgconfig/einc.pc" \
	    "$(DESTDIR)$(MANDIR)/einc.1" "$(DESTDIR)$(COMPLETIONDIR)/einc"

# ---- tests ----

# tests/test_*.c are programs of cmocka, tests/*_main.c programs that scripts feed, tests/check_* scripts: tests/run says
# what they find in their environment. Files named tests/*.mk add rules, and what they want built to TEST_NEEDS.
UNITS = $(patsubst tests/%.c,%,$(filter-out tests/test_template%,$(wildcard tests/test_*.c)))
HELPERS = $(patsubst tests/%.c,%,$(wildcard tests/*_main.c))
CHECKS = $(notdir $(wildcard tests/check_*.sh tests/check_*.py))

# The templates as they stand, for each vector length and instruction set of compiler/target.c; tests/check_aarch64.sh
# has NEON's. A name's last part is the length and the features: test_template_memory.8-EINC_FMA.
VARIANTS = scalar 2 4 8 16
VARIANTS += $(if $(filter x86_64,$(shell uname -m)),4-EINC_FMA 8-EINC_FMA 16-EINC_FMA 8-EINC_AVX512 16-EINC_AVX512 \
	      16-EINC_AVX512BF16)
TEMPLATES = test_template_memory test_template_numbers test_template_functions test_template_contract test_template_tiles \
	    test_template_rank test_template_extremes
TEMPLATE_TESTS = $(foreach v,$(VARIANTS),$(TEMPLATES:%=%.$(v)))
PROGRAMS = $(UNITS) $(TEMPLATE_TESTS)
TEST_NEEDS = $(BUILD)/einc $(PROGRAMS:%=$(BUILD)/tests/%) $(HELPERS:%=$(BUILD)/tests/%)
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))

test:
	@scripts/install-deps test
	@$(MAKE) --no-print-directory -s $(JOBS) test-needs
	@BUILD='$(BUILD)' CC='$(CC)' tests/run $(PROGRAMS) $(CHECKS) $(if $(ONLY),--only $(ONLY))

demo:
	@scripts/install-deps demo
	@$(MAKE) --no-print-directory -s $(JOBS) all $(BUILD)/examples/demo
	@$(BUILD)/examples/demo

$(BUILD)/tests/%: tests/%.c $(BUILD)/libeinc.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MF $@.d -MT $@ -Itests $(LDFLAGS) -o $@ $< $(filter %.o,$^) $(BUILD)/libeinc.a \
	    $(if $(findstring tests/test_,$<),-lcmocka) $(LIBS)

# Variants of instructions that are not here do not run: less time is spent on their optimisation.
HAS_AVX512 := $(shell grep -qw avx512f /proc/cpuinfo 2>/dev/null && echo yes)
variant_level = $(if $(DEBUG),,-g1) $(if $(findstring AVX512,$(1)),$(if $(HAS_AVX512),,-O1))
variant_flags = $(if $(filter scalar,$(1)),-DEINC_SCALAR,-DLANES=$(firstword $(subst -, ,$(1))) \
		$(patsubst %,-D%,$(word 2,$(subst -, ,$(1)))))
define template_test
$(BUILD)/tests/$(1).$(2): tests/$(1).c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) -MF $$@.d -MT $$@ -Wno-psabi $$(call variant_level,$(2)) $$(call variant_flags,$(2)) \
	    -o $$@ $$< -lcmocka -lm
endef
$(foreach v,$(VARIANTS),$(foreach t,$(TEMPLATES),$(eval $(call template_test,$(t),$(v)))))

clean:
	rm -rf $(BUILD)

FORCE:
.PHONY: all install uninstall test test-needs demo clean FORCE
.DELETE_ON_ERROR:
-include $(wildcard $(BUILD)/*.d $(BUILD)/*/*.d)
include $(wildcard tests/*.mk examples/examples.mk bench/bench.mk)
test-needs: $(TEST_NEEDS)
