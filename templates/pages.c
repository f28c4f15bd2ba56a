/* A stream of memory that comes a line of each of several pages in turn: where the hardware's own prefetching sees several pages,
 * some CPUs read faster than one page after the other. So lines of PAGES_BYTES change places; who asks for a stream in its own
 * order, one line after the other, asks for each of them once. What comes so is needed PAGES_BYTES later, or more. */
#ifndef TEMPLATES_PAGES
#define TEMPLATES_PAGES

#include "types.c"

//{ PAGES
//{ PAGE_LINES
//{ LINE_BYTES
//{ PAGES_BYTES
enum { PAGES = 4, PAGE_LINES = 64, LINE_BYTES = 64, PAGES_BYTES = PAGES * PAGE_LINES * LINE_BYTES };
//}

//{ line_of_pages
/* The line that comes in the place of that at p. */
INLINE const char *line_of_pages(const char *p)
{
    const uintptr_t line = (uintptr_t)p / LINE_BYTES, place = line % (PAGES * PAGE_LINES);
    return (const char *)((line - place + place % PAGES * PAGE_LINES + place / PAGES) * LINE_BYTES);
}
//}

//{ bring_pages
/* Asks for the lines of so many bytes from p on, PAGES of them at a time. */
INLINE void bring_pages(const char *p, int64_t bytes)
{
    const uintptr_t lines = PAGES * LINE_BYTES, end = ((uintptr_t)p + (uintptr_t)bytes + lines - 1) / lines;
    for (uintptr_t at = ((uintptr_t)p + lines - 1) / lines; at < end; at++) {
        const char *line = line_of_pages((const char *)(at * lines));
        UNROLL
        for (int page = 0; page < PAGES; page++)
            PREFETCH(line + page * PAGE_LINES * LINE_BYTES);
    }
}
//}

#endif
