import type { Attempt, ExecutionId, RunId } from '../ids.ts';

/**
 * Derives the ids of a run's spans from the ids of the run. Every process that works on the run therefore
 * uses the same span ids. The span id in an outgoing header equals the id of the span that an observer
 * writes. If a run resumes in a new process, its spans are children of the same run span.
 */
export const spanIdOf = {
  /** The id of the span of a run. */
  run: (run: RunId): string => digits64(`run ${run}`),
  /** The id of the span of a turn. */
  turn: (run: RunId, turn: number): string => digits64(`turn ${turn} ${run}`),
  /** The id of the span of an attempt. */
  attempt: (run: RunId, { turn, attempt }: Attempt): string =>
    digits64(`attempt ${turn}.${attempt} ${run}`),
  /** The id of the span of a tool execution. */
  execution: (run: RunId, execution: ExecutionId): string =>
    digits64(`execution ${execution} ${run}`),
} as const;

/** Returns the trace id of a run that started without a trace. */
export function traceIdOf(run: RunId): string {
  return digits64(`trace ${run}`) + digits64(`trace, continued ${run}`);
}

const basis = 0xcbf2_9ce4_8422_2325n;
const prime = 0x100_0000_01b3n;
const mixer = 0x9e37_79b9_7f4a_7c15n;

/**
 * Returns a hash of the text as 16 hexadecimal digits, which are never all zero. It is the FNV-1a hash of the
 * UTF-16 units. An extra step mixes the bits, so that similar texts give very different digits.
 */
function digits64(text: string): string {
  let hash = basis;
  for (let at = 0; at < text.length; at++)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * prime);
  hash = BigInt.asUintN(64, (hash ^ (hash >> 32n)) * mixer);
  hash ^= hash >> 29n;
  return (hash === 0n ? 1n : hash).toString(16).padStart(16, '0');
}
