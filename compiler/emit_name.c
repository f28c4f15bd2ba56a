/* What the kernel's function may be called. */
#include <ctype.h>
#include <string.h>

#include "emitting.h"

/* Names in the headers that generated files include; with one of the suffixes behind it, too. */
static const char *const suffixes[] = { "", "f", "l", "f32", "f32x", "f64", "f64x" };
static const char *const library_names[] = {
    "abort", "abs", "acos", "acosh", "aligned_alloc", "asin", "asinh", "atan", "atan2", "atanh", "atexit", "atof", "atoi",
    "atol", "atoll", "bcmp", "bcopy", "bsearch", "bzero", "calloc", "cbrt", "ceil", "clock", "copysign", "cos", "cosh", "div",
    "drem", "erf", "erfc", "exit", "exp", "exp2", "expm1", "fabs", "fclose", "fdim", "ffs", "fflush", "fgetc", "fgets",
    "finite", "floor", "fma", "fmax", "fmin", "fmod", "fopen", "fprintf", "fputc", "fputs", "fread", "free", "freopen",
    "frexp", "fscanf", "fseek", "ftell", "fwrite", "gamma", "getc", "getchar", "getenv", "gets", "hypot", "ilogb", "index",
    "isinf", "isnan", "j0", "j1", "jn", "ldexp", "ldiv", "lgamma", "llabs", "lldiv", "llrint", "llround", "log", "log10",
    "log1p", "log2", "logb", "lrint", "lround", "malloc", "memccpy", "memchr", "memcmp", "memcpy", "memmove", "memset",
    "modf", "nan", "nearbyint", "nextafter", "nexttoward", "perror", "pow", "printf", "putc", "putchar", "puts", "qsort",
    "quick_exit", "rand", "random", "realloc", "remainder", "remove", "remquo", "rename", "rewind", "rindex", "rint", "round",
    "scalb", "scalbln", "scalbn", "scanf", "significand", "sin", "sincos", "sinh", "snprintf", "sprintf", "sqrt", "srand",
    "sscanf", "stderr", "stdin", "stdout", "stpcpy", "strcat", "strchr", "strcmp", "strcoll", "strcpy", "strcspn", "strdup",
    "strerror", "strlen", "strncat", "strncmp", "strncpy", "strpbrk", "strrchr", "strsep", "strspn", "strstr", "strtod",
    "strtof", "strtok", "strtol", "strtold", "strtoll", "strtoul", "strxfrm", "swab", "system", "tan", "tanh", "tgamma",
    "tmpfile", "tmpnam", "trunc", "ungetc", "vfprintf", "vprintf", "vsprintf", "y0", "y1", "yn", NULL
};

