// Factors as predictions name them: those of a known decomposition by their names, others by their place.

export function factorNames(study, size) {
  const known = study.decomposition.factors?.map((factor) => factor.name);
  return known?.length === size ? known : Array.from({ length: size }, (_, i) => `factor_${i}`);
}

// Each factor's part of the sum of variances, from predictions at points spread over the space.
export function shares(predictions, names) {
  const variances = names.map((name) => variance(predictions.map((p) => p.factors[name].mean)));
  const total = variances.reduce((a, b) => a + b, 0);
  return variances.map((v) => (total > 0 ? v / total : 0));
}

function variance(values) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length;
}
