! All ways to end, by the first argument.
module recurses
  implicit none
contains
  recursive subroutine deeper(n, values)
    integer, intent(in) :: n
    integer, intent(inout) :: values(:)
    if (n > 0) call deeper(n - 1, values)
    values(n + 3) = n          ! line 9: past the end if n is 1
  end subroutine
end module

program ends
  use recurses
  implicit none
  character(len=20) :: how
  integer :: values(3), i
  integer, allocatable, save :: missing(:)   ! save: its bounds are 0, not what the stack holds
  real, allocatable :: much(:)

  call get_command_argument(1, how)
  print '(a)', 'before'
  select case (how)
  case ('stop')
    stop
  case ('stop 3')
    stop 3
  case ('stop text')
    stop 'that was it'
  case ('error stop')
    error stop
  case ('error stop 4')
    error stop 4
  case ('error stop text')
    error stop 'it broke'
  case ('bounds')
    values = 0
    call deeper(1, values)
  case ('unallocated')
    print *, missing(1)
  case ('memory')
    allocate(much(1000000000000_8))
  case ('end of file')
    open(10, status='scratch')
    read(10, *) i
  case ('bad number')
    how = 'abc'
    read(how, '(i3)') i
  case ('command')
    call execute_command_line('ls')
  case ('abort')
    call abort
  case ('backtrace')
    call backtrace
  case ('exit')
    call exit(7)
  end select
  print '(a)', 'after'
end program
