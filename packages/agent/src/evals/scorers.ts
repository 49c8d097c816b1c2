import { editDistance, type JsonValue, parseJson } from '@millrace/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { AgentError } from '../contract/agent-error.ts';
import { assertKnownOptions } from '../known-options.ts';
import { jsonChanges } from '../recorded/json-changes.ts';
import { hasSameContent } from '../replay/divergence.ts';
import { jsonSchemaOf, validateWithSchema } from '../tool/schema.ts';
import type { EvaluatedRun, Score, ScoreContext, ScoreReturn, Scorer } from './experiment.ts';

/** A name for a scorer. */
export interface NamedScorer {
  /** The name in reports. Default: the name of the function. */
  readonly name?: string | undefined;
}

/**
 * Creates a scorer from a function. The text of the function belongs to the settings of the scorer, so runs are
 * scored again after a change of the function. Changes of other functions that it calls do not count.
 *
 * @example codeScorer('short', (run) => run.text.length <= 200);
 */
export function codeScorer(
  name: string,
  score: (run: EvaluatedRun, context: ScoreContext) => ScoreReturn | Promise<ScoreReturn>,
): Scorer {
  return { name, settings: String(score), score };
}

/** Options of `matchesText`. */
export interface TextOptions extends NamedScorer {
  /**
   * `equal`: the answer is the expected text. `contains`: the answer contains the expected text. `similar`: the
   * score is 1 minus the edit distance, divided by the longer length. Default: `equal`.
   */
  readonly compare?: 'equal' | 'contains' | 'similar' | undefined;
  /** If true, letter case counts. Default: false. */
  readonly isCaseSensitive?: boolean | undefined;
}

/** The longest texts that are compared by edit distance. Of longer texts, only the start counts. */
const maxSimilarLength = 4000;

/**
 * Compares the answer with the expected text of its case. White space at the ends does not count, and several
 * spaces or lines count as one space.
 */
export function matchesText(options: TextOptions = {}): Scorer {
  const names = { name: true, compare: true, isCaseSensitive: true } as const;
  assertKnownOptions<TextOptions>('matchesText', options, names);
  const { name = 'matchesText', compare = 'equal', isCaseSensitive = false } = options;
  assertOneOf('matchesText', 'compare', compare, ['equal', 'contains', 'similar']);
  const plain = (text: string) => {
    const joined = text.trim().replaceAll(/\s+/g, ' ');
    return isCaseSensitive ? joined : joined.toLowerCase();
  };
  const score = (run: EvaluatedRun): ScoreReturn => {
    const [answer, expected] = [plain(run.text), plain(expectedText(name, run))];
    if (compare === 'equal') return answer === expected;
    if (compare === 'contains') return answer.includes(expected);
    return similarity(answer.slice(0, maxSimilarLength), expected.slice(0, maxSimilarLength));
  };
  return { name, settings: { compare, isCaseSensitive }, score };
}

function similarity(one: string, other: string): number {
  const longest = Math.max(one.length, other.length);
  return longest === 0 ? 1 : 1 - editDistance(one, other) / longest;
}

/** Options of `matchesPattern`. */
export interface PatternOptions extends NamedScorer {
  /** The pattern. Patterns with nested repeats can take very long on long answers. */
  readonly pattern: RegExp;
}

/** Checks whether a regular expression matches the answer. */
export function matchesPattern(options: PatternOptions): Scorer {
  assertKnownOptions('matchesPattern', options, { name: true, pattern: true });
  const { name = 'matchesPattern', pattern } = options;
  if (!(pattern instanceof RegExp)) throw badOption('matchesPattern', 'pattern', 'a RegExp');
  const { source, flags } = pattern;
  // A new expression for each run, because a global one keeps its position.
  const score = (run: EvaluatedRun) => new RegExp(source, flags).test(run.text);
  return { name, settings: String(pattern), score };
}

/** Options of `matchesJson`. */
export interface JsonOptions extends NamedScorer {
  /**
   * `equal`: the JSON of the answer is the expected JSON. `contains`: each expected field has the expected value,
   * and other fields do not count. `similar`: the share of the values that are equal. Default: `equal`.
   */
  readonly compare?: 'equal' | 'contains' | 'similar' | undefined;
}

/**
 * Compares the JSON of the answer with the expected JSON of its case. The JSON of an answer is its structured
 * output, or else its text. The order of fields does not count.
 */
