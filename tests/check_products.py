#!/usr/bin/env python3
"""Tiled products against the reference evaluator: each expression with tiles forced, on arrays of many sizes.

    BUILD=build python3 tests/check_products.py [--seed 1] [--sets 5] [--targets avx512,avx2,portable] [--precision bf16x6] [--only WORD] [--nests swept]

Chains of reductions run with their values in between swept, too, a few points at a time, in tiles and in loops. Products of two
matrices also run as the planner has them, 'cost', with sums longer than what forced tiles take at a time.
Sizes are around the edges of tiles: 0, 1, primes, one more and one less than a tile. Values are normal numbers, some
arrays with NaN, infinities, ties and zeros. Without --targets, they run on the machine's own, on fewer lanes (portable vectors,
AVX2: an eighth of them each), which have other pieces of a line, and on AMX by its model in C, a fourth of those of f32 there,
in parts of bf16, and where the machine has AMX of the others, too, some with weights of bf16 in plain C; every other one with one of the
nests besides tiles. An eighth of the machine's own in tiles are optimised as they are for users. About 300 s.
"""

import argparse
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import numpy as np

import instructions

# An expression; then its operands: their axes, each an index or a position, with a name in front if they have one and a
# dtype behind if it is not f32. 'packed', 'padding' and 'labels' are made by functions of their own.
EXPRESSIONS = [
    ('ik,jk->ij', 'i,k j,k'),
    ('ik,kj->ij', 'i,k k,j'),
    ('ki,kj->ij', 'k,i k,j'),
    ('ki,jk->ij', 'k,i j,k'),
    ('ik,jk->ji', 'i,k j,k'),
    ('bij,bjk->bik', 'b,i,j b,j,k'),
    ('ijk,mnk->ijmn', 'i,j,k m,n,k'),
    ('akb,ck->cba', 'a,k,b c,k'),
    ('akmb,ck->cbma', 'a,k,m,b c,k'),
    ('akmb,ck->bcma', 'a,k,m,b:d c,k:d'),
    ('rkls,kc->srlc', 'r,k,l,s k,c'),
    ('atkls,ctk->slca', 'a,t,k,l,s c,t,k'),
    ('dac,bcd->ba', 'd,a,c b,c,d'),          # each lies along another contracted index
    ('dae,xbed->xba | exp(-_)', 'd,a,e:d x,b,e,d:d'),
    ('edac,bced->ab | max b', 'e,d,a,c b,c,e,d'),
    ('bx,czx->cbz', 'b,x c,z,x'),            # runs of z are no whole lines, and b follows them
    ('akb,ck->cba | exp(-_)', 'a,k,b:d c,k:d'),
    ('akb,ck->cba | max c', 'a,k,b c,k'),
    ('akb,ck->cba | sum c', 'a,k,b:i c,k:i'),
    ('akb,ck->cba | argmax c', 'a,k,b c,k'),
    ('ijk,mnk->ijmn | max n | sum j', 'i,j,k m,n,k'),
    ('rk,mnk->rmn | max n | sum r', 'r,k m,n,k'),      # of few columns: two points at a time
    ('ikl,rkl->ir', 'i,k,l:d r,k,l:d'),
    ('ijk,mnk->ijmn | max j | sum n', 'i,j,k m,n,k'),
    ('ijk,mnk->ijmn | min n | mean j', 'i,j,k m,n,k'),
    ('kij,nmk->ijmn | max n | sum j', 'k,i,j n,m,k'),
    ('ijk,mpnk->ijmpn | max p n | sum j', 'i,j,k m,p,n,k'),
    ('Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j', 'Q=i,j,k D=m,n,k len=m:n'),
    ('Q[i,j,k], D[start[m]+n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j', 'packed'),
    ('ijk,mnk->ijmn | argmax n', 'i,j,k m,n,k'),
    ('ijk,mpnk->ijmpn | max p n & argmax n p', 'i,j,k m,p,n,k'),
    ('ijk,mnk->ijmn | logsumexp n | sum j', 'i,j,k m,n,k'),
    ('(A[i,k] - B[j,k])^2 -> [i,j] | exp(-_) | _ * C[j,one] -> [i,one]', 'A=i,k B=j,k C=j,one'),
    ('ik,jk->ij | var j', 'i,k j,k'),
    ('ik,jk->ij | max ij & mean ij & norm ij', 'i,k j,k'),      # of both sides
    ('bik,bkj->bij | norm bj', 'b,i,k b,k,j'),
    ('A[i,k], B[j,k] -> [i,j] | _ - C[i,j] | _^2 | sum ij', 'A=i,k B=j,k C=i,j'),
    ('A[i,k], B[j,k] -> [i,j] | where(@i != @j, _, -inf) | logsumexp ij', 'A=i,k B=j,k'),
    ('ik,jk->ij | std ij & argmax ij', 'i,k j,k'),
    ('n = A[i,k]^2 -> [i] ; m = B[j,k]^2 -> [j] ; A[i,k], B[j,k] -> [i,j] | n[i] + m[j] - 2 * _ | min j', 'A=i,k B=j,k'),
    ('A[i,k], B[j,k] -> [i,j] | _ * C[k] | max j & sum j', 'A=i,k B=j,k C=k'),      # a contracted index again
    ('ik,jk->ij | * 0.125 | max j', 'i,k j,k'),
    ('ik,jk->ij | exp(-_) | sum j', 'i,k j,k'),
    ('ik,jk->ij | _ + bias[j] | relu', 'i,k j,k bias=j'),
    ('ik,jk->ij | _ + bias[j] | max j', 'i,k j,k bias=j'),
    ('Q[i,k], K[j,k] -> [i,j] | where(@i >= @j, _, -inf) | max j', 'Q=i,k K=j,k'),
    ('Q[i,k], K[j,k] -> [i,j] | where(@i >= @j, _, -inf) | softmax j', 'Q=i,k K=j,k'),
    ('ik,jk->ij | softmax j | * jv -> iv', 'i,k j,k j,v'),
    ('qd,kd->qk | softmax k | _ * 100000 | f16 | _ * kv -> qv', 'q,d k,d k,v'),
    ('qd,kd->qk | softmax k | f64 | _ * kv -> qv', 'q,d k,d k,v'),
    ('bqd,bkd->bqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * bkv -> bqv', 'b,q,d b,k,d b,k,v'),
    ('qd,kd->qk | where(@q >= @k && @q - @k < 9, _, -inf) | softmax k | * kv -> qv', 'q,d k,d k,v'),
    ('qd,kd->qk | where(@q - @k < 5 && @k - @q <= 20, _, -inf) | softmax k | * kv -> qv', 'q,d k,d k,v'),
    ('qd,kd->qk | where(@k + 20 == @q, _, -inf) | softmax k | * kv -> qv', 'q,d k,d k,v'),
    ('qd,kd->qk | where(40 - @k <= @q, _, -inf) | log_softmax k', 'q,d k,d'),
    ('Q[b,q,d], K[b,k,d] -> [b,q,k] | where(@k < len[b], _, -inf) | softmax k | * V[b,k,v] -> [b,q,v]',
     'Q=b,q,d K=b,k,d len=b:k V=b,k,v'),
    ('Q[b,q,d], K[b,k,d] -> [b,q,k] | where(@k < len[b] && @q < rows[b] && @k <= @q, _, -inf) | softmax k | * V[b,k,v] -> [b,q,v]',
     'Q=b,q,d K=b,k,d len=b:k rows=b:q V=b,k,v'),
    ('s = Q[q,d], K[k,d] -> [q,k] | softmax k; m = s[q,k] * V[k,v] -> [q,v]; s[q,k] * V[k,v]^2 -> [q,v] | _ - m[q,v]^2',
     'Q=q,d K=k,d V=k,v'),
    ('Q[q,d], K[k,d] -> [q,k] | where(@k >= low[q] && @k < high[q], _, -inf) | softmax k | * V[k,v] -> [q,v]',
     'Q=q,d K=k,d low=q:k high=q:k V=k,v'),
    ('Q[q,d], K[k,d] -> [q,k] | where(@q >= @k && M[q,k] > 0, _ + s[k], -inf) | softmax k | * V[k,v] -> [q,v]',
     'Q=q,d K=k,d M=q,k s=k V=k,v'),
    ('bcqd,bkd->bcqk | where(@q >= @k, 9 * tanh(_ / 9), -inf) | softmax k | * bkv -> bqcv', 'b,c,q,d b,k,d b,k,v'),
    ('qd,kd->qk | where(@q >= @k, _, -inf) | softmax q | * qv -> kv', 'q,d k,d q,v'),
    ('qd,kd->qk | where(@q <= @k, _, -inf) | logsumexp k', 'q,d k,d'),
    ('qd,kd->qk | where(@q >= @k, _, -inf) | softmax k | * kv -> qv', 'q,d:b k,d:b k,v:b'),
    ('qd,kd->qk | where(@q >= @k, _, -inf) | softmax k | bf16 | _ * kv -> qv', 'q,d:b k,d:b k,v:b'),
    ('bqd,bkd->bqk | _ * 0.125 | softmax k | bf16 | _ * bkv -> bqv', 'b,q,d:b b,k,d:b b,k,v:b'),
    ('bqd,bud->bqu | _ * 0.125 | softmax u | bf16 | _ * buv -> bqv', 'b,q,d:b b,u,d:b b,u,v:b'),
    ('qd,ud->qu | _ * 9 | softmax u | bf16 | _ * uv -> qv:f32', 'q,d:b u,d:b u,v:b'),    # guessed maxima are far off
    ('bqd,bud->bqu | _ * 0.125 | where(@q >= @u, _, -inf) | softmax u | bf16 | _ * buv -> bqv', 'b,q,d:b b,u,d:b b,u,v:b'),
    ('qd,ud->qu | where(@q + 70 >= @u && @u + 9 > @q, _, -inf) | softmax u | bf16 | _ * uv -> qv', 'q,d:b u,d:b u,v:b'),
    ('Q[b,q,d], K[b,u,d] -> [b,q,u] | _ * 3 | where(@u >= low[b] && @u < len[b], _, -inf) | softmax u | bf16 | _ * V[b,u,v] -> [b,q,v]',
     'Q=b,q,d:b K=b,u,d:b low=b:u len=b:u V=b,u,v:b'),
    ('Q[q,d], K[u,d] -> [q,u] | _ * 3 | where(M[q,u] > 0, _, -inf) | softmax u | bf16 | _ * V[u,v] -> [q,v]', 'Q=q,d:b K=u,d:b M=q,u V=u,v:b'),
    ('s = Q[q,d], K[u,d] -> [q,u] | softmax u | bf16; m = s[q,u] | max u; t = s[q,u], V[u,v] -> [q,v]; t[q,v] + m[q]', 'Q=q,d:b K=u,d:b V=u,v:b'),
    ('bqd,bud->bqu | _ * 0.125 | softmax u | * buv -> bqv', 'b,q,d b,u,d b,u,v'),
    ('qd,ud->qu | _ * 9 | softmax u | * uv -> qv', 'q,d u,d u,v'),
    ('qd,ud->qu | _ * 60 | softmax u | * uv -> qv', 'q,d u,d u,v'),
    ('bqd,bud->bqu | _ * 0.125 | where(@q >= @u, _, -inf) | softmax u | * buv -> bqv', 'b,q,d b,u,d b,u,v'),
    ('qd,ud->qu | where(@q + 70 >= @u && @u + 9 > @q, _, -inf) | softmax u | * uv -> qv', 'q,d u,d u,v'),
    ('Q[b,q,d], K[b,u,d] -> [b,q,u] | _ * 3 | where(@u >= low[b] && @u < len[b], _, -inf) | softmax u | * V[b,u,v] -> [b,q,v]',
     'Q=b,q,d K=b,u,d low=b:u len=b:u V=b,u,v'),
    ('bqd,bud->bqu | _ * 3 | where(@q >= @u, _, -inf) | softmax u', 'b,q,d b,u,d'),
    ('qd,ud->qu | softmax u | max u', 'q,d u,d'),
    ('qd,ud->qu | softmax u | * uv -> qv', 'q,d:b u,d:b u,v'),
    ('bf16(sin(A[i,k])) * bf16(B[k,j] / 3) -> [i,j] | max j', 'A=i,k:b B=k,j:b'),
    ('i8(9 * sin(A[i,k])) * B[k,j] -> [i,j] | max j', 'A=i,k:c B=k,j:c'),
    ('qd,kd->qk | where(@q >= @k, f32(_), -inf) | softmax k | * kv -> qv', 'q,d:c k,d:c k,v'),
    ('qd,kd->qk | where(@q >= @k, _, 0)', 'q,d:c k,d:c'),
    ('qd,kd->qk | where(@q < @k || @k + 9 < @q, -inf, _) | softmax k | * kv -> qv', 'q,d k,d k,v'),
    ('Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n >= len[m], -inf, _) | max n | sum j', 'Q=i,j,k D=m,n,k len=m:n'),
    ('A[q,k] | where(@q >= @k, _, -inf) | softmax k | * B[k,v] -> [q,v]', 'A=q,k B=k,v'),
    ('where(@q >= @k, exp(A[q,k]), 0), B[k,v] -> [q,v]', 'A=q,k B=k,v'),
    ('qd,kd->qk | where(@q >= @k, relu(_), 0) | * kv -> qv', 'q,d k,d k,v'),
    ('bqd,bkd->bqk | where(@k <= @q + 3 && @q < @k + 20, 2 * _, -1)', 'b,q,d b,k,d'),
    ('Q[b,q,d], K[b,k,d] -> [b,q,k] | where(@q - @k >= 0 && @k < len[b], exp(_), 0)', 'Q=b,q,d K=b,k,d len=b:k'),
    ('Q[b,q,d], K[b,k,d] -> [b,q,k] | where(@k < len[b] && @k <= @q, _, -inf) | max k', 'Q=b,q,d K=b,k,d len=b:k'),
    ('qd,kd->qk | where(@k <= @q && @q < @k + 20, exp(_ / 4), 0) | sum k', 'q,d k,d'),
    ('qd,kd->qk | where(@k <= @q && @q < @k + 20, _, -inf) | max k & argmax k', 'q,d k,d'),
    ('qd,kd->qk | where(@k <= @q, _, inf) | argmin k', 'q,d k,d'),
    ('(ik - jk)^2 -> ij', 'i,k j,k'),
    ('(ik - jk)^2 -> ij | min j & argmin j', 'i,k j,k'),
    ('abs(ik - jk) -> ij | min j', 'i,k j,k'),
    ('(ik - jk)^2 -> ij | max i', 'i,k:d j,k:d'),
    ('square(ik - jk) -> ij', 'i,k:i j,k:i'),
    ('exp(ik - jk) -> ij', 'i,k j,k'),
    ('(ik - jk)^2 -> ij | sqrt | argmin j', 'i,k:d j,k:d'),
    ('ik,jk->ij | log(abs(_)) | argmax j', 'i,k j,k'),
    ('ik - jk -> ijk | norm k', 'i,k j,k'),
    ('ik - jk -> ijk | norm k | min j & argmin j', 'i,k:d j,k:d'),
    ('ik - jk -> ijk | norm(1) k | exp(-_) | sum j', 'i,k j,k'),
    ('A[i,k] - B[j,k] | where(@k <= @j, _, 0) | norm k', 'A=i,k B=j,k'),
    ('d = A[i,k] - B[j,k]; d[i,k,j] | norm k & norm(1) k', 'A=i,k B=j,k'),
    ('(A[i,k] - B[j,k])^2 + (A[i,k] - B[j,k]) -> [i,j]', 'A=i,k B=j,k'),
    ('abs(A[i,k] - B[j,k]) * (A[i,k] - B[j,k]) -> [i,j]', 'A=i,k B=j,k'),
    ('ik + kj -> ikj | max k', 'i,k k,j'),
    ('ik + kj -> ikj | min k | max j', 'i,k k,j'),
    ('ki + kj -> ikj | min k', 'k,i k,j'),
    ('ik + kj -> ikj | max k & argmax k', 'i,k k,j'),
    ('ki + jk -> ikj | argmin k', 'k,i:d j,k:d'),
    ('ik + kj -> ikj | min k & argmin k', 'i,k:i k,j:i'),
    ('bik * bkj -> bikj | max k & argmax k', 'b,i,k b,k,j'),
    ('abs(ik - jk) -> ijk | argmax k', 'i,k j,k'),
    ('(ik - jk)^2 -> ijk | argmin k & min k', 'i,k:d j,k:d'),
    ('ikm + mkj -> ijkm | argmax k m & max k m', 'i,k,m m,k,j'),
    ('ikm * akmj -> ijakm | argmin m k', 'i,k,m a,k,m,j'),    # places in another order than points lie
    ('A[i,k] + B[k,j] | argmax k | _ * 2 + c[j]', 'A=i,k B=k,j c=j'),
    ('s = A[i,k] + B[k,j]; m = s[i,k,j] | max k; p = s[i,k,j] | argmax k; where(c[j] > 0, m[i,j], -1) * p[i,j]', 'A=i,k B=k,j c=j'),
    ('ik + kj -> ikj | argmax k | max j', 'i,k k,j'),
    ('ik + kj + ij -> ikj | max k & argmax k', 'i,k k,j i,j'),
    ('C[i,j] + A[i,k] + s[j] + B[k,j] + 1 | argmin k', 'C=i,j:d A=i,k:d s=j:d B=k,j:d'),
    ('A[i,k] + B[k,j] + c[j] | where(@j < @i, _, 0) | argmax k', 'A=i,k B=k,j c=j'),
    ('min(A[i,k], B[k,j]) | max k & argmax k', 'A=i,k B=k,j'),
    ('i8(9 * sin(A[i,k])) * B[k,j] -> [i,k,j] | argmax k', 'A=i,k:c B=k,j:c'),
    ('ik + jk -> ikj | max k', 'i,k:d j,k:d'),
    ('ik + kj -> ikj | logsumexp k', 'i,k k,j'),
    ('ik + kj -> ikj | logsumexp k | max j', 'i,k:d k,j:d'),
    ('iu + uj -> iuj | logsumexp u', 'i,u:w u,j:w'),
    ('iu + ju -> iuj | logsumexp u', 'i,u:W j,u:W'),
    ('biu + buj -> biuj | logsumexp u | max j', 'b,i,u:w b,u,j:w'),
    ('iu + uj -> iuj | logsumexp u', 'i,u:W u,j:W'),
    ('iu + uj -> iuj | logsumexp u', 'i,u:F u,j:F'),      # of which exponentials are too small for a power of each
    ('ui + uj -> iuj | logsumexp u', 'u,i:F u,j:w'),
    ('iu + uj -> iuj | logsumexp u', 'i,u:V u,j:V'),
    ('A[i,u] + B[u,j] | logsumexp u | 2 * relu(_) + c[j]', 'A=i,u:w B=u,j:w c=j'),
    ('ik * kj -> ikj | logsumexp k', 'i,k:w k,j'),
    ('s = A[i,k] * B[k,j] | logsumexp k; where(c[i,j] > 0, s[i,j], -1)', 'A=i,k:w B=k,j c=i,j'),
    ('s = A[i,k] * B[k,j] | logsumexp k; where(c[i,j] > 0, 7, s[i,j]) * 2', 'A=i,k:W B=k,j:d c=i,j'),
    ('s = A[i,k] * B[k,j] | logsumexp k; where(c[i] > 0, s[i,j], 3)', 'A=i,k:w B=k,j c=i'),
    ('s = A[i,k] * B[k,j] | logsumexp k; where(@j <= @i, s[i,j], 3)', 'A=i,k:w B=k,j'),
    ('bik + bkj + bij -> bikj | logsumexp k', 'b,i,k b,k,j b,i,j'),
    ('min(A[i,k], B[k,j]) | max k', 'A=i,k B=k,j'),
    ('max(A[i,k], B[k,j]) | min k', 'A=i,k:d B=k,j:d'),
    ('x[b,c,h+r,w+s], k[o,c,r,s] -> [b,o,h,w]', 'x=b,c,h+r,w+s k=o,c,r,s'),
    ('x[b,c,2*h+r,w+s], k[o,c,r,s] -> [b,o,h,w] | max o', 'x=b,c,2*h+r,w+s k=o,c,r,s'),
    ('where(@h+@r >= 1 && @h+@r <= H[], x[c,h+r-1], 0), k[o,c,r] -> [o,h]', 'padding'),
    ('where(@h+@r >= 1 && 2 <= @w+2*@s, x[b,c,h+r-1,w+2*s-2], 7), k[o,c,r,s] -> [b,o,h,w] | relu | _ + e[h,w]',
     'x=b,c,h+r,w+2*s k=o,c,r,s e=h,w'),
    ('where(2*@h > 1-@r && !(@w+@s < 1), x[b,c,2*h+r-1,w+s-1], 0), k[o,c,r,s] -> [b,o,h,w] | _ + e[h,w]',
     'x=b,c,2*h+r,w+s:d k=o,c,r,s:d e=h,w:d'),
    ('x[b,h+2*r,w+s,c], k[r,s,c,o] -> [b,h,w,o] | relu', 'x=b,h+2*r,w+s,c k=r,s,c,o'),
    ('x[b,c,2*h+r,3*w+s], k[o,c,r,s] -> [b,h,w,o]', 'x=b,c,2*h+r,3*w+s k=o,c,r,s'),
    ('x[b,c,2*h+4*r,w+s] * y[w,s], k[o,c,r,s] -> [b,o,h,w]', 'x=b,c,2*h+4*r,w+s y=w,s k=o,c,r,s'),    # w and s by themselves
    ('sin(x[h+r] + @h + @r), k[o,r] -> [o,h]', 'x=h+r:d k=o,r:d'),
    ('out[o,h] += x[m,h+r], k[o,m,r] -> [o,h]', 'x=m,h+r k=o,m,r'),
    ('kz,kj,ki->zij', 'k,z k,j k,i'),          # a side of two factors: as it is packed, either way
    ('zk,jk,ik->jzi', 'z,k j,k i,k'),
    ('kz,jk,ki->zij | max i', 'k,z j,k k,i'),
    ('kz,kj,ki->zij', 'k,z:d k,j:d k,i:d'),
    ('bkz,bkj,ki->bzji', 'b,k,z b,k,j k,i'),
    ('kz,kj,ki,ks->zijs', 'k,z k,j k,i k,s'),
    ('kz + jk + ki -> zijk | max k', 'k,z j,k k,i'),
    ('k,ki,kj->ij', 'k k,i k,j'),
    ('ik,kj,ij->ij', 'i,k k,j i,j'),          # each sum is multiplied where it is made
    ('ik,kj,ij,j->ji', 'i,k:d k,j:d i,j:d j:d'),
    ('abc,dec->abde', 'a,b,c d,e,c'),
    ('abcd,dbe->ace', 'a,b,c,d d,b,e'),
    ('adb,cd->cba', 'a,d,b c,d'),
    ('rabe,ec->rcba', 'r,a,b,e e,c'),
    ('X[r,a,b,e], Y[e,c] -> [r,c,b,a] | relu | _ + bias[a] * @c', 'X=r,a,b,e Y=e,c bias=a'),
    ('bsae,ceds->dcba', 'b,s,a,e c,e,d,s'),
    ('mkra,bcsk->srbcma', 'm,k,r,a b,c,s,k'),
    ('mkra,bcsk->srbcma | max c', 'm,k,r,a b,c,s,k'),
    ('dxg,fg->dfx', 'd,x,g f,g'),
    ('dxg,phg->hdpx', 'd,x,g:d p,h,g:d'),
    ('dxg,fg->dfx', 'd,x,g:i f,g:i'),
    ('ik,yk->iy', 'i,k y,k'),
    ('ik,yk->iy', 'i,k:d y,k:d'),
    ('dyg,fg->dfy', 'd,y,g f,g'),
    ('acb,bcd->ad | sum a', 'a,c,b b,c,d'),
    ('i,j->ij', 'i j'),
    ('dW[v,h] += G[c,v], X[c,h]', 'G=c,v X=c,h'),
    ('ik,kj->ij', 'i,k:z k,j:z'),
    ('ik,jk->ij', 'i,k:Z j,k:Z'),
    ('ki,kj->ji', 'k,i:z k,j:z'),
    ('conj(ik) * jk -> ij', 'i,k:Z j,k:Z'),
    ('conj(ik) * conj(kj) -> ij', 'i,k:z k,j:z'),
    ('ik,kj->ij', 'i,k k,j:z'),
    ('conj(ik) * kj -> ij', 'i,k:z k,j'),
    ('bij,bjk->bik | abs | sum b', 'b,i,j:z b,j,k:z'),
    ('ik,jk->ij | abs | max j', 'i,k:z j,k:z'),
    ('ik,jk->ij | sum j', 'i,k:Z j,k:Z'),
    ('ik,jk->ij | mean j | real', 'i,k:z j,k:z'),
    ('ik,jk->ij | real | softmax j', 'i,k:z j,k:z'),
    ('ik,jk->ij | _ * conj(_) | real | sum i & max i', 'i,k:z j,k:z'),
    ('ik,jk->ij | exp(_ * 0.01)', 'i,k:z j,k:z'),
    ('(A[i,k] + complex(0, 1)) * B[j,k] -> [i,j] | imag', 'A=i,k:Z B=j,k'),
    ('exp(A[i,k] / 9) * B[j,k] -> [i,j]', 'A=i,k:z B=j,k:z'),
    ('c128(A[i,k]) * B[j,k] -> [i,j]', 'A=i,k:z B=j,k:Z'),
    ('A[i,k] * w[k] * B[j,k] -> [i,j]', 'A=i,k:z w=k:z B=j,k:z'),
    ('A[i,k] / w[k] * B[j,k] -> [i,j]', 'A=i,k:z w=k B=j,k:z'),
    ('where(@i >= @k, A[i,k], 0) * B[k,j] -> [i,j]', 'A=i,k:z B=k,j:z'),
    ('x[b,c,h+r,w+s], k[o,c,r,s] -> [b,o,h,w]', 'x=b,c,h+r,w+s:z k=o,c,r,s:z'),
    ('x[b,c,2*h+r,w+s], conj(k[o,c,r,s]) -> [b,o,h,w] | abs | max o', 'x=b,c,2*h+r,w+s:z k=o,c,r,s:z'),
    ('s = A[i,k], B[k,j] -> [i,j]; s[i,j] * C[j,v] -> [i,v]', 'A=i,k:z B=k,j:z C=j,v:z'),
    ('s[i,j] += A[i,k], B[k,j]; s[i,j] * complex(1, 2)', 'A=i,k:z B=k,j:z'),
    ('ik,kj->ij | norm j', 'i,k:z k,j:z'),
    ('ik,jk->ij', 'i,k:h j,k:h'),
    ('ik,jk->ij | max j', 'i,k:b j,k:b'),
    ('ki,kj->ij', 'k,i:b k,j:b'),
    ('ijk,mnk->ijmn | max n | sum j', 'i,j,k:b m,n,k:b'),
    ('jk,mnk->jmn | max n | sum j', 'j,k:b m,n,k:b'),      # tiles that go by themselves, of points in runs
    ('jk,mnk->jmn | min n | sum j', 'j,k:c m,n,k:c'),
    ('abcd,dbe->ace', 'a,b,c,d:b d,b,e:b'),
    ('x[b,c,h+r,w+s], k[o,c,r,s] -> [b,o,h,w]', 'x=b,c,h+r,w+s:b k=o,c,r,s:b'),
    ('ik,jk->ij | exp(-_) | sum j', 'i,k:b j,k:b'),
    ('ik,kj->ij', 'i,k:b k,j'),
    ('ik,jk->ij', 'i,k:d j,k:d'),
    ('ik,jk->ij | max j', 'i,k j,k:d'),
    ('ik,jk->ij | max j | sum i', 'i,k:c j,k:c'),
    ('ki,kj->ij', 'k,i:c k,j:c'),
    ('ijk,mnk->ijmn | max n | sum j', 'i,j,k:c m,n,k:c'),
    ('ijk,mpnk->ijmpn | max p n & argmax n p', 'i,j,k:c m,p,n,k:c'),
    ('abcd,dbe->ace', 'a,b,c,d:c d,b,e:c'),
    ('x[b,c,h+r,w+s], k[o,c,r,s] -> [b,o,h,w]', 'x=b,c,h+r,w+s:c k=o,c,r,s:c'),
    ('W[y[i],k], X[j,k] -> [i,j] | mean i', 'gathered'),
    ('x[y[h+r,w+8*s]], k[o,r,s] -> [o,h,w]', 'dilated'),
    ('(id - jd)^2 -> ij | exp(-0.5 * _) | * jv -> iv', 'i,d j,d j,v'),
    ('ijd,njd->ijn | where(@i >= @n, _, 0) | * njv -> ijv', 'i,j,d n,j,d n,j,v'),
    ('bcmqd,bmkd->bcmqk | softmax k | * bmkv -> bcmqv', 'b,c,m,q,d b,m,k,d b,m,k,v'),
    ('p = Q[q,d], K[k,d] -> [q,k] | relu; n = p[q,k] | max k; t = p[q,k], V[k,v] -> [q,v]; t[q,v] / (n[q] + 1)', 'Q=q,d K=k,d V=k,v'),
    ('s = Q[q,d], K[k,d] -> [q,k]; m = s[q,k] | max k; exp(s[q,k] - m[q]) * V[k,v] -> [q,v] | _ + m[q]', 'Q=q,d K=k,d V=k,v'),
    ('s = Q[q,d], K[k,d] -> [q,k]; m = s[q,k] | max k; where(m[q] == -inf, 0, exp(s[q,k] - m[q])) * V[k,v] -> [q,v] | _ + m[q]',
     'Q=q,d K=k,d V=k,v'),
    ('s = Q[q,d], K[k,d] -> [q,k] | softmax k; s[q,k] * V[k,v] -> [q,v] | _ / (1 + n[q])', 'Q=q,d K=k,d V=k,v n=q'),
    ('ik,jk->ij | max j', 'i,k:c j,k:b'),
    ('(ik - jk)^2 -> ij | exp(-0.5 * _) | * j -> i', 'i,k j,k j'),
    ('w = dX[i,v], B[j,v] -> [i,j]; P = Q[i,k], K[j,k] -> [i,j] | exp(-abs(_)); P[i,j] * w[i,j] -> [i]', 'dX=i,v B=j,v Q=i,k K=j,k'),
    ('s = A[i,k], B[j,k] -> [i,j]; r = A[i,k], C[k,j] -> [i,j]; s[i,j] + relu(r[i,j])', 'A=i,k B=j,k C=k,j'),
    ('m = A[i,k], B[j,k] -> [i,j] | max j; n = A[i,k], C[h,k] -> [i,h] | sum h; m[i] - n[i]', 'A=i,k B=j,k C=h,k'),
    ('ik,jk->ij', 'i,k:i j,k:i'),
    ('ik,jk->ij | max j & argmax j', 'i,k:d j,k:d'),
    ('lse = X[t,h], W[v,h] -> [t,v] | logsumexp v ; pick = X[t,h], W[y[t],h] -> [t] ; lse[t] - pick[t] | mean t', 'labels'),
    ('ik,jk->ij | complex(_, atan(_))', 'i,k j,k'),
    ('exp(A[i,k]), B[j,k] -> [i,j]', 'A=i,k B=j,k'),
    ('A[i,k] * w[k], B[j,k] -> [i,j]', 'A=i,k w=k B=j,k'),
    ('A[i,k] * s[i], B[j,k] -> [i,j] | max j', 'A=i,k s=i B=j,k'),
    ('(ik - jk)^2 -> ij | exp(-0.5 * _) | * jr -> ir', 'i,k j,k j,r'),    # made for each of few points
    ('(sid - jd)^2 -> sij | exp(-0.5 * _) | * jr -> sir', 's,i,d j,d j,r'),
    ('(ik - jk)^2 -> ij | exp(-9 * _) | * jv -> iv', 'i,k j,k j,v:g'),    # powers below the normal numbers, sums too large to be lifted
    ('Q[q,d], K[k,d] -> [q,k] | _ * 20 | where(@q >= @k, _, -inf) | softmax k | * V[k,v] * 1e28 -> [q,v]', 'Q=q,d K=k,d V=k,v'),
    ('qd,kd->qk | exp(_ * 20) | * kv -> qv', 'q,d k,d k,v'),
    ('ik,jk->ij | relu | * jrs -> sri', 'i,k:d j,k:d j,r,s:d'),
    ('ik,jk->ij | where(@j <= @i, _, -inf) | _ + C[j,r] -> [i,j,r] | max j & argmax j', 'i,k j,k C=j,r'),
    ('A[i,k], B[j,k] -> [i,j] | where(@j < len[i], _, 0) | * C[r,j] -> [r,i]', 'A=i,k B=j,k len=i:j C=r,j'),
    ('qd,ud->qu | _ * 8 | softmax u', 'q,d u,d'),    # shares near the smallest normal number
    ('Dx,EZx->EDZ', 'D,x E,Z,x'),            # two rows' runs are whole lines, not one's
    ('Dx,EZx->EDZ | relu', 'D,x E,Z,x'),
    ('Dx,EVx->EDV', 'D,x:d E,V,x:d'),
    ('Dx,EZx->EDZ', 'D,x:i E,Z,x:i'),
    ('Dx,EVx->EDV | _ * 2', 'D,x:d E,V,x:d'),
    ('bfae,cedf->dcba', 'b,f,a,e c,e,d,f'),    # swept, a block of rows after the other with each panel of columns
    ('bfea,ecdf->dcba | _ * 2', 'b,f,e,a:d e,c,d,f:d'),
    ('cfae,edfb->dcba', 'c,f,a,e:d e,d,f,b:d'),
    ('mjiu,uz->mzij', 'm,j,i,u u,z'),        # rows are read in place, their results turned
    ('jiu,uz->izj', 'j,i,u:d u,z:d'),
    ('uz,pjiu->zipj', 'u,z p,j,i,u'),
    ('bjiu,buz->zibj', 'b,j,i,u:d b,u,z:d'),
    ('jicu,cuz->izj', 'j,i,c,u c,u,z'),
    ('jiu,uz->izj', 'j,i,u:i u,z:i'),
    ('ik,kZ->iZ', 'i,k k,Z'),                # half of a tile's last vector is empty
    ('ik,kV->iV', 'i,k:d k,V:d'),
    ('iu,uV->iV | _ * 2', 'i,u u,V'),
    ('bik,bkZ->bZi', 'b,i,k b,k,Z'),
    ('ik,kz->iz | max i', 'i,k k,z'),
    ('ik,kZ->iZ | sum Z', 'i,k:d k,Z:d'),
    ('azy,xz->xya', 'a,z,y x,z'),            # tiles pack the next point's columns, whose own points are too far apart
    ('azy,xz->xya', 'a,z,y:d x,z:d'),
    ('azy,zx->xya', 'a,z,y:d z,x:d'),        # of rows that are packed once
    ('azy,Dz->Dya', 'a,z,y D,z'),
    ('afbce,df->edcba', 'a,f,b,c,e:d d,f:d'),
    ('bQd,bUd->bQU | _ * 0.125 | softmax U | bf16 | _ * bUN -> bQN', 'b,Q,d:b b,U,d:b b,U,N:b'),    # guessed maxima of long rows
    ('Qx,Ux->QU | where(@Q + 200 >= @U, _, -inf) | softmax U | bf16 | _ * UN -> QN', 'Q,x:b U,x:b U,N:b'),
    ('qd,ud->qu | _ * 4 | softmax u | f16 | _ * uv -> qv', 'q,d u,d u,v:h'),    # guessed maxima are off by more than f16 has
    ('qd,ud->qu | _ * 4 | where(@q >= @u, _, -inf) | softmax u | f16 | _ * uv -> qv:f32', 'q,d u,d u,v'),
    ('iU->U', 'i,U'),                        # columns go down some vectors together
    ('kiU->iU | _ | min i & argmin i', 'k,i,U'),
    ('iU->U', 'i,U:b'),
    ('i,iU->U | _ * 2', 'i i,U:d'),
    ('bsUd->bUsd', 'b,s,U,d'),               # short loops of a map
    ('bsUd->bUds | exp', 'b,s,U,d'),
    ('iU->Ui', 'i,U:b'),                     # squares of narrow numbers are widened first
    ('iU->Ui | _ * 2', 'i,U:h'),
    ('hwU->Uhw', 'h,w,U:c'),
    ('x[i,U] + y[U,i] -> [U,i]', 'x=i,U:b y=U,i'),
    ('iU,U->i', 'i,U:b U:b'),                # words of narrow numbers
    ('iu,u->i | _ * 2', 'i,u:b u:b'),
    ('xU,kU->xk', 'x,U:b k,U:b'),
    ('biu,biu->bi | max i', 'b,i,u:b b,i,u:b'),
    ('x[i,u] * x[i,u] -> [i,u] | mean u', 'x=i,u:b'),
    ('U,U->', 'U:b U:b'),
    ('iU,U->i', 'i,U:c U'),
    ('iU,U->i', 'i,U:h U'),
    ('Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(w[i] > 0, _, -inf) | max n | sum j', 'Q=i,j,k D=m,n,k w=i'),
    ('Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@m < @i + 3 && w[j,m] > 0, _, 0) | sum n | max j', 'Q=i,j,k D=m,n,k w=j,m'),
    ('nTS,nSR->nTR', 'n,T,S n,S,R'),         # short axes share the lanes
    ('nTS,nSR->nTR', 'n,T,S:d n,S,R:d'),
    ('nST,nRS->nTR', 'n,S,T n,R,S'),
    ('nTS,nSR->nRT', 'n,T,S n,S,R'),
    ('mnTS,SR->mnTR', 'm,n,T,S:d S,R:d'),
    ('nST,SR->nTR', 'n,S,T S,R'),
    ('nS,SR->nR', 'n,S S,R'),
    ('nTS,nSR->nTR', 'n,T,S:h n,S,R:h'),
    ('A[n,T,S], B[n,S,R] -> [n,T,R] | relu(_ + c[n,T])', 'A=n,T,S B=n,S,R c=n,T'),
    ('A[n,T,S] * w[n,S], A[n,T,S] * B[n,S,R] -> [n,T,R] | _ - c[T,R]', 'A=n,T,S w=n,S B=n,S,R c=T,R'),
    ('nTS + nSR -> nTSR | max S', 'n,T,S n,S,R'),
    ('(nTS - nRS)^2 -> nTR | 2 * _', 'n,T,S:d n,R,S:d'),
    ('nTSs,nsSR->nTR', 'n,T,S,s n,s,S,R'),
    ('nTS,nSR->nTR | max R | sum T', 'n,T,S n,S,R'),
    ('nSTR->nTR', 'n,S,T,R'),
    ('ij,j->i', 'i,j:c j:c'), ('i,ij->j', 'i:c i,j:c'), ('ij,ij->i', 'i,j:c i,j:c'),
    ('ik,kj->ij', 'i,k:t k,j:t'), ('ki,jk->ij', 'k,i:t j,k:t'), ('ij,j->i', 'i,j:t j:t'), ('ijk,mnk->ijmn | max n | sum j', 'i,j,k:t m,n,k:t'),
    ('ikl,klj->ij | argmax j', 'i,k,l:c k,l,j:c'), ('ikl,jlk->ij', 'i,k,l:t j,l,k:t'), ('i16(9 * sin(A[i,k])) * B[j,k] -> [i,j]', 'A=i,k:c B=j,k:t'),
    ('xu,uU->xU', 'x,u u,U'),                # a few rows times a matrix: some points at a time
    ('xu,uU->Ux | _ * 2', 'x,u:h u,U:h'),    # whose numbers are widened as they are loaded
    ('xu,buU->bxU', 'x,u b,u,U:b'),
    ('iu,umU->imU', 'i,u:d u,m,U:d'),
    ('xu,uU->xU | _ * s[U]', 'x,u u,U:c s=U'),
    ('LM,M->L', 'L,M M'),                    # more rows than the second cache holds
    ('LM->L', 'L,M'),
    ('TLM,TM->TL', 'T,L,M:b T,M'),
    ('L,LM->M', 'L L,M'),
    ('LM | max L', 'L,M:d'),
    ('TL,TLM->TM', 'T,L T,L,M'),
    ('A[T,L,M] | where(@L < len[T], _, 0) | sum L', 'A=T,L,M len=T:L'),
    ('A[T,L,M] | where(@L < len[T], _, -inf) | max L', 'A=T,L,M len=T:L'),
    ('TM,TLM->TL | _ * 0.125 | softmax L | * TLv -> Tv', 'T,M T,L,M T,L,v'),
    ('iiU->Ui', 'i,i,U:b'),                  # rows of a diagonal lie two strides apart
    ('iiU->Ui | _ * 2', 'i,i,U'),
    ('DP,jZP->jDZ', 'D,P j,Z,P'),            # of few points and many columns: a block's tiles go past the caches at one call
    ('QP,dyP->dQy', 'Q,P d,y,P'),
    ('PQ,dyP->dQy', 'P,Q:d d,y,P:d'),
    ('QP,Pdy->Qdy | relu', 'Q,P P,d,y'),
    ('xL,LU->xU', 'x,L L,U'),                # a matrix that a few rows meet as it lies, a few points at a time
    ('zL,LU->zU | relu', 'z,L L,U'),
    ('bL,LU->bU', 'b,L:d L,U:d'),
    ('bL,LU->bU | _ * 2', 'b,L L,U:b'),
    ('zLu,xL->zxu', 'z,L,u x,L'),            # whose short rows come whole
    ('zLu,xL->xuz | relu', 'z,L,u x,L'),
    ('where(@h >= @r && @h < @r + len[c], x[c,h-r+7], 0), k[o,c,r] -> [o,h]', 'reflected'),
    ('where(2*@h >= @r && @r + 40 > 2*@h, x[c,2*h-r], 0), k[o,c,r] -> [h,o]', 'bounded'),
    ('where(@h >= 2*@r && @h < 2*@r + 40, x[c,h-2*r], 0), k[o,c,r] -> [o,h] | max h', 'bounded'),
    ('y[b,o,h+r,w+s] += x[b,c,h,w], k[c,o,r,s]', 'x=b,c,h,w k=c,o,r,s'),    # a convolution read the other way
    ('y[b,o,h+r,w+2*s] += x[b,c,h,w], k[c,o,r,s]', 'y=b,o,h+r,w+2*s x=b,c,h,w k=c,o,r,s'),
    ('y[h+3*r,o] += x[h,c], k[r,c,o] ; y[j,o] | max o', 'x=h,c:d k=r,c,o:d'),
    ('y[o,r+h+s] += where(x[h,m] > 0, x[h,m], 0), k[r,m,s,o]', 'x=h,m:i k=r,m,s,o:i'),
    ('y[o,h+r] += where(@h >= @o, x[o,h,m] * (@h + 1), 0), k[o,r,m,i]', 'x=o,h,m k=o,r,m,i'),
    ('y[o,h+r] += x[h,m], k[r,m,o]', 'y=o,h+r:b x=h,m:b k=r,m,o:b'),
    ('y[o,h+r] += x[h,m], k[r,m,o]', 'x=h,m:z k=r,m,o:z'),
    ('where(M[i,k] > 0, A[i,k] * B[k,j], 0) -> [i,j]', 'M=i,k A=i,k B=k,j'),    # one side of a product alone is under a where
    ('A[i,k], B[j,k] -> [i,j,k] | where(M[k,j] > 0, _, 0) | sum k | max i', 'A=i,k B=j,k M=k,j'),
    ('where(@k <= @i + @b, A[b,i,k] * B[b,k,j], 0) -> [b,j,i]', 'A=b,i,k:d B=b,k,j:d'),
    ('where(@k < len[b], A[b,i,k] * B[b,k,j], 0) -> [b,i,j] | _ + c[j]', 'A=b,i,k B=b,k,j len=b:k c=j'),
    ('A[i,k] + B[k,j] -> [i,k,j] | where(@k != @i, _, -inf) | max k', 'A=i,k B=k,j'),
    ('where(@k > @i, B[k,j] + A[i,k], inf) -> [i,k,j] | min k', 'A=i,k:d B=k,j:d'),
    ('where(M[k] > 0, A[i,k] * B[k,j], 0) -> [i,j]', 'M=k:i A=i,k:i B=k,j:i'),
    ('where(@h+@r >= 1 && @h+@r <= 40, x[c,h+r-1] * k[o,c,r], 0) -> [o,h]', 'bounded'),
    ('where(M[i,k] > 0, A[i,k] * B[k,j], 0) -> [i,j]', 'M=i,k A=i,k:z B=k,j:z'),
    ('where(M[i,k] > 0, A[i,k] * B[k,j], 0) -> [i,j]:f32', 'M=i,k A=i,k:b B=k,j:b'),
    ('y[b,o,2*h+r,3*w+s] += x[b,c,h,w], k[c,o,r,s]', 'x=b,c,h,w k=c,o,r,s'),    # stored before it is scattered
    ('y[o,2*h+3*r] += x[h,c], k[r,c,o] ; y[o,j] | sum j', 'x=h,c:d k=r,c,o:d'),
    ('y[j,2*h+r] += x[h,k], B[k,j,r]', 'y=j,2*h+r:b x=h,k:b B=k,j,r:b'),
    ('y[L+r,J] += x[L,k], B[k,J] * e[r]', 'x=L,k B=k,J e=r'),
    ('y[t[i],j] += A[i,k], B[k,j]', 'scattered'),
    ('y[j,t[i]] += A[i,k], B[k,j]', 'scattered_along'),
    ('y[h+r] += x[h] * k[r]', 'x=h k=r'),    # lanes add at the same time
    ('y[b,h+i] += x[b,h], k[b,i]', 'x=b,h:d k=b,i:d'),
    ('y[2*h+r,w+s] += x[h,w,r,s]', 'x=h,w,r,s'),
    ('y[h+3*w] += x[h,w]', 'y=h+3*w:c x=h,w:c'),
    ('A[i,k], B[U,k] -> [i,U] | _ + M[i,U] | max U', 'A=i,k B=U,k M=i,U'),    # what a tile would meet number by number
    ('A[i,k], B[U,k] -> [i,U] | where(M[i,U] > 0, _ * M[i,U], 0) | sum U', 'A=i,k:d B=U,k:d M=i,U:d'),
    ('A[i,k], B[U,k] -> [i,U] | _ * M[i,U] | argmax U', 'A=i,k B=U,k M=i,U'),
    ('w[i,m], D[m,t[i,m],N] -> [i,N]', 'found'),    # all vectors of a row together
    ('m = x[i,N] * w[N] -> [i,N] | mean N ; x[i,N] * w[N] - m[i]', 'x=i,N w=N'),    # row by row
    ('x[i,N] | softmax N | _ - where(@N == t[i], 1, 0)', 'x=i,N t=i:i'),
    *(('where(x[i] > 0, d[t[i]], 0) -> [i] | sum i', 'looked_up_' + kind) for kind in 'fdbhctizZ'),    # lanes from anywhere, some of them
    *(('d[t[i]] * x[i] -> [i]', 'looked_up_' + kind) for kind in 'fdc'),
    ('LJ | softmax J', 'L,J'),               # short rows, turned in squares
    ('LJ | softmax J', 'L,J:d'),
    ('bLJ | log_softmax J', 'b,L,J'),
    ('LbJ | softmax J', 'L,b,J'),
    ('LbJ | argmax J', 'L,b,J'),
    ("LJ | softmax J", "L,J:b"),
    ("bLJ | logsumexp J", "b,L,J:h"),
    ('bLJ | logsumexp J', 'b,L,J'),
    ('LJ | var J', 'L,J:d'),
    ('LJ | max J', 'L,J:i'),
    ('LJS | logsumexp JS', 'L,J,S'),
    ('where(@J < n[L], x[L,J], -inf) -> [L,J] | softmax J', 'x=L,J n=L:n'),
    ('x[L,J] * w[J] -> [L,J] | exp | sum J', 'x=L,J w=J'),
    ('x[b,L,J] + y[b,L,J] -> [b,L,J] | argmin J', 'x=b,L,J y=b,L,J'),
    ('x[L,J] + y[L,J] -> [J,L] | softmax J', 'x=L,J y=L,J'),
    ('LJ | topk(3) J & argtopk(3) J', 'L,J'),    # the best of short rows, in vectors
    ('bLJ | argbottomk(5) J', 'b,L,J:i'),
    ('LJ | bottomk(2) J', 'L,J:d'),
    ('i64(LJ) | argtopk(2) J', 'L,J:i'),     # of what has no squares
    ('LJ > 0 | topk(2) J', 'L,J'),
    ('LJ | topk(1) J & argtopk(1) J', 'L,J:h'),
    ('x[L,J] | softmax J | topk(2) J & argtopk(2) J', 'x=L,J'),
    ('where(@J < n[L], x[L,J], -inf) -> [L,J] | argtopk(4) J', 'x=L,J n=L:n'),
    # Scans whose results go past the caches.
    ('ij | cumsum j', 'i,j'),
    ('ij | cummax j', 'i,j:d'),
    ('bij | cumsum j | * 2', 'b,i,j:h'),
    ('i64(ij) | cumsum j', 'i,j:i'),
    # Deep products of which several operands make the columns: what comes next is asked for beside them.
    ('Li,Lj,L->ij', 'L,i L,j L'),
    ('RLz,Rj,Lj->zj', 'R,L,z R,j L,j'),
    ('exp(Lz), Lj, L->zj | relu', 'L,z:d L,j:d L:d'),
    # Two factors, of which one is reduced before.
    ('ijk,jr->kr', 'i,j,k j,r'),
    ('ij,kj->', 'i,j:i k,j:i'),
    ('ik,jk->k', 'i,k:b j,k:b'),
    ('A[i,j] + B[j,k] -> [i,j,k] | max j k', 'A=i,j B=j,k'),
    ('A[i,j] + B[k,j] -> [i,j,k] | logsumexp i k', 'A=i,j B=k,j'),
    ('Uj,jk->k', 'U,j j,k'),
    # Sums of sums.
    ('btk,jk->btj | mean t', 'b,t,k j,k'),
    ('ijk,mnk->ijmn | sum n | sum j', 'i,j,k:i m,n,k:i'),
    ('bij,jk->bik | sum k | mean i', 'b,i,j:b j,k:b'),
    ('A[i,j] + B[j,k] -> [i,j,k] | logsumexp k | logsumexp i', 'A=i,j B=j,k'),
    ('ij,jk,k->ik | relu | mean i', 'i,j:d j,k:d k:d'),
    # Rows that squares come to, which end within lines.
    ('Uj->jU', 'U,j'),
    ('A[j,U] + B[U,j] -> [j,U]', 'A=j,U:d B=U,j:d'),
    ('A[U,j] * 2 -> [j,U]:f32', 'A=U,j:b'),
    ('bUj->bjU', 'b,U,j:i'),
    # Values in between of several points of an index that is not the last.
    ('mLi,mLP->iPm | softmax m', 'm,L,i m,L,P'),
    ('A[m,P], B[U,m,i] -> [i,P,m,U] | log_softmax m', 'A=m,P B=U,m,i'),
    # What is not the sum of products, of few columns.
    ('A[i,k] * B[k,x] -> [i,x,k] | max k', 'A=i,k B=k,x'),
    ('A[i,k] * B[k,x] -> [i,x,k] | min k', 'A=i,k:d B=k,x:d'),
    ('A[i,b,k] * B[k,b,x] -> [i,x,b,k] | max b k', 'A=i,b,k:h B=k,b,x:h'),
    ('A[i,k] * B[k,x] -> [i,x,k] | norm k', 'A=i,k B=k,x'),
    # Gradients: values in between that are reduced along both of their indices.
    ('p = Q[i,k], K[j,k] -> [i,j] | softmax j; t = p[i,j], K[j,k] -> [i,k]; p[i,j], Q[i,k] -> [j,k]', 'Q=i,k K=j,k'),
    ('P = Q[b,i,k], K[b,j,k] -> [b,i,j] | exp(-abs(_)); v = P[b,i,j], G[b,i,k] -> [b,j,k]; d = P[b,i,j] * (H[b,i,j] - m[b,i]);'
     'u = d[b,i,j], K[b,j,k] -> [b,i,k]; d[b,i,j], Q[b,i,k] -> [b,j,k]', 'Q=b,i,k K=b,j,k G=b,i,k H=b,i,j m=b,i'),
    ('P = Q[i,k], K[j,k] -> [i,j] | softmax j; O = P[i,j], V[j,k] -> [i,k]; D = O[i,k] * G[i,k] -> [i]; v = P[i,j], G[i,k] -> [j,k];'
     'T = G[i,k], V[j,k] -> [i,j]; S = P[i,j] * (T[i,j] - D[i]); u = S[i,j], K[j,k] -> [i,k]; S[i,j], Q[i,k] -> [j,k]', 'Q=i,k K=j,k V=j,k G=i,k'),
    ('W = V[i,k] * 2; s = W[i,k], X[k,j] -> [i,j] | softmax j; y = s[i,j], Q[j,v] -> [i,v]; W[i,k] += G[i,k];'    # not to be read again
     's[i,j], R[i,v] -> [j,v]', 'V=i,k X=k,j Q=j,v G=i,k R=i,v'),
    # Windows of columns around each row.
    ('qd,ud->qu | where(abs(@q - @u) <= 3, _, -inf) | softmax u | bf16 | _ * uv -> qv', 'q,d:b u,d:b u,v:b'),
    ('qd,ud->qu | where(@q >= @u && @q - @u < 5, _, -inf) | softmax u | _ * uv -> qv', 'q,d u,d u,v'),
    ('where(abs(@q - @u) < 4, qd * ud, -inf) -> qu | max u', 'q,d u,d'),
    # Whole tiles of scores that stay in registers until the next one begins.
    ('MN,UN->MU | _ * 0.125 | softmax U | bf16 | _ * Uv -> Mv', 'M,N:b U,N:b U,v:b'),
    ('bMN,bUN->bMU | _ * 0.2 | where(abs(@M - @U) <= 90, _, -inf) | softmax U | bf16 | _ * bUv -> bMv', 'b,M,N:b b,U,N:b b,U,v:b'),
]

