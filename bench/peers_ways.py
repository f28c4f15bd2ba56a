"""How each peer does the work of a row: for each a generator of (label, function) after its preparations. The function
is what is timed, and gives the result."""
import numpy

import peers_forward
from peers_forward import forward_ways, to_torch

BLOCK = 1 << 20    # bytes of a product that stays in L2


class Problem:
    """The operands of a row as numpy has them, bf16 as two bytes, and what is to be done with them."""

    def __init__(self, row, operands, result):
        self.name, self.expression, self.operands, self.result = row["name"], row["expression"], operands, result
        self.bf16 = operands[0].dtype.kind == "V"
        self.stored = self.dtype = "bf16" if self.bf16 else operands[0].dtype.str[1:]
        if self.dtype == "f2":    # few multiply it: f32 made before is their best
            self.dtype = "f4"
            self.operands = operands = [x.astype("f4") if x.dtype.kind == "f" else x for x in operands]
        if self.name.split("-")[0] in peers_forward.TORCH:
            self.kind = "forward"
        elif "max n" in self.expression:
            self.kind = "maxsim"
            self.query = operands[0].reshape((-1,) + operands[0].shape[-2:])       # i, j, k
            self.documents = operands[1]
            self.lengths = operands[2] if len(operands) > 2 else None
        elif self.expression == "ik,kj->ij:bf16" or self.expression == "ik,kj->ij":
            self.kind = "matrix"
        else:
            self.kind = "einsum"

    def scores(self, best):
        """The sum over query tokens of best[i j, m], in the result's shape."""
        i, j, _ = self.query.shape
        return best.reshape(i, j, -1).sum(1).reshape(self.result.shape)

    def rows(self):
        return self.query.reshape(-1, self.query.shape[-1])

    def block(self):
        """How many documents give a product of about BLOCK bytes."""
        return max(1, min(len(self.documents), BLOCK // (4 * self.documents.shape[1] * len(self.rows()))))


# ---- numpy

def numpy_ways(p):
    if p.dtype not in ("f4", "f8"):
        return
    if p.kind == "matrix":
        out = numpy.zeros_like(p.result)
        yield "matmul", lambda: numpy.matmul(*p.operands, out=out)
    elif p.kind == "einsum":
        out = numpy.zeros_like(p.result)
        if p.expression == "bij,bjk->bik":
            yield "matmul", lambda: numpy.matmul(*p.operands, out=out)
        elif p.expression in ("i,i->", "ij,j->i"):
            yield "dot", lambda: numpy.dot(*p.operands)
        elif p.expression == "i,j->ij":
            yield "outer", lambda: numpy.multiply.outer(*p.operands, out=out)
        else:
            yield "einsum(optimize=True)", lambda: numpy.einsum(p.expression, *p.operands, optimize=True, out=out)
    elif p.kind == "maxsim":
        yield from numpy_maxsim(p)


def numpy_maxsim(p):
    rows, count, (m, n, k) = p.rows(), p.block(), p.documents.shape
    if p.lengths is not None:
        part = numpy.empty((n, len(rows)), "f4")
        best = numpy.empty((m, len(rows)), "f4")

        def ragged():
            for at in range(m):
                length = p.lengths[at]
                numpy.matmul(p.documents[at, :length], rows.T, out=part[:length])
                numpy.max(part[:length], axis=0, out=best[at])
            return p.scores(best.T)
        yield "a product a document", ragged
        return
    for size in sorted({count, min(m, 8 * count)}):
        part = numpy.empty((size * n, len(rows)), "f4")
        best = numpy.empty((m, len(rows)), "f4")

        def blocked(size=size, part=part, best=best):
            for at in range(0, m, size):
                block = p.documents[at:at + size]
                product = numpy.matmul(block.reshape(-1, k), rows.T, out=part[:len(block) * n])
                numpy.max(product.reshape(len(block), n, -1), axis=1, out=best[at:at + size])
            return p.scores(best.T)
        yield f"products of {size} documents", blocked


# ---- torch

def torch_ways(p):
    import torch
    operands = [to_torch(x) for x in p.operands]
    linear = torch.ops.mkldnn._linear_pointwise    # oneDNN's product with the second operand transposed
    if p.dtype in ("f4", "bf16") and p.kind == "matrix":
        out = torch.zeros(p.result.shape, dtype=operands[0].dtype)
        right = operands[1].T.contiguous()
        yield "mm (MKL)", lambda: torch.mm(*operands, out=out)
        yield "oneDNN, right side transposed before", lambda: linear(operands[0], right, None, "none", [], "")
    elif p.kind == "einsum" and p.dtype in ("f4", "f8"):
        out = torch.zeros(p.result.shape, dtype=operands[0].dtype)
        plain = {"bij,bjk->bik": lambda: torch.bmm(*operands, out=out), "ij,j->i": lambda: torch.mv(*operands, out=out),
                 "i,i->": lambda: torch.dot(*operands), "i,j->ij": lambda: torch.outer(*operands, out=out)}
        if p.expression in plain:
            yield "its own function", plain[p.expression]
            return
        yield "einsum", lambda: out.copy_(torch.einsum(p.expression, *operands))
        if p.expression == "abc,dec->abde":
            left, right = operands[0].reshape(-1, operands[0].shape[-1]), operands[1].reshape(-1, operands[1].shape[-1])
            yield "oneDNN", lambda: linear(left, right, None, "none", [], "").reshape(p.result.shape)
    elif p.kind == "maxsim" and p.dtype in ("f4", "bf16"):
        yield from torch_maxsim(p, torch, linear)
    elif p.kind == "forward":
        yield from forward_ways(peers_forward.TORCH, p)


def torch_maxsim(p, torch, linear):
    rows, documents, count = to_torch(p.rows()), to_torch(p.documents), p.block()
    m, n, k = documents.shape
    best = torch.empty((m, len(rows)))

    def sums():
        i, j, _ = p.query.shape
        return best.T.reshape(i, j, m).sum(1).reshape(p.result.shape)
    if p.lengths is not None:
        lengths = p.lengths.tolist()

        def ragged():
            for at, length in enumerate(lengths):
                torch.amax(linear(documents[at, :length], rows, None, "none", [], ""), 0, out=best[at])
            return sums()
        yield "oneDNN, a product a document", ragged
        return
    for size in sorted({count, min(m, 8 * count)}):
        part = torch.empty((size * n, len(rows)), dtype=rows.dtype)

        def blocked(size=size, part=part):
            for at in range(0, m, size):
                block = documents[at:at + size]
                product = torch.mm(block.reshape(-1, k), rows.T, out=part[:len(block) * n])
                best[at:at + size] = product.view(len(block), n, -1).amax(1)
            return sums()

        def onednn(size=size):
            for at in range(0, m, size):
                block = documents[at:at + size]
                product = linear(block.reshape(-1, k), rows, None, "none", [], "")
                best[at:at + size] = product.view(len(block), n, -1).amax(1)
            return sums()
        yield f"MKL, products of {size} documents", blocked
        yield f"oneDNN, products of {size} documents", onednn
    if documents.numel() * len(rows) // k < 1 << 28:
        query = to_torch(p.query)
        compiled = torch.compile(lambda q, d: torch.einsum("ijk,mnk->ijmn", q, d).amax(3).sum(1))
        yield "torch.compile", lambda: compiled(query, documents).reshape(p.result.shape)


# ---- the others

def maxsim_cpu_ways(p):
    import maxsim_cpu
    if p.kind != "maxsim" or p.dtype != "f4":
        return
    if p.lengths is None:
        yield "maxsim_scores", lambda: numpy.stack(
            [maxsim_cpu.maxsim_scores(q, p.documents) for q in p.query]).reshape(p.result.shape)
    else:
        documents = [numpy.ascontiguousarray(d[:length]) for d, length in zip(p.documents, p.lengths)]
        yield "maxsim_scores_variable", lambda: numpy.stack(
            [maxsim_cpu.maxsim_scores_variable(q, documents) for q in p.query]).reshape(p.result.shape)


def numkong_ways(p):
    """Its score is the sum of the least 1 - cos: the row's on vectors of length 1, so these are made."""
    import numkong
    import torch
    if p.kind != "maxsim" or p.stored not in ("f4", "f2", "bf16"):
        return

    def unit(array):
        x = to_torch(array).float()
        return x / x.norm(dim=-1, keepdim=True)
    name = {"f4": "f32", "f2": "f16", "bf16": "bf16"}[p.stored]
    kind = {"f4": torch.float32, "f2": torch.float16, "bf16": torch.bfloat16}[p.stored]
    query, documents = unit(p.query).to(kind), unit(p.documents).to(kind)
    lengths = [documents.shape[1]] * len(documents) if p.lengths is None else p.lengths.tolist()
    if documents.numel() > 1 << 26:
        raise RuntimeError("not tried on operands that large")

    def pack(x):
        return numkong.maxsim_pack(x.numpy() if name != "bf16" else numkong.from_dlpack(x), dtype=name)
    queries = [pack(q) for q in query]
    packed = [pack(d[:length]) for d, length in zip(documents, lengths)]
    p.result = numpy.stack([[(q.float() @ d[:length].float().T).amax(1).sum() for d, length in zip(documents, lengths)]
                            for q in query]).reshape(p.result.shape)
    j = p.query.shape[1]
    yield "packed before", lambda: (j - numpy.array([[numkong.maxsim_packed(q, d) for d in packed] for q in queries])
                                    ).reshape(p.result.shape)


def pykeops_ways(p):
    if p.kind == "forward":
        yield from forward_ways(peers_forward.KEOPS, p)
    if p.kind != "maxsim" or p.dtype != "f4" or p.lengths is not None:
        return
    if p.documents.size * len(p.rows()) > 4e9:
        raise RuntimeError("not tried, for it would take minutes")
    import torch
    from pykeops.torch import LazyTensor
    rows, documents = to_torch(p.rows()), to_torch(p.documents)

    def scores():
        best = (LazyTensor(rows[None, :, None, :].contiguous()) * LazyTensor(documents[:, None, :, :])).sum(-1).max(2)
        i, j, _ = p.query.shape
        return best.reshape(len(documents), i, j).sum(2).T.reshape(p.result.shape)
    torch.set_grad_enabled(False)
    yield "LazyTensor", scores


def faiss_ways(p):
    if p.kind == "forward":
        yield from forward_ways(peers_forward.FAISS, p)


def products_only(module, call):
    def ways(p):
        if p.kind not in ("matrix", "einsum") or p.dtype not in ("f4", "f8"):
            return
        function = getattr(__import__(module), call)
        options = {"order": "C"} if module == "pytblis" else {}
        yield call, lambda: numpy.ascontiguousarray(function(p.expression, *p.operands, **options))
    return ways


WAYS = {"numpy": numpy_ways, "torch": torch_ways, "maxsim-cpu": maxsim_cpu_ways, "numkong": numkong_ways,
        "pykeops": pykeops_ways, "opt_einsum": products_only("opt_einsum", "contract"),
        "pytblis": products_only("pytblis", "einsum"), "sesum": products_only("sesum", "sesum"), "faiss-cpu": faiss_ways}
