/* Every construct of OpenMP in C, run by a team of one thread. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int copied = 5;
#pragma omp threadprivate(copied)

struct item { int value; struct item *next; };

static void loops(void)
{
	int sum = 0, last = -1, product = 1;
	unsigned long long big = 0;
	double array[40], total = 0;

#pragma omp parallel for reduction(+ : sum) lastprivate(last)
	for (int i = 0; i < 100; i++)
		sum += last = i;
	printf("static %d %d\n", sum, last);
#pragma omp parallel for schedule(dynamic, 7) reduction(* : product)
	for (int i = 6; i > 0; i--)
		product *= i;
	printf("dynamic %d\n", product);
#pragma omp parallel
	{
#pragma omp for schedule(guided) nowait
		for (long i = -5; i < 6; i += 3)
			printf("guided %ld\n", i);
#pragma omp for schedule(runtime) reduction(max : total)
		for (int i = 0; i < 9; i++)
			total = i * 1.5 > total ? i * 1.5 : total;
#pragma omp for ordered schedule(static, 2)
		for (int i = 0; i < 3; i++) {
#pragma omp ordered
			printf("ordered %d\n", i);
		}
#pragma omp for collapse(2) schedule(monotonic : dynamic)
		for (int i = 0; i < 2; i++)
			for (int j = 1; j < 3; j++)
				printf("collapsed %d %d\n", i, j);
	}
#pragma omp parallel for schedule(dynamic) reduction(+ : big)
	for (unsigned long long i = ~0ull - 10; i < ~0ull - 3; i += 2)
		big += i & 15;
#pragma omp parallel for schedule(nonmonotonic : guided, 2) reduction(+ : big)
	for (unsigned long long i = 10; i > 3; i--)
		big += i;
	printf("total %.1f big %llu\n", total, big);
#pragma omp parallel for simd
	for (int i = 0; i < 40; i++)
		array[i] = i;
#pragma omp simd reduction(+ : total)
	for (int i = 0; i < 40; i++)
		total += array[i];
	printf("simd %.1f\n", total);
#pragma omp parallel for ordered(2)
	for (int i = 1; i < 4; i++)
		for (int j = 1; j < 4; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
			array[i * 5 + j] = array[(i - 1) * 5 + j] + array[i * 5 + j - 1];
#pragma omp ordered depend(source)
		}
	printf("doacross %.1f\n", array[18]);
#pragma omp parallel for ordered(1) schedule(dynamic)
	for (unsigned long i = 1; i < 5; i++) {
#pragma omp ordered depend(sink : i - 1)
		array[i] += array[i - 1];
#pragma omp ordered depend(source)
	}
	printf("doacross %.1f\n", array[4]);
#pragma omp parallel for lastprivate(conditional : last) schedule(dynamic)
	for (int i = 0; i < 10; i++)
		if (i % 4 == 1)
			last = i;
	printf("conditional %d\n", last);
#pragma omp parallel for reduction(inscan, + : sum)
	for (int i = 0; i < 5; i++) {
		sum += i;
#pragma omp scan inclusive(sum)
		array[i] = sum;
	}
	printf("scan %.0f %d\n", array[3], sum);
#pragma omp parallel
#pragma omp loop
	for (int i = 0; i < 2; i++)
		array[i] = -i;
	printf("loop %.0f\n", array[1]);
}

static void regions(void)
{
	int shared = 1, private = 2, first = 3, count = 0;
	int list[3] = { 0 };

#pragma omp parallel num_threads(4) private(private) firstprivate(first) copyin(copied)
	{
		private = first++ + copied;
		shared += private;
#pragma omp parallel
#pragma omp critical
		count += omp_get_level();
		printf("level %d active %d size %d parent %d %d\n", omp_get_level(),
		       omp_get_active_level(), omp_get_team_size(1), omp_get_ancestor_thread_num(0),
		       omp_get_ancestor_thread_num(5));
	}
	printf("parallel %d %d %d %d\n", shared, private, first, count);
#pragma omp parallel sections reduction(+ : list)
	{
#pragma omp section
		list[0]++;
#pragma omp section
		list[1] += 2;
#pragma omp section
		list[2] += 3;
	}
#pragma omp parallel private(private)
	{
#pragma omp sections lastprivate(first) nowait
		{
			printf("section 1\n");
#pragma omp section
			first = 77;
		}
#pragma omp single copyprivate(private)
		private = 9;
#pragma omp single nowait
		count++;
#pragma omp master
		count++;
#pragma omp masked filter(0)
		count++;
#pragma omp barrier
#pragma omp critical(name)
		count += private;
#pragma omp atomic
		count += 2;
#pragma omp atomic capture
		shared = count++;
#pragma omp flush
#pragma omp scope reduction(+ : count)
		count += 100;
	}
	printf("sections %d %d %d first %d count %d shared %d\n", list[0], list[1], list[2], first,
	       count, shared);
#pragma omp parallel if (0)
	printf("if %d %d\n", omp_in_parallel(), omp_get_num_threads());
#pragma omp parallel
	{
#pragma omp for
		for (int i = 0; i < 10; i++) {
			count++;
#pragma omp cancel for if (i == 3)
		}
#pragma omp cancellation point parallel
	}
#pragma omp parallel
	{
#pragma omp sections
		{
#pragma omp section
			{
#pragma omp cancel sections
				count += 500;
			}
#pragma omp section
			count += 50;
		}
#pragma omp taskgroup
		{
#pragma omp task shared(count)
			{
#pragma omp cancel taskgroup
				count += 5;
			}
		}
#pragma omp barrier
#pragma omp cancel parallel
		count += 7000;
	}
	printf("cancel %d %d\n", count, omp_get_cancellation());
#pragma omp teams num_teams(2) thread_limit(1) reduction(+ : count)
	{
		count += 1000 + omp_get_team_num() * 10 + omp_get_num_teams();
#pragma omp distribute
		for (int i = 0; i < 10; i++)
			count++;
	}
	printf("teams %d\n", count);
}

static int fibonacci(int n)
{
	int a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 5)
	a = fibonacci(n - 1);
#pragma omp task shared(b) final(n < 4) mergeable
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

static void reduce(int n, int *sum)
{
#pragma omp task in_reduction(+ : sum[0])
	{
		sum[0] += n;
		if (n > 1)
			reduce(n - 1, sum);
	}
}

static void tasks(void)
{
	struct item items[4] = { { 1, items + 1 }, { 2, items + 2 }, { 3, items + 3 }, { 4, NULL } };
	int sum = 0, chain = 0, count = 0, visits = 0, x[3] = { 0 };
	omp_event_handle_t event;
	omp_depend_t object;

#pragma omp parallel
#pragma omp single
	{
		printf("fibonacci %d\n", fibonacci(12));
		for (struct item *at = items; at; at = at->next)
#pragma omp task firstprivate(at) priority(1) untied
			at->value *= 10;
#pragma omp taskyield
#pragma omp taskwait
#pragma omp task depend(out : chain) shared(chain)
		chain = 1;
#pragma omp task depend(inout : chain) shared(chain)
		chain = chain * 10 + 2;
#pragma omp task depend(in : chain) shared(chain)
		chain = chain * 10 + 3;
#pragma omp taskwait depend(in : chain)
#pragma omp depobj(object) depend(inout : chain)
#pragma omp task depend(depobj : object) shared(chain)
		chain++;
#pragma omp depobj(object) destroy
#pragma omp taskgroup task_reduction(+ : sum)
		reduce(10, &sum);
#pragma omp taskloop grainsize(3) reduction(+ : sum)
		for (int i = 0; i < 10; i++)
			sum += i;
#pragma omp taskloop num_tasks(4) shared(count)
		for (unsigned long long i = 20; i > 0; i -= 2)
			count++;
#pragma omp taskloop simd collapse(2) nogroup shared(x)
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 2; j++)
				x[i] += j + 1;
#pragma omp taskgroup
		{
#pragma omp taskloop grainsize(strict : 4) shared(visits)
			for (int i = 0; i < 10; i++)
				visits += i;
		}
	}
	printf("tasks %d %d chain %d sum %d count %d x %d %d visits %d\n", items[0].value,
	       items[3].value, chain, sum, count, x[0], x[2], visits);

	/* A task depends on one that ends later, when its event is fulfilled. */
	chain = 0;
