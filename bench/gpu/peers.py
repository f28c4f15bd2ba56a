#!/usr/bin/env python3
"""What PyTorch takes for rows of bench/gpu/rows.c, on the first GPU, as rows of a table for docs/gpu-results.md.

    python3 bench/gpu/peers.py

Each is timed by the device's events, many calls at a time, like the rows themselves; the best of some times counts."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

TIMES, LEAST = 7, 0.02                # measurements, and seconds of each


def seconds_of(calls, work):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(calls):
        work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / calls


def measure(work):
    work()
    calls = max(1, int(LEAST / seconds_of(2, work)))
    return min(seconds_of(calls, work) for _ in range(TIMES))


def numbers(*shape, dtype=torch.bfloat16):
    return (torch.rand(shape, device='cuda') - 0.5).to(dtype)


def attention(backend):
    q, k, v = (numbers(1, 16, 16384, 128) for _ in range(3))

    def work():
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v)
    return work


def maxsim(queries, tokens, documents, length, dtype=torch.bfloat16):
    """The scores of a query and all tokens are stored, and read again."""
    q, d = numbers(queries, tokens, 128, dtype=dtype), numbers(documents * length, 128, dtype=dtype)

    def work():
        scores = q.view(-1, 128) @ d.T
        return scores.view(queries, tokens, documents, length).amax(-1).sum(1)
    return work


def product(n, dtype):
    a, b = numbers(n, n, dtype=dtype), numbers(n, n, dtype=dtype)
    return lambda: a @ b


ROWS = [
    ('rerank', 'product, amax, sum', 2 * 1024 * 1000 * 1024 * 128, lambda: maxsim(1, 1024, 1000, 1024)),
    ('batch', 'product, amax, sum', 2 * 128 * 32 * 128 * 300 * 128, lambda: maxsim(128, 32, 128, 300)),
    ('batch-f32', 'product, amax, sum', 2 * 128 * 32 * 128 * 300 * 128, lambda: maxsim(128, 32, 128, 300, torch.float32)),
    ('product-bf16-8192', 'matmul', 2 * 8192 ** 3, lambda: product(8192, torch.bfloat16)),
    ('product-f32-4096', 'matmul', 2 * 4096 ** 3, lambda: product(4096, torch.float32)),
    ('attention', 'scaled_dot_product_attention, cuDNN', 4 * 16 * 16384 ** 2 * 128, lambda: attention(SDPBackend.CUDNN_ATTENTION)),
    ('attention', 'the same, FlashAttention', 4 * 16 * 16384 ** 2 * 128, lambda: attention(SDPBackend.FLASH_ATTENTION)),
]


def main():
    print('PyTorch %s, %s' % (torch.__version__, torch.cuda.get_device_name()))
    for name, how, flops, make in ROWS:
        seconds = measure(make())
        print('| %s | %s | %.3f ms | %.1f TFLOP/s |' % (name, how, 1e3 * seconds, flops / seconds / 1e12), flush=True)
        torch.cuda.empty_cache()


if __name__ == '__main__':
    main()
