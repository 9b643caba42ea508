/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/index.h"

#include <stdlib.h>

void table_done(struct table *t)
{
    free(t->heads);
    *t = (struct table){0};
}

static void grow(struct table *t)
{
    size_t heads = t->heads ? (t->mask + 1) * 2 : 16;
    struct table next = {calloc(heads, sizeof(struct node *)), t->n, heads - 1};
    if (next.heads == NULL)
        abort();
    for (size_t i = 0; t->heads && i <= t->mask; i++)
        for (struct node *node = t->heads[i], *after; node; node = after) {
            after = node->next;
            struct node **head = &next.heads[node->hash & next.mask];
            node->next = *head;
            *head = node;
        }
    free(t->heads);
    *t = next;
}

void table_add(struct table *t, struct node *node)
{
    if (t->heads == NULL || t->n > t->mask)
        grow(t);
    struct node **head = &t->heads[node->hash & t->mask];
    node->next = *head;
    *head = node;
    t->n++;
}

void table_remove(struct table *t, struct node *node)
{
    struct node **at = &t->heads[node->hash & t->mask];
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    t->n--;
}

struct node *table_next(const struct table *t, const struct node *at)
{
    if (at && at->next)
        return at->next;
    for (size_t i = at ? (at->hash & t->mask) + 1 : 0; t->heads && i <= t->mask; i++)
        if (t->heads[i])
            return t->heads[i];
    return NULL;
}
