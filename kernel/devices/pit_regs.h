/*
 * Interval timer 8254 and the port that gates its third counter; the real-time
 * clock's registers. Sources: Intel 8254 data sheet 231164-005; Intel ICH9
 * data sheet 316972-004, sections 13.7.1 (port 61) and 13.6 (clock).
 */
#ifndef KERNEL_PIT_REGS_H
#define KERNEL_PIT_REGS_H

#define PIT_HZ             1193182u
#define PIT_COUNTER2       0x42u   /* RW */
#define PIT_CONTROL        0x43u   /* W  */
#define PIT_2_ONCE         0xb0u   /* counter 2, two bytes, mode 0: output rises at the end */

#define PORT61             0x61u   /* RW */
#define PORT61_GATE2       0x01u
#define PORT61_SPEAKER     0x02u
#define PORT61_OUTPUT2     0x20u   /* R */

#define RTC_INDEX          0x70u   /* W; bit 7 masks NMI */
#define RTC_DATA           0x71u   /* RW */
#define RTC_SECONDS        0x00u
#define RTC_MINUTES        0x02u
#define RTC_HOURS          0x04u
#define RTC_DAY            0x07u
#define RTC_MONTH          0x08u
#define RTC_YEAR           0x09u
#define RTC_A              0x0au
#define RTC_A_UPDATING     0x80u
#define RTC_B              0x0bu
#define RTC_B_BINARY       0x04u
#define RTC_B_24_HOURS     0x02u
#define RTC_HOURS_PM       0x80u

#endif
