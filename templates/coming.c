/* What is packed beside the products of something else: a vector at each point. */
#ifndef TEMPLATES_COMING
#define TEMPLATES_COMING

#include "types.c"

//{ Coming
/* Runs of whole vectors that are to lie side by side, in bytes. */
typedef struct Coming {
    const char *from;             /* where those are that come next, and where they go */
    char *to;
    int64_t run, apart;           /* a run, and from one's beginning to the next one's */
    int64_t left, rest;           /* of the run at hand, and of all */
    int64_t soon;                 /* what is so far behind is asked for */
} Coming;
//}

//{ begin_coming
/* `soon`: bytes that are packed before those that are asked for. */
INLINE Coming begin_coming(const void *from, void *to, int64_t run, int64_t apart, int64_t runs, int64_t soon)
{
    const int64_t further = run > 0 && soon > run ? soon / run : 1;
    const Coming coming = { (const char *)from, (char *)to, run, apart, run, run * runs, further * apart };
    return coming;
}
//}

//{ go_on_coming
/* So many bytes have been packed, if there were as many. */
INLINE void go_on_coming(Coming *coming, int64_t bytes)
{
    if (bytes > coming->rest)
        bytes = coming->rest;
    if (bytes == 0)
        return;
    const int64_t before = coming->run - coming->left, place = before + bytes;
    coming->from += place / coming->run * coming->apart + place % coming->run - before;
    coming->to += bytes;
    coming->left = coming->run - place % coming->run;
    coming->rest -= bytes;
}
//}

//{ end_coming
/* Packs all others. */
INLINE void end_coming(Coming *coming)
{
    while (coming->rest > 0) {
        memcpy(coming->to, coming->from, (size_t)coming->left);
        go_on_coming(coming, coming->left);
    }
}
//}

#endif
