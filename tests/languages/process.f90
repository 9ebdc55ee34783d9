! The process: arguments, environment, time, files, commands. What differs from host to node is
! only checked.
program process
  use, intrinsic :: iso_fortran_env
  implicit none
  character(len=20) :: argument, zone, value
  character(len=:), allocatable :: whole
  integer :: i, length, status, stamp(8), rate, kind4, unit
  integer(8) :: before, after, kind8
  real :: cpu
  character(len=200) :: folder, message
  logical :: there

  print *, command_argument_count()
  do i = 1, command_argument_count()
    call get_command_argument(i, argument, length, status)
    print *, length, status, '<', trim(argument), '>'
  end do
  call get_command_argument(99, status=status)
  print *, status /= 0
  call get_command(length=length)
  allocate(character(len=length) :: whole)
  call get_command(whole)
  print *, index(whole, 'two words') > 0
  call get_environment_variable('TASTE', value, length, status)
  print *, trim(value), length, status
  call get_environment_variable('NOT_THERE', value, length, status)
  print *, length, status

  call date_and_time(zone=zone, values=stamp)
  print *, stamp(1) >= 2024, stamp(2) >= 1 .and. stamp(2) <= 12, stamp(5) < 24, len_trim(zone)
  call system_clock(before, kind8)
  call system_clock(kind4, rate)
  do
    call system_clock(after)
    if (after > before) exit
  end do
  print *, kind8 > 0, rate > 0, after > before
  call cpu_time(cpu)
  print *, cpu >= 0
  call sleep(0)
  print *, time8() > 1700000000_8, len_trim(ctime(time8())) >= 24, getpid() > 0

  call mkdir_and_enter
  call getcwd(folder, status)
  print *, status, index(folder, 'inside') > 0
  open(newunit=unit, file='a')
  write(unit, *) 'x'
  close(unit)
  call rename('a', 'b', status)
  inquire(file='b', exist=there)
  print *, status, there, access('b', 'r'), access('a', ' ') /= 0
  call unlink('b', status)
  print *, status
  call chdir('..')

  message = ''
  call execute_command_line('true', exitstat=length, cmdstat=status, cmdmsg=message)
  if (status == 0) message = 'a node runs one process and starts no command'
  print *, trim(message)
contains
  subroutine mkdir_and_enter
    use, intrinsic :: iso_c_binding
    interface
      integer(c_int) function mkdir(path, mode) bind(c)
        import
        character(kind=c_char), intent(in) :: path(*)
        integer(c_int), value :: mode
      end function
    end interface
    integer(c_int) :: ignored
    ignored = mkdir('inside' // c_null_char, 448)
    call chdir('inside', status)
    print *, status
  end subroutine
end program
