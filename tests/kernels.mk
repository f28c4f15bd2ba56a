# The fuzzer's runner has a malloc() and an mmap() of its own, which the kernels must find.
$(BUILD)/tests/kernel_main: private LDFLAGS += -rdynamic
$(BUILD)/tests/kernel_main: $(BUILD)/tests/kernel_job.o
