#!/usr/bin/env python3
"""Kernels for CUDA in tests/cuda_emulator.h, against the reference evaluator, about 450 s: the templates as they stand, random
programs, products of many sizes, and faults that are planted in kernels, each of which must be noticed.

    BUILD=build python3 tests/check_cuda.py [--seed 1] [--count 60] [--sets 5] [--only templates|random|products|expected|parts|brief|rings|faults]
"""

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True

import check_expected
import check_products
import kernel_fuzz
from cuda_rings import RING_FAULTS, RINGS, TEMPLATE_FAULTS

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = 'cuda:sm_90a'
SHM = '/dev/shm' if os.path.isdir('/dev/shm') else None

MAXSIM = ('bjk,mnk->bjmn | max n | sum j', 'b,j,k m,n,k')
ROWS = ('ij | sum j', 'i,j')
BEST = ('bjk,mnk->bjmn | max n & argmax n', 'b,j,k m,n,k')
SOFTMAX = ('ij | softmax j', 'i,j')
TOTAL = ('ijy | sum ijy', 'i,j,y')
SPREAD = ('ijk | var ijk', 'i,j,k')
MAP = ('A[tall,few] * B[tall,few]', 'A=tall,few B=tall,few')
RANKED = ('(ik - jk)^2 -> ij | bottomk(1) j', 'i,k j,k')
SCANNED = ('ij | cumsum j', 'i,j')
SCATTER = ('dW[y[i],j] += g[i,j]', 'dW=v+r,j y=i:v g=i,j')
COUNTED = ('c[y[i]] += g[i]', 'c=v+r y=i:v g=i')
GATHER = ('W[y[t],h], X[t,h] -> [t]', 'W=s+r,h y=t:r X=t,h')
OUTER = ('i,j->ij', 'i j')
ADDED = ('dW[v,h] += G[v,h,c]', 'G=v,h,c')
VAST = ('A[wide], B[vast] -> [wide,vast]', 'A=wide B=vast')    # more results than a table of a fixed size has places

# Products that are tiled.
PRODUCT = ('ik,jk->ij', 'i,k j,k')
ALONG = ('ki,kj->ij', 'k,i k,j')
LOGSUM = ('ik,jk->ij | logsumexp j', 'i,k j,k')
LENGTHS = ('Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j', 'Q=i,j,k D=m,n,k len=m:n')
SHORT = ('Q[i,j,k], D[m,c,k] -> [i,j,m,c] | where(@c < len[m], _, -inf) | max c | sum j', 'Q=i,j,k D=m,c,k len=m:c')
NARROW = ('ik,jk->ij', 'i,k:b j,k:b')
CAUSAL = ('qd,kd->qk | where(@k <= @q && @q < @k + 20, exp(_ / 4), 0) | sum k', 'q,d k,d')
NARROWSUM = ('ik,jk->ij | max j | sum i', 'i,k:c j,k:c')
DOUBLE = ('ik,jk->ij', 'i,k:d j,k:d')
DOUBLES = [
    DOUBLE, ('ik,kj->ij', 'i,k:d k,j:d'), ('bik,bjk->bij | * 0.5 | max j', 'b,i,k:d b,j,k:d'), ('ki,kj->ij | logsumexp j & argmax j', 'k,i:d k,j:d'),
    ('ikl,jlk->ij', 'i,k,l:d j,l,k:d'), ('Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j', 'Q=i,j,k:d D=m,n,k:d len=m:n'),
]
# Of so many contracted points that there are whole slices for all stages.
DEEP_LINES = ('A[i,deep], B[j,deep] -> [i,j]', 'A=i,deep B=j,deep')
DEEP_CHUNKS = ('A[i,deep], B[j,deep] -> [i,j]', 'A=i,deep:d B=j,deep:d')
DEEP_DOUBLE = ('A[i,deep], B[deep,j] -> [i,j]', 'A=i,deep:d B=deep,j:d')
DEEP_PARTS = ('A[i,deep], B[deep,j] -> [i,j]', 'A=i,deep B=deep,j')
DEEP_NARROW = ('A[i,deep], B[j,deep] -> [i,j]', 'A=i,deep:b B=j,deep:b')
# Of so many rows of tiles that these come in several bands.
BANDED = ('A[some,tallest,xyz], B[xyz,tall] -> [some,tallest,tall]', 'A=some,tallest,xyz:d B=xyz,tall:d')
DEEP = [
    BANDED,
    DEEP_DOUBLE, DEEP_NARROW, ('A[deep,i], B[j,deep] -> [i,j] | max j', 'A=deep,i:d B=j,deep:d'), ('A[deep,i], B[deep,j] -> [i,j]', 'A=deep,i:h B=deep,j:h'),
    ('A[b,i,deep], B[b,j,deep] -> [b,i,j] | max j', 'A=b,i,deep:c B=b,j,deep:c'), ('A[i,c,deep], B[j,c,deep] -> [i,j]', 'A=i,c,deep:b B=j,c,deep:b'),
]
BYTES = ('ik,jk->ij', 'i,k:c j,k:c')
MIXED = ('ik,jk->ij', 'i,k:c j,k:b')
PAIRS = ('bjk,mpnk->bjmpn | max p n | sum b j', 'b,j,k m,p,n,k')
LOOKUP = ('W[y[i],k], X[j,k] -> [i,j]', 'W=s+r,k y=i:r X=j,k')
LOOKUP_NONE = ('W[y[i],none], X[j,none] -> [i,j]', 'W=s+r,none y=i:r X=j,none')    # of positions out of range nothing is read