/* Names in the headers that nvcc includes unasked, likewise. */
static const char *const cuda_names[] = {
    "CUuuid", "FP_INFINITE", "FP_INT_DOWNWARD", "FP_INT_TONEAREST", "FP_INT_TONEARESTFROMZERO", "FP_INT_TOWARDZERO",
    "FP_INT_UPWARD", "FP_NAN", "FP_NORMAL", "FP_SUBNORMAL", "FP_ZERO", "MAJOR_VERSION", "MINOR_VERSION", "PATCH_LEVEL", "a64l",
    "alloca", "arc4random", "arc4random_buf", "arc4random_uniform", "asctime", "asctime_r", "assert", "assert_perror", "be16toh",
    "be32toh", "be64toh", "blkcnt64_t", "blkcnt_t", "blksize_t", "caddr_t", "canonicalize", "canonicalize_file_name", "char1",
    "char2", "char3", "char4", "clearenv", "clock64", "clock_adjtime", "clock_getcpuclockid", "clock_getres", "clock_gettime",
    "clock_nanosleep", "clock_settime", "clock_t", "clockid_t", "comparison_fn_t", "cospi", "ctime", "ctime_r", "cyl_bessel_i0",
    "cyl_bessel_i1", "daddl", "daddr_t", "daylight", "ddivl", "dev_t", "dfmal", "difftime", "div_t", "dmull", "double1",
    "double2", "double3", "double4", "double4_16a", "double4_32a", "double_t", "drand48", "drand48_r", "dsqrtl", "dsubl",
    "dysize", "ecvt", "ecvt_r", "erand48", "erand48_r", "erfcinv", "erfcx", "erfinv", "exp10", "explicit_bzero", "fadd", "fcvt",
    "fcvt_r", "fd_mask", "fd_set", "fdiv", "fdivide", "ffma", "ffsll", "float1", "float2", "float3", "float4", "float_t",
    "fmaximum", "fmaximum_mag", "fmaximum_mag_num", "fmaximum_num", "fmaxmag", "fminimum", "fminimum_mag", "fminimum_mag_num",
    "fminimum_num", "fminmag", "fmul", "fromfp", "fromfpx", "fsblkcnt64_t", "fsblkcnt_t", "fsfilcnt64_t", "fsfilcnt_t", "fsid_t",
    "fsqrt", "fsub", "gcvt", "getdate", "getdate_err", "getdate_r", "getloadavg", "getpayload", "getpt", "getsubopt", "gid_t",
    "gmtime", "gmtime_r", "grantpt", "htobe16", "htobe32", "htobe64", "htole16", "htole32", "htole64", "id_t", "initstate",
    "initstate_r", "ino64_t", "ino_t", "int1", "int2", "int3", "int4", "isalnum", "isalnum_l", "isalpha", "isalpha_l", "isascii",
    "isascii_l", "isblank", "isblank_l", "iscntrl", "iscntrl_l", "isctype", "isdigit", "isdigit_l", "isgraph", "isgraph_l",
    "islower", "islower_l", "isprint", "isprint_l", "ispunct", "ispunct_l", "isspace", "isspace_l", "issubnormal", "isupper",
    "isupper_l", "isxdigit", "isxdigit_l", "jrand48", "jrand48_r", "key_t", "l64a", "labs", "lcong48", "lcong48_r", "ldiv_t",
    "le16toh", "le32toh", "le64toh", "lgamma_r", "lgammaf32_r", "lgammaf32x_r", "lgammaf64_r", "lgammaf64x_r", "lgammaf_r",
    "lgammal_r", "libraryPropertyType", "lldiv_t", "llmax", "llmin", "llogb", "locale_t", "localtime", "localtime_r", "loff_t",
    "long1", "long2", "long3", "long4", "long4_16a", "long4_32a", "longlong1", "longlong2", "longlong3", "longlong4",
    "longlong4_16a", "longlong4_32a", "lrand48", "lrand48_r", "math_errhandling", "max", "max_align_t", "mblen", "mbstowcs",
    "mbtowc", "memfrob", "memmem", "mempcpy", "min", "mkdtemp", "mkostemp", "mkostemp64", "mkostemps", "mkostemps64", "mkstemp",
    "mkstemp64", "mkstemps", "mkstemps64", "mktemp", "mktime", "mode_t", "mrand48", "mrand48_r", "nanosleep", "nextdown",
    "nextup", "nlink_t", "norm", "norm3d", "norm4d", "normcdf", "normcdfinv", "nrand48", "nrand48_r", "nullptr_t", "off64_t",
    "off_t", "offsetof", "on_exit", "pid_t", "posix_memalign", "posix_openpt", "pselect", "pthread_attr_t", "pthread_barrier_t",
    "pthread_barrierattr_t", "pthread_cond_t", "pthread_condattr_t", "pthread_key_t", "pthread_mutex_t", "pthread_mutexattr_t",
    "pthread_once_t", "pthread_rwlock_t", "pthread_rwlockattr_t", "pthread_spinlock_t", "pthread_t", "ptrdiff_t", "ptsname",
    "ptsname_r", "putenv", "qecvt", "qecvt_r", "qfcvt", "qfcvt_r", "qgcvt", "qsort_r", "quad_t", "rand_r", "random_r", "rcbrt",
    "reallocarray", "realpath", "register_t", "rhypot", "rnorm", "rnorm3d", "rnorm4d", "roundeven", "rpmatch", "rsqrt",
    "secure_getenv", "seed48", "seed48_r", "select", "setenv", "setpayload", "setpayloadsig", "setstate", "setstate_r", "short1",
    "short2", "short3", "short4", "sigabbrev_np", "sigdescr_np", "signgam", "sigset_t", "sincospi", "sinpi", "srand48",
    "srand48_r", "srandom", "srandom_r", "ssize_t", "std", "stpncpy", "strcasecmp", "strcasecmp_l", "strcoll_l", "strdupa",
    "strerror_l", "strerror_r", "strerrordesc_np", "strerrorname_np", "strfromd", "strfromf", "strfromf32", "strfromf32x",
    "strfromf64", "strfromf64x", "strfroml", "strfry", "strftime", "strftime_l", "strncasecmp", "strncasecmp_l", "strndup",
    "strndupa", "strnlen", "strptime", "strptime_l", "strsignal", "strtod_l", "strtof32", "strtof32_l", "strtof32x",
    "strtof32x_l", "strtof64", "strtof64_l", "strtof64x", "strtof64x_l", "strtof_l", "strtok_r", "strtol_l", "strtold_l",
    "strtoll_l", "strtoq", "strtoul_l", "strtoull_l", "strtouq", "strverscmp", "strxfrm_l", "suseconds_t", "time", "time_t",
    "timegm", "timelocal", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "timer_t",
    "timespec_get", "timespec_getres", "timezone", "toascii", "toascii_l", "tolower", "tolower_l", "totalorder", "totalordermag",
    "toupper", "toupper_l", "tzname", "tzset", "u_char", "u_int", "u_int16_t", "u_int32_t", "u_int64_t", "u_int8_t", "u_long",
    "u_quad_t", "u_short", "uchar1", "uchar2", "uchar3", "uchar4", "ufromfp", "ufromfpx", "uid_t", "uint", "uint1", "uint2",
    "uint3", "uint4", "ullmax", "ullmin", "ulong", "ulong1", "ulong2", "ulong3", "ulong4", "ulong4_16a", "ulong4_32a",
    "ulonglong1", "ulonglong2", "ulonglong3", "ulonglong4", "ulonglong4_16a", "ulonglong4_32a", "umax", "umin", "unlockpt",
    "unsetenv", "useconds_t", "ushort", "ushort1", "ushort2", "ushort3", "ushort4", "valloc", "wcstombs", "wctomb", NULL
};

