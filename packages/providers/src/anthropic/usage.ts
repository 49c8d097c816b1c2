import { type JsonObject, noUsage, type Usage } from '@millrace/core';
import { billedIn } from '../answer/reported-details.ts';
import { countIn, objectIn, objectsIn, textIn } from '../json/fields.ts';

const counts = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
] as const;

/**
 * The number of tokens written to the cache with a lifetime of one hour. The total number of cache writes
 * includes them.
 */
const longWrites = 'ephemeral_1h_input_tokens';

type Counts = Partial<Record<(typeof counts)[number] | typeof longWrites, number>>;

/**
 * Collects the usage, which the provider reports several times. For each count, the last reported value is
 * used.
 */
export class AnthropicUsage {
  #counts: Counts | undefined;
  #reasoning = 0;
  #compactions: readonly Counts[] = [];
  #isFinal = false;
  #served: JsonObject | undefined;
  /** The service tier that processed the request. */
  serviceTier: string | undefined;

  /** Adds a report. `isFinal` means that no output follows this report. */
  add(usage: JsonObject | undefined, isFinal: boolean): void {
    if (usage === undefined) return;
    const reported = countsIn(usage);
    this.#served = objectIn(usage, 'server_tool_use') ?? this.#served;
    this.serviceTier = textIn(usage, 'service_tier') ?? this.serviceTier;
    this.#counts = { ...this.#counts, ...reported };
    this.#isFinal ||= isFinal && reported.output_tokens !== undefined;
    const thinking = countIn(objectIn(usage, 'output_tokens_details'), 'thinking_tokens');
    this.#reasoning = thinking ?? this.#reasoning;
    if (!Array.isArray(usage['iterations'])) return;
    // Only compactions are added. Any other iteration is already part of the totals, or it belongs to a
    // different model and is billed separately.
    this.#compactions = objectsIn(usage, 'iterations')
      .filter(({ type }) => type === 'compaction')
      .map(countsIn);
  }

  /** The usage reported until now. Undefined until the first report. */
  get total(): Usage | undefined {
    if (this.#counts === undefined) return undefined;
    const all = [this.#counts, ...this.#compactions];
    const sum = (name: keyof Counts) => all.reduce((total, one) => total + (one[name] ?? 0), 0);
    const cacheRead = sum('cache_read_input_tokens');
    const cacheWrite = sum('cache_creation_input_tokens');
    const cacheWriteLong = sum(longWrites);
    const billed = billedIn(this.#served);
    return {
      ...noUsage,
      // The `input_tokens` of this API do not include cached tokens.
      input: sum('input_tokens') + cacheRead + cacheWrite,
      output: sum('output_tokens'),
      cacheRead,
      cacheWrite,
      ...(cacheWriteLong === 0 ? {} : { cacheWriteLong }),
      reasoning: this.#reasoning,
      estimated: !this.#isFinal,
      ...(billed === undefined ? {} : { billed }),
    };
  }
}

function countsIn(usage: JsonObject): Counts {
  const long = countIn(objectIn(usage, 'cache_creation'), longWrites);
  const known = counts.flatMap((name) => {
    const count = countIn(usage, name);
    return count === undefined ? [] : [[name, count]];
  });
  return { ...Object.fromEntries(known), ...(long === undefined ? {} : { [longWrites]: long }) };
}