# Two behind each other, whose steps run together.
ATTENTION = ('qd,kd->qk | _ / 4 | softmax k | * kv -> qv', 'q,d:b k,d:b k,v:b')
WINDOW = ('qd,kd->qk | where(@q - @k < 5 && @k - @q <= 20, _, -inf) | softmax k | * kv -> qv', 'q,d:b k,d:b k,v:b')
DIAGONAL = ('qd,kd->qk | where(@q == @k, _, -inf) | softmax k | * kv -> qv', 'q,d:b k,d:b k,v:b')
FIRST = ('qd,ud->qu | where(@u < 3, _, -inf) | softmax u | * uv -> qv', 'q,d:b u,d:b u,v:b')
PLAIN = ('qd,ud->qu | softmax u | * uv -> qv', 'q,d u,d u,v')
GAUSSIAN = ('(id - jd)^2 -> ij | exp(-0.5 * _) | * jv -> iv', 'i,d j,d j,v')
FUSED = [
    ATTENTION, WINDOW, DIAGONAL, GAUSSIAN,
    ('Q[b,g,q,d], K[b,k,d] -> [b,g,q,k] | where(@k < len[b] && @k <= @q, _, -inf) | softmax k | * V[b,k,v] -> [b,g,q,v]',
     'Q=b,g,q,d:b K=b,k,d:b len=b:k V=b,k,v:b'),
    ('Q[h,q,d], K[h,k,d] -> [h,q,k] | _ + bias[h,q,k] | softmax k | * V[h,k,v] -> [q,h,v]', 'Q=h,q,d:h K=h,k,d:h bias=h,q,k V=h,k,v:h'),
    ('qd,kd->qk | exp(_ / 8) | * kv -> qv', 'q,d:b k,d:b k,v:b'),
    ('qd,kd->qk | softmax k | _ * 100000 | f16 | _ * kv -> qv', 'q,d:b k,d:b k,v:b'),    # larger before it is divided than f16 has
    ('qd,kd->qk | softmax k | f64 | _ * kv -> qv', 'q,d:b k,d:b k,v'),
    ('qd,kd->qk | exp(bf16(-0.3) * abs(_)) | * kv -> qv', 'q,d:b k,d:b k,v:b'),          # a number that is rounded
    ('qd,kd->qk | where(@q >= @k, _ + 1, 2) | * kv -> vq', 'q,d:b k,d:b k,v'),
    ('qd,kd->qk | 30 * tanh(_ / 30) | softmax k | * kv -> qv', 'q,d k,d k,v'),
]

GREAT = ('ik,jk->ij', 'i,k:g j,k:l')
GREAT_DEEP = ('iu,ju->ij', 'i,u:g j,u:l')

# On tensor cores if they may leave something out.
PARTS = [
    ('tf32', PRODUCT), ('bf16x3', PRODUCT), ('bf16x6', PRODUCT), ('tf32', ALONG), ('bf16x3', MAXSIM), ('bf16x6', ALONG),
    ('tf32', LENGTHS), ('bf16x3', CAUSAL), ('bf16x6', PAIRS), ('tf32', LOOKUP), ('bf16x6', PLAIN), ('tf32', LOGSUM), ('bf16x3', LOOKUP),
    ('bf16x3', LOOKUP_NONE),
    ('bf16x3', DEEP_PARTS), ('tf32', ('A[i,deep], B[j,deep] -> [i,j]', 'A=i,deep B=j,deep')),
    ('bf16x6', ('iu,ju->ij', 'i,u j,u')), ('bf16x3', ('A[i,k,l], B[l,j,k] -> [i,j]', 'A=i,k,l B=l,j,k')),
    ('tf32', ('bik,bkj->bij', 'b,i,k b,k,j')),
    ('bf16x3', ATTENTION), ('tf32', PLAIN), ('tf32', GREAT), ('bf16x3', GREAT), ('bf16x6', GREAT),
]
# Few results of long reductions: each tile of them is made in parts.
COLUMNS = ('A[tall,few] -> [few]', 'A=tall,few')
COLUMNS_BEST = ('A[tall,few] -> [tall,few] | max tall & argmax tall', 'A=tall,few:i')
COLUMNS_RAGGED = ('A[some,tall,few] -> [some,tall,few] | where(@tall < len[few], _, -inf) | logsumexp tall', 'A=some,tall,few len=few:tall')
PARTED = ('A[few,z], B[rows,z] -> [few,rows] | max rows & argmax rows', 'A=few,z B=rows,z')    # a product's rows
LISTS = ('A[few,tallest] -> [few,tallest] | topk(3) tallest & argtopk(3) tallest', 'A=few,tallest:i')    # threads have lists of their own
CUT = [
    COLUMNS, COLUMNS_BEST, COLUMNS_RAGGED, PARTED,
    ('A[few,y], B[rows,y] -> [few,rows] | where(@rows < len[few], _, -inf) | logsumexp rows', 'A=few,y:b B=rows,y:b len=few:rows'),
    ('A[few,z], B[rows,z] -> [few,rows] | sum rows', 'A=few,z:d B=rows,z:d'),
    ('A[few,tallest] -> [few]', 'A=few,tallest'),
    ('A[few,tallest] -> [few,tallest] | var tallest', 'A=few,tallest'),
    ('A[few,tallest], len[few] -> [few,tallest] | where(@tallest < len[few], _ > 2, 0 > 1) | any tallest', 'A=few,tallest len=few:tallest'),
    ('A[few,tallest] -> [few,tallest] | where(@tallest < len[few], _, -inf) | max tallest & argmax tallest', 'A=few,tallest len=few:tallest'),
    ('A[tall,few], B[tall,some] -> [few,some]', 'A=tall,few:d B=tall,some:d'),
    ('dW[y[few],some] += A[tall,few,some]', 'dW=s+r,some y=few:r A=tall,few,some'),
    ('A[tall,few] -> [tall,few] | sum tall | exp(-_ * _) | sum few', 'A=tall,few'),
    ('A[z,tallest], B[tallest,some] -> [z,some]', 'A=z,tallest:z B=tallest,some:z'),
    ('A[some,deep], B[some,tallest,deep] -> [some,tallest] | softmax tallest | _ * C[some,tallest,four] -> [some,four]',    # one query: step by step
     'A=some,deep B=some,tallest,deep C=some,tallest,four'),
    LISTS, ('A[tall,few] -> [tall,few] | argbottomk(20) tall', 'A=tall,few:d'), ('A[tallest] -> [tallest] | _ > 3 | topk(7) tallest', 'A=tallest:i'),
]
# Few contracted points, mostly as many as were expected.
GAUSS = ('(A[few,xyz] - B[tall,xyz])^2 -> [few,tall] | exp(-0.5 * _) | _ * C[tall] -> [few]', 'A=few,xyz B=tall,xyz C=tall')
NEAREST = ('(A[few,uv] - B[tall,uv])^2 -> [few,tall] | min tall', 'A=few,uv B=tall,uv')
SPARSE = ('(A[few,xyz] - B[tall,xyz])^2 -> [few,tall] | exp(-40 * _) | _ * C[tall] -> [few]', 'A=few,xyz B=tall,xyz C=tall')
FAR = ('(A[few,xyz] - B[tall,xyz])^2 -> [few,tall] | exp(-0.5 * _) | _ * C[tall] -> [few]', 'A=few,xyz:o B=tall,xyz:o C=tall')    # from 0
BRIEF = [
    GAUSS, NEAREST, SPARSE, FAR,
    ('(A[few,uv] - B[tall,uv])^2 -> [few,tall] | exp(-0.00002 * _) | sum tall', 'A=few,uv:w B=tall,uv:w'),
    ('(B[tall,four] - A[some,few,four])^2 -> [some,few,tall] | C[tall] * exp(-_) * 3 | mean tall', 'B=tall,four A=some,few,four C=tall'),
    ('(A[few,four] - B[tall,four])^2 -> [few,tall] | exp(-_) * (C[tall] * D[tall] * E[tall] * F[tall]) | sum tall',    # shared memory for all
     'A=few,four B=tall,four C=tall D=tall E=tall F=tall'),
    ('(A[few,xyz] - B[tall,xyz])^2 -> [few,tall] | exp(-0.5 * _) | _ * C[tall,once] -> [few,once]', 'A=few,xyz B=tall,xyz C=tall,once'),
    ('(A[few,xyz] - B[tall,xyz])^2 -> [few,tall] | exp(-0.5 * _) | _ * C[tall,often] -> [often,few]', 'A=few,xyz B=tall,xyz C=tall,often'),
    ('(A[few,xyz] - B[tall,xyz])^2 -> [few,tall] | exp(-60 * _) | sum tall', 'A=few,xyz B=tall,xyz'),
    ('A[few,xyz], B[tall,xyz] -> [few,tall] | exp(-_) * exp(C[tall]) | mean tall', 'A=few,xyz B=tall,xyz C=tall'),
    ('(A[some,few,xyz] - B[some,tall,xyz])^2 -> [some,few,tall] | argmin tall', 'A=some,few,xyz:i B=some,tall,xyz:i'),
    ('A[few,xyz], B[tall,xyz] -> [few,tall] | _ * C[tall] | logsumexp tall', 'A=few,xyz B=tall,xyz C=tall'),
    ('A[some,few,xyz], B[xyz,tall] -> [some,few,tall] | _ / 2 + C[few] - @tall | mean tall', 'A=some,few,xyz B=xyz,tall C=few'),
    ('max(A[tall,uv], B[few,uv]) | min uv | exp(-_) | sum tall', 'A=tall,uv B=few,uv'),
]
KNOWN = dict(xyz=[3], four=[4], none=[0], deep=[128, 160, 200, 131], once=[1], often=[1, 3], uv=[2, 2, 2, 1, 3], some=[1, 2, 5],
             few=[33, 63, 129, 300], tall=[64, 65, 200, 700], tallest=[2048, 2100, 3000], rows=[650, 700], wide=[900], vast=[900])
