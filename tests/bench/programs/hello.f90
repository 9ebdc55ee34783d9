! Fortran with formatted output.
program hello
  implicit none
  if (command_argument_count() > 0) print '(a, i0)', 'arguments: ', command_argument_count()
end program