/* Names of the text of kernels for CUDA, and of what it has of CUDA: no variable has one, either. */
static const char *const cuda_words[] = {
    "team", "point", "points", "share", "warp", "apart", "frame", "launch", "stream", "workers", "CONSTANTS", "THREADS", "WARP", "WARPS",
    "RESIDENT", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "dim3", "cudaStream_t", "keep_rounded", "block_memory",
    "ring_memory", "GROUP", "GROUPS", "RING_THREADS", "EDGE", "is_edge", "skip", "carry", "share_at",
    "share_skip", NULL
};

void emit_grid_reserve(Emitter *e)
{
    for (int i = 0; cuda_words[i]; i++)
        names_unique(&e->names, cuda_words[i]);
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++) {
        size_t length = strlen(*names);
        for (size_t s = 0; s < sizeof suffixes / sizeof *suffixes && !strncmp(name, *names, length); s++)
            if (!strcmp(name + length, suffixes[s]))
                return true;
    }
    return false;
}

/* What else is defined in the file: the library's snippets, the C library, and the parts of templates/main.c. */
static bool is_taken(const void *library, const char *name)
{
    return is_among(name, library_names) || library_has(library, name);
}

static bool is_taken_in_cuda(const void *library, const char *name)
{
    for (int i = 0; cuda_words[i]; i++)
        if (!strcmp(name, cuda_words[i]))
            return true;
    return is_among(name, cuda_names) || is_taken(library, name);
}

/* Functions and variables of a kernel are called so, with a number behind it. */
static const char *const numbered[] = { "step_", "merge_", "launch_", "tile_", "multiply_", "pack_columns_", "pack_rows_",
                                        "after_", "finish_", "order_", "count_better_", "swap_", "merge_pairs_", "settle_", "bound_",
                                        "chosen_", "add_", "scan_", "rank_" };
static const char *const variables[] = { "panels", "kept", "packed", "units", "grain", "tasks", "past", "odd", "sorted", "ranked", "seen",
                                         "spots", "parts", "waiting", "noted", "finite", "sums" };

bool emit_numbers(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++)
        if (!strncmp(name, numbered[i], length) && !strcmp(numbered[i] + length, "_"))
            return true;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (!strcmp(name, variables[i]))
            return true;
    return false;
}

/* Whether a function of the kernel, of templates/main.c or of CUDA has or could have that name. */
static bool is_own(const Target *target, const char *name)
{
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++)
        if (!strncmp(name, numbered[i], strlen(numbered[i])) && isdigit((unsigned char)name[strlen(numbered[i])]))
            return true;
    if (target->grid && (!strncmp(name, "cuda", 4) || !strncmp(name, "CUDA_", 5) || !strncmp(name, "__", 2)))
        return true;
    return !strcmp(name, "main") || !strncmp(name, "main_", 5) || !strncmp(name, "einc_host", 9);
}

static Names free_names(Arena *arena, const Target *target)
{
    Names names = names_new(arena, NULL);
    names.is_taken = target->grid ? is_taken_in_cuda : is_taken;
    names.user = library_new(arena, target_has_feature, target);
    return names;
}

const char *emit_name_from(Arena *arena, const Target *target, const char *word)
{
    Names names = free_names(arena, target);
    if (!isalnum((unsigned char)word[0]) && word[0] != '_')
        return "einc_kernel";
    return names_unique(&names, is_own(target, word) ? arena_format(arena, "kernel_%s", word) : word);
}

const char *emit_name_fault(Arena *arena, const Target *target, const char *name)
{
    Names names = free_names(arena, target);
    bool word = *name && !isdigit((unsigned char)*name);
    for (const char *c = name; *c; c++)
        word &= isalnum((unsigned char)*c) || *c == '_';
    if (!word)
        return arena_format(arena, "'%s' is no name for a C function", name);
    if (is_own(target, name) || strcmp(names_unique(&names, name), name))
        return arena_format(arena, "a function cannot be called '%s': %s or the kernel itself has that name", name,
                            target->grid ? "C, CUDA, their libraries" : "C, its library");
    return NULL;
}
