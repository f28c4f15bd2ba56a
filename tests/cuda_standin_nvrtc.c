/* A stand-in for libnvrtc: "compiles" a kernel's text with CUDA_STANDIN_CC into an object in CUDA_STANDIN_FOLDER, whose path is the
 * code. With CUDA_STANDIN_OLD=1 it knows the architectures 80 and 86 alone; with CUDA_STANDIN_NVRTC=1108 it is of CUDA 11.8, which knows
 * 90, but not 90a. tests/cuda_standin.h says what else there is. */
#define _GNU_SOURCE
#include <unistd.h>

#include "cuda_standin.h"

typedef struct Program {
    char *source, object[512];
} Program;

static const int all_architectures[] = { 80, 86, 87, 89, 90, 100, 103, 120 };

static int known_architectures(void)
{
    return is_set("CUDA_STANDIN_OLD") ? 2 : (int)(sizeof all_architectures / sizeof *all_architectures);
}

static int version(void)
{
    const char *text = getenv("CUDA_STANDIN_NVRTC");
    return text ? atoi(text) : 1300;
}

CALL(nvrtcVersion, int *major, int *minor) { BEGIN; *major = version() / 100; *minor = version() % 100; return 0; }
CALL(nvrtcGetNumSupportedArchs, int *count) { BEGIN; *count = known_architectures(); return 0; }
CALL(nvrtcGetProgramLogSize, void *program, size_t *bytes) { (void)program; *bytes = 8; return 0; }
CALL(nvrtcGetProgramLog, void *program, char *log) { (void)program; memcpy(log, "the log", 8); return 0; }
CALL(nvrtcGetCUBINSize, void *program, size_t *bytes) { (void)program; BEGIN; *bytes = sizeof ((Program *)program)->object; return 0; }
CALL(nvrtcGetPTXSize, void *program, size_t *bytes) { (void)program; BEGIN; *bytes = sizeof ((Program *)program)->object; return 0; }

CALL(nvrtcGetSupportedArchs, int *list)
{
    BEGIN;
    memcpy(list, all_architectures, (size_t)known_architectures() * sizeof *list);
    return 0;
}

static int copy_object(const Program *program, char *code)
{
    memcpy(code, program->object, sizeof program->object);
    return 0;
}

CALL(nvrtcGetCUBIN, void *program, char *cubin) { BEGIN; return copy_object(program, cubin); }
CALL(nvrtcGetPTX, void *program, char *ptx) { BEGIN; return copy_object(program, ptx); }

CALL(nvrtcCreateProgram, void **made, const char *source, const char *name, int headers, const char *const *texts,
     const char *const *names)
{
    (void)name;
    (void)texts;
    (void)names;
    BEGIN;
    Program *program = headers ? NULL : calloc(1, sizeof *program);
    if (!program)
        return 1;
    program->source = strdup(source);
    *made = program;
    kept++;
    return 0;
}

CALL(nvrtcDestroyProgram, void **program)
{
    HOLD;
    free(((Program *)*program)->source);
    free(*program);
    *program = NULL;
    kept--;
    return 0;
}

/* Code for an architecture that it knows, "sm_90a", or text for one, "compute_86". */
CALL(nvrtcCompileProgram, void *of, int count, const char *const *options)
{
    char command[1200];
    bool known = false;
    Program *program = of;
    BEGIN;
    const char *number = count ? strchr(options[0], '_') : NULL;
    for (int i = 0; i < known_architectures() && number; i++)
        known |= atoi(number + 1) == all_architectures[i];
    known &= version() >= 1200 || !number || !strchr(number, 'a');
    if (!known || (strncmp(options[0], "--gpu-architecture=sm_", 22) && strncmp(options[0], "--gpu-architecture=compute_", 27)))
        return 5;
    snprintf(program->object, sizeof program->object, "%s/standin-%d-%d.so", getenv("CUDA_STANDIN_FOLDER"), (int)getpid(), calls);
    snprintf(command, sizeof command, "%s -o %s", getenv("CUDA_STANDIN_CC"), program->object);
    FILE *compiler = popen(command, "w");
    if (!compiler || fputs(program->source, compiler) < 0)
        return 6;
    return pclose(compiler) ? 6 : 0;
}
