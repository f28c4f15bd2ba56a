/* DLPack tensors as arrays. */
#include <string.h>

#include "runtime.h"

static Dtype dtype_of(DLDataType type)
{
    static const struct {
        uint8_t code, bits;
        Dtype dtype;
    } types[] = {
        { kDLBool, 8, DTYPE_BOOL }, { kDLInt, 8, DTYPE_I8 },       { kDLInt, 16, DTYPE_I16 },
        { kDLInt, 32, DTYPE_I32 },  { kDLInt, 64, DTYPE_I64 },     { kDLFloat, 16, DTYPE_F16 },
        { kDLBfloat, 16, DTYPE_BF16 }, { kDLFloat, 32, DTYPE_F32 }, { kDLFloat, 64, DTYPE_F64 },
        { kDLComplex, 64, DTYPE_C64 }, { kDLComplex, 128, DTYPE_C128 },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types && type.lanes == 1; i++)
        if (types[i].code == type.code && types[i].bits == type.bits)
            return types[i].dtype;
    return DTYPE_NONE;
}

/* Whether an array lies within what 63 bits can address, in bytes, on either side of its first element. */
static bool lies_in_memory(const Array *array)
{
    int64_t ends[2] = { (int64_t)dtype_size(array->dtype), 0 }, way;
    bool fits = true;
    for (int a = 0; a < array->rank; a++) {
        if (!array->shape[a])
            return true;
        fits &= !__builtin_mul_overflow(array->shape[a] - 1, array->stride[a], &way);
        fits &= !__builtin_mul_overflow(way, (int64_t)dtype_size(array->dtype), &way);
        fits &= !__builtin_add_overflow(ends[way < 0], way, &ends[way < 0]);
    }
    return fits;
}

const char *tensor_read(Array *array, const DLTensor *tensor)
{
    if (!tensor)
        return "is NULL";
    if (tensor->ndim < 0 || tensor->ndim > RANK_MAX)
        return "has a rank below 0 or above 64";
    if (tensor->dtype.lanes != 1 && tensor->dtype.bits)    /* 0 bits: a name that einc_tensor() did not know */
        return "has elements of other than one lane";
    array->dtype = dtype_of(tensor->dtype);
    if (array->dtype == DTYPE_NONE)
        return "has a dtype that einc does not know: there are bool, i8 to i64, f16, bf16, f32, f64, c64 and c128";
    array->rank = tensor->ndim;
    array->data = tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
    if (array->rank && !tensor->shape)
        return "has no shape";
    for (int a = 0; a < array->rank; a++) {
        array->shape[a] = tensor->shape[a];
        if (array->shape[a] < 0)
            return "has a negative size";
    }
    if (tensor->strides)
        memcpy(array->stride, tensor->strides, (size_t)array->rank * sizeof *array->stride);
    else
        array_lay_out(array, false);
    if (array_count(array) < 0)
        return "has more elements than 63 bits can count";
    return lies_in_memory(array) ? NULL : "has a shape and strides that reach further than any memory";
}

int tensor_device(const DLTensor *tensor)
{
    switch ((int)tensor->device.device_type) {
    case kDLCPU: case kDLCUDAHost: return TENSOR_HOST;
    case kDLCUDA: case kDLCUDAManaged: return tensor->device.device_id < 0 ? TENSOR_ELSEWHERE : tensor->device.device_id;
    default: return TENSOR_ELSEWHERE;
    }
}

DLTensor einc_tensor(void *data, const char *dtype, int ndim, int64_t *shape)
{
    DLTensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.data = data;
    tensor.device.device_type = kDLCPU;
    tensor.ndim = ndim;
    tensor.shape = shape;
    static const uint8_t codes[] = { [DTYPE_BOOL] = kDLBool, [DTYPE_I8] = kDLInt, [DTYPE_I16] = kDLInt, [DTYPE_I32] = kDLInt,
                                     [DTYPE_I64] = kDLInt, [DTYPE_F16] = kDLFloat, [DTYPE_BF16] = kDLBfloat,
                                     [DTYPE_F32] = kDLFloat, [DTYPE_F64] = kDLFloat, [DTYPE_C64] = kDLComplex,
                                     [DTYPE_C128] = kDLComplex };
    Dtype known = dtype ? dtype_find(dtype, strlen(dtype)) : DTYPE_NONE;
    if (known != DTYPE_NONE)
        tensor.dtype = (DLDataType){ codes[known], (uint8_t)(8 * dtype_size(known)), 1 };
    return tensor;
}