#pragma omp parallel
#pragma omp single
	{
#pragma omp task detach(event) depend(out : chain) shared(chain)
		chain = 5;
#pragma omp task depend(in : chain) shared(chain)
		chain *= 2;
#pragma omp taskgroup
		{
#pragma omp task shared(visits)
			visits = omp_in_final();
		}
		omp_fulfill_event(event);
#pragma omp taskwait
		printf("detached %d %d\n", chain, visits);
#pragma omp task final(1) shared(visits)
		{
#pragma omp task shared(visits)
			visits = omp_in_final();
		}
	}
	printf("final %d\n", visits);
#pragma omp parallel reduction(task, + : sum)
	{
#pragma omp task in_reduction(+ : sum)
		sum += 1000;
	}
#pragma omp parallel
#pragma omp for reduction(task, + : sum) schedule(dynamic)
	for (int i = 0; i < 4; i++) {
#pragma omp task in_reduction(+ : sum)
		sum += i * 10000;
	}
	printf("reductions %d\n", sum);
}

static void targets(void)
{
	int a[10], sum = 0, first = 4, host;

	for (int i = 0; i < 10; i++)
		a[i] = i;
#pragma omp target data map(tofrom : a)
	{
#pragma omp target map(tofrom : a) firstprivate(first)
		{
			a[0] = first++;
			host = omp_is_initial_device();
			a[1] = host;
		}
#pragma omp target update from(a)
#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum)
		for (int i = 0; i < 10; i++)
			sum += a[i];
	}
#pragma omp target enter data map(to : a)
#pragma omp target nowait depend(inout : a) map(tofrom : a)
	a[2] = 50;
#pragma omp taskwait
#pragma omp target exit data map(from : a)
#pragma omp target parallel for simd map(a)
	for (int i = 3; i < 10; i++)
		a[i] = -i;
	printf("target %d %d %d %d sum %d first %d devices %d %d\n", a[0], a[1], a[2], a[9], sum,
	       first, omp_get_num_devices(), omp_get_initial_device());
}

