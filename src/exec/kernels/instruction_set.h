/* For files that are compiled for an instruction set which not every processor has: they define
 * TARGET, the compiler's names of it (without: what every processor has), before they include
 * this. */
#ifndef AD_EXEC_KERNELS_INSTRUCTION_SET_H
#define AD_EXEC_KERNELS_INSTRUCTION_SET_H

#if defined(TARGET)
#define FOR_TARGET __attribute__((target(TARGET)))
#else
#define FOR_TARGET
#endif
#define INLINE static inline FOR_TARGET __attribute__((always_inline))

#endif
