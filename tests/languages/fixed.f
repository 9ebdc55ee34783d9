C     Fixed form, as FORTRAN 77 has it: in column 7, with COMMON and computed GOTO.
      PROGRAM FIXED
      COMMON /BLOCK/ X, N
      DATA I /2/
      CALL FILL
      GOTO (10, 20), I
   10 PRINT *, 'TEN'
   20 PRINT 30, X,
     +     N
   30 FORMAT (1X, F6.2, I4)
      END
      SUBROUTINE FILL
      COMMON /BLOCK/ X, N
      X = 1.5
      N = 7
      END
