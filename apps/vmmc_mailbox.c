/*
 * mailbox [LETTERS]: notifications of virtual memory-mapped communication (lib/vmmc).
 *
 *     tools/margay run -n 4 build/apps/vmmc_mailbox.elf 5
 *
 * Rank 0 exports a mailbox with a compartment for each rank, and computes. The others send letters
 * with a notification. Its handler interrupts rank 0, reads the letter in place, and answers with a
 * receipt straight into the sender's memory. While rank 0 writes its report, notifications are
 * blocked; those that come meanwhile are handled afterwards.
 */
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vmmc.h>

enum { LETTER = 64, RANKS = 64 };

static char mailbox[RANKS][LETTER];        /* rank 0's, exported */
static volatile uint32_t receipt;          /* the others', exported to rank 0 */
static vmmc_proxy_t receipts[RANKS];
static volatile uint32_t letters, characters, per_rank[RANKS];

static void check(int result, const char *what)
{
	if (result == VMMC_OK)
		return;
	fprintf(stderr, "mailbox: %s: %s\n", what, vmmc_error(result));
	exit(1);
}

/* Called when a letter has arrived in its compartment. */
static void on_letter(void *argument, int sender, size_t offset, size_t bytes)
{
	uint32_t number = ++per_rank[sender];

	(void)argument;
	(void)bytes;
	characters += strnlen(&mailbox[0][0] + offset, LETTER);
	letters++;
	SendMsg(&number, receipts[sender], sizeof number);
}

static int all_read(void *argument)
{
	return letters == *(uint32_t *)argument;
}

static void receive(uint32_t count)
{
	uint32_t all = count * (uint32_t)(margay_size() - 1);
	vmmc_export_t exported;

	for (int rank = 1; rank < margay_size(); rank++)
		check(vmmc_import(rank, "receipt", -1, &receipts[rank], NULL), "vmmc_import");
	check(vmmc_export("mailbox", mailbox, sizeof mailbox, NULL, 0, 0, on_letter, NULL,
	                  &exported), "vmmc_export");
	check(vmmc_wait_until(all_read, &all, -1, -1), "vmmc_wait_until");
	vmmc_block();
	printf("%u letters, %u characters\n", letters, characters);
	vmmc_unblock();
}

static void send(uint32_t count)
{
	int rank0[] = { 0 };
	vmmc_export_t exported;
	vmmc_proxy_t to;
	char letter[LETTER];

	check(vmmc_export("receipt", (void *)&receipt, sizeof receipt, rank0, 1, 0, NULL, NULL,
	                  &exported), "vmmc_export");
	check(vmmc_import(0, "mailbox", -1, &to, NULL), "vmmc_import");
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t seen;

		snprintf(letter, sizeof letter, "letter %u of rank %d", i, margay_rank());
		check(vmmc_send(letter, to + (uint64_t)margay_rank() * LETTER, strlen(letter) + 1,
		                VMMC_NOTIFY, NULL), "vmmc_send");
		/* The compartment is free again when the receipt has come. */
		while ((seen = receipt) != i)
			check(vmmc_wait(&receipt, seen, 0, -1), "vmmc_wait");
	}
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 5;

	check(vmmc_init(), "vmmc_init");
	if (margay_size() > RANKS)
		return fprintf(stderr, "mailbox: at most %d ranks\n", RANKS), 2;
	if (margay_rank() == 0)
		receive(count);
	else
		send(count);
	check(vmmc_barrier(), "vmmc_barrier");
	check(vmmc_fini(), "vmmc_fini");
	return 0;
}
