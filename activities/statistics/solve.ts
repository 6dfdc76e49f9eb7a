/**
 * Solves A x = b for a symmetric positive definite A by its Cholesky factor. `matrix` is row by row, its size is that
 * of `vector` squared; neither is changed.
 */
export function solvePositive(matrix: Float64Array, vector: Float64Array): Float64Array {
  const size = vector.length;
  const factor = matrix.slice();
  const solution = vector.slice();
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = factor[i * size + j]!;
      for (let k = 0; k < j; k++) sum -= factor[i * size + k]! * factor[j * size + k]!;
      factor[i * size + j] = i === j ? Math.sqrt(sum) : sum / factor[j * size + j]!;
    }
    for (let k = 0; k < i; k++) solution[i]! -= factor[i * size + k]! * solution[k]!;
    solution[i]! /= factor[i * size + i]!;
  }
  for (let i = size - 1; i >= 0; i--) {
    for (let k = i + 1; k < size; k++) solution[i]! -= factor[k * size + i]! * solution[k]!;
    solution[i]! /= factor[i * size + i]!;
  }
  return solution;
}
