! The Fortran third of a program of three languages: mixed.cc has main, or this with -DMAIN.
module mixed
  use, intrinsic :: iso_c_binding
  implicit none
  type, bind(c) :: pair
    integer(c_int) :: number
    real(c_double) :: value
  end type
  interface
    integer(c_int) function c_sum(n, values) bind(c)
      import
      integer(c_int), value :: n
      integer(c_int), intent(in) :: values(*)
    end function
    type(pair) function cxx_pair(text) bind(c)
      import
      character(kind=c_char), intent(in) :: text(*)
    end function
    subroutine c_each(function, n) bind(c)
      import
      type(c_funptr), value :: function
      integer(c_int), value :: n
    end subroutine
    subroutine c_doubled(array) bind(c)
      import
      real(c_double), intent(inout) :: array(:, :)
    end subroutine
    integer(c_int) function margay_rank() bind(c)
      import
    end function
    integer(c_int) function margay_size() bind(c)
      import
    end function
    integer(c_int) function c_ring(mine, theirs) bind(c)
      import
      integer(c_long), value :: mine
      integer(c_long), intent(out) :: theirs
    end function
  end interface
  integer(c_int), bind(c, name='fortran_counter') :: counter = 3
contains
  subroutine fortran_part() bind(c)
    type(pair) :: found
    real(c_double) :: grid(2, 3)
    integer(c_long) :: theirs
    integer(c_int) :: status
    character(len=40) :: line
    counter = counter + c_sum(4_c_int, [1_c_int, 2_c_int, 3_c_int, 4_c_int])
    found = cxx_pair('text' // c_null_char)
    call c_each(c_funloc(shout), 2_c_int)
    grid = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [2, 3])
    call c_doubled(grid(:, ::2))
    status = c_ring(100_c_long + margay_rank(), theirs)
    write(line, '("rank ", i0, " of ", i0, " got ", i0, ":", i0)') margay_rank(), margay_size(), &
      theirs, status
    print '(a, 1x, i0, 1x, i0, f7.2, 6f5.1)', trim(line), counter, found%number, found%value, grid
    flush(6)
  end subroutine
  subroutine shout(n) bind(c)
    integer(c_int), value :: n
    counter = counter + 100 * n
  end subroutine
end module
