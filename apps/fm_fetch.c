/*
 * fm_fetch [BYTES]: stream sockets between ranks, over Fast Messages.
 *
 *     tools/margay run -n 4 build/apps/fm_fetch.elf 1000000
 *
 * Rank 0 is a server: it sends the bytes that a client asks for. All others are clients. The server
 * has no thread for each client: FMS_poll tells it which connections are ready.
 */
#include <fm.h>
#include <fm_socket.h>
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 80, CLIENTS = 64, BLOCK = 8192 };

struct client {
	int socket;
	size_t wanted, sent;    /* wanted 0: it has not asked yet */
};

static char block[BLOCK];

static void check(long result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(1);
}

static char byte_at(size_t at)
{
	return (char)(at * 7 + at / 256);
}

/* Sends a client the next bytes, as far as there is room. */
static void serve(struct client *client)
{
	while (client->sent < client->wanted) {
		size_t bytes = client->wanted - client->sent;
		ssize_t sent;

		if (bytes > BLOCK)
			bytes = BLOCK;
		for (size_t i = 0; i < bytes; i++)
			block[i] = byte_at(client->sent + i);
		sent = FMS_send(client->socket, block, bytes);
		if (sent < 0)
			return;                         /* no room: FMS_poll reports when there is */
		client->sent += (size_t)sent;
	}
}

static void server(int clients)
{
	static struct FMS_pollfd polled[CLIENTS + 1];
	static struct client client[CLIENTS + 1];
	int count = 1, left = clients;

	polled[0].socket = FMS_listen(PORT);
	check(polled[0].socket, "FMS_listen");
	polled[0].events = FMS_IN;
	check(FM_barrier(), "FM_barrier");
	while (left > 0) {
		check(FMS_poll(polled, (unsigned)count, -1), "FMS_poll");
		for (int i = 1; i < count; i++) {
			struct client *c = &client[i];

			if (!polled[i].revents)
				continue;
			if (!c->wanted && FMS_recv(c->socket, &c->wanted, sizeof(c->wanted)) > 0)
				polled[i].events = FMS_OUT;
			serve(c);
			if (c->sent < c->wanted || !c->wanted)
				continue;
			check(FMS_close(c->socket), "FMS_close");
			client[i] = client[count - 1];
			polled[i--] = polled[--count];
			left--;
		}
		if (polled[0].revents) {
			int socket = FMS_accept(polled[0].socket, NULL);

			check(socket, "FMS_accept");
			check(FMS_set_blocking(socket, 0), "FMS_set_blocking");
			client[count] = (struct client){ .socket = socket };
			polled[count++] = (struct FMS_pollfd){ .socket = socket, .events = FMS_IN };
		}
	}
	check(FMS_close(polled[0].socket), "FMS_close");
}

static void fetch(size_t wanted)
{
	size_t got = 0, wrong = 0;
	ssize_t bytes;
	int socket;

	check(FM_barrier(), "FM_barrier");
	socket = FMS_connect(0, PORT, 1);
	check(socket, "FMS_connect");
	check(FMS_send(socket, &wanted, sizeof(wanted)), "FMS_send");
	while ((bytes = FMS_recv(socket, block, BLOCK)) > 0) {
		for (ssize_t i = 0; i < bytes; i++)
			wrong += block[i] != byte_at(got + (size_t)i);
		got += (size_t)bytes;
	}
	check(bytes, "FMS_recv");
	check(FMS_close(socket), "FMS_close");
	printf("rank %d: %zu bytes, %zu of them wrong\n", margay_rank(), got, wrong);
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	int clients = margay_size() - 1;

	if (bytes == 0 || clients > CLIENTS) {
		fprintf(stderr, "usage: fm_fetch BYTES (at most %d ranks beside rank 0)\n", CLIENTS);
		return 2;
	}
	check(FM_initialize(), "FM_initialize");
	check(FMS_open(), "FMS_open");
	if (margay_rank() == 0)
		server(clients);
	else
		fetch(bytes);
	check(FM_finalize(), "FM_finalize");
	return 0;
}
