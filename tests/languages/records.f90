! Input and output: formatted, list-directed, namelist, stream, direct, internal, scratch.
module shown_type
  implicit none
  type shown_t
    integer :: value
  contains
    procedure, private :: show
    generic :: write(formatted) => show
  end type
contains
  subroutine show(this, unit, kind, list, status, message)
    class(shown_t), intent(in) :: this
    integer, intent(in) :: unit, list(:)
    character(len=*), intent(in) :: kind
    integer, intent(out) :: status
    character(len=*), intent(inout) :: message
    write(unit, '("<", a, i0, i0, ">")', iostat=status, iomsg=message) kind, size(list), this%value
  end subroutine
end module

program records
  use, intrinsic :: iso_fortran_env
  use shown_type
  implicit none
  type point
    integer :: tag
    real(8) :: x(2)
  end type
  integer :: unit, i, ios, n, values(5), pos
  real(8) :: x, y
  complex :: z
  logical :: there, flag
  character(len=40) :: word, line
  character(len=12) :: access, form, action
  character(len=:), allocatable :: text
  character(len=100) :: message
  type(point) :: p
  real :: speed = 1.5
  integer :: counts(3) = [1, 2, 3]
  character(len=8) :: title = 'none'
  namelist /setup/ speed, counts, title

  ! formatted
  print '(a, i5.3, f9.4, es12.3e3, g12.4, l3)', 'fmt', 42, 3.14159d0, 6.02d23, 0.125, .true.
  print '(3(i3, :, ","), /, b8.8, o6, z6)', 1, 2, 3, 37, 37, 255
  print '(sp, f7.2, bn, en14.3, 1x, a3, tr2, a)', 2.5, 12345.678, 'abcdef', 'end'
  print '(*(g0, 1x))', 1, 2.5d0, 'text', .false., (1.0, -2.0)
  print *, 1, 2.5, 'list', .true., (1.0, 2.0), huge(1_int64), tiny(1.0d0)
  print '(dt)', wrapped(7)

  ! sequential
  open(newunit=unit, file='lines.txt', status='replace', action='readwrite')
  do i = 1, 5
    write(unit, '(i4, a, f8.3)') i, ' line', sqrt(real(i))
  end do
  rewind(unit)
  do
    read(unit, '(i4, a5, f8.3)', iostat=ios) n, word, x
    if (ios == iostat_end) exit
    print '(i0, 1x, a, 1x, f6.3)', n, trim(word), x
  end do
  backspace(unit)
  backspace(unit)
  read(unit, '(a)') line
  print *, 'again: ', trim(line)
  endfile(unit)
  inquire(unit=unit, opened=there, access=access, form=form, action=action)
  print *, there, ' ', trim(access), ' ', trim(form), ' ', trim(action)
  close(unit)
  inquire(file='lines.txt', exist=there, size=n)
  print *, there, n

  ! list-directed and namelist input
  open(newunit=unit, file='input.txt', status='replace')
  write(unit, '(a)') "1 2*7, 'a word' (3.5,-1) T /", '&setup speed = 9.25, counts(2) = 20,', &
    " title = 'race' /"
  rewind(unit)
  values = -1
  word = 'kept'
  read(unit, *) values(1), values(2), values(3), word, z, flag, values(4)
  print *, values(:4), trim(word), z, flag
  read(unit, nml=setup)
  print *, speed, counts, title
  rewind(unit)
  write(unit, nml=setup, delim='quote')
  rewind(unit)
  speed = 0
  read(unit, nml=setup)
  print *, speed
  close(unit, status='delete')
  inquire(file='input.txt', exist=there)
  print *, 'deleted', .not. there

  ! direct access
  open(newunit=unit, file='direct.dat', access='direct', recl=24, form='unformatted', &
    status='replace')
  do i = 10, 1, -1
    write(unit, rec=i) point(i, [i / 2d0, i * 2d0])
  end do
  read(unit, rec=7) p
  print *, p
  read(unit, rec=77, iostat=ios, iomsg=message) p
  print *, ios /= 0
  inquire(unit=unit, nextrec=n, recl=i)
  print *, i
  close(unit, status='delete')

  ! unformatted sequential and stream
  open(newunit=unit, form='unformatted', status='scratch')
  write(unit) 1, 2.5d0, 'abc'
  write(unit) [(i, i = 1, 5000)]
  rewind(unit)
  read(unit) n, x, word(:3)
  print *, n, x, word(:3)
  read(unit) (n, i = 1, 4321)
  print *, n
  close(unit)
  open(newunit=unit, file='stream.bin', access='stream', form='unformatted', status='replace')
  write(unit) 'Margay', 1_int16, 2.5d0
  inquire(unit=unit, pos=pos)
  read(unit, pos=4) word(:3)
  print *, pos, word(:3)
  write(unit, pos=1) 'm'
  read(unit, pos=9) x
  print *, x
  close(unit)
  open(newunit=unit, file='stream.bin', access='stream', form='formatted', status='replace')
  write(unit, '(a)', advance='no') 'no end'
  write(unit, '(a)') ' but this'
  rewind(unit)
  read(unit, '(a)', advance='no', size=n, eor=10) line
10 print *, n, trim(line)
  close(unit, status='delete')

  ! internal, with errors
  write(word, '(i0, "/", f0.2)') 12, 0.5
  print *, trim(word)
  word = '17 18.5'
  read(word, *) n, y
  print *, n, y
  word = 'abc'
  read(word, '(i3)', iostat=ios, iomsg=message) n
  print *, ios > 0, trim(message)
  open(newunit=unit, file='nowhere/at/all', status='old', iostat=ios, iomsg=message)
  print *, ios, trim(message)
  open(newunit=unit, file='lines.txt', status='new', iostat=ios)
  print *, ios /= 0
  text = 'allocatable ' // repeat('-', 10)
  print *, len(text), text

  ! asynchronous: done at once, or waited for
  open(newunit=unit, file='lines.txt', asynchronous='yes', status='replace')
  write(unit, '(a)', asynchronous='yes') 'later'
  wait(unit)
  rewind(unit)
  read(unit, '(a)', asynchronous='yes') line
  wait(unit)
  print *, trim(line)
  close(unit, status='delete')

  ! standard input and error
  read(input_unit, *) n, x
  read(*, '(a)', iostat=ios) line
  print *, n, x, trim(line)
  read(*, *, iostat=ios) n
  print *, is_iostat_end(ios)
  write(error_unit, '(a)') 'to standard error'
  write(*, '(a)', advance='no') 'no newline at the end'
contains
  integer function wrapped_count() result(count)
    count = 3
  end function
  function wrapped(i) result(shown)
    integer, intent(in) :: i
    type(shown_t) :: shown
    shown%value = i + wrapped_count()
  end function
end program
