# The examples in C, each from its folder's main.c, example.h and einc.h: build/examples/NAME.
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

# make example-NAME builds and runs one.
$(EXAMPLES:%=example-%) example-embed: example-%: $(BUILD)/examples/%
	@$<

# One for a GPU, likewise: it needs the CUDA toolkit.
example-cuda:
	@mkdir -p $(BUILD)/examples
	@$(MAKE) --no-print-directory -C examples/cuda OUT=$(abspath $(BUILD)/examples) run

example-convolution example-nearest: example-%: $(BUILD)/einc
	@EINC=$< examples/$*/$*.sh

TEST_NEEDS += examples

.PHONY: examples example-cuda example-embed example-convolution example-nearest $(EXAMPLES:%=example-%)
