! main of the three languages' program in Fortran.
program main
  use mixed
  call fortran_part
end program
