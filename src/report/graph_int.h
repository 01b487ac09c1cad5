/* graph_int.h - what graph.c and graph_trim.c share. */
#ifndef REPORT_GRAPH_INT_H
#define REPORT_GRAPH_INT_H

struct graph;

void graph_index_edges(struct graph *g); /* makes the per-node edge lists anew, without dropped edges */

#endif
