import { isDecimal, type JsonValue, type OptionNames, toBase64 } from '@millrace/core';
import type { Agent } from '../contract/agent.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { Settings } from '../contract/settings.ts';
import { assertKnownOptions } from '../known-options.ts';
import { adaptAgents, settingsOf } from '../run/agent-registry.ts';
import type {
  EvalCase,
  Experiment,
  ExperimentOptions,
  RunKey,
  Scorer,
  VariantHost,
} from './experiment.ts';
import {
  isCaseId,
  isExperimentName,
  experimentLimits as limits,
  runSessionId,
  type StoredPlan,
} from './stored-results.ts';

/** A checked experiment with all defaults. */
export interface ExperimentPlan {
  readonly options: ExperimentOptions;
  readonly session: string;
  readonly baseline: string;
  readonly variants: readonly string[];
  readonly runs: readonly PlannedRun[];
  readonly scorers: readonly PlannedScorer[];
  readonly concurrency: number;
  readonly confidence: number;
  /** The matrix as the session of the experiment stores it. */
  readonly stored: StoredPlan;
}

/** One run of the matrix. */
export interface PlannedRun extends RunKey {
  readonly evalCase: EvalCase;
  readonly settings: Settings;
  /** The session of the run. It contains a hash of the case and of the variant's settings. */
  readonly session: string;
}

/** A scorer, and a hash of its settings. */
export interface PlannedScorer {
  readonly scorer: Scorer;
  readonly hash: string;
}

/** Checks the options, reads the dataset, and returns all runs. Throws `bad_option` or `too_large`. */
export async function planExperiment(options: ExperimentOptions): Promise<ExperimentPlan> {
  assertKnownOptions('runExperiment', options, optionNames);
  const { name, log, scorers = [], concurrency = 4, confidence = 0.95, maxCost } = options;
  assertName('name', name);
  if (typeof log?.open !== 'function') throw badOption('log', 'must be a log');
  for (const option of ['context', 'onRun'] as const)
    if (typeof (options[option] ?? Object) !== 'function')
      throw badOption(option, 'must be a function');
  if (typeof (options.version ?? '') !== 'string') throw badOption('version', 'must be a text');
  const repeats = wholeNumber('repeats', options.repeats ?? 1, limits.repeats);
  const maxRuns = wholeNumber('maxRuns', options.maxRuns ?? limits.defaultRuns, limits.runs);
  wholeNumber('concurrency', concurrency, limits.concurrency);
  if (!(confidence >= 0.5 && confidence <= 0.999))
    throw badOption('confidence', 'must be a number from 0.5 to 0.999');
  if (maxCost !== undefined && !isDecimal(maxCost.amount))
    throw badOption('maxCost', 'needs an amount such as 2.50 and a currency such as USD');
  const variants = Object.entries(options.variants ?? {}).map(([variant, given]) => {
    assertName('variants', variant);
    return { variant, settings: evalSettings(variant, given, { log }) };
  });
  if (variants.length === 0 || variants.length > limits.variants)
    throw badOption('variants', `must have 1 to ${limits.variants} agents`);
  const names = variants.map(({ variant }) => variant);
  const baseline = options.baseline ?? names[0] ?? '';
  if (!names.includes(baseline)) throw badOption('baseline', `must be one of ${names.join(', ')}`);
  assertScorers(scorers, names);
  const cases = await readCases(options.cases, Math.floor(maxRuns / (repeats * variants.length)));
  const hashes = await Promise.all(
    variants.map(({ settings }) => shortHash([options.version ?? '', fingerprint(settings)])),
  );
  const caseHashes = await Promise.all(
    // The hash does not contain the expected answer, because this answer affects only the scores.
    cases.map(({ input, metadata }) => shortHash([input, metadata ?? null])),
  );
  const session = `eval/${name}`;
  // The repeats are the outer loop, so a stopped experiment has complete comparisons of many cases.
  const runs = Array.from({ length: repeats }, (_, index) => index + 1).flatMap((repeat) =>
    cases.flatMap((evalCase, at) =>
      variants.map(({ variant, settings }, column): PlannedRun => {
        const key = { variant, case: evalCase.id, repeat };
        const place = runSessionId(session, key, `${hashes[column]}${caseHashes[at]}`);
        return { ...key, evalCase, settings, session: place };
      }),
    ),
  );
  const planned = await Promise.all(
    scorers.map(async (scorer) => ({ scorer, hash: await hashOf(scorer.settings ?? null) })),
  );
  const matrix = {
    ...{ baseline, repeats, confidence },
    variants: names.map((variant, at) => ({ name: variant, hash: hashes[at] ?? '' })),
    scorers: scorers.map(({ name: scorer, against }) => ({ name: scorer, against })),
    cases: cases.map(({ id }, at) => [id, caseHashes[at] ?? ''] as const),
  };
  return {
    ...{ options, session, baseline, variants: names, runs, concurrency, confidence },
    ...{ scorers: planned, stored: { ...matrix, hash: await hashOf(matrix) } },
  };
}

/** The session of a run contains half of each hash. */
async function shortHash(value: unknown): Promise<string> {
  return (await hashOf(value)).slice(0, 8);
}

