/*
 * pm2_queens [SIZE]: the number of ways to place SIZE queens on a board, with PM2. There is one
 * call for each placement of the first two queens. Each is a thread on a node, round robin, and all
 * nodes compute at once.
 *
 *     tools/margay run -n 4 build/apps/pm2_queens.elf 10
 */
#include <pm2.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE_MOST 14

struct board {
	int size, row;
	unsigned columns, left, right;  /* where queens are, and what their diagonals attack */
};

static struct board placed(struct board board, unsigned place)
{
	board.row++;
	board.columns |= place;
	board.left = (board.left | place) << 1;
	board.right = (board.right | place) >> 1;
	return board;
}

static long ways(const struct board *board)
{
	unsigned all = (1u << board->size) - 1;
	unsigned open = all & ~(board->columns | board->left | board->right);
	long count = 0;

	if (board->row == board->size)
		return 1;
	while (open) {
		unsigned place = open & -open;
		struct board next = placed(*board, place);

		open -= place;
		count += ways(&next);
	}
	return count;
}

static void count(const void *argument, size_t bytes, void *result, size_t result_bytes)
{
	(void)bytes, (void)result_bytes;
	*(long *)result = ways(argument);
}

static void check(int result, const char *what)
{
	if (result == PM2_OK)
		return;
	fprintf(stderr, "pm2_queens: %s: %s\n", what, pm2_error_text(result));
	exit(1);
}

int main(int argc, char **argv)
{
	static pm2_call_t calls[SIZE_MOST * SIZE_MOST];
	static long counts[SIZE_MOST * SIZE_MOST];
	int size = argc > 1 ? atoi(argv[1]) : 8, made = 0;
	long sum = 0;

	check(pm2_init(NULL), "pm2_init");
	if (size < 2 || size > SIZE_MOST) {
		if (pm2_self() == 0)
			fprintf(stderr, "usage: pm2_queens [SIZE]    (2 to %d)\n", SIZE_MOST);
		pm2_end();
		return 2;
	}
	for (int first = 0; pm2_self() == 0 && first < size; first++)
		for (int second = 0; second < size; second++) {
			struct board board = placed((struct board){ .size = size }, 1u << first);

			if ((board.columns | board.left | board.right) >> second & 1)
				continue;
			board = placed(board, 1u << second);
			check(pm2_lrpc_begin(made % pm2_nodes(), count, &board, sizeof(board),
					     &counts[made], sizeof(long), &calls[made]),
			      "pm2_lrpc_begin");
			made++;
		}
	for (int i = 0; i < made; i++) {
		check(pm2_lrpc_wait(&calls[i]), "pm2_lrpc_wait");
		sum += counts[i];
	}
	if (pm2_self() == 0)
		printf("%d queens: %ld ways, %d calls on %d nodes\n", size, sum, made, pm2_nodes());
	check(pm2_end(), "pm2_end");
	return 0;
}
