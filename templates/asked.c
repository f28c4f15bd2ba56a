/* Lines of memory that are asked for before they are needed, of some runs that lie behind each other in turn: where the hardware's
 * own prefetching sees several, some CPUs read faster than one run after the other. */
#ifndef TEMPLATES_ASKED
#define TEMPLATES_ASKED

#include "pages.c"
#include "size.c"
#include "types.c"

//{ Asked
/* A block of memory: `turns` times, `far` bytes from one to the next, so many groups of runs. A group's runs are `apart` bytes from
 * one to the next; a line of each of them is asked for, then the lines behind these. Where the last group is not full,
 * as many lines behind the block are asked for, too. */
typedef struct Asked {
    const char *first, *at;       /* its first line, and that which is next */
    int64_t abreast, lines;       /* runs of a group, and lines of a run */
    int64_t apart, back, gap;     /* bytes from a line to the next one, from a group's last run to its first, and to the next group */
    int64_t runs_left, lines_left;    /* of the group at hand; without end of a block that has been asked for */
    int64_t groups, group, far, turns, turn;
} Asked;
//}

//{ ask_nothing
INLINE Asked ask_nothing(void)
{
    const Asked nothing = { NULL, NULL, 1, 1, 0, 0, 0, INT64_MAX, INT64_MAX, 0, 0, 0, 0, 0 };
    return nothing;
}
//}

//{ ask_for
/* Runs of so many bytes, at each of levels[i][0] points that are levels[i][1] bytes apart, for each of these levels, nearest points
 * first. Runs that follow each other are one, and that is taken by pages. Of what is no such block levels are left out. */
INLINE Asked ask_for(const void *first, int64_t bytes, const int64_t (*levels)[2], int count)
{
    Asked asked = ask_nothing();
    int64_t runs = 1;
    asked.turns = 1;
    for (int i = 0; i < count; i++) {
        const int64_t points = levels[i][0], step = levels[i][1];
        if (points == 1)
            continue;
        if (runs == 1 && step == bytes) {
            bytes *= points;
        } else if (runs == 1) {
            runs = points;
            asked.apart = step;
        } else if (asked.turns == 1 && step == runs * asked.apart) {
            runs *= points;
        } else if (asked.turns == 1) {
            asked.turns = points;
            asked.far = step;
        }
    }
    if (runs == 1) {
        asked.apart = size_min(size_align(size_ceil_div(bytes, PAGES), LINE_BYTES), PAGE_LINES * LINE_BYTES);
        runs = size_ceil_div(bytes, size_max(asked.apart, 1));
        bytes = asked.apart;
    }
    if (bytes <= 0 || runs <= 0 || asked.turns <= 0)
        return ask_nothing();
    asked.first = asked.at = (const char *)first;
    asked.abreast = asked.runs_left = size_min(runs, PAGES);
    asked.lines = asked.lines_left = size_ceil_div(bytes, LINE_BYTES);
    asked.groups = size_ceil_div(runs, asked.abreast);
    asked.back = LINE_BYTES - asked.abreast * asked.apart;
    asked.gap = asked.abreast * asked.apart - asked.lines * LINE_BYTES;
    return asked;
}
//}

//{ turn_asked
/* `ahead` has gone one run further: behind a group's last run it is at the first one's next line, behind all lines at the next group. */
INLINE void turn_asked(const Asked *asked, const char **ahead, int64_t *runs_left, int64_t *lines_left)
{
    if (--*runs_left > 0)
        return;
    *runs_left = asked->abreast;
    *ahead += asked->back;
    if (--*lines_left > 0)
        return;
    *lines_left = asked->lines;
    *ahead += asked->gap;
}
//}

//{ go_on_asked
/* So many lines more have been asked for, if there were as many. */
INLINE void go_on_asked(Asked *asked, int64_t lines)
{
    const int64_t all = asked->abreast * asked->lines;
    int64_t place = (asked->lines - asked->lines_left) * asked->abreast + asked->abreast - asked->runs_left + lines;
    for (; place >= all && asked->turn < asked->turns; place -= all)
        if (++asked->group == asked->groups) {
            asked->group = 0;
            asked->turn++;
        }
    if (asked->turn == asked->turns) {
        *asked = ask_nothing();
        return;
    }
    const int64_t line = place / asked->abreast, run = place % asked->abreast;
    asked->lines_left = asked->lines - line;
    asked->runs_left = asked->abreast - run;
    asked->at = asked->first + asked->turn * asked->far + (asked->group * asked->abreast + run) * asked->apart + line * LINE_BYTES;
}
//}

#endif
