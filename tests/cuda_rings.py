"""Products that Hopper's tensor cores make from a ring of tiles, and what can be wrong with them: tables for check_cuda.py."""

import numpy as np

import check_products

# Sizes around the edges of tiles and slices.
check_products.FEW.update({'line': [1, 40, 127, 128, 130, 257], 'column': [1, 65, 128, 129, 150], 'point': [1, 8, 64, 72, 130, 200],
                           'value': [1, 8, 40, 64, 72, 128, 136], 'token': [1, 5, 32, 100, 130], 'some': [1, 2, 3], 'pair': [1, 2, 3],
                           'head': [1, 2, 9], 'byte': [1, 16, 64, 128, 144, 272]})



def packed_narrow(maker):
    """Documents one behind the other, as check_products has them, but of bf16, and longer than tiles."""
    lengths = np.array([maker.rng.choice([1, 3, 64, 70, 130]) for _ in range(maker.rng.choice([1, 3, 5]))], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    i, j, k = maker.rng.choice([1, 3]), maker.rng.choice([1, 10, 33, 130]), maker.rng.choice([8, 64, 72])
    return [('Q', maker.values((i, j, k), 'b')), ('D', maker.values((int(lengths.sum()), k), 'b')), ('start', starts),
            ('len', lengths)], ['-d', 'n=%d' % lengths.max()]



def packed_far(maker):
    """The last one goes past the end."""
    (q, d, (name, starts), lengths), extents = packed_narrow(maker)
    starts[-1] += 1
    return [q, d, (name, starts), lengths], extents


def large_scores(maker):
    """One column, and so large scores that their product with a number is rounded by more than a power bears."""
    def large(shape):
        return np.array([maker.rng.randrange(154 << 7, 160 << 7) for _ in range(int(np.prod(shape)))], np.uint16).reshape(shape).view('V2')
    line, point = maker.rng.choice([1, 40, 130]), 1    # of more, the scores are as unsure as they are large
    return [('Q', large((line, point))), ('K', large((1, point))), ('V', maker.values((1, 16), 'b'))], []


check_products.Maker.large_scores = large_scores
check_products.Maker.packed_narrow = packed_narrow
check_products.Maker.packed_far = packed_far

PRODUCT = ('A[line,point], B[column,point] -> [line,column]', 'A=line,point:b B=column,point:b')
LARGEST = ('A[line,point], B[column,point] -> [line,column] | max column', 'A=line,point:b B=column,point:b')
MAXSIM = ('Q[head,token,point], D[some,column,point] -> [head,token,some,column] | max column | sum token',
          'Q=head,token,point:b D=some,column,point:b')
LENGTHS = ('Q[head,token,point], D[some,column,point] -> [head,token,some,column] | where(@column < len[some], _, -inf) | max column | sum token',
           'Q=head,token,point:h D=some,column,point:h len=some:column')
CAUSAL = ('Q[line,point], K[column,point] -> [line,column] | where(@column <= @line, _ / 8, -inf) | logsumexp column',
          'Q=line,point:h K=column,point:h')
BATCH = ('A[some,head,line,point], B[some,column,point] -> [some,head,line,column] | _ + bias[column] + rest[line,column]',
         'A=some,head,line,point:b B=some,column,point:b bias=column rest=line,column:b')
BEST = ('A[line,point], B[some,column,point] -> [line,some,column] | max some column & argmax some column',
        'A=line,point:h B=some,column,point:h')
SEVERAL = ('A[line,some,point], B[column,some,point] -> [column,line]', 'A=line,some,point:b B=column,some,point:b')
OUTER = ('A[some,line,point], B[pair,column,point] -> [some,pair,line,column]', 'A=some,line,point:h B=pair,column,point:h')
PACKED = ('Q[i,j,k], D[start[m]+n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j', 'packed_narrow')
PANELS = ('A[point,line], B[point,column] -> [line,column]', 'A=point,line:b B=point,column:b')
ACROSS = ('A[line,point], B[point,column] -> [line,column] | max column', 'A=line,point:h B=point,column:h')
DOWN = ('A[some,point,line], B[some,column,point] -> [some,line,column]', 'A=some,point,line:b B=some,column,point:b')
ADDED = ('C[line,column]:f32 += A[line,point], B[column,point]', 'A=line,point:b B=column,point:b')

BYTES = ('A[line,byte], B[column,byte] -> [line,column]', 'A=line,byte:c B=column,byte:c')
BYTE_BEST = ('A[line,byte], B[column,byte] -> [line,column] | max column & argmax column', 'A=line,byte:c B=column,byte:c')
BYTE_MAXSIM = ('Q[head,token,byte], D[some,column,byte] -> [head,token,some,column] | max column | sum token',
               'Q=head,token,byte:c D=some,column,byte:c')
BYTE_PANELS = ('A[line,byte], B[byte,column] -> [line,column]', 'A=line,byte:c B=byte,column:c')    # of bytes there are none

# Two behind each other, where what is multiplied last is rounded.
FLASH = ('Q[some,line,point], K[some,column,point] -> [some,line,column] | _ / 8 | softmax column | bf16 | _ * V[some,column,value] -> [some,line,value]',
         'Q=some,line,point:b K=some,column,point:b V=some,column,value:b')
MASKED = ('Q[line,point], K[column,point] -> [line,column] | where(@column <= @line, _ / 8, -inf) | softmax column | f16 | _ * V[column,value] -> [line,value]',
          'Q=line,point:h K=column,point:h V=column,value:h')
GROUPED = ('Q[some,head,line,point], K[some,column,point] -> [some,head,line,column] | where(@column < len[some], _, -inf) | softmax column | '
           'bf16 | _ * V[some,column,value] -> [some,head,line,value]',
           'Q=some,head,line,point:h K=some,column,point:h len=some:column V=some,column,value:b')
BIASED = ('Q[line,head,point], K[column,point] -> [line,head,column] | _ + bias[line,column] | softmax column | bf16 | _ * V[column,value] -> [head,line,value]',
          'Q=line,head,point:b K=column,point:b bias=line,column V=column,value:b')
# Where a column is past a row's last one, there is no such number.
RELATIVE = ('Q[line,point], K[column,point] -> [line,column] | where(@column <= @line, _ / 8 + table[line-column], -inf) | softmax column | bf16 | '
            '_ * V[column,value] -> [line,value]', 'Q=line,point:b K=column,point:b table=line V=column,value:b')
CAPPED = ('Q[line,point], K[column,point] -> [line,column] | where(keep[column] > 0 && @column <= @line, 5 * tanh(_ / 8) + bias[line,column], -inf) | '
          'softmax column | bf16 | _ * V[column,value] -> [line,value]', 'Q=line,point:b K=column,point:b keep=column bias=line,column V=column,value:b')
# What is asked of a sum is asked before it is scaled.
PICKED = ('Q[line,point], K[column,point] -> [line,column] | where(@column <= @line && _ > 1, _ / 8 + 3, -inf) | softmax column | bf16 | '
          '_ * V[column,value] -> [line,value]', 'Q=line,point:b K=column,point:b V=column,value:b')
POWERS = ('Q[line,point], K[column,point] -> [line,column] | exp(_ / 16) | bf16 | _ * V[column,value] -> [line,value]',
          'Q=line,point:b K=column,point:b V=column,value:b')
WINDOW = ('Q[some,line,point], K[some,column,point] -> [some,line,column] | where(@line - @column < 70 && @column - @line <= 20, _ / 8, -inf) | '
          'softmax column | bf16 | _ * V[some,column,value] -> [some,line,value]', 'Q=some,line,point:b K=some,column,point:b V=some,column,value:b')
LARGE = ('Q[line,point], K[column,point] -> [line,column] | _ / 7 | softmax column | bf16 | _ * V[column,value] -> [line,value]', 'large_scores')
FLASHES = [FLASH, MASKED, WINDOW, GROUPED, BIASED, RELATIVE, CAPPED, PICKED, POWERS, LARGE]

RINGS = [*FLASHES, PRODUCT, LARGEST, MAXSIM, LENGTHS, CAUSAL, BATCH, BEST, SEVERAL, OUTER, ADDED, PACKED, PANELS, ACROSS, DOWN,
         BYTES, BYTE_BEST, BYTE_MAXSIM, BYTE_PANELS]

# What is wrong in templates/cuda/hopper.cu, as its sample shows, and how.
RING_TEMPLATE_FAULTS = [
    ('tiles are not waited for', r's/barrier_wait\(&ring->full[^;]*;//'),
    ('tiles come in the place of what is multiplied', r's/barrier_wait\(&ring->empty[^;]*;//'),
    ('the phase that was', r's/turn->phase \^ 1\)/turn->phase)/g'),
    ('the phases never change', r's/turn->phase \^= [^;]*;//'),
    ('more bytes are expected than come', r's/\+ RIGHT_N\) \* SLICE_N/+ RIGHT_N + 8) * SLICE_N/'),
    ('fewer are', r's/\(LEFT_N \+ RIGHT_N\) \* SLICE_N/RIGHT_N * SLICE_N/'),
    ('a stage is given back while it is multiplied', r's/wgmma_wait<1>/wgmma_wait<2>/'),
    ('stages are given back in another order', r's/before = turn->stage;\n    \}/before = turn->stage > 0 ? 0 : 1;\n    }/'),
    ('nobody gives the last stage back', r's/(settle[^;]*;)\n *if \(lane == 0\)\n[^;]*;/\1/'),
    ('one warp gives a stage back for all', r's/\(GROUPS - 1\) \* GROUP \/ WARP/1/'),
    ('a stage waits for the warp that brings', r's/\(GROUPS - 1\) \* GROUP \/ WARP/GROUPS * GROUP \/ WARP/'),
    ('sums are taken before they are there', r's/wgmma_wait<0>\(\);//'),
    ('products begin without a fence', r's/wgmma_fence\(\);//'),
    ('products are in no group', r's/wgmma_commit\(\);//'),
    ('copies do not see the barriers', r's/barriers_ready\(\);//'),
    ('threads do not, either', r's/(barriers_ready\(\);\n *\}\n *)__syncthreads\(\);/\1/'),
    ('more registers than there are', r's/registers_fewer<40>/registers_fewer<104>/'),
    ('points in another order than those of the other side', r's/right \+ 2 \* points/right + 2 * (points ^ 1)/'),
    ('lines as they would be without a swizzle', r's/high \+ 2 \* points/high + 8 * points/'),
    ('the sums before are added', r's/!IS_FIRST \|\| points > 0/1/'),
    ('only the last slice counts', r's/!IS_FIRST \|\| points > 0/points > 0/'),
    ('the first one is multiplied twice', r's/int64_t slice = 1; slice/int64_t slice = 0; slice/'),
    ('both groups multiply the same lines', r's/GROUP - 1\) \* 64/GROUP - 1) * 0/'),
    ('half of the points are left out', r's/slice \* SLICE_N/slice \/ 2 * SLICE_N/g'),
    ('columns that are not there are taken', r's/if \(EDGE && [^;]*;//'),
    ('an edge is not seen', r's/j_first \+ RIGHT_N <= tile/j_first <= tile/'),
    ('lanes of a row do not merge', r's/int apart = 2;/int apart = 1;/'),
    ('lanes have each other\'s columns', r's/threadIdx.x % 4 \* 2/threadIdx.x % 2 * 2/'),
    ('rows 8 apart are one', r's/r % 2 \* 8 \+ \(int\)threadIdx/r % 2 * 0 + (int)threadIdx/'),
    ('blocks do not agree which tiles they make', r's/number \+= gridDim.x/number += 1/'),
]

# The same where it keeps the left side's slices.
KEPT_FAULTS = [
    ('the left side is not waited for', r's/barrier_wait\(&ring->left_full[^;]*;//'),
    ('it comes in the place of what is multiplied', r's/barrier_wait\(&ring->left_empty[^;]*;//'),
    ('nobody gives it back', r's/barrier_arrive\(&ring->left_empty[^;]*;/;/'),
    ('both tiles have one place', r's/turn->stage \* KEPT_N/0/g'),
    ('more bytes of it are expected than come', r's/sizeof\(partu\) \* \(int\)slices/sizeof(partu) * KEPT_N/'),
    ('the rows of a group are twice the same', r's/512 \* high/0 * high/'),
    ('they are taken for the others', r's/TALL_N \+ r \/ 2/TALL_N + 1 - r \/ 2/'),
]

# The same in templates/cuda/hopper_fuse.cu.
FUSE_FAULTS = [
    ('slices are not waited for', r's/barrier_wait\(&ring->full[^;]*;//g'),
    ('nor those of the left side', r's/barrier_wait\(&ring->left_full[^;]*;//'),
    ('slices come in the place of what is multiplied', r's/barrier_wait\(&ring->empty[^;]*;//g'),
    ('the left side is changed before it is multiplied', r's/barrier_wait\(&ring->left_empty[^;]*;//'),
    ('its phases never change', r's/, phase \^= 1//g'),
    ('nobody gives the left side back', r's/barrier_arrive\(&ring->left_empty\)/(void)0/'),
    ('more bytes are expected than come', r's/RIGHT_N \* VALUES_N \* /RIGHT_N * (VALUES_N + 8) * /'),
    ('sums are taken before they are there', r's/end_sums_N<1>/end_sums_N<2>/'),
    ('products are changed before they are there', r's/wgmma_wait<0>\(\);//'),
    ('a stage is given back for another one', r's/(begin_products_N\(ring, factors, products, turn\);\n *end_sums_N<1>\(ring, sums, )stage/\1turn.stage/'),
    ('values come in another order', r's/column - RIGHT_N, &turn/column, \&turn/'),
    ('the last values do not come', r's/column \+ RIGHT_N >= to/column > to/'),
    ('products begin without a fence', r's/wgmma_fence\(\);//g'),
    ('points of another slice', r's/matrix_of\(ring->left\[slice\]/matrix_of(ring->left[0]/'),
    ('panels have as many points as slices have', r's/RIGHT_N \* SLICE_N \* \(int\)sizeof\(partu\)\)/SLICE_N * 64)/'),
    ('factors of other columns', r's/factors \+ 4 \* points/factors + 4 * (points ^ 1)/'),
    ('values of other columns', r's/right \+ 128 \* points/right + 128 * (points ^ 1)/'),
    ('factors are of one number each', r's/sums\[2 \* at \+ 1\]/sums[2 * at]/'),
    ('both groups have the same rows', r's/GROUP - 1\) \* 64/GROUP - 1) * 0/'),
    ('sums are those before, too', r's/slice \+ points > 0/1/'),
    ('more registers than there are', r's/REGISTERS_LEFT_N = 24/REGISTERS_LEFT_N = 40/'),
]

# Each skeleton of a ring: its file, that of its test and its options, and its faults.
TEMPLATE_FAULTS = [('hopper.cu', 'cuda_hopper.cu', [], RING_TEMPLATE_FAULTS), ('hopper.cu', 'cuda_hopper.cu', ['-DSAMPLE_KEPT'], KEPT_FAULTS),
                   ('hopper_fuse.cu', 'cuda_hopper_fuse.cu', [], FUSE_FAULTS)]

# The same in what the emitter writes, with an expression that shows it.
RING_FAULTS = [
    ('bytes are expected of lines that no box has', MAXSIM, r's/\(int\)\(token_box_1 \* head_box_1\)/LEFT_1/'),
    ('lengths are not looked at', LENGTHS, r's/size_min\(extent_column, limit\)/extent_column/g'),
    ('lines past the box are stored', MAXSIM, r's/place < \(int\)[a-z_0-9]* \* \(int\)[a-z_0-9]* && //'),
    ('a short band is taken for a long one', OUTER, r's/size_min\(left_tiles - left, 16\)/16/'),
    ('the indices of a slice are in another order', SEVERAL, r's/some = rest;/some = 0;/'),
    ('columns at the edge are stored', ADDED, r's/if \(EDGE && [^;]*;//'),
    ('documents begin where the first does', PACKED, r's/tile.n_shift = [^;]*;/tile.n_shift = 0;/'),
    ('a document out of range is not noticed', (PACKED[0], 'packed_far'), r's/FAIL\(f, OUT[^;]*;/;/g'),
    ('panels meet in one place', PANELS, r's/\[panel \* SLICE_1\], &f->left_1/[0], \&f->left_1/'),
    ('a panel begins where the one before it does', PANELS, r's/panels_of\(ring->right/matrix_of(ring->right/'),
    ('points of panels as those of lines', PANELS, r's/right \+ 128 \* points/right + 2 * points/'),
    ('panels are multiplied as lines are', ACROSS, r's/wgmma_f16_128<0, 1>/wgmma_f16_128<0, 0>/'),
    ('all panels have the first one\'s lines', DOWN, r's/line_first \+ panel \* SLICE_1/line_first/'),
    ('what is reached ends too early', WINDOW, r's/to = tile.reached_to/to = tile.reached_to - 1/g'),
    ('or begins too late', WINDOW, r's/tile.reached_from \/ RIGHT_5 \* RIGHT_5/(tile.reached_from \/ RIGHT_5 + 1) * RIGHT_5/g'),
    ('an edge is taken for whole', MASKED, r's/column_first \+ RIGHT_5 <= tile.whole_to/1/'),
    ('another edge is', WINDOW, r's/column_first >= tile.whole_from/1/'),
    ('lanes find what their own rows reach', WINDOW, r's/other_i64\(([a-z_]*), apart\)/\1/g'),
    ('an earlier maximum is forgotten', FLASH, r's/const float before = [^;]*;/const float before = largest_2[r] + 0.5f;/'),
    ('products are of the maximum that was', FLASH, r's/products\[at\] \*= factor/products[at] *= 0.9f + 0 * factor/'),
    ('the factor of the other row', FLASH, r's/factor\[at \/ 2 % 2\]/factor[1 - at \/ 2 % 2]/'),
    ('sums of powers are of the maximum that was', BIASED, r's/sum_4\[r\] \*= factor\[r\];//'),
    ('columns past the edge are in the sums', FLASH, r's/right_line_5\(c\) >= columns\s*\?[^:]*: //'),
    ('a row has columns past its last', WINDOW, r's/right_line_5\(c\) < to/1/'),
    ('or before its first', WINDOW, r's/right_line_5\(c\) >= from/1/'),
    ('a row of nothing but -inf is NaN', WINDOW, r's/largest_([0-9]*)\[r\] == -INFINITY \? 0.0f : //g'),
    ('lanes of a row do not agree', BIASED, r's/apart < 4; apart/apart < 2; apart/g'),
    ('large scores are multiplied before the maximum is taken off', LARGE, r's/fabsf\(most[_0-9]*\) > 1048576.0f/0/'),
    ('values past the last are stored', GROUPED, r's/ \|\|\s+[a-z_0-9]*\s+>= extent_value//'),
    ('rows past the last are stored', FLASH, r's/left_line_5\(r\) < extent_line/left_line_5(r) < extent_line + 1/'),
    ('values of the first batch', FLASH, r's/(load_tile_.\(ring->stages[^;]*values_5[^;]*), some\)/\1, 0)/'),
    ('half of the bytes are left out', BYTES, r's/POINTS_1 = 32/POINTS_1 = 64/'),
    ('bytes in another order than those of the other side', BYTES, r's/right \+ 2 \* points/right + 2 * (points ^ 1)/'),
    ('sums of bytes are those before, too', BYTE_MAXSIM, r's/!IS_FIRST \|\| points > 0/1/'),
    ('a slice of bytes has as many points as one of more', BYTES, r's/SLICE_1 = 128/SLICE_1 = 64/'),
    ('a tile is left out', MAXSIM, r's/number < tiles;/number < tiles - 1;/g'),
]
