/* einc explain: what the kernel would do, without a C compiler and without data. */
#include <stdio.h>

#include "job.h"

static int explain_job(Job *job)
{
    Cli *cli = job->cli;
    int status = job_front(job);
    if (!status)
        status = job_derive_shapes(job);
    if (status)
        return status;
    Compiled *compiled = build_compile(cli->context, &cli->arena, &job->expression.source, &job->options);
    if (!compiled)
        return cli_fail_runtime(cli);
    bool json = option_given(cli, OPTION_JSON);
    if (json || !option_given(cli, OPTION_DUMP))
        fputs(kernel_explain(&cli->arena, compiled, json), stdout);
    return job_check_budget(job, compiled);
}

int command_explain(Cli *cli)
{
    Job job;
    int status = job_read(cli, &job);
    if (!status)
        status = explain_job(&job);
    job_close(&job);
    return status;
}
