/** A confidence interval of a mean or a pass rate. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  /** The probability with which the method covers the true value, for example 0.95. */
  readonly confidence: number;
  /**
   * `wilson`: the Wilson score interval of a pass rate. `t`: the interval of Student's t-distribution for a
   * mean.
   */
  readonly method: 'wilson' | 't';
}

/**
 * Returns the Wilson score interval of a pass rate. Unlike the normal approximation, it stays between 0 and 1,
 * and it is wider than zero if all or no cases passed.
 */
export function wilsonInterval(rate: number, count: number, confidence: number): Interval {
  const z = normalQuantile((1 + confidence) / 2);
  const scale = 1 + z ** 2 / count;
  const center = (rate + z ** 2 / (2 * count)) / scale;
  const half = (z / scale) * Math.sqrt((rate * (1 - rate)) / count + z ** 2 / (4 * count ** 2));
  const [low, high] = [Math.max(0, center - half), Math.min(1, center + half)];
  return { low, high, confidence, method: 'wilson' };
}

/**
 * Returns the interval of Student's t-distribution for the mean of the values. Returns undefined for fewer than
 * two values, because their spread is unknown. `bounds` are the smallest and the largest possible mean.
 */
export function meanInterval(
  values: readonly number[],
  confidence: number,
  bounds: readonly [number, number],
): Interval | undefined {
  const count = values.length;
  if (count < 2) return undefined;
  const mean = meanOf(values);
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  const half = tQuantile((1 + confidence) / 2, count - 1) * Math.sqrt(variance / count);
  const [low, high] = [Math.max(bounds[0], mean - half), Math.min(bounds[1], mean + half)];
  return { low, high, confidence, method: 't' };
}

/** Returns the mean of the values. Returns 0 for an empty list. */
export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Returns the value that a standard normal variable does not exceed with probability `p`. */
export function normalQuantile(p: number): number {
  return invert(normalDistribution, p);
}

/** Returns the value that a variable of Student's t-distribution does not exceed with probability `p`. */
export function tQuantile(p: number, degrees: number): number {
  return invert((x) => tDistribution(x, degrees), p);
}

/** Halvings of an interval. After 200 of them, two neighbouring floating-point numbers are left. */
const maxHalvings = 200;

/** Finds where an increasing function that is symmetric around (0, 1/2) has the value `p`. */
function invert(distribution: (x: number) => number, p: number): number {
  if (p < 0.5) return -invert(distribution, 1 - p);
  let [low, high] = [0, 1];
  while (distribution(high) < p && high < Number.MAX_SAFE_INTEGER) high *= 2;
  for (let step = 0; step < maxHalvings; step++) {
    const middle = (low + high) / 2;
    if (distribution(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The series x + x³/3 + x⁵/(3·5) + … times the density is the probability between 0 and x. */
function normalDistribution(x: number): number {
  let [term, sum] = [x, x];
  for (let odd = 3; Math.abs(term) > 1e-17 * Math.abs(sum) && odd < 2000; odd += 2) {
    term *= x ** 2 / odd;
    sum += term;
  }
  return Math.min(1, 0.5 + (sum * Math.exp(-(x ** 2) / 2)) / Math.sqrt(2 * Math.PI));
}

/**
 * For whole degrees of freedom, the probability is a finite sum over powers of cos² of the angle atan(x/√degrees).
 * The number of terms is half of the degrees. From `manyDegrees` on, the normal distribution with a correction
 * of the order 1/degrees is more exact than the figures of a report.
 */
function tDistribution(x: number, degrees: number): number {
  if (degrees >= manyDegrees) {
    const scaled = x * (1 - 1 / (4 * degrees));
    return normalDistribution(scaled / Math.sqrt(1 + x ** 2 / (2 * degrees)));
  }
  const angle = Math.atan(x / Math.sqrt(degrees));
  const cosine2 = Math.cos(angle) ** 2;
  const isOdd = degrees % 2 === 1;
  let term = isOdd ? Math.cos(angle) : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let k = isOdd ? 3 : 2; k < degrees; k += 2) {
    term *= (cosine2 * (k - 1)) / k;
    sum += term;
  }
  const inner = isOdd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
  return 0.5 + inner / 2;
}

const manyDegrees = 10_000;