/** Returns the first 16 hexadecimal digits of the SHA-256 of a value as JSON, with bytes as Base64. */
export async function hashOf(value: unknown): Promise<string> {
  const text = JSON.stringify(value, (_key, entry) => sortedKeys(entry)) ?? 'null';
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest).subarray(0, 8), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

function sortedKeys(value: unknown): unknown {
  if (value instanceof Uint8Array) return toBase64(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
  );
}

/** Returns the settings of a variant for runs without a user. */
function evalSettings(
  variant: string,
  given: Agent | ((host: VariantHost) => Agent),
  host: VariantHost,
): Settings {
  const settings = settingsOf(typeof given === 'function' ? given(host) : given);
  if (settings.log !== host.log)
    throw badOption(
      'variants',
      `has the agent ${variant} with another log. Use ${variant}: ({ log }) => createAgent({ log, … })`,
    );
  return adaptAgents(settings, (one) => ({
    ...one,
    // Nobody answers questions. An answer that a crash interrupted is asked for again, because a part of an
    // answer would get a wrong score.
    ...{ whileAsking: 'park', forms: 'decline', onInterrupted: 'retry' },
  }));
}

/** Returns the settings that are data. Functions have no text that stays the same between builds. */
function fingerprint(settings: Settings): JsonValue {
  const { providers, instructions, tools, request, output, limits: bounds, compaction } = settings;
  const data = {
    models: providers.map(({ id, model }) => `${id} ${model}`),
    instructions: typeof instructions === 'string' ? instructions : null,
    tools: [...tools.values()].map(({ name, description, inputSchema }) => {
      return { name, description, inputSchema };
    }),
    ...{ request, output: output?.schema ?? null, compaction: compaction ?? null },
    maxTurns: bounds.maxTurns,
  };
  return JSON.parse(JSON.stringify(data));
}

async function readCases(given: Experiment['cases'], most: number): Promise<readonly EvalCase[]> {
  const cases: EvalCase[] = [];
  const known = new Set<string>();
  const isList = typeof given === 'object' && given !== null;
  if (!isList || !(Symbol.iterator in given || Symbol.asyncIterator in given))
    throw badOption('cases', 'must be a list or an iterable of cases');
  for await (const evalCase of given) {
    assertKnownOptions('a case', evalCase, caseNames);
    const { id, input } = evalCase;
    if (!isCaseId(id))
      throw badOption(
        'cases',
        `needs an id of 1 to ${limits.caseIdLength} printable characters per case`,
      );
    if (known.has(id)) throw badOption('cases', `has two cases with the id ${id}`);
    if (input === undefined) throw badOption('cases', `has no input in the case ${id}`);
    if (cases.length >= most) throw tooManyRuns();
    known.add(id);
    cases.push(evalCase);
  }
  if (cases.length === 0) throw badOption('cases', 'has no case');
  return cases;
}

function assertScorers(scorers: readonly Scorer[], variants: readonly string[]): void {
  if (!Array.isArray(scorers) || scorers.length > limits.scorers)
    throw badOption('scorers', `must be a list of at most ${limits.scorers} scorers`);
  const known = new Set<string>();
  for (const scorer of scorers) {
    assertKnownOptions('a scorer', scorer, scorerNames);
    const { name, against, score } = scorer;
    assertName('scorers', name);
    if (typeof score !== 'function') throw badOption('scorers', `has no score function in ${name}`);
    if (known.has(name)) throw badOption('scorers', `has two scorers with the name ${name}`);
    if (against !== undefined && !variants.includes(against))
      throw badOption(
        'scorers',
        `compares with ${against} in ${name}, which is not a variant: ${variants.join(', ')}`,
      );
    known.add(name);
  }
}

function wholeNumber(option: string, value: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw badOption(option, `must be a whole number from 1 to ${most}`);
}

function assertName(option: string, name: unknown): void {
  if (isExperimentName(name)) return;
  throw badOption(option, 'needs names of 1 to 64 letters, digits, _, - and .');
}

/** Creates the error for a wrong option of an experiment. */
function badOption(option: string, problem: string): AgentError {
  const message = `Cannot run the experiment: ${option} ${problem}`;
  return new AgentError('bad_option', message, { of: 'runExperiment', option });
}

function tooManyRuns(): AgentError {
  const message =
    'Cannot run the experiment: variants × cases × repeats is more than maxRuns. Use fewer cases, or raise maxRuns';
  return new AgentError('too_large', message, { option: 'maxRuns' });
}

const caseNames: OptionNames<EvalCase> = { id: true, input: true, expected: true, metadata: true };

const scorerNames: OptionNames<Scorer> = { name: true, settings: true, against: true, score: true };

const optionNames: OptionNames<ExperimentOptions> = {
  ...({ name: true, variants: true, cases: true, scorers: true, repeats: true } as const),
  ...({ baseline: true, version: true, maxRuns: true, concurrency: true } as const),
  ...({ maxCost: true, confidence: true, context: true, log: true } as const),
  ...({ retryFailed: true, signal: true, onRun: true } as const),
};
