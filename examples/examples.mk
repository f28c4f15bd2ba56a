# The examples in C, each from its folder's main.c and einc.h alone: build/examples/NAME.
EXAMPLES = api chain demo gradient heads

examples: $(EXAMPLES:%=$(BUILD)/examples/%) $(BUILD)/examples/embed

$(EXAMPLES:%=$(BUILD)/examples/%): $(BUILD)/examples/%: examples/%/main.c examples/example.h runtime/einc.h \
				     $(BUILD)/libeinc.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(WARNINGS) -D_GNU_SOURCE -Iruntime -o $@ $< $(BUILD)/libeinc.a $(LIBS)

# A project of its own, with its own Makefile.
$(BUILD)/examples/embed: $(wildcard examples/embed/*)
	@mkdir -p $(@D)
	$(MAKE) -C examples/embed OUT=$(abspath $(@D)) CC='$(CC)' CFLAGS='$(CFLAGS)'

TEST_NEEDS += examples

.PHONY: examples