check_products.FEW.update(KNOWN)

# Names that the kernels' text has, too.
NAMES = [('team[point,points,warp] * launch[apart,points,warp] -> [point,apart,points] | max points', 'team=i,j,k launch=m,j,k'),
         ('THREADS[frame,unit,stream] | logsumexp stream & argmax stream', 'THREADS=i,j,k')]

# What is wrong, where it is planted, and how.
FAULTS = [
    ('threads do not wait for the step before', SOFTMAX, r's/__syncthreads\(\);/;/g'),
    ('the team does not wait before it merges', TOTAL, r's/team_wait\(team\);//'),
    ('nor anywhere', SPREAD, r's/team_wait\(team\);//g'),
    ('an index does not carry', MAP, r's/carry = sum >= extent/carry = 0 * extent/'),
    ('a warp waits alone where the block should', TOTAL, r's/team.size > WARP\)\n( *)__sync/0)\n\1__sync/'),
    ('half of the warp is merged', ROWS, r's/WARP \/ 2; apart/WARP \/ 4; apart/'),
    ('neighbours are not merged', ROWS, r's/apart > 0/apart > 1/'),
    ('a warp is merged twice', TOTAL, r's/int warp = 1/int warp = 0/'),
    ('only the first warp counts', TOTAL, r's/warp < team.size \/ WARP/warp < 1/'),
    ('the sums of warps meet in one place', TOTAL, r's/\[threadIdx.x \/ WARP\] = /[0] = /'),
    ('all warps take the first one\'s result', ROWS, r's/\[team.size > WARP \? 0 : threadIdx.x \/ WARP\]/[0]/'),
    ('every thread of a warp begins at once', ROWS, r's/= team.rank;/= 0;/'),
    ('a thread goes too far at once', ROWS, r's/\+= team.size\)/+= team.size + 1)/'),
    ('a team takes another one\'s points', ROWS, r's/team.number = /team.number = 1 + /'),
    ('all threads of a team add', ADDED, r's/if \(team.rank == 0\)/if (1)/'),
    ('none does', ADDED, r's/if \(team.rank == 0\)/if (team.rank < 0)/'),
    ('the wrong place of a maximum', BEST, r's/merge_place_f32\(1, /merge_place_f32(0, /'),
    ('the later one of equals', ('ij | argmax j', 'i,j:i'), r's/other_place < \*place/other_place > *place/'),
    ('indices in another order', OUTER, r's/take_index\(&rest, ([a-z_]*) - /take_index(\&rest, 1 + \1 - /'),
    ('blocks do a task twice', ADDED, r's/(task|unit) \+= gridDim.x/\1 += (gridDim.x + 1) \/ 2/'),
    ('the last task is left out', OUTER, r's/, f->tasks_1, workers/, f->tasks_1 - 1, workers/'),
    ('the last unit of a task is left out', ROWS, r's/unit < (units_end|f->units_1)/unit < \1 - 1/'),
    ('a tile reaches too far', OUTER, r's/size_min\(([a-z]*)_first \+ ([a-z_0-9]*), [a-z_]*\)/\1_first + \2/g'),
    ('every thread adds to every element', COUNTED, r's/!= \(uint64_t\)share\)/!= (uint64_t)share \&\& 0)/'),
    ('elements that no thread adds to', COUNTED, r's/const int64_t share = point;/const int64_t share = point \/ 2;/'),
    ('threads of a scatter meet', SCATTER, r's/const int64_t j = [^;]*;/const int64_t j = j_first;/'),
    ('a product has no last element', MAXSIM, r's/k_2? < extent_k/k < extent_k - 1/; s/k_at < extent_k/k_at < extent_k - 1/'),
    ('blocks share one part of the workspace', SOFTMAX, r's/blockIdx.x \* f->per_worker/0/'),
    ('two temporaries are in one place', SOFTMAX, r's/f->at_tmp2 = [^;]*;/f->at_tmp2 = 0;/'),
    ('parts begin with what was there', ('ijk | _ > 9 | any ijk', 'i,j,k'), r's/int first_unit = /int first_unit = 0 \& /'),
    ('one part is not merged', SPREAD, r's/part < f->tasks_1/part < f->tasks_1 - 1/'),
    ('the merge is left out', SPREAD, r's/if \(launch\([a-z]*_merge_1,[^;]*;//'),
    ('threads share a list of the best', RANKED, r's/ \+ threadIdx.x \* 1;/;/g'),
    ('a scan begins anew', SCANNED, r's/sum = sum \+/sum =/'),
    ('a position out of range is not noticed', GATHER, r's/FAIL\(f, OUT[^;]*;/;/g'),
    ('it is noticed, but nobody asks', GATHER, r's/cudaMemcpyAsync\(&status, workspace, sizeof status/cudaMemcpyAsync(\&status, workspace, 0/'),
    ('the status does not begin as 0', GATHER, r's/workspace, 0, \(size_t\)4/workspace, 0, 0/'),
    ('what is out of range is read', GATHER, r's/is_inside\(int64_t position, int64_t extent\)\n\{/&\n    return 1;/'),
    ('half of a warp shuffles', ROWS, r's/0xFFFFFFFF, x/0xFFFF, x/'),
    ('a block makes some of another one\'s results, too', VAST, r's/(step_1\(f, wide_first)(,[^;]*;)/\1 - (unit == f->units_1 \/ 2)\2/'),
    ('an axis of one element does not stretch', ('ij,ij->ij', 'i,one i,j'), r's/stride\[a\] = 0;/;/'),
]

