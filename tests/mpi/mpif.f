C     Pi by all ranks, with the include file; one call with two types.
      program main
      implicit none
      include 'mpif.h'
      integer steps, rank, ranks, i, ierr, seen(2)
      double precision part, total(1), x
      parameter (steps = 10000)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      part = 0
      do 10 i = rank, steps - 1, ranks
        x = (i + 0.5d0) / steps
        part = part + 4 / (1 + x * x) / steps
   10 continue
      call MPI_REDUCE(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM,
     &                0, MPI_COMM_WORLD, ierr)
      call MPI_REDUCE(rank, seen, 1, MPI_INTEGER, MPI_SUM,
     &                0, MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. seen(1) .eq. ranks * (ranks - 1) / 2) then
        write (*, '(a, i0, a, f0.5)') 'mpif.h, ', ranks, ' ranks: ',
     &      total(1)
      end if
      call MPI_FINALIZE(ierr)
      end
