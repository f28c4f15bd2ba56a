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
FRONT = arena text diag ast ast_dump dtype ops check check_name check_index check_type check_extent program program_dump \
	program_equal program_print extents
OBJECTS = $(FRONT:%=$(OWN)/%.o) $(OWN)/parse.o $(OWN)/lex.o

$(OWN)/fuzz_front: tests/fuzz_front.c $(OBJECTS)
	$(CC) $(FLAGS) $(LINK) -o $@ $^ -lm

$(OWN)/%.o: compiler/%.c $(wildcard compiler/*.h)
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -c -o $@ $<

$(OWN)/%.o: $(BUILD)/%.c $(wildcard compiler/*.h)
	@mkdir -p $(@D)
	$(CC) $(FLAGS) -c -o $@ $<
