/* einc cache: the compiled kernels on disk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

typedef struct Listing {
    Cli *cli;
    CacheEntry *entries;
    int count;
} Listing;

static void add_entry(void *user, const CacheEntry *entry)
{
    Listing *listing = user;
    CacheEntry copy = *entry;
    copy.description = arena_copy(&listing->cli->arena, entry->description, strlen(entry->description));
    ARENA_APPEND(&listing->cli->arena, listing->entries, listing->count, copy);
}

static int compare_entries(const void *a, const void *b)
{
    const CacheEntry *x = a, *y = b;
    if (x->modified != y->modified)
        return x->modified < y->modified ? 1 : -1;
    return strcmp(x->key, y->key);
}

/* The newest first. */
static int list(Cli *cli, const Cache *cache)
{
    Listing listing = { .cli = cli };
    cache_list(cache, add_entry, &listing);
    if (listing.count)
        qsort(listing.entries, (size_t)listing.count, sizeof *listing.entries, compare_entries);
    for (int i = 0; i < listing.count; i++) {
        const CacheEntry *entry = &listing.entries[i];
        struct tm local;
        char when[40] = "";
        if (localtime_r(&entry->modified, &local))
            strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
        printf("%.12s  %s  %8s  %s\n", entry->key, when, byte_words(&cli->arena, (double)entry->bytes),
               *entry->description ? entry->description : "(damaged)");
    }
    if (!listing.count)
        cli_note(cli, "note: there are no kernels in %s", cache_path(cache));
    return EINC_OK;
}

static int clear(Cli *cli, const Cache *cache)
{
    (void)cli;
    int count = cache_clear(cache);
    printf("removed %d kernel%s from %s\n", count, count == 1 ? "" : "s", cache_path(cache));
    return EINC_OK;
}

static int path(Cli *cli, const Cache *cache)
{
    (void)cli;
    printf("%s\n", cache_path(cache));
    return EINC_OK;
}

static const struct {
    const char *name;
    int (*run)(Cli *cli, const Cache *cache);
} actions[] = { { "ls", list }, { "clear", clear }, { "path", path } };

enum { ACTIONS = sizeof actions / sizeof *actions };

static int fail_action(Cli *cli)
{
    const char *names[ACTIONS];
    for (int i = 0; i < ACTIONS; i++)
        names[i] = actions[i].name;
    if (cli->word_count != 1)
        return cli_fail(cli, EINC_USAGE, "'einc cache' takes one word\nhint: ls, clear or path");
    const char *word = cli->words[0], *near = diag_nearest(word, strlen(word), names, ACTIONS);
    return cli_fail(cli, EINC_USAGE, "there is no 'einc cache %s'\nhint: %s%s%sthere are ls, clear and path", word,
                    near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}

int command_cache(Cli *cli)
{
    int a = 0;
    while (a < ACTIONS && (cli->word_count != 1 || strcmp(actions[a].name, cli->words[0])))
        a++;
    if (a == ACTIONS)
        return fail_action(cli);
    Cache *cache = cache_open(NULL);
    if (!cache)
        return cli_fail(cli, EINC_FAILED, "out of memory");
    const char *problem = cache_problem(cache), *where = cache_path(cache);
    int status = EINC_OK;
    if (!*where)
        status = cli_fail(cli, EINC_FAILED, "there is no place for a cache\nhint: set EINC_CACHE_DIR or HOME");
    else if (problem && actions[a].run != path)
        status = cli_fail(cli, EINC_FAILED, "%s: the cache cannot be used: %s", where, problem);
    else
        status = actions[a].run(cli, cache);
    cache_close(cache);
    return status;
}
