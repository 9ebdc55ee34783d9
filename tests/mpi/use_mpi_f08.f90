! Pi by all ranks, with the module mpi_f08.
program main
  use mpi_f08
  implicit none
  integer, parameter :: steps = 10000
  integer :: rank, ranks, i, ierr
  double precision :: part, total, x
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  part = 0
  do i = rank, steps - 1, ranks
    x = (i + 0.5d0) / steps
    part = part + 4 / (1 + x * x) / steps
  end do
  call MPI_Reduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a, i0, a, f0.5)', 'mpi_f08, ', ranks, ' ranks: ', total
  call MPI_Finalize(ierr)
end program
