/* The expression as the command line gives it, and the operands that its text names, before anything is known of them. */
#ifndef EINC_EXPRESSION_H
#define EINC_EXPRESSION_H

#include "cli.h"

typedef struct Expression {
    Source source;
    const Inputs *inputs;
} Expression;

/* Reads the text from cli->words and parses it. An einc_status, after a message. */
int expression_read(Cli *cli, Expression *expression);

/* The operand or what is made of that name; NULL when there is none. */
const Operand *expression_operand(const Expression *expression, const char *name);
const MadeName *expression_made(const Expression *expression, const char *name);

/* The name of the expression's that is nearest to `name`; NULL when none is near. Of what is made alone where `made`. */
const char *expression_nearest(Cli *cli, const Expression *expression, const char *name, bool made);

#endif