SIZES = [0, 1, 2, 3, 5, 7, 13, 14, 15, 16, 17, 29, 31, 32, 33, 37, 64, 65]
FEW = {'one': [1, 1, 3], **dict.fromkeys('RST', [4, 4, 4, 4, 2, 3, 8]),
       'z': [12, 20, 24, 40], 'x': [1, 2, 5], 'P': [5, 7], **dict.fromkeys('rs', [1, 2, 3]), **dict.fromkeys('bcmp', [1, 2, 3, 5]), 'y': [16, 32, 48, 64, 96],    # y: whole lines
       'D': [2, 7, 8, 15, 15, 20], 'E': [1, 1, 2, 5], 'Z': [24, 24, 24, 24, 40], 'V': [12, 12, 12, 12, 20],    # of results in C's order
       'u': [31, 63, 64, 65, 127, 130, 200], 'Q': [16, 40, 70, 97],
       'L': [1100, 2050, 4099], 'M': [65, 97, 128],
       'N': [64, 100, 130], 'J': [5, 7, 8, 15, 16, 17, 24, 33, 60], 'U': [257, 300, 512, 519, 640]}
LONG = [63, 64, 65, 97]
EXPECTED = [1, 2, 3, 8, 64, 100, 1000, 4096, 30000]
WORK, TRIES = 2 << 20, 9    # the sizes of a data set, multiplied: where they exceed it others are drawn, so many times at most
RUN_SECONDS = 120    # a kernel that runs longer has lost its way
DTYPES = {'w': np.float32, 'o': np.float32, 'W': np.float64, 'F': np.float32, 'V': np.float64, 'f': np.float32, 'g': np.float32, 'l': np.float32, 'd': np.float64, 'h': np.float16,
          'b': 'V2', 'c': np.int8, 't': np.int16, 'i': np.int32, 'z': np.complex64, 'Z': np.complex128}


