// SPDX-License-Identifier: Apache-2.0
// Whether a sanitizer watches. What a test costs is tenfold there, and the accuracy that it comes to is not what is
// looked for: such tests take fewer steps, through the same code.
#pragma once

#if defined(__has_feature)
#define BITGRAPH_HAS_FEATURE(name) __has_feature(name)
#else
#define BITGRAPH_HAS_FEATURE(name) 0
#endif

namespace bitgraph::test {

#if defined(__SANITIZE_ADDRESS__) || BITGRAPH_HAS_FEATURE(address_sanitizer)
inline constexpr bool address_sanitized = true;
#else
inline constexpr bool address_sanitized = false;
#endif
#if defined(__SANITIZE_THREAD__) || BITGRAPH_HAS_FEATURE(thread_sanitizer)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif
inline constexpr bool sanitized = address_sanitized || thread_sanitized;

}  // namespace bitgraph::test

#undef BITGRAPH_HAS_FEATURE
