# What tests of kernels for CUDA compile them with, where this machine lacks it; no GPU is needed.
cuda-tools: | $(BUILD)/flags
	@BUILD='$(BUILD)' python3 tests/cuda_tools.py --install

TEST_NEEDS += cuda-tools
.PHONY: cuda-tools