class Maker:
    """Arrays of one data set: the same index has the same size everywhere."""

    def __init__(self, rng, precision='', sizes=None):
        self.rng = rng
        self.precision = precision
        self.choice = sizes
        self.sizes = {}

    def size(self, index):
        if index not in self.sizes and self.choice and index not in FEW:
            self.sizes[index] = self.rng.choice(self.choice)
        if index not in self.sizes:
            few = FEW.get(index, SIZES)
            self.sizes[index] = self.rng.choice(few if few != SIZES or self.rng.random() < 0.2 else SIZES[3:])
        return self.sizes[index]

    def axis(self, position):
        """How long an axis is that is read at 'i' or at '2*h+r'."""
        terms = [term.split('*') for term in position.split('+')]
        if len(terms) == 1:
            return self.size(position)
        return sum((int(term[0]) if len(term) > 1 else 1) * (self.size(term[-1]) - 1) for term in terms) + 1

    def lengths(self, index, most):
        return np.array([self.rng.randrange(self.size(most) + 1) for _ in range(self.size(index))], np.int32)

    def values(self, shape, kind='f'):
        rng = np.random.RandomState(self.rng.randrange(1 << 30))
        if kind == 'c':
            return rng.randint(-128, 128, shape).astype(np.int8)
        if kind == 't':
            return rng.randint(-32768, 32768, shape).astype(np.int16)
        if kind == 'i':
            return rng.randint(-9, 10, shape).astype(DTYPES[kind])
        if kind in 'zZ':
            with np.errstate(invalid="ignore"):
                return (self.values(shape, "d") + 1j * self.values(shape, 'd')).astype(DTYPES[kind])
        x = rng.standard_normal(shape)
        mood = self.rng.random()
        if mood < 0.15:
            x = np.round(x)
        elif mood < 0.3 and x.size:
            for special in (np.nan, np.inf, -np.inf, -0.0):
                x.reshape(-1)[rng.randint(x.size)] = special
        elif mood < 0.4:
            x = -np.abs(x)
        if kind in 'wWFV':    # far apart
            x = x * 500
        if kind == 'o':    # far from 0, near each other
            x = x + 2.0 ** 20
        if kind in 'FV':    # some farther still, some minus infinity
            x = np.where(rng.random_sample(shape) < self.rng.choice([0, 0.01]), x * (2.0 ** 9 if kind == 'V' else 2.0 ** 5), x)
            x[rng.random_sample(shape) < self.rng.choice([0, 0.02, 0.9])] = -np.inf
        if kind == 'g':    # some as large as there are: of most rows, or of few
            return np.where(rng.random_sample(shape) < self.rng.choice([0.05, 0.002]), 3.4e38, rng.standard_normal(shape)).astype(DTYPES[kind])
        if kind == 'l':    # so small that products with those are finite
            return (x * 2.0 ** -40).astype(DTYPES[kind])
        if kind == 'b':
            if mood > 0.4:    # denormals, in operands and in sums
                x = x * 2.0 ** self.rng.choice([-131, -64, 60])
            return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view('V2')
        if self.precision and mood > 0.8 and x.size:    # numbers that have no parts, all of them or some
            x = x * 2.0 ** self.rng.choice([-140, -64, 60]) if mood > 0.9 else np.where(rng.random_sample(shape) < 0.02, x * 2.0 ** -45, x)
        return x.astype(DTYPES[kind])

    def operand(self, text):
        name, axes = text.split('=') if '=' in text else ('', text)
        axes, kind = axes.split(':') if ':' in axes else (axes, 'f')
        if kind not in DTYPES:
            return name, self.lengths(axes, kind)
        return name, self.values([self.axis(position) for position in axes.split(',')], kind)

    def packed(self):
        lengths = np.array([self.rng.choice([1, 3, 14, 20, 33]) for _ in range(self.rng.choice([1, 3, 9]))], np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        i, j, k = self.rng.choice([1, 3, 17]), self.rng.choice([1, 10, 33]), self.rng.choice([1, 16, 37])
        return [('Q', self.values((i, j, k))), ('D', self.values((int(lengths.sum()), k))), ('start', starts),
                ('len', lengths)], ['-d', 'n=%d' % lengths.max()]

    def padding(self):
        h, c, o = self.rng.choice([1, 5, 14, 33]), self.rng.choice([1, 3]), self.rng.choice([1, 8, 33])
        return [('H', np.array(h, np.int64)), ('x', self.values((c, h))), ('k', self.values((o, c, 3)))], ['-d', 'h=%d' % h]

    def gathered(self):
        i, j, k, v = self.rng.choice([1, 14, 33]), self.rng.choice([1, 16, 37]), self.rng.choice([1, 15, 64]), 9
        y = np.array([self.rng.randrange(v) for _ in range(i)], np.int64)
        return [('W', self.values((v, k), 'c')), ('y', y), ('X', self.values((j, k), 'c'))], []

    def dilated(self):
        """Of the positions those that no point asks for are out of range."""
        h, w, o, r, s = self.rng.choice([16, 33, 60]), self.rng.choice([2, 5, 7, 9]), self.rng.choice([16, 37]), self.rng.choice([3, 5]), 2
        y = np.full((h + r - 1, w + 8 * (s - 1)), 10 ** 6, np.int64)
        for at in range(s):
            y[:, 8 * at:8 * at + w] = [[self.rng.randrange(50) for _ in range(w)] for _ in y]
        return [('x', self.values((50,))), ('y', y), ('k', self.values((o, r, s)))], []

    def bounded(self):
        """A signal of 40 and a filter of which both have channels."""
        c, o, r, h = self.rng.choice([1, 3, 8]), self.rng.choice([1, 8, 33]), self.rng.choice([1, 3, 6]), self.rng.choice([5, 16, 31])
        return [('x', self.values((c, 40))), ('k', self.values((o, c, r)))], ['-d', 'h=%d' % h]

    def reflected(self):
        """The same, with lengths that keep it in range where it is read backwards."""
        (x, k), extents = self.bounded()
        return [x, k, ('len', np.array([self.rng.randrange(34) for _ in x[1]], np.int32))], extents

    def scattered(self):
        """Where the rows of a product go, some of them to the same place."""
        i, k, j = self.rng.choice([1, 29, 64, 1100]), self.rng.choice([1, 16, 37, 130]), self.rng.choice([1, 16, 33, 130])
        places = np.array([self.rng.randrange(9) for _ in range(i)], np.int64)
        return [('y', self.values((9, j))), ('t', places), ('A', self.values((i, k))), ('B', self.values((k, j)))], []

    def scattered_along(self):
        """The same, along the axis of the array whose elements lie side by side."""
        (y, array), *others = self.scattered()[0]
        return [(y, array.T.copy()), *others], []

    def looked_up(self, kind):
        """Numbers at places from an array, and which of them count."""
        n, i = self.rng.choice([1, 9, 300]), self.rng.choice([1, 5, 37, 1000])
        places = np.array([self.rng.randrange(n) for _ in range(i)], np.int32)
        return [('d', self.values((n,), kind)), ('t', places), ('x', self.values((i,)))], []

    def found(self):
        """Rows of matrices that are read at places from an array."""
        i, m, n = self.rng.choice([1, 5, 17]), self.rng.choice([1, 4, 13]), self.rng.choice([7, 64, 130, 256])
        places = np.array([[self.rng.randrange(6) for _ in range(m)] for _ in range(i)], np.int64)
        return [('w', self.values((i, m))), ('D', self.values((m, 6, n))), ('t', places)], []

    def labels(self):
        t, h, v = self.rng.choice([1, 14, 33]), self.rng.choice([1, 16, 37]), self.rng.choice([1, 15, 64])
        y = np.array([self.rng.randrange(v) for _ in range(t)], np.int64)
        return [('X', self.values((t, h))), ('W', self.values((v, h))), ('y', y)], []


for kind in DTYPES:
    setattr(Maker, 'looked_up_' + kind, lambda self, kind=kind: self.looked_up(kind))


def expected(operands, rng):
    """Fields that have a kernel compiled for arrays that are much longer than those it meets. The operands are no function's."""
    maker = Maker(rng, sizes=EXPECTED)
    axes = [text.split('=')[-1].split(':')[0] for text in operands.split()]
    return [field for text in axes for field in ('-e', ','.join(str(maker.axis(position)) for position in text.split(',')))]


def is_narrow(operands):
    return any(kind in operands for kind in (':b', ':c', ':t')) or operands == 'gathered'


def is_matrix_product(operands):
    return set(operands.replace('A=', '').replace('B=', '')) <= set('ijk,: bcdfhizZ') and operands.count(',') == 2 and 'j' in operands


def nests_of(text, operands):
    """Of what may have values in between, they are swept, too."""
    chained = 'softmax' in text or '| *' in text or ';' in text
    if 'S' in operands or 'L' in operands:
        return ['cost']
    long = is_matrix_product(operands) or text.startswith('jk,mnk') or 'U' in text
    return ['tiled'] + (['swept', 'swept-loops'] if chained else []) + (['cost'] if long else [])


def data_set(operands, rng, folder, number, precision, sizes=None, given=(), most=WORK):
    """The fields of one data set, its arrays in the folder; `given`: indices whose extents the compiler knows in any case."""
    for _ in range(TRIES):
        maker = Maker(rng, precision, sizes)
        made = getattr(maker, operands, None)
        arrays, extents = made() if made else ([maker.operand(text) for text in operands.split()], [])
        if math.prod(maker.sizes.values()) <= most:
            break
    fields = ['|'] + extents + [word for index, size in maker.sizes.items() if index in given for word in ('-d', '%s=%d' % (index, size))]
    for place, (name, array) in enumerate(arrays):
        path = os.path.join(folder, 'set%d_%d.npy' % (number, place))
        np.save(path, array)
        fields += ['-i', (name + '=' if name else '') + path]
    return fields


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--sets', type=int, default=3)
    parser.add_argument('--targets', default='')
    parser.add_argument('--precision', default='')
    parser.add_argument('--only', default='')
    parser.add_argument('--nests', default='')
    options = parser.parse_args()
    runner = os.path.join(os.environ.get('BUILD', 'build'), 'tests', 'kernel_main')
    folder = tempfile.mkdtemp(prefix='einc-products-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
    runs = failures = elements = 0
    compiler = os.environ.get('CC', 'cc')
    fewer = {'portable': 0, 'avx2': 5}    # an eighth of them each
    has_tiles = 'amx' in instructions.targets_here()
    own = 'avx512' in instructions.targets_here()    # else the CPU's own target is avx2
    for target in options.targets.split(',') if options.targets else ['', 'portable', *['avx2'] * own, 'amx']:
        own_compiler = instructions.compiler_for(target, compiler)
        plain = instructions.SCALAR in own_compiler
        for number, (text, operands) in enumerate(EXPRESSIONS):
            if options.only not in text or (not options.targets and number % 8 != fewer.get(target, number % 8)):
                continue
            covered = has_tiles or not is_narrow(operands)    # by the machine's own, if not all of it
            in_c = target == 'amx' and not options.targets and '| bf16 | _ *' in text and number % 2 == 0    # words of several tiles of columns
            if target == 'amx' and not options.targets and covered and number % 4 != 3 and not in_c:
                continue
            used = '%s %s' % (instructions.SCALAR, compiler) if in_c else own_compiler
            quick = '%s %s' % (instructions.QUICK, used)
            if plain and not options.targets and number % 2:    # these take longest
                continue
            tiled, *others = nests_of(text, operands)
            if not options.targets and others:    # every other expression with one of the nests besides tiles
                others = [others[number // 6 % len(others)]] if number % 2 else []
            for nests in [options.nests] if options.nests else [tiled, *others]:
                os.environ['CC'] = used if options.targets or not target and nests == tiled and number % 8 == 1 else quick
                few = 3 if nests != 'cost' else 1
                precision, sets = options.precision, options.sets if nests == 'tiled' or 'S' in operands or 'L' in operands else min(options.sets, few)
                if target == 'amx' and not options.targets and not is_narrow(operands):
                    precision, sets = ['bf16x6', 'bf16x3'][number // 4 % 2], min(sets, 3)
                rng = random.Random(options.seed * 1000 + number)
                fields = [text, '-s', str(options.seed + number), '-n', nests] + (['-t', target] if target else [])
                fields += ['-p', precision] if precision else []
                fields += ['-c', 'all' if 'L' in operands else 'order'] if any(word in operands for word in ('D,', 'y,', 'U', 'S', 'L')) else []
                fields += ['-l', 'lines'] if 'S' in operands and number % 2 else []
                for s in range(sets):
                    fields += data_set(operands, rng, folder, s, precision, LONG if nests == 'cost' else None)
                line = '\t'.join(fields) + '\n'
                runs += 1
                try:
                    done = subprocess.run([runner], input=line, capture_output=True, text=True, timeout=RUN_SECONDS)
                except subprocess.TimeoutExpired:
                    failures += 1
                    print('%s %s %s %s: not done after %d s' % (target, nests, text, operands, RUN_SECONDS))
                    continue
                answer = done.stdout.strip().split('\t')
                if answer[0] == 'refused' and 'over nothing' in done.stdout:    # the first data set has an empty max
                    continue
                if answer[0] == 'ok':
                    elements += int(answer[1])
                else:
                    failures += 1
                    words = done.stdout.strip() or 'died: %s' % done.stderr.strip()[-300:]
                    print('%s %s %s %s: %s' % (target, nests, text, operands, words))
    print('%d tiled products, %d elements compared, %d failures' % (runs, elements, failures))
    subprocess.run(['rm', '-rf', folder])
    return failures > 0 or not elements


if __name__ == '__main__':
    sys.exit(main())