# The same where each tile of results is made in parts.
CUT_FAULTS = [
    ('the parts of a tile are in one place', COLUMNS, r's/const int64_t part = tall_first \/ tile_1_2/const int64_t part = 0/'),
    ('the last part of a tile is not merged', COLUMNS, r's/part < parts_1/part < parts_1 - 1/'),
    ('parts begin too early', COLUMNS, r's/% tall_tiles \* tile_1_2/% tall_tiles * (tile_1_2 - 1)/'),
    ('a part is left out', COLUMNS_RAGGED, r's/size_ceil_div\(extent_tall, tile_1_3\)/(extent_tall \/ tile_1_3)/'),
    ('all tiles are the first', COLUMNS, r's/few_first = rest/few_first = 0/'),
    ('of equal parts the later one wins', COLUMNS_BEST, r's/other_place < \*place/other_place > *place/'),
    ('a product\'s parts are in one place', PARTED, r's/const int64_t part = (task|rows_first[^;]*);/const int64_t part = 0;/'),
    ('the best is taken again', LISTS, r's/head \+= head/0 * head/'),
    ('another warp\'s best is not seen', LISTS, r's/if \(is_better\(most, warps_best/if (0 \&\& is_better(most, warps_best/'),
    ('of equals the later one is taken', LISTS, r's/x == other \? place < other_place/x == other ? place > other_place/'),
    ('a merge sees another result', COLUMNS, r's/\(part\) \* extent_few \+ few;\n( *sum = )/(part) * extent_few;\n\1/'),
]