static void calls(void)
{
	omp_lock_t lock;
	omp_nest_lock_t nest;
	omp_sched_t kind;
	omp_alloctrait_t traits[] = { { omp_atk_alignment, 256 }, { omp_atk_pool_size, 2048 },
				      { omp_atk_fallback, omp_atv_null_fb } };
	omp_allocator_handle_t pool = omp_init_allocator(omp_default_mem_space, 3, traits);
	char *memory = omp_alloc(1500, pool), *more = omp_alloc(1500, pool), text[80];
	int chunk, from[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }, to[4] = { 0 };
	double start = omp_get_wtime();

	printf("allocated %d %d %d\n", memory != NULL, (int)((size_t)memory % 256), more == NULL);
	memory = omp_realloc(memory, 10, omp_default_mem_alloc, pool);
	omp_free(memory, omp_default_mem_alloc);
	omp_destroy_allocator(pool);
	memory = omp_calloc(4, 4, omp_null_allocator);
	printf("zeroed %d\n", memory[15]);
	omp_free(memory, omp_null_allocator);
	omp_init_lock(&lock);
	omp_set_lock(&lock);
	printf("lock %d", omp_test_lock(&lock));
	omp_unset_lock(&lock);
	printf(" %d\n", omp_test_lock(&lock));
	omp_unset_lock(&lock);
	omp_destroy_lock(&lock);
	omp_init_nest_lock(&nest);
	omp_set_nest_lock(&nest);
	printf("nested %d\n", omp_test_nest_lock(&nest));
	omp_unset_nest_lock(&nest);
	omp_unset_nest_lock(&nest);
	omp_destroy_nest_lock(&nest);
	omp_set_schedule(omp_sched_guided, 3);
	omp_get_schedule(&kind, &chunk);
	omp_set_dynamic(1);
	omp_set_max_active_levels(3);
	printf("schedule %d %d dynamic %d levels %d of %d\n", kind, chunk, omp_get_dynamic(),
	       omp_get_max_active_levels(), omp_get_supported_active_levels());
	printf("threads %d %d %d in parallel %d device %d\n", omp_get_num_threads(),
	       omp_get_max_threads(), omp_get_thread_num(), omp_in_parallel(),
	       omp_get_default_device());
	printf("time %d %d\n", omp_get_wtime() >= start, omp_get_wtick() > 0);
	omp_capture_affinity(text, sizeof text, "%t %{num_teams} %0.5L|%.6n|%6N|%%");
	printf("%s\n", text);
	printf("rect %d", omp_target_memcpy_rect(to, from, sizeof(int), 2, (size_t[]){ 2, 2 },
						 (size_t[]){ 0, 0 }, (size_t[]){ 0, 1 },
						 (size_t[]){ 2, 2 }, (size_t[]){ 2, 3 }, 0, 0));
	printf(" %d %d %d %d\n", to[0], to[1], to[2], to[3]);
	printf("places %d %d bind %d pause %d\n", omp_get_num_places(), omp_get_place_num(),
	       omp_get_proc_bind(), omp_pause_resource_all(omp_pause_soft));
}

int main(void)
{
	loops();
	regions();
	tasks();
	targets();
	calls();
#pragma omp error at(execution) severity(warning) message("a warning")
	return 0;
}
