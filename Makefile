# einc: `make` builds, `make test` and `make demo` install what is missing first. See README.md.
BUILD ?= build
PREFIX ?= /usr/local
CC ?= cc
CFLAGS ?= -O2 -g
WARNINGS = -std=c11 -Wall -Wextra -Wpedantic -Werror
DEFINES = -D_GNU_SOURCE -DEINC_BUILDING
INCLUDES = -Icompiler -Iruntime -I$(BUILD)
ALL_CFLAGS = $(CFLAGS) $(WARNINGS) $(DEFINES) $(INCLUDES) -fPIC -fvisibility=hidden -MMD -MP
LIBS = -lm -ldl -lpthread

# The library's snippets, each file after those that it uses; then the skeletons.
LIBRARY = types mask words integer arith convert real half memory real_exp real_log real_trig real_erf fold complex \
	  complex_exp size state
SKELETONS = kernel.c host.h main.c

COMPILER = $(patsubst compiler/%.c,$(BUILD)/compiler/%.o,$(wildcard compiler/*.c)) \
	   $(BUILD)/parse.o $(BUILD)/lex.o $(BUILD)/embedded.o
RUNTIME = $(patsubst runtime/%.c,$(BUILD)/runtime/%.o,$(wildcard runtime/*.c))
CLI = $(patsubst cli/%.c,$(BUILD)/cli/%.o,$(wildcard cli/*.c))

all: $(BUILD)/libeinc.a $(BUILD)/einc

$(BUILD)/libeinc.a: $(COMPILER) $(RUNTIME)
	rm -f $@
	ar rcs $@ $^

$(BUILD)/einc: $(CLI) $(BUILD)/libeinc.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c | $(BUILD)/parse.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# What bison, flex and the embedding make.
$(BUILD)/%.o: $(BUILD)/%.c
	$(CC) $(ALL_CFLAGS) -Wno-overlength-strings -c -o $@ $<

$(BUILD)/parse.c $(BUILD)/parse.h &: compiler/parse.y
	@mkdir -p $(@D)
	bison -Wall -Werror -d -o $(BUILD)/parse.c $<

$(BUILD)/lex.c $(BUILD)/lex.h &: compiler/lex.l
	@mkdir -p $(@D)
	flex -o $(BUILD)/lex.c --header-file=$(BUILD)/lex.h $<

$(BUILD)/parse.o: $(BUILD)/lex.h
$(BUILD)/lex.o: $(BUILD)/parse.h

# Templates as strings: compiler/library.h.
$(BUILD)/embedded.c: $(LIBRARY:%=templates/%.c) $(SKELETONS:%=templates/%) Makefile
	@mkdir -p $(@D)
	( echo '#include "library.h"'; echo 'const EmbeddedFile embedded_files[] = {'; \
	  for f in $(LIBRARY:%=%.c) $(SKELETONS); do \
	    case " $(SKELETONS) " in *" $$f "*) library=false;; *) library=true;; esac; \
	    echo "{ \"$$f\","; sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' templates/$$f; echo ", $$library },"; \
	  done; echo '{ 0 } };' ) > $@

clean:
	rm -rf $(BUILD)

.PHONY: all clean
.DELETE_ON_ERROR:
-include $(wildcard $(BUILD)/*.d $(BUILD)/*/*.d)
