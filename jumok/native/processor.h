/* What the processor can do: the compiler's macros say it, which -march=native sets for the machine at hand.

   HAS_AVX512       vectors of sixteen floats
   HAS_NARROW_PRODUCTS  and products of pairs of bf16, with sums in fp32
   EIGHTS           vectors of eight floats that the registers hold
   KEEP(value)      keeps a vector of eight in its register: the compiler would rather read it again for every row that it is
                    multiplied with
   INSTRUCTIONS     what of this was found, for people and for Python (processor.c)

   With JUMOK_GENERIC nothing is found, as on a processor that has none of it: so that can be tested anywhere. */

#if defined(JUMOK_GENERIC)
#define INSTRUCTIONS "any processor"
#elif defined(__AVX512F__) && defined(__AVX512VL__)
#define INSTRUCTIONS "AVX-512"
#define HAS_AVX512 1
#ifdef __AVX512BF16__
#define HAS_NARROW_PRODUCTS 1
#endif
#define EIGHTS 32
#define KEEP(value) __asm__("" : "+v"(value))
#elif defined(__AVX__)
#if defined(__AVX2__) && defined(__FMA__)
#define INSTRUCTIONS "AVX2"
#else
#define INSTRUCTIONS "AVX"
#endif
#define KEEP(value) __asm__("" : "+x"(value))
#elif defined(__aarch64__)
#define INSTRUCTIONS "NEON"
#elif defined(__SSE2__)
#define INSTRUCTIONS "SSE"
#else
#define INSTRUCTIONS "any processor"
#endif

#ifndef HAS_AVX512
#define HAS_AVX512 0
#endif
#ifndef HAS_NARROW_PRODUCTS
#define HAS_NARROW_PRODUCTS 0
#endif
#ifndef EIGHTS
#define EIGHTS 16 /* of 32 bytes, or 32 registers of half of that; with fewer the compiler moves some to memory */
#endif
#ifndef KEEP
#define KEEP(value)
#endif