# The same in tiled products.
POINTS_FAULTS = [
    ('contracted points\' parts are in one place', DEEP_LINES, r's/const int64_t part = deep_first[^;]*;/const int64_t part = 0;/'),
    ('each part has the first points', DEEP_LINES, r's/const int64_t deep = deep_first \+ point_at/const int64_t deep = point_at/g'),
    ('a line\'s chunks are those of the first part', DEEP_CHUNKS, r's/offset = deep_first \+ point_at/offset = point_at/g'),
    ('a part goes on to the last point', DEEP_LINES, r's/depth = deep_end - deep_first/depth = f->extent_deep - deep_first/'),
]
TILE_FAULTS = [
    ('shared memory ends before slices do, and a ring\'s is beside it', NARROW, r's/block_memory\[([0-9]+)\]/block_memory[\1 \/ 2]/'),
    ('copies are not waited for', MAXSIM, r's/copies_wait<[^;]*;//g'),
    ('the last ones are not waited for', NARROW, r's/copies_wait<STAGES_1 - 2>/copies_wait<STAGES_1 - 1>/g'),
    ('only one\'s own copies are', MAXSIM, r's/(copies_wait<STAGES_1 - 2>\(\);\n *)__syncthreads\(\);/\1/'),
    ('nor are they with more stages', NARROW, r's/(copies_wait<STAGES_1 - 2>\(\);\n *)__syncthreads\(\);/\1/g'),
    ('copies are in no groups', NARROW, r's/copies_end\(\);//g'),
    ('where rows begin is not waited for', PRODUCT, r's/(find_rows_1[^;]*;\n *)__syncthreads\(\);/\1/'),
    ('the next tile comes in the place of this one', ('ik,jk->ij | max j', 'i,k:c j,k:b'), r's/__syncthreads\(\);(\n *for \(int stage)/;\1/'),
    ('the next slice comes in the place of this one', PRODUCT, r's/now - 1 : STAGES_1 - 1/now : now/'),
    ('and in that of one that waits', ('iy,jy->ij', 'i,y:b j,y:b'), r's/now > 0 \? now - 1 : STAGES_1 - 1/now < STAGES_1 - 1 ? now + 1 : 0/g'),
    ('half of the slices are left out', PRODUCT, r's/at \+= DEPTH_1, now/at += 2 * DEPTH_1, now/'),
    ('the last slice is left out', ALONG, r's/size_min\(points, DEPTH_1\)/(points < DEPTH_1 ? 0 : DEPTH_1)/'),
    ('a point is taken that is not there', ('exp(ik - jk) -> ij', 'i,k j,k'), r's/size_min\(points, DEPTH_1\)/size_min(points + 1, DEPTH_1)/'),
    ('whole slices are multiplied before they are there', PRODUCT, r's/(copies_end\(\);\n *)copies_wait<STAGES_1 - 2>\(\);(\n *__sync)/\1;\2/'),
    ('or where others still read', PRODUCT, r's/(copies_end\(\);\n *copies_wait<STAGES_1 - 2>\(\);\n *)__syncthreads\(\);/\1/'),
    ('they come in the place of what is multiplied', PRODUCT, r's/stage = now > 0 \? now - 1 : STAGES_1 - 1;(\n *const int64_t point = at \+ AHEAD)/stage = now;\1/'),
    ('slices that are not whole are taken for such', PRODUCT, r's/at \+ AHEAD \+ DEPTH_1 <= depth; at/at + AHEAD < depth; at/'),
    ('their first point is another one', ALONG, r's/p < LAST \? p \+ 1 : 0, /p < LAST ? p + 1 : LAST, /'),
    ('a thread copies another one\'s points', ALONG, r's/point \+ first \+ turn/point + turn/'),
    ('columns stay of which there are more slices', LOGSUM, r's/row == 0 \|\| depth > DEPTH_1/row == 0/'),
    ('some rows are nobody\'s', LOGSUM, r's/\* DOWN_1 \+ down/* (DOWN_1 - 1) + down/'),
    ('lanes have each other\'s columns', ALONG, r's/\* ACROSS_1 \+ across/* ACROSS_1 \/ 2 + across/'),
    ('all warps have the first one\'s rows', LOGSUM, r's/threadIdx.x \/ WARP \/ WARPS_ACROSS_1 \* \(/threadIdx.x \/ THREADS * (/'),
    ('rows are taken that are not there', LOGSUM, r's/if \(!IS_WHOLE && row_at >= rows\)\n *break;//'),
    ('only the last tile of rows counts', MAXSIM, r's/int64_t row = 0; row/int64_t row = rows > 0 ? (rows - 1) \/ ROWS_1 * ROWS_1 : 0; row/'),
    ('half of the lanes merge', LOGSUM, r's/apart >= LANES_1/apart > LANES_1/'),
    ('only the first warp counts', LOGSUM, r's/warp < WARPS \/ WARPS_ACROSS_1/warp < 1/'),
    ('warps do not wait for each other', MAXSIM, r's/(states->[^\n]*\n *\}\n *\}\n *)__syncthreads\(\);/\1/'),
    ('states come in the place of what is still read', SHORT, r's/(\] = [a-z]*;\n    \}\n    )__syncthreads\(\);/\1/'),
    ('the last column is nobody\'s', LOGSUM, r's/column_at >= columns/column_at >= columns - 1/g'),
    ('indices of columns in another order', PAIRS, r's/take_index\(&column_rest, /take_index(\&column_rest, 1 + /'),
    ('indices of rows, too', PAIRS, r's/take_index\(&row_rest, /take_index(\&row_rest, 1 + /'),
    ('tiles are left out that somebody asks for', CAUSAL, r's/is_met \|= /is_met = r == 0 \&\& /'),
    ('each thread looks for itself', CAUSAL, r's/return __syncthreads_or\(is_met\)/return is_met/'),
    ('lengths are not looked at', LENGTHS, r's/size_min\(extent_n, limit\)/extent_n/'),
    ('lines that are none', ALONG, r's/is_line &= [^;]*;/;/'),
    ('lines that are not aligned', ALONG, r's/ && \(uint64_t\)\(data \+ from \+ offset\) % 16 == 0\)/)/'),
    ('numbers are put in the place of those at hand', MIXED, r's/put_rows_1\(slices, stage/put_rows_1(slices, now/2'),
    ('positions are asked for that nothing is read at', LOOKUP_NONE, r's/else if \(depth > 0\)/else/'),
    ('a row out of range is not noticed', LOOKUP, r's/FAIL\(f, OUT[^;]*;/;/g'),
    ('lines are loaded from other places than they were stored at', NARROW, r's/\+ chunk_1\(line, chunk \+ lane \/ 16\)/+ (chunk + lane \/ 16) * CHUNK_1/'),
    ('chunks meet in one place', NARROW, r's/line \* CHUNKS_1 \/ 8 & \(CHUNKS_1 - 1\)\)\)/line \& 0)) \& ~1/'),
    ('the rows\' lines in another order', NARROW, r's/r \* 16 \+ lane % 16/r * 16 + lane % 8 * 2 + lane \/ 8 % 2/'),
    ('the columns\' lines, too', BYTES, r's/lane \/ 16 \* 8 \+ lane % 8/lane \/ 8 % 2 * 8 + lane % 8/'),
    ('half of the chunks are left out', BYTES, r's/chunk < CHUNKS_1; chunk \+= 2/chunk < CHUNKS_1; chunk += 4/'),
    ('sums of other rows', NARROW, r's/r % 2 \* 8/r % 2/'),
    ('sums of other columns', NARROW, r's/c \/ 2 \* 8 \+ /c \/ 2 * 4 + /'),
    ('points are added that are not there', NARROW, r's/if \(next < count\)/if (next <= count)/g; s/count \* \(int\)sizeof/16 \/ (int)sizeof(bf16u) * (int)sizeof/g'),
    ('numbers side by side that are apart', NARROW, r's/is_line = [^;]*;/is_line = 1;/g'),
    ('lanes of f64 have each other\'s points', DOUBLE, r's/\+ far\) \+ lane % 2/+ far)/'),
    ('their rows are others', DOUBLE, r's/upper \+ 8 \* DEPTH/upper + 4 * DEPTH/'),
    ('and so are their columns', DOUBLE, r's/columns\[8 \* c/columns[4 * c/g'),
    ('whole slices come in the place of what is still read', DEEP_DOUBLE, r's/(copies_wait<STAGES_1 - 2>\(\);\n *)__syncthreads\(\);(\n *\}\n *if \(r == HIGH)/\1;\2/'),
    ('and are multiplied before they are there', DEEP_DOUBLE, r's/copies_wait<STAGES_1 - 2>\(\);(\n *__syncthreads\(\);\n *\}\n *if \(r == HIGH)/;\1/'),
    ('rows meet the next columns', DEEP_DOUBLE, r's/right\[portion \/ HIGH % 2\]/right[turn % 2]/'),
    ('a part of a slice stays behind', DEEP_DOUBLE, r's/turn = portion; turn/turn = portion + 1; turn/'),
    ('all chunks of a row are its first', DEEP_DOUBLE, r's/from\[turn\] \+ offset, 16/from[turn] + point, 16/'),
    ('half of their points are taken twice', DOUBLE, r's/= lower\[far\]/= lower[near]/'),
    ('both halves of the columns are one', BYTES, r's/c % 2 \* 2\]/0]/'),
]

