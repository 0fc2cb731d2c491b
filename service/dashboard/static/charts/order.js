// An order of parameters in which those that belong together stand together: average-linkage clustering, whose
// leaves are turned so that similar ends meet.

export function blockOrder(matrix) {
  let clusters = matrix.map((_, j) => [j]);
  const similarity = matrix.map((row) => [...row]);
  while (clusters.length > 1) {
    const [a, b] = closest(similarity);
    const joined = turned(matrix, clusters[a], clusters[b]);
    const weights = [clusters[a].length, clusters[b].length];
    for (let k = 0; k < clusters.length; k += 1) {
      const mean = (weights[0] * similarity[a][k] + weights[1] * similarity[b][k]) / (weights[0] + weights[1]);
      similarity[a][k] = mean;
      similarity[k][a] = mean;
    }
    clusters[a] = joined;
    clusters = clusters.filter((_, k) => k !== b);
    similarity.splice(b, 1);
    for (const row of similarity) row.splice(b, 1);
  }
  return clusters[0] ?? [];
}

// The pair most alike; of equals the first, so that the given order is kept where nothing speaks against it.
function closest(similarity) {
  let found = [0, 1];
  let most = -Infinity;
  for (let a = 0; a < similarity.length; a += 1) {
    for (let b = a + 1; b < similarity.length; b += 1) {
      if (similarity[a][b] > most) {
        most = similarity[a][b];
        found = [a, b];
      }
    }
  }
  return found;
}

function turned(matrix, left, right) {
  const ways = [[left, right], [left, [...right].reverse()], [[...left].reverse(), right], [[...left].reverse(), [...right].reverse()]];
  let best = ways[0];
  for (const way of ways) {
    if (seam(matrix, way) > seam(matrix, best) + 1e-9) best = way;
  }
  return best.flat();
}

const seam = (matrix, [left, right]) => matrix[left.at(-1)][right[0]];
