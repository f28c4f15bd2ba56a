/* Text files are written beside their place and renamed, so that nobody ever sees half of one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static bool write_all(int fd, const char *text)
{
    for (size_t left = strlen(text); left;) {
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno != EINTR)
            return false;
        text += n < 0 ? 0 : n;
        left -= n < 0 ? 0 : (size_t)n;
    }
    return true;
}

/* A new file beside the target, made by open() so that the umask applies. */
static int open_beside(TextFile *file)
{
    for (int i = 0; i < 100; i++) {
        if (asprintf(&file->temporary, "%s.einc-%lx%02x", file->target, (long)getpid(), (unsigned)i) < 0)
            break;
        int fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return fd;
        int why = errno;
        free(file->temporary);
        errno = why;
        if (why != EEXIST)
            break;
    }
    file->temporary = NULL;
    return -1;
}

static int open_file(TextFile *file)
{
    struct stat old;
    if (!strcmp(file->path, "-"))
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    bool exists = !stat(file->path, &old);
    if (exists && !S_ISREG(old.st_mode))
        return open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (exists && access(file->path, W_OK))
        return -1;
    file->target = exists ? realpath(file->path, NULL) : strdup(file->path);
    int fd = file->target ? open_beside(file) : -1;
    if (exists && fd >= 0)
        fchmod(fd, old.st_mode & 0777);
    return fd;
}

int file_write(Cli *cli, TextFile *file, const char *path, const char *text)
{
    *file = (TextFile){ .path = path };
    int fd = open_file(file);
    bool ok = fd >= 0 && write_all(fd, text);
    int why = errno;
    if (fd >= 0 && close(fd) && ok) {
        ok = false;
        why = errno;
    }
    if (ok)
        return EINC_OK;
    file_abort(file);
    return cli_fail(cli, EINC_FAILED, "%s: cannot write: %s", strcmp(path, "-") ? path : "<stdout>", strerror(why));
}

int file_commit(Cli *cli, TextFile *file)
{
    if (file->temporary && rename(file->temporary, file->target)) {
        int why = errno;
        file_abort(file);
        return cli_fail(cli, EINC_FAILED, "%s: cannot write: %s", file->path, strerror(why));
    }
    free(file->temporary);
    file->temporary = NULL;
    file_abort(file);
    return EINC_OK;
}

void file_abort(TextFile *file)
{
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->target);
    *file = (TextFile){ 0 };
}
