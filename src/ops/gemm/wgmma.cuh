// SPDX-License-Identifier: Apache-2.0
// Matrix instructions of compute capability 9.0, by which a group of four warps multiplies 64 rows of A, and what they
// need. Operands that lie in shared memory are named by descriptors. Of each eight columns of the sums a thread has two
// neighbouring ones, in row lane / 4 of its warp's 16 and in the row eight after it.
#pragma once

#include <cstdint>

namespace bitgraph::wgmma {

constexpr unsigned group_threads = 128;        ///< who issue an instruction together
constexpr unsigned shared_limit = 225U << 10;  ///< of a block on a device of 9.0, beside a few KB of its barriers

/// Where an operand lies in shared memory. Rows have pieces of 16 bytes; eight of them, of eight rows, are a block of
/// 128 bytes.
__device__ inline std::uint64_t descriptor(unsigned address, unsigned next_piece, unsigned next_rows,
                                           unsigned swizzle) {
  const auto units = [](unsigned bytes) { return std::uint64_t{bytes >> 4}; };
  return units(address) | units(next_piece) << 16 | units(next_rows) << 32 | std::uint64_t{swizzle} << 62;
}
/// Rows of 128 bytes whose pieces change places by the row's number, as a tensor map of that swizzle brings them.
__device__ inline std::uint64_t descriptor_of_rows(unsigned address) { return descriptor(address, 16, 1024, 1); }

/// Ahead of the first instruction that adds to registers that other code has touched.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Until all but the last `Left` groups of products are done.
template <unsigned Left>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}
/// Shows what this thread has written into shared memory to instructions that read descriptors.
__device__ inline void show_writes() { asm volatile("fence.proxy.async;" ::: "memory"); }

// Operands of the instructions: so many sums by number, and the sums.
#define BITGRAPH_NUMBERS_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define BITGRAPH_NUMBERS_32 \
  BITGRAPH_NUMBERS_16       \
  ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define BITGRAPH_NUMBERS_64                                                                               \
  BITGRAPH_NUMBERS_32                                                                                     \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56," \
  "%57,%58,%59,%60,%61,%62,%63"
#define BITGRAPH_NUMBERS_128                                                                              \
  BITGRAPH_NUMBERS_64                                                                                     \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88," \
  "%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,"   \
  "%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define BITGRAPH_SUMS_16                                                                                      \
  "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]), "+r"(c[7]), "+r"(c[8]), \
      "+r"(c[9]), "+r"(c[10]), "+r"(c[11]), "+r"(c[12]), "+r"(c[13]), "+r"(c[14]), "+r"(c[15])
#define BITGRAPH_SUMS_32                                                                                       \
  BITGRAPH_SUMS_16, "+r"(c[16]), "+r"(c[17]), "+r"(c[18]), "+r"(c[19]), "+r"(c[20]), "+r"(c[21]), "+r"(c[22]), \
      "+r"(c[23]), "+r"(c[24]), "+r"(c[25]), "+r"(c[26]), "+r"(c[27]), "+r"(c[28]), "+r"(c[29]), "+r"(c[30]),  \
      "+r"(c[31])
#define BITGRAPH_SUMS_64                                                                                       \
  BITGRAPH_SUMS_32, "+r"(c[32]), "+r"(c[33]), "+r"(c[34]), "+r"(c[35]), "+r"(c[36]), "+r"(c[37]), "+r"(c[38]), \
      "+r"(c[39]), "+r"(c[40]), "+r"(c[41]), "+r"(c[42]), "+r"(c[43]), "+r"(c[44]), "+r"(c[45]), "+r"(c[46]),  \
      "+r"(c[47]), "+r"(c[48]), "+r"(c[49]), "+r"(c[50]), "+r"(c[51]), "+r"(c[52]), "+r"(c[53]), "+r"(c[54]),  \
      "+r"(c[55]), "+r"(c[56]), "+r"(c[57]), "+r"(c[58]), "+r"(c[59]), "+r"(c[60]), "+r"(c[61]), "+r"(c[62]),  \
      "+r"(c[63])
#define BITGRAPH_SUMS_128                                                                                             \
  BITGRAPH_SUMS_64, "+r"(c[64]), "+r"(c[65]), "+r"(c[66]), "+r"(c[67]), "+r"(c[68]), "+r"(c[69]), "+r"(c[70]),        \
      "+r"(c[71]), "+r"(c[72]), "+r"(c[73]), "+r"(c[74]), "+r"(c[75]), "+r"(c[76]), "+r"(c[77]), "+r"(c[78]),         \
      "+r"(c[79]), "+r"(c[80]), "+r"(c[81]), "+r"(c[82]), "+r"(c[83]), "+r"(c[84]), "+r"(c[85]), "+r"(c[86]),         \
      "+r"(c[87]), "+r"(c[88]), "+r"(c[89]), "+r"(c[90]), "+r"(c[91]), "+r"(c[92]), "+r"(c[93]), "+r"(c[94]),         \
      "+r"(c[95]), "+r"(c[96]), "+r"(c[97]), "+r"(c[98]), "+r"(c[99]), "+r"(c[100]), "+r"(c[101]), "+r"(c[102]),      \
      "+r"(c[103]), "+r"(c[104]), "+r"(c[105]), "+r"(c[106]), "+r"(c[107]), "+r"(c[108]), "+r"(c[109]), "+r"(c[110]), \
      "+r"(c[111]), "+r"(c[112]), "+r"(c[113]), "+r"(c[114]), "+r"(c[115]), "+r"(c[116]), "+r"(c[117]), "+r"(c[118]), \
      "+r"(c[119]), "+r"(c[120]), "+r"(c[121]), "+r"(c[122]), "+r"(c[123]), "+r"(c[124]), "+r"(c[125]), "+r"(c[126]), \
      "+r"(c[127])

