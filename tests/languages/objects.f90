! Types with procedures and finalizers, allocatable and polymorphic variables, pointers to
! procedures, submodules, and coarrays of one image.
module shapes
  implicit none
  type, abstract :: figure
    character(len=:), allocatable :: name
  contains
    procedure(area_of), deferred :: area
    procedure :: describe
  end type
  abstract interface
    pure real(8) function area_of(this)
      import figure
      class(figure), intent(in) :: this
    end function
  end interface
  type, extends(figure) :: square
    real(8) :: side
  contains
    procedure :: area => square_area
    final :: gone
  end type
  type, extends(figure) :: disc
    real(8) :: radius
  contains
    procedure :: area => disc_area
  end type
  type list(k, n)
    integer, kind :: k = 8
    integer, len :: n
    real(k) :: values(n)
  end type
  type tree
    integer :: value
    type(tree), allocatable :: left, right
  end type
  interface operator(+)
    procedure join
  end interface
  interface
    module function twice(x) result(y)
      real(8), intent(in) :: x
      real(8) :: y
    end function
  end interface
contains
  pure real(8) function square_area(this) result(area)
    class(square), intent(in) :: this
    area = this%side**2
  end function
  pure real(8) function disc_area(this) result(area)
    class(disc), intent(in) :: this
    area = acos(-1d0) * this%radius**2
  end function
  subroutine describe(this)
    class(figure), intent(in) :: this
    select type (this)
    type is (square)
      print '(a, " square ", f8.3)', this%name, this%area()
    class default
      print '(a, " other ", f8.3)', this%name, this%area()
    end select
  end subroutine
  impure elemental subroutine gone(this)
    type(square), intent(inout) :: this
    print '(a, f5.1)', 'finalized ', this%side
  end subroutine
  type(square) function join(a, b)
    type(square), intent(in) :: a, b
    join%name = a%name // '+' // b%name
    join%side = a%side + b%side
  end function
  recursive subroutine insert(node, value)
    type(tree), allocatable, intent(inout) :: node
    integer, intent(in) :: value
    if (.not. allocated(node)) then
      allocate(node)
      node%value = value
    else if (value < node%value) then
      call insert(node%left, value)
    else
      call insert(node%right, value)
    end if
  end subroutine
  recursive subroutine walk(node)
    type(tree), allocatable, intent(in) :: node
    if (.not. allocated(node)) return
    call walk(node%left)
    write(*, '(1x, i0)', advance='no') node%value
    call walk(node%right)
  end subroutine
end module

submodule (shapes) inside
contains
  module procedure twice
    y = 2 * x
  end procedure
end submodule

program objects
  use shapes
  implicit none
  class(figure), allocatable :: one
  type(square) :: a, b
  type(tree), allocatable :: root
  type(list(8, 4)) :: numbers
  real(8), allocatable :: grid(:, :)
  real(8), pointer :: view(:) => null()
  real(8), target :: store(10)
  integer, allocatable :: from(:), to(:)
  integer :: status, i, total[*]
  procedure(area_like), pointer :: call_it => null()
  character(len=80) :: message
  interface
    real(8) function area_like(x)
      real(8), intent(in) :: x
    end function
  end interface

  allocate(square :: one)
  one%name = 'first'
  select type (one)
  type is (square)
    one%side = 3
  end select
  call one%describe
  deallocate(one)
  allocate(one, source=disc(name='second', radius=1d0))
  call one%describe
  a%name = 'a'
  a%side = 1
  b%name = 'b'
  b%side = 2
  block
    type(square) :: inner
    inner = a + b
    print *, inner%name, inner%side
  end block
  do i = 1, 9
    call insert(root, mod(i * 7, 10))
  end do
  call walk(root)
  print *
  numbers%values = [1, 2, 3, 4]
  print *, numbers%n, sum(numbers%values)

  allocate(grid(3, 2), source=1.5d0)
  grid = reshape([1d0, 2d0, 3d0, 4d0], [2, 2])
  print *, extents_of(grid), grid
  allocate(grid(1, 1), stat=status, errmsg=message)
  print *, status /= 0, trim(message)
  allocate(from(5))
  from = [1, 2, 3, 4, 5]
  call move_alloc(from, to)
  print *, allocated(from), to
  to = [to, 6]
  print *, size(to)
  store = [(real(i, 8), i = 1, 10)]
  view(0:) => store(1:10:3)
  print *, associated(view), lbound(view), view
  call_it => half
  print *, call_it(twice(5d0))
  associate (third => store(3))
    third = -third
  end associate
  print *, store(3)
  do concurrent (i = 1:3)
    store(i) = 0
  end do
  print *, count(store == 0)
  where (store > 5)
    store = 5
  elsewhere
    store = -1
  end where
  print '(10f5.1)', store

  total = 5
  sync all
  print *, this_image(), num_images(), total[1]
  call co_sum(total)
  print *, total
  critical
    total = total + 1
  end critical
  print *, total
contains
  real(8) function half(x)
    real(8), intent(in) :: x
    half = x / 2
  end function
  function extents_of(x) result(extents)
    real(8), intent(in) :: x(:, :)
    integer :: extents(2)
    extents = shape(x)
  end function
end program