export function matchesJson(options: JsonOptions = {}): Scorer {
  assertKnownOptions<JsonOptions>('matchesJson', options, { name: true, compare: true });
  const { name = 'matchesJson', compare = 'equal' } = options;
  assertOneOf('matchesJson', 'compare', compare, ['equal', 'contains', 'similar']);
  const score = (run: EvaluatedRun): Score => {
    const { expected } = run.case;
    if (expected === undefined) throw nothingExpected(name, run);
    const answer = jsonOf(run);
    if (answer === undefined) return { value: 0, reason: 'The answer is not JSON' };
    if (compare === 'contains') return { value: contains(answer, expected) ? 1 : 0 };
    if (hasSameContent(answer, expected)) return { value: 1 };
    const changes = jsonChanges(expected, answer);
    const paths = changes.slice(0, maxPaths).map(({ path }) => path.join('.') || 'the whole value');
    const reason = `Different: ${paths.join(', ')}`;
    if (compare === 'equal') return { value: 0, reason };
    const all = Math.max(countValues(expected), countValues(answer));
    return { value: Math.max(0, 1 - changes.length / all), reason };
  };
  return { name, settings: { compare }, score };
}

const maxPaths = 20;

function contains(answer: JsonValue, expected: JsonValue): boolean {
  if (typeof expected !== 'object' || expected === null) return Object.is(answer, expected);
  if (typeof answer !== 'object' || answer === null) return false;
  if (Array.isArray(expected) !== Array.isArray(answer)) return false;
  if (Array.isArray(expected) && Array.isArray(answer) && expected.length !== answer.length)
    return false;
  return Object.entries(expected).every(
    ([key, value]) =>
      Object.hasOwn(answer, key) && contains(Reflect.get(answer, key) as JsonValue, value),
  );
}

/** Counts the values that are neither lists nor objects. An empty list counts as a value. */
function countValues(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1;
  const entries: readonly JsonValue[] = Array.isArray(value) ? value : Object.values(value);
  return Math.max(
    1,
    entries.reduce<number>((sum, entry) => sum + countValues(entry), 0),
  );
}

/** Options of `matchesSchema`. */
export interface SchemaOptions extends NamedScorer {
  /** A schema of any library that implements Standard Schema. */
  readonly schema: StandardSchemaV1;
}

/**
 * Checks the JSON of the answer with a schema. The reason of the score lists the problems. Runs are scored again if
 * the JSON Schema of the schema changes. For other changes, such as a function in the schema, change the name.
 */
export function matchesSchema(options: SchemaOptions): Scorer {
  assertKnownOptions('matchesSchema', options, { name: true, schema: true });
  const { name = 'matchesSchema', schema } = options;
  if (typeof schema?.['~standard']?.validate !== 'function')
    throw badOption('matchesSchema', 'schema', 'a Standard Schema');
  const score = async (run: EvaluatedRun): Promise<Score> => {
    const answer = jsonOf(run);
    if (answer === undefined) return { value: 0, reason: 'The answer is not JSON' };
    const result = await validateWithSchema(schema, answer);
    return result.ok ? { value: 1 } : { value: 0, reason: result.problem };
  };
  return { name, settings: jsonSchemaOf(schema) ?? schema['~standard'].vendor, score };
}

const fence = '```';
const jsonLimits = { maxDepth: 128, maxTextLength: 2 ** 20 };

/** Returns the structured output of a run, or the JSON of its text. A block of code around the JSON is removed. */
function jsonOf({ value, text }: Pick<EvaluatedRun, 'value' | 'text'>): JsonValue | undefined {
  if (value !== undefined) return value;
  const trimmed = text.trim();
  const isFenced = trimmed.startsWith(fence) && trimmed.endsWith(fence);
  const inner = isFenced ? trimmed.slice(trimmed.indexOf('\n') + 1, -fence.length) : trimmed;
  const parsed = parseJson(inner, jsonLimits);
  return parsed.ok ? parsed.value : undefined;
}

function expectedText(scorer: string, run: EvaluatedRun): string {
  const { expected } = run.case;
  if (expected === undefined) throw nothingExpected(scorer, run);
  return typeof expected === 'string' ? expected : JSON.stringify(expected);
}

function nothingExpected(scorer: string, run: EvaluatedRun): AgentError {
  const message = `The scorer ${scorer} needs the expected answer, and the case ${run.case.id} has none`;
  return new AgentError('bad_option', message, { scorer, case: run.case.id });
}

/** Throws `bad_option` if the value of an option is not in `values`. */
function assertOneOf(of: string, option: string, value: string, values: readonly string[]): void {
  if (!values.includes(value)) throw badOption(of, option, values.join(' or '));
}

/** Creates the error for an option of a scorer that has a wrong value. */
export function badOption(of: string, option: string, needed: string): AgentError {
  const message = `Cannot use the option ${option} of ${of}: it must be ${needed}`;
  return new AgentError('bad_option', message, { of, option });
}