/// counts += ones that A and X have in common, 256 bits of each: 64 rows of A and as many columns of X as a thread has
/// counts, twice.
__device__ inline void multiply_bits(int (&c)[16], std::uint64_t a, std::uint64_t x) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k256.s32.b1.b1.and.popc {" BITGRAPH_NUMBERS_16 "}, %16, %17, 1;"
               : BITGRAPH_SUMS_16
               : "l"(a), "l"(x));
}
__device__ inline void multiply_bits(int (&c)[32], std::uint64_t a, std::uint64_t x) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k256.s32.b1.b1.and.popc {" BITGRAPH_NUMBERS_32 "}, %32, %33, 1;"
               : BITGRAPH_SUMS_32
               : "l"(a), "l"(x));
}
__device__ inline void multiply_bits(int (&c)[64], std::uint64_t a, std::uint64_t x) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc {" BITGRAPH_NUMBERS_64 "}, %64, %65, 1;"
               : BITGRAPH_SUMS_64
               : "l"(a), "l"(x));
}
__device__ inline void multiply_bits(int (&c)[128], std::uint64_t a, std::uint64_t x) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k256.s32.b1.b1.and.popc {" BITGRAPH_NUMBERS_128 "}, %128, %129, 1;"
               : BITGRAPH_SUMS_128
               : "l"(a), "l"(x));
}

// Products with 64 rows of A that the threads have in registers, as the smaller matrix instruction of the same numbers
// has them, and twice as many rows of W as a thread has sums. `a`, `w` and `adds` are the operands behind the sums.
#define BITGRAPH_MULTIPLY_ROWS(name, sums, shape, numbers, a, w, adds)                                                \
  __device__ inline void name(int(&c)[sums], const std::uint32_t(&rows)[4], std::uint64_t of_w, bool adding) {        \
    asm volatile("{.reg .pred adds; setp.ne.b32 adds, " adds ", 0; wgmma.mma_async.sync.aligned." shape               \
                 ".s32." numbers " {" BITGRAPH_NUMBERS_##sums "}, " a ", " w ", adds;}"                               \
                 : BITGRAPH_SUMS_##sums                                                                               \
                 : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "l"(of_w), "r"(static_cast<int>(adding))); \
  }

/// counts += ones in common, of 256 bits of each row. Unless `adding`, counts = ones in common.
BITGRAPH_MULTIPLY_ROWS(multiply_bits, 16, "m64n32k256", "b1.b1.and.popc", "{%16,%17,%18,%19}", "%20", "%21")
BITGRAPH_MULTIPLY_ROWS(multiply_bits, 32, "m64n64k256", "b1.b1.and.popc", "{%32,%33,%34,%35}", "%36", "%37")
BITGRAPH_MULTIPLY_ROWS(multiply_bits, 64, "m64n128k256", "b1.b1.and.popc", "{%64,%65,%66,%67}", "%68", "%69")
BITGRAPH_MULTIPLY_ROWS(multiply_bits, 128, "m64n256k256", "b1.b1.and.popc", "{%128,%129,%130,%131}", "%132", "%133")

/// sums += products of bytes without signs, of 32 columns. Unless `adding`, sums = products.
BITGRAPH_MULTIPLY_ROWS(multiply_bytes, 16, "m64n32k32", "u8.u8", "{%16,%17,%18,%19}", "%20", "%21")
BITGRAPH_MULTIPLY_ROWS(multiply_bytes, 32, "m64n64k32", "u8.u8", "{%32,%33,%34,%35}", "%36", "%37")
BITGRAPH_MULTIPLY_ROWS(multiply_bytes, 64, "m64n128k32", "u8.u8", "{%64,%65,%66,%67}", "%68", "%69")

#undef BITGRAPH_MULTIPLY_ROWS
#undef BITGRAPH_NUMBERS_16
#undef BITGRAPH_SUMS_16
#undef BITGRAPH_NUMBERS_32
#undef BITGRAPH_SUMS_32
#undef BITGRAPH_NUMBERS_64
#undef BITGRAPH_SUMS_64
#undef BITGRAPH_NUMBERS_128
#undef BITGRAPH_SUMS_128

}  // namespace bitgraph::wgmma