# The same where contracted points are few.
BRIEF_FAULTS = [
    ('rows are taken before they are there', NEAREST, r's/copies_wait<0>\(\);(\n *__sync)/\1/'),
    ('before others\' are', NEAREST, r's/(copies_wait<0>\(\);\n *)__syncthreads\(\);/\1/'),
    ('tensor cores take them before others\' are', GAUSS, r's/(widen_[^;]*;\n *)__syncthreads\(\);/\1/'),
    ('rows come in the place of those at hand', GAUSS, r's/1 - stage\);/stage);/'),
    ('rows count that are not there', GAUSS, r's/if \(!IS_WHOLE && at \+[^;]*;//'),
    ('some rows are left out', NEAREST, r's/at \+= ROWS_([0-9]+)/at += 2 * ROWS_\1/'),
    ('a thread has one column for all', NEAREST, r's/held->right\[p\]\[c\] = /held->right[p][0] = /'),
    ('what is read for a row is another one\'s', GAUSS, r's/value_1\[stage\]\[at \+ row/value_1[stage][row/'),
    ('powers that are lost are not made again', SPARSE, r's/__syncthreads_or\(is_lost\)/0/'),
    ('each thread makes its own again', SPARSE, r's/__syncthreads_or\(is_lost\)/is_lost/'),
    ('what was lost is in what is made again', SPARSE, r's/(\(is_lost\)\) \{\n)[^}]*\}/\1/'),
    ('distances of what is far are made like others', FAR, r's/return !\(square <= [^;]*;/return 0;/'),
    ('two rows are one', GAUSS, r's/numbers\[stage\]\[row \+ 8\]/numbers[stage][row]/'),
    ('columns begin with one distance', GAUSS, r's/begin\[c \/ 2\]\[c % 2\] = square/begin[c \/ 2][c % 2] = c == 0 ? 0 : square/'),
    ('rows\' distance from 0 is left out', GAUSS, r's/p == POINTS_[0-9]+ \? square \* down : 0/0/'),
    ('columns are multiplied that are not there yet', GAUSS, r's/(share_[^;]*;\n *)__syncthreads\(\);/\1/'),
    ('there are more points than were expected', NEAREST, r's/depth == POINTS/depth >= POINTS/'),
]

# The same where numbers are multiplied in parts.
PARTS_FAULTS = {
    'tf32': [
        ('numbers are not rounded', PRODUCT, r's/= near_tf32\(numbers\[0\]\[word\]\)/= numbers[0][word]/'),
        ('columns\' lines in another order', ALONG, r's/lane \/ 16 \* 8 \+ lane % 8/lane \/ 8 % 2 * 8 + lane % 8/'),
        ('numbers are copied that are not there', ALONG, r's/, next < count\);/, 1);/g'),
    ],
    'bf16x3': [
        ('whole slices are multiplied before they are there', DEEP_PARTS, r's/(copies_wait<STAGES_1 - 2>\(\);\n *)__syncthreads\(\);(\n *multiply_1)/\1;\2/'),
        ('they come where others are', DEEP_PARTS, r's/int stage = now > 0 \? now - 1 : STAGES_1 - 1;(\n *const int64_t point = \(int64_t)/int stage = now;\1/'),
        ('a part is left out', PRODUCT, r's/add_1\(left, 0, right\[1\], c, sums\);//'),
        ('one is multiplied twice', PRODUCT, r's/add_1\(left, 1, right\[0\]/add_1(left, 0, right[0]/'),
        ('points are others on one side', PRODUCT, r's/chunk \+ 2 \* next \+ lane \/ 8/chunk + 2 - 2 * next + lane \/ 8/'),
        ('a part is not taken off', PRODUCT, r's/x - from_bits_f32\(part << 16\)/x/'),
        ('a tile with an infinity is not made again', GREAT, r's/ && !is_odd_1\(sums\)//'),
        ('each thread decides for itself', GREAT_DEEP, r's/return __syncthreads_or\(is_odd\)/return is_odd/'),
        ('a tile that is made again is not begun', GREAT_DEEP,
         r's/( *)(begin_1\([^;]*;\n *sums_1)/\1if (!is_whole)\n\2/'),
        ('the numbers themselves are others', GREAT, r's/p \/ CHUNK_1\) \+ p % CHUNK_1/p \/ CHUNK_1)/'),
        ('it has not all points', GREAT, r's/p < size_min\(points, DEPTH_1\)/p < size_min(points, DEPTH_1) - 1/'),
    ],
    'bf16x6': [('the last part is left out', PRODUCT, r's/add_1\(left, (0, right\[2\]|2, right\[0\]), c, sums\);//g')],
}

# The same in two behind each other.
FUSED_FAULTS = [
    ('what was added up is not scaled', PLAIN, r's/products\[r\]\[c\] \*= factor;/;/'),
    ('a row\'s sum is not scaled', PLAIN, r's/sum_4\[r\] \*= factor;//'),
    ('a row without a number is scaled', WINDOW, r's/before == largest_2\[r\] \? 1\.0f : //'),
    ('such a row takes powers', WINDOW, r's/value_2 \? 0\.0f : //'),
    ('the threads of a row have maxima of their own', PLAIN, r's/apart < LANES_1(; apart \*= 2\)\n *largest)/apart < LANES_1 \/ 2\1/'),
    ('they do not merge their sums', ATTENTION, r's/apart < LANES_1(; apart \*= 2\)\n *sum)/apart < 1\1/'),
    ('factors are other lanes\'', ATTENTION, r's/word % 2\]\[4 \* k \+ word \/ 2 \* 2\]/word \/ 2][4 * k + word % 2 * 2]/'),
    ('two parts of the factors are left out', ATTENTION, r's/PARTS_5 = 3/PARTS_5 = 1/'),
    ('values are not turned', ATTENTION, r's/load_matrices_turned\(right/load_matrices(right/'),
    ('values\' lines in another order', ATTENTION, r's/16 \* k \+ lane % 16/16 * k + lane % 8 * 2 + lane \/ 8 % 2/'),
    ('values come in the place of others', ATTENTION, r's/(find_columns_1\([^;]*;\n *)__syncthreads\(\);/\1/'),
    ('columns count that are not there', ATTENTION, r's/column_1\(c\) < columns - column \? /1 ? /'),
    ('a tile of zeros is left out that makes a NaN', FIRST, r's/ && !is_odd_5\(behind\)//'),
    ('a tile is left out that somebody asks for', WINDOW, r's/is_met \|= /is_met = r == 0 \&\& /'),
    ('some tiles of a band come twice', BANDED, r's/= size_in_bands\(unit,/= size_in_bands(unit \/ 2 * 2,/'),
    ('every other tile is left out', GAUSSIAN, r's/column \+= LINES_2/column += 2 * LINES_2/'),
    ('a warp does not wait for its factors', GAUSSIAN, r's/__syncwarp\(\);//'),
]


