# `make gpu` on a machine with a GPU runs what cannot be known without one, tests and benchmarks, and writes docs/gpu-results.md.
GPU_BENCH = $(patsubst bench/gpu/%.c,$(BUILD)/bench/gpu/%.o,$(wildcard bench/gpu/*.c))

$(BUILD)/bench/gpu/run: $(GPU_BENCH) $(BUILD)/libeinc.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# One with numpy.
GPU_PYTHON = $(or $(firstword $(foreach p,$(PYTHON) python3 /usr/bin/python3,$(shell $(p) -c 'import numpy' 2> /dev/null && echo $(p)))),python3)

gpu: $(BUILD)/einc $(BUILD)/bench/gpu/run $(BUILD)/tests/kernel_main $(BUILD)/tests/cuda_main
	@BUILD='$(BUILD)' EINC='$(abspath $(BUILD)/einc)' $(GPU_PYTHON) tests/gpu.py

TEST_NEEDS += $(BUILD)/bench/gpu/run    # tests/check_gpu.py

.PHONY: gpu
