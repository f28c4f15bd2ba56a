/* The expression as the command line gives it, and the operands that its text names, before anything is known of them. */
#ifndef EINC_EXPRESSION_H
#define EINC_EXPRESSION_H

#include "cli.h"

typedef struct Operand {
    const char *name;             /* NULL: an operand of letters */
    const char *label;            /* what stands before "=FILE": the name, or A, B, … as `einc explain` calls it */
    Span span;
} Operand;

typedef struct MadeName {
    const char *name;
    bool adds;                    /* its first statement is a `+=`: it adds to the caller's array */
} MadeName;

typedef struct Expression {
    Source source;
    Operand *operands;            /* the inputs, in order of first appearance */
    int operand_count;
    MadeName *made;               /* what statements with a name make */
    int made_count;
} Expression;

/* Reads the text from cli->words and parses it. An einc_status, after a message. */
int expression_read(Cli *cli, Expression *expression);

/* The operand or what is made of that name; NULL when there is none. */
const Operand *expression_operand(const Expression *expression, const char *name);
const MadeName *expression_made(const Expression *expression, const char *name);

/* The name of the expression's that is nearest to `name`; NULL when none is near. Of what is made alone where `made`. */
const char *expression_nearest(Cli *cli, const Expression *expression, const char *name, bool made);

#endif