check_products.FEW['one'] = [1]


def setting(expression, seed, nests, precision):
    """A job's fields before its data sets."""
    fields = [expression, '-s', str(seed), '-t', TARGET, '-b', '1'] + (['-n', 'tiled', '-l', '1'] if nests == 'rings' else ['-n', nests])
    return fields + (['-p', precision] if precision else [])


def data_sets(operands, seed, count, folder, precision, most=math.inf):
    rng = random.Random(seed)
    return [check_products.data_set(operands, rng, folder, s, precision, given=KNOWN, most=most) for s in range(count)]


def job(expression, operands, seed, sets, folder, nests='cost', precision='', most=math.inf):
    return kernel_fuzz.job_line(sum(data_sets(operands, seed, sets, folder, precision, most), setting(expression, seed, nests, precision)))


def run(runner, line, environment=None):
    """The answer's fields, and what else was said."""
    done = subprocess.run([runner], input=line, capture_output=True, text=True, env={**os.environ, **(environment or {})},
                          timeout=300)
    return done.stdout.strip().split('\t'), done.stderr


def check_products_in_emulator(runner, folder, options):
    """A fifth of them, another one for the next seed."""
    wrong = elements = runs = 0
    cases = [('', case) for case in check_products.EXPRESSIONS[options.seed % 5::5] + NAMES + FUSED + DOUBLES + DEEP] + PARTS
    for number, (precision, (text, operands)) in enumerate(cases):
        nests = 'swept' if number % 3 == options.seed % 3 else 'tiled'    # with contracted points in parts, or not
        answer, said = run(runner, job(text, operands, options.seed * 1000 + number, 2, folder, nests, precision, check_products.WORK))
        runs += 1
        if answer[0] == 'ok':
            elements += int(answer[1])
        elif not (answer[0] == 'refused' and 'over nothing' in answer[1]):    # the first data set has an empty max
            wrong += 1
            print('%s %s %s: %s %s' % (text, operands, precision, answer, said))
    print('%d products, %d elements compared, %d wrong' % (runs, elements, wrong), flush=True)
    return wrong == 0 and elements > 0


def check_some(runner, folder, options, cases, nests, what):
    wrong = elements = 0
    for number, (text, operands) in enumerate(cases):
        for turn in range(2):
            answer, said = run(runner, job(text, operands, options.seed * 1000 + 2 * number + turn, 2, folder, nests))
            elements += int(answer[1]) if answer[0] == 'ok' else 0
            if answer[0] != 'ok':
                wrong += 1
                print('%s %s: %s %s' % (text, operands, answer, said))
    print('%d %s, %d elements compared, %d wrong' % (2 * len(cases), what, elements, wrong), flush=True)
    return wrong == 0 and elements > 0


def check_rings(runner, folder, options):
    """Products in a ring, and the same on arrays of which there are no maps."""
    wrong = elements = runs = 0
    for number, (text, operands) in enumerate(RINGS):
        for nests in ('rings', 'tiled') if number % 4 == options.seed % 4 else ('rings',):
            answer, said = run(runner, job(text, operands, options.seed * 1000 + number, 2, folder, nests))
            runs += 1
            elements += int(answer[1]) if answer[0] == 'ok' else 0
            if answer[0] != 'ok':
                wrong += 1
                print('%s %s, %s: %s %s' % (text, operands, nests, answer, said))
    print('%d products in a ring, %d elements compared, %d wrong' % (runs, elements, wrong), flush=True)
    return wrong == 0 and elements > 0


def bytes_of(fields):
    return sum(os.path.getsize(field.split('=')[-1]) for field in fields if field.endswith('.npy'))


def is_noticed(runner, folder, fault, seed, nests, precision, as_it_is):
    """Whether an expression is wrong with its fault on two data sets, the smaller ones first, on which it is right as it is; None
    where it is wrong as it is. Of two, one is another than the kernel is made for, and has more workers. `as_it_is`: what was
    answered without a fault, which other faults of the expression need again."""
    what, (text, operands), script = fault
    spoils = {'CUDA_FAULT': script, 'EINC_CACHE_DIR': os.path.join(folder, 'spoilt')}
    fields, noticed = setting(text, seed, nests, precision), False
    sets = sorted(data_sets(operands, seed, SETS, folder, precision), key=bytes_of)
    for pair in range(0, SETS, 2):
        line = kernel_fuzz.job_line(fields + sets[pair] + sets[pair + 1])
        spoilt, noise = run(runner, line, spoils)
        if spoilt[0] == 'ok':
            continue
        key = (text, operands, nests, precision, seed, pair)
        as_it_is[key] = as_it_is.get(key) or run(runner, line)
        answer, said = as_it_is[key]
        noticed = answer[0] == 'ok' and 'cuda_cc.sh failed' not in ' '.join(spoilt) or None    # nothing changed, or nothing was compiled
        if not noticed:
            print('%s: %s without it, %s with it %s' % (what, answer, spoilt, said))
        break
    shutil.rmtree(spoils['EINC_CACHE_DIR'], True)
    return noticed


ATTEMPTS, SETS = 16, 8


