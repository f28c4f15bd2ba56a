#include "state.h"

Dtype register_dtype(Dtype dtype)
{
    return dtype_widen(dtype);
}

int state_components(const Term *reduce, Component components[STATE_COMPONENTS_MAX])
{
    Dtype value = register_dtype(reduce->reduce.argument->dtype), real = dtype_real(value);
    State state = reduce->kind == TERM_CONTRACT && reduce->reduce.reduction == REDUCTION_SUM
                      ? STATE_SUM : reduction_facts[reduce->reduce.reduction].state;
    switch (state) {
    case STATE_SUM: components[0] = (Component){ "sum", value }; return 1;
    case STATE_PROD: components[0] = (Component){ "product", value }; return 1;
    case STATE_MAX: components[0] = (Component){ "largest", value }; return 1;
    case STATE_MIN: components[0] = (Component){ "smallest", value }; return 1;
    case STATE_ANY: components[0] = (Component){ "any", value }; return 1;
    case STATE_ALL: components[0] = (Component){ "all", value }; return 1;
    case STATE_NORM: components[0] = (Component){ "norm", real }; return 1;
    case STATE_MOMENTS:
        components[0] = (Component){ "count", real };
        components[1] = (Component){ "mean", value };
        components[2] = (Component){ "squares", real };
        return 3;
    case STATE_EXPONENTIALS:
        components[0] = (Component){ "largest", value };
        components[1] = (Component){ "sum", value };
        return 2;
    case STATE_ARGMAX:
    case STATE_ARGMIN:
        components[0] = (Component){ state == STATE_ARGMAX ? "largest" : "smallest", value };
        components[1] = (Component){ "place", DTYPE_I64 };
        return 2;
    case STATE_TOPK:
    case STATE_BOTTOMK:
    case STATE_COUNT: break;
    }
    return 0;
}
