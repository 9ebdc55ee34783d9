! OpenMP in Fortran, as a team of one thread runs it.
program openmp
  use omp_lib
  implicit none
  integer :: i, j, sum, last, count, chain, chunk
  integer(omp_sched_kind) :: kind
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  real(8) :: a(8), b(8), start
  real(8), allocatable :: whole(:)
  character(len=40) :: text
  logical :: flag
  integer, save :: kept = 4
  !$omp threadprivate(kept)

  start = omp_get_wtime()
  sum = 0
  !$omp parallel do reduction(+ : sum) lastprivate(last) schedule(dynamic, 3)
  do i = 1, 50
    sum = sum + i
    last = i
  end do
  !$omp end parallel do
  print *, 'do', sum, last

  !$omp parallel default(shared) private(j) num_threads(3) copyin(kept)
  !$omp workshare
  a = [(real(i, 8), i = 1, 8)]
  b = a * 2
  !$omp end workshare
  !$omp do ordered schedule(static, 1)
  do j = 1, 3
    !$omp ordered
    print *, 'ordered', j, kept
    !$omp end ordered
  end do
  !$omp end do nowait
  !$omp sections
  !$omp section
  print *, 'section a'
  !$omp section
  print *, 'section b'
  !$omp end sections
  !$omp single
  print *, 'single', omp_get_num_threads(), omp_get_thread_num(), omp_get_level()
  !$omp end single copyprivate(j)
  !$omp master
  print *, 'master', omp_in_parallel()
  !$omp end master
  !$omp barrier
  !$omp critical (name)
  sum = sum + 1
  !$omp end critical (name)
  !$omp atomic
  sum = sum + 1
  !$omp end parallel
  print *, 'parallel', sum, b(8)

  !$omp parallel do collapse(2) reduction(max : last) schedule(guided)
  do i = 3, 1, -1
    do j = 1, 2
      last = max(last, i * j + 100)
    end do
  end do
  print *, 'collapse', last
  !$omp parallel do reduction(+ : a) schedule(runtime)
  do i = 1, 8
    a(i) = a(i) + 1
  end do
  print *, 'array', a

  count = 0
  chain = 1
  !$omp parallel
  !$omp single
  do i = 1, 4
    !$omp task firstprivate(i) shared(count)
    !$omp atomic
    count = count + i
    !$omp end task
  end do
  !$omp taskwait
  !$omp task depend(out : chain) shared(chain)
  chain = 2
  !$omp end task
  !$omp task depend(in : chain) shared(chain)
  chain = chain * 7
  !$omp end task
  !$omp taskgroup task_reduction(+ : sum)
  do i = 1, 3
    !$omp task in_reduction(+ : sum)
    sum = sum + i
    !$omp end task
  end do
  !$omp end taskgroup
  !$omp taskloop grainsize(2) reduction(+ : sum)
  do i = 1, 7
    sum = sum + 100
  end do
  !$omp end single
  !$omp end parallel
  print *, 'tasks', count, chain, sum

  allocate(whole(5), source=1d0)
  !$omp target teams distribute parallel do map(tofrom : whole)
  do i = 1, 5
    whole(i) = whole(i) + i
  end do
  !$omp simd
  do i = 1, 5
    whole(i) = whole(i) * 2
  end do
  print *, 'target', whole

  !$omp parallel do ordered(1)
  do i = 2, 8
    !$omp ordered depend(sink : i - 1)
    a(i) = a(i) + a(i - 1)
    !$omp ordered depend(source)
  end do
  print *, 'doacross', a(8)

  call omp_set_schedule(omp_sched_static, 4)
  call omp_get_schedule(kind, chunk)
  print *, 'schedule', kind, chunk, omp_get_dynamic(), omp_get_max_active_levels()
  call omp_init_lock(lock)
  call omp_set_lock(lock)
  flag = omp_test_lock(lock)
  call omp_unset_lock(lock)
  call omp_destroy_lock(lock)
  call omp_init_nest_lock(nest)
  call omp_set_nest_lock(nest)
  print *, 'locks', flag, omp_test_nest_lock(nest)
  call omp_destroy_nest_lock(nest)
  call omp_set_affinity_format('level %L of %N')
  i = omp_capture_affinity(text, '')
  print *, trim(text), i
  i = omp_get_affinity_format(text)
  print *, trim(text), i
  print *, omp_get_max_threads(), omp_get_num_devices(), omp_is_initial_device(), omp_get_wtime() >= start
end program
