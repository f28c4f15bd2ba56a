# The fuzzer's runner: kernels against the evaluator. -rdynamic, so that kernels find its malloc() and mmap().
$(BUILD)/tests/kernel_main: tests/kernel_main.c $(BUILD)/libeinc.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -rdynamic $(LDFLAGS) -o $@ $^ $(LIBS)
