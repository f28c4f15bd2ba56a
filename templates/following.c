/* What comes next from memory, asked for beside other work. */
#ifndef TEMPLATES_FOLLOWING
#define TEMPLATES_FOLLOWING

#include "pages.c"
#include "size.c"
#include "types.c"

//{ Following
/* Two ranges of memory, the one asked for behind the other: the same share of them at each point. */
typedef struct Following {
    const char *at, *end;         /* what is next, in the range at hand */
    const char *then, *then_end;  /* the other range; NULL: there is none any more */
    int64_t step;                 /* bytes at each point: a line at most */
} Following;
//}

//{ without_gaps
/* Bytes from one point to the next, if no more than a fifth of them are not its own; else 0. */
PLAIN int64_t without_gaps(int64_t apart, int64_t own)
{
    return apart >= own && apart - own <= apart / 5 ? apart : 0;
}
//}

//{ follow
INLINE Following follow(const void *first, int64_t first_bytes, const void *then, int64_t then_bytes, int64_t points)
{
    const int64_t share = size_ceil_div(first_bytes + then_bytes, size_max(points, 1));
    const Following f = { (const char *)first, (const char *)first + first_bytes, (const char *)then, (const char *)then + then_bytes,
                          size_min(share, LINE_BYTES) };
    return f;
}
//}

//{ follow_on
/* So many points have asked for their shares. */
INLINE void follow_on(Following *f, int64_t points)
{
    f->at += points * f->step;
    if (f->at < f->end)
        return;
    f->at = f->then ? f->then : f->at;
    f->end = f->then ? f->then_end : f->at;
    f->step = f->then ? f->step : 0;
    f->then = NULL;
}
//}

#endif
