// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/core/device.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bitgraph {

/// How parameters follow their gradients.
enum class OptimizerKind : std::uint8_t {
  adam,   ///< Kingma and Ba 2015: betas 0.9 and 0.999, epsilon 1e-8; decay is added to the gradient
  adamw,  ///< Loshchilov and Hutter 2019: the same, but decay shrinks the value itself
  sgd     ///< with momentum 0.9; decay is added to the gradient
};
[[nodiscard]] std::string_view to_string(OptimizerKind kind) noexcept;
/// Throws usage for any other name.
[[nodiscard]] OptimizerKind optimizer_from_string(std::string_view name);

/// What follows from the number of a step.
struct StepValues {
  std::uint32_t number = 1;
  float learning_rate = 0;
  float rate = 0;        ///< of Adam: learning_rate / (1 - beta1^number)
  float correction = 1;  ///< of Adam: 1 / sqrt(1 - beta2^number)
  float kept = 0;        ///< of an average, the rest being the new value: number / (number + 10), 0.99 at most
};

/// The number of a training step, where the parameters are. Kernels of a CUDA device read it from memory of the device:
/// a step that was recorded is launched again behind the next set().
class TrainingStep {
 public:
  explicit TrainingStep(const Device& device = {});

  /// Asks the device for it and does not wait. Throws usage where number is 0.
  void set(std::size_t number, float learning_rate);

  [[nodiscard]] const Device& device() const noexcept { return there_.device(); }
  [[nodiscard]] const StepValues& values() const noexcept { return values_; }
  /// Where kernels find them.
  [[nodiscard]] const StepValues* there() const noexcept { return device().is_host() ? &values_ : there_.data(); }

 private:
  StepValues values_;
  Buffer<StepValues> there_;
};

/// A parameter with what an optimizer keeps of it; matrices of one shape and device.
struct OptimizedParameter {
  DenseMatrix<float>* value = nullptr;
  const DenseMatrix<float>* gradient = nullptr;
  DenseMatrix<float>* first_moment = nullptr;
  DenseMatrix<float>* second_moment = nullptr;  ///< null: sgd has none
  DenseMatrix<float>* average = nullptr;        ///< of the values so far; null: not kept
  float decay = 0;
};

/// One step of all parameters, on a CUDA device by one kernel. O(elements); allocates nothing. The same bits on every
/// device. Throws usage, naming the shapes or devices that do not go together.
void optimize(std::span<const OptimizedParameter> parameters, OptimizerKind kind, const TrainingStep& step);

}  // namespace bitgraph
