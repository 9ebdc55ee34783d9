! All kinds of numbers, the IEEE modules, and the mathematical library.
program kinds
  use, intrinsic :: iso_fortran_env
  use, intrinsic :: ieee_arithmetic
  use, intrinsic :: ieee_exceptions
  use, intrinsic :: ieee_features
  implicit none
  real(10) :: x
  real(16) :: q
  complex(16) :: c
  complex(8) :: z
  integer(16) :: big
  integer :: i
  logical :: flag, flags(5)
  type(ieee_round_type) :: mode
  type(ieee_status_type) :: status
  character(len=60) :: text
  real(4) :: single
  real(8) :: a(3, 3), b(3, 3), d

  print *, integer_kinds, real_kinds
  x = 2
  q = 2
  print *, sqrt(x), exp(x), x**0.5_10, epsilon(x), huge(x)
  print *, sqrt(q), exp(q), log(q), sin(q), gamma(q / 3), erf(q), bessel_j0(q)
  c = (1, 2)
  print *, sqrt(c), exp(c), log(c)
  do i = 0, 3
    x = 0.7_10 + 2 * i
    print "(6es22.14)", bessel_j0(x), bessel_j1(x), bessel_jn(i, x), bessel_y0(x), bessel_y1(x), &
      bessel_yn(i, x)
    print "(6es22.14)", bessel_jn(0, 2, x), bessel_yn(0, 2, x)
    print "(6es23.15)", atan(cmplx(x, 1 / x, 10)), sin(cmplx(1 / x, x, 10)), acos(cmplx(x, x, 10))
  end do
  print *, q / 3, huge(q), tiny(q)
  write(text, '(f45.40)') q / 7
  print *, text
  read(text, *) q
  print '(es45.35)', q * 7
  text = '1.1 2.2 3.3'
  read(text, *) single, d, x
  print *, single, d, x
  big = huge(big)
  print *, big, big / 3, popcnt(big), leadz(1_16)
  print *, selected_real_kind(18), selected_real_kind(33), selected_int_kind(38)

  ! IEEE
  print *, ieee_support_standard(1d0), ieee_support_datatype(1._16), ieee_support_halting(ieee_invalid)
  d = ieee_value(d, ieee_positive_inf)
  print *, d, ieee_class(d) == ieee_positive_inf, ieee_is_finite(d), ieee_is_nan(d - d)
  print *, ieee_copy_sign(1d0, -0d0), ieee_logb(1000d0), ieee_next_after(1d0, 2d0) - 1, &
    ieee_rem(5d0, 3d0), ieee_rint(2.5d0), ieee_scalb(1d0, 10), ieee_unordered(d - d, 1d0)
  call ieee_get_status(status)
  call ieee_set_flag(ieee_all, .false.)
  d = 1
  d = d / zero()
  call ieee_get_flag(ieee_all, flags)
  print *, flags, d
  call ieee_set_flag(ieee_divide_by_zero, .false.)
  call ieee_get_flag(ieee_divide_by_zero, flag)
  print *, flag
  call ieee_get_rounding_mode(mode)
  print *, mode == ieee_nearest
  call ieee_set_rounding_mode(ieee_up)
  d = 1 + zero()
  d = d / 3
  call ieee_set_rounding_mode(ieee_down)
  print '(z16.16)', d
  call ieee_set_rounding_mode(ieee_nearest)
  call ieee_set_status(status)
  call ieee_set_flag(ieee_all, .false.)

  ! arrays
  a = reshape([(real(i, 8), i = 1, 9)], [3, 3])
  b = matmul(a, transpose(a))
  print '(3f8.1)', b
  print *, sum(a, dim=1), maxloc(a), minval(b), count(a > 4), any(a > 8), dot_product(a(:, 1), a(:, 2))
  print *, pack(a, mod(int(a), 2) == 0), cshift([1, 2, 3, 4], 1), eoshift([1, 2, 3], -1), norm2(a)
  print *, findloc([1, 5, 3], 5), spread([1, 2], 1, 2), merge(1, 2, a > 5), iall([7, 3]), parity([.true., .true.])
  z = (0d0, 1d0)
  print '(2f10.6)', exp(z * acos(-1d0)), z**2, sqrt(z)
  print *, nint(2.5), floor(-2.5), ceiling(2.1), modulo(-7, 3), mod(-7, 3), ishftc(1, 3), bit_size(1_8)
  print '(6f12.7)', hypot(3d0, 4d0), bessel_jn(2, 1d0), log_gamma(5.5d0), erfc_scaled(2d0), asinh(1d0), gamma(0.5d0)
  print *, adjustl('  ab'), index('banana', 'an', back=.true.), scan('fortran', 'tr'), verify('aab', 'a'), &
    iachar('A'), achar(66), repeat('xy', 3), trim('t  '), len_trim('ab  '), lge('b', 'a')
  call seeded
contains
  real(8) function zero()
    character(len=1) :: text = '0'
    read(text, *) zero
  end function
  subroutine seeded
    integer :: n
    integer, allocatable :: seed(:)
    real(8) :: r(4), s(4)
    call random_seed(size=n)
    allocate(seed(n), source=12345)
    call random_seed(put=seed)
    call random_number(r)
    call random_seed(put=seed)
    call random_number(s)
    print *, all(r == s), all(r >= 0 .and. r < 1)
    print '(4f10.7)', r
  end subroutine
end program
