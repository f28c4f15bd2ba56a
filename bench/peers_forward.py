"""How peers do the rows that are neither MaxSim nor a contraction: attention, log space, tropical algebra, distances, cross
entropy, convolution. For each peer a table from the first word of a row's name to a generator as in peers_ways.py."""
import functools

BLOCK = 1 << 20    # bytes of what is made of some rows at once, so that it stays in L2


def to_torch(array):
    """bf16 is two bytes to numpy."""
    import torch
    if array.dtype.kind == "V":
        return torch.from_numpy(array.view("i2")).view(torch.bfloat16)
    return torch.from_numpy(array)


def operands_of(p):
    return [to_torch(x) for x in p.operands]


def in_blocks(rows, row_bytes, one):
    """Results of some rows after the others, as many as fit into BLOCK, and eight times as many."""
    import torch
    for size in sorted({max(1, BLOCK // row_bytes), max(1, 8 * BLOCK // row_bytes)}):
        def call(size=size):
            return torch.cat([one(slice(at, at + size)) for at in range(0, rows, size)])
        yield f"blocks of {size} rows", call


# ---- torch

def attention(p):
    import torch
    q, k, v = operands_of(p)
    causal, scale = "causal" in p.name, q.shape[-1] ** -0.5
    call = functools.partial(torch.nn.functional.scaled_dot_product_attention, q, k, v, is_causal=causal, scale=scale)
    yield "scaled_dot_product_attention", call


def over_sums(reduce, p):
    """reduce(A[i,k] + B[k,j]) over k, in blocks, and compiled as a whole."""
    import torch
    a, b = operands_of(p)
    if a.ndim == 2:
        yield from in_blocks(len(a), 4 * b.numel(), lambda some: reduce(a[some, :, None] + b, 1))
    else:
        yield from in_blocks(len(a), 4 * b[0].numel() * a.shape[1], lambda some: reduce(a[some, :, :, None] + b[some, None], 2))
    compiled = torch.compile(lambda a, b: reduce(a[..., :, None] + b[..., None, :, :], -2))
    yield "torch.compile", lambda: compiled(a, b)


def log_product(p):
    import torch
    yield from over_sums(torch.logsumexp, p)


def max_plus(p):
    import torch
    yield from over_sums(torch.amax, p)


def min_plus(p):
    import torch
    yield from over_sums(torch.amin, p)


def nearest(p):
    import torch
    a, b = operands_of(p)
    a2, b2, ten = (a * a).sum(1), (b * b).sum(1), "bottomk" in p.name

    def some_rows(some):
        distance = torch.addmm(a2[some, None] + b2, a[some], b.T, alpha=-2)
        return distance.topk(10, largest=False).values if ten else distance.amin(1)
    yield from in_blocks(len(a), 4 * len(b), some_rows)
    if not ten:
        yield "cdist", lambda: torch.cdist(a, b).amin(1) ** 2


def search(p):
    import torch
    a, b = operands_of(p)
    best = p.result.shape[1]
    yield "topk", lambda: (a @ b.T).topk(best).values


def gaussian(p):
    import torch
    a, b, v = operands_of(p)
    yield from in_blocks(len(a), 4 * len(b), lambda some: torch.cdist(a[some], b).square_().mul_(-0.5).exp_() @ v)


def cross_entropy(p):
    import torch
    x, w, y = operands_of(p)
    yield "cross_entropy", lambda: torch.nn.functional.cross_entropy(x @ w.T, y, reduction="none")
    yield "logsumexp", lambda: torch.logsumexp(x @ w.T, 1) - (x * w[y]).sum(1)


def convolution(p):
    import torch
    x, k = operands_of(p)
    yield "conv2d", lambda: torch.nn.functional.conv2d(x, k, padding=1)


TORCH = {"attention": attention, "log": log_product, "max": max_plus, "min": min_plus, "nearest": nearest, "search": search, "gaussian": gaussian,
         "cross": cross_entropy, "convolution": convolution}


# ---- the others

def keops_gaussian(p):
    from pykeops.torch import LazyTensor
    a, b, v = operands_of(p)

    def call():
        square = ((LazyTensor(a[:, None, :]) - LazyTensor(b[None, :, :])) ** 2).sum(-1)
        return (-0.5 * square).exp() @ v
    yield "LazyTensor", call


def faiss_nearest(p):
    import faiss
    a, b = p.operands
    ten = "bottomk" in p.name
    faiss.omp_set_num_threads(1)
    yield "knn", lambda: faiss.knn(a, b, 10 if ten else 1)[0].reshape(p.result.shape)


def faiss_search(p):
    import faiss
    a, b = p.operands
    faiss.omp_set_num_threads(1)
    yield "knn", lambda: faiss.knn(a, b, p.result.shape[1], metric=faiss.METRIC_INNER_PRODUCT)[0]


KEOPS = {"gaussian": keops_gaussian}
FAISS = {"nearest": faiss_nearest, "search": faiss_search}


def forward_ways(table, p):
    ways = table.get(p.name.split("-")[0])
    return ways(p) if ways else ()
