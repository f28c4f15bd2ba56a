# The front end with sanitizers, and its fuzzer: make -f tests/fuzz_front.make BUILD=build CC=clang FUZZER=libfuzzer
# FUZZER is libfuzzer (clang alone has it) or standalone. The objects are this file's own.
BUILD ?= build
CC ?= cc
FUZZER ?= standalone
OWN = $(BUILD)/fuzz-$(FUZZER)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ifeq ($(FUZZER),libfuzzer)
COVER = -fsanitize=fuzzer-no-link
LINK = -fsanitize=fuzzer
else
LINK = -DSTANDALONE
endif
FLAGS = -std=c11 -O1 -g -D_GNU_SOURCE -Icompiler -I$(BUILD) $(SANITIZE) $(COVER)
FRONT = $(wildcard compiler/ast*.c compiler/check*.c compiler/program*.c compiler/parse_hint.c) \
	$(patsubst %,compiler/%.c,arena text diag dtype ops extents)
OBJECTS = $(FRONT:compiler/%.c=$(OWN)/%.o) $(OWN)/parse.o $(OWN)/lex.o

$(OWN)/fuzz_front: tests/fuzz_front.c $(OBJECTS)
	$(CC) $(FLAGS) $(LINK) -o $@ $^ -lm

$(BUILD)/parse.c $(BUILD)/lex.c: compiler/parse.y compiler/lex.l
	$(MAKE) -f Makefile BUILD=$(BUILD) $@

$(OWN)/parse.o: $(BUILD)/lex.c
$(OWN)/lex.o: $(BUILD)/parse.c

$(OWN)/%.o: compiler/%.c $(wildcard compiler/*.h)
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -c -o $@ $<

$(OWN)/%.o: $(BUILD)/%.c $(wildcard compiler/*.h)
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -c -o $@ $<