def check_faults(runner, folder, options):
    """A half of them, the other one for the next seed. Not all data shows every fault: some more is tried."""
    missed, as_it_is, faults = 0, {}, [(fault, 'loops', '') for fault in FAULTS]
    faults += [(fault, 'tiled', '') for fault in TILE_FAULTS + FUSED_FAULTS + BRIEF_FAULTS]
    faults += [(fault, 'cost', '') for fault in CUT_FAULTS] + [(fault, 'swept', '') for fault in POINTS_FAULTS]
    faults += [(fault, 'rings', '') for fault in RING_FAULTS]
    faults += [(fault, 'tiled', precision) for precision, some in PARTS_FAULTS.items() for fault in some]
    faults = [fault for fault in faults if options.fault in fault[0][0]] if options.fault else faults[options.seed % 2::2]
    for fault, nests, precision in faults:
        data = zlib.crc32(fault[1][0].encode()) // ATTEMPTS * ATTEMPTS    # of its expression, whatever faults there are beside it
        noticed = False
        for attempt in range(ATTEMPTS):
            noticed = is_noticed(runner, folder, fault, (data + ATTEMPTS * options.seed + attempt) % 2**32, nests, precision, as_it_is)
            if noticed or noticed is None:
                break
        if not noticed:
            missed += 1
            print('not noticed: %s' % fault[0])
    print('%d planted faults, %d not noticed' % (len(faults), missed), flush=True)
    return missed == 0


def run_template(folder, name, *options):
    program = os.path.join(folder, 'templates')
    built = subprocess.run([os.environ.get('CXX', 'g++'), '-xc++', '-std=c++11', '-Og', '-Wall', '-Wextra', '-Werror', '-Wno-unused-function',
                            '-U_FORTIFY_SOURCE', *options, '-include', os.path.join(HERE, 'cuda_emulator.h'),
                            os.path.join(HERE, name), '-o', program, '-lm'], capture_output=True, text=True)
    return subprocess.run([program], capture_output=True, text=True) if built.returncode == 0 else built


def check_template(folder, name, *options):
    done = run_template(folder, name, *options)
    print('%s: %s' % (' '.join([name, *options]), done.stdout + done.stderr if done.returncode else 'as it should be'), flush=True)
    return done.returncode == 0


def check_template_faults(folder, options):
    """Each is planted in a skeleton of products in a ring: a half of them, the other one for the next seed."""
    missed, templates = 0, os.path.join(HERE, '..', 'templates', 'cuda')
    planted = [(skeleton, test, flags, *fault) for skeleton, test, flags, faults in TEMPLATE_FAULTS for fault in faults]
    planted = planted[options.seed % 2::2]
    for skeleton, test, flags, what, script in planted:
        spoilt, whole = os.path.join(folder, skeleton), os.path.join(templates, skeleton)
        with open(spoilt, 'w') as file:
            subprocess.run(['sed', '-zE', script, whole], stdout=file, check=True)
        done = run_template(folder, test, '-w', '-I' + templates, '-DTEMPLATE="%s"' % spoilt, *flags)
        same = open(spoilt).read() == open(whole).read()
        if same or done.returncode == 0 or 'error:' in done.stderr:
            missed += 1
            print('not noticed%s: %s %s' % (', as nothing changes' if same else '', what, done.stderr))
    print('%d faults planted in templates, %d not noticed' % (len(planted), missed), flush=True)
    return missed == 0


def check_random(runner, options):
    arguments = ['--seed', str(options.seed), '--count', str(options.count), '--sets', str(options.sets), '--target', TARGET,
                 '--jobs', '1', '--failures', os.path.join(os.environ.get('BUILD', 'build'), 'fuzz')]
    return kernel_fuzz.check(kernel_fuzz.parser().parse_args([runner] + arguments))


def choose_level(folder, level):
    """How much kernels are optimised from now on. Their cache does not know the emulator and the level that they were made with."""
    os.environ.update(CUDA_LEVEL=level, CUDA_EMULATOR=os.path.join(folder, 'emulator%s.h' % level), EINC_CACHE_DIR=os.path.join(folder, 'cache' + level))
    subprocess.run([os.environ['CC'], '--precompile', os.environ['CUDA_EMULATOR']], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=40)
    parser.add_argument('--sets', type=int, default=5)
    parser.add_argument('--only', default='')
    parser.add_argument('--fault', default='', help='those whose names have this word')
    options = parser.parse_args()
    if not shutil.which(os.environ.get('CXX', 'g++')):
        print('SKIPPED: no C++ compiler')
        return 77
    runner = os.path.join(os.environ.get('BUILD', 'build'), 'tests', 'kernel_main')
    os.environ['CC'] = os.path.join(HERE, 'cuda_cc.sh')
    folder = tempfile.mkdtemp(prefix='einc-cuda-', dir=SHM)
    choose_level(folder, '-Og')
    good = True
    if options.only in ('', 'templates'):
        good &= check_template(folder, 'cuda_templates.cu')
        good &= check_template(folder, 'cuda_contract.cu')
        good &= check_template(folder, 'cuda_contract.cu', '-DSAMPLE_NARROW')
        good &= check_template(folder, 'cuda_contract.cu', '-DSAMPLE_PARTS')
        good &= check_template(folder, 'cuda_contract.cu', '-DSAMPLE_BRIEF')
        good &= check_template(folder, 'cuda_contract.cu', '-DSAMPLE_DOUBLE')
        good &= check_template(folder, 'cuda_fuse.cu')
        good &= check_template(folder, 'cuda_fuse.cu', '-DSAMPLE_NARROW')
        good &= check_template(folder, 'cuda_hopper.cu', '-Wno-psabi')
        good &= check_template(folder, 'cuda_hopper.cu', '-DSAMPLE_KEPT', '-Wno-psabi')
        good &= check_template(folder, 'cuda_hopper_fuse.cu', '-Wno-psabi')
    if options.only in ('', 'parts'):
        good &= check_some(runner, folder, options, CUT, 'cost', 'reductions in parts')
    if options.only in ('', 'brief'):
        good &= check_some(runner, folder, options, BRIEF, 'tiled', 'products of few points')
    if options.only in ('', 'rings'):
        good &= check_rings(runner, folder, options)
    if options.only in ('', 'products'):
        good &= check_products_in_emulator(runner, folder, options)
    if options.only in ('', 'expected'):
        good &= check_expected.check(runner, check_products.EXPRESSIONS[options.seed % 8::8], TARGET, options.seed, 2, folder)
    if options.only in ('', 'random'):
        good &= check_random(runner, options)
    if options.only in ('', 'faults'):
        choose_level(folder, '-O0')    # of many kernels that run once compiling takes longest
        good &= check_faults(runner, folder, options)
        good &= check_template_faults(folder, options)
    shutil.rmtree(folder)
    return not good


if __name__ == '__main__':
    sys.exit(main())
