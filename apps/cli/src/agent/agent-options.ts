import type { AgentOptions } from '@millrace/agent';
import type { Item } from '@millrace/core';
import { type ModelRequest, type Provider, wrapProvider } from '@millrace/providers';
import type { BuildOptions, ChosenModel } from '../contract/agent.ts';

/** What an agent and its sub-agents go by alike. */
export function commonOptions(options: BuildOptions): Omit<AgentOptions, 'tools' | 'instructions'> {
  const { config, chosen, log, observers, clock, ids, onProblem } = options;
  return {
    provider: withCacheHints(chosen.provider),
    log,
    observers,
    request: chosen.request,
    limits: limitsOf(config),
    retry: retryOptions,
    compaction: { whenTokens: config.compactAtTokens ?? compactionThreshold(chosen) },
    clock,
    ids,
    onDiagnostic: onProblem && ((problem) => onProblem(problem)),
  };
}

function limitsOf({ limits }: BuildOptions['config']): AgentOptions['limits'] {
  const { maxTurns, maxTokens, maxCost } = limits;
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxCost !== undefined && { maxCost }),
  };
}

const defaultCompactionTokens = 150_000;
/** Each request costs what it has in it, however much a model could take. */
const maxCompactionTokens = 250_000;

/** With room left for an answer and for what tools say meanwhile. */
function compactionThreshold({ contextTokens }: ChosenModel): number {
  if (contextTokens === undefined) return defaultCompactionTokens;
  return Math.min(maxCompactionTokens, Math.floor(contextTokens * 0.8));
}

const defaultMaxAttempts = 4;

/** What passes by itself, given time: a network that is away, a provider that has too much to do. */
const attemptsByErrorKind: Readonly<Record<string, number>> = {
  network: 8,
  overloaded: 8,
  rate_limit: 8,
};

/** About two minutes for what passes by itself; up to five where the provider says how long. */
export const retryOptions: NonNullable<AgentOptions['retry']> = {
  ...{ maxAttempts: defaultMaxAttempts, attemptsFor: attemptsByErrorKind },
  ...{ baseDelayMs: 1000, maxDelayMs: 300_000 },
};

/** How often a request is tried that fails so. */
export function maxAttemptsFor(kind: string): number {
  return Object.hasOwn(attemptsByErrorKind, kind)
    ? (attemptsByErrorKind[kind] ?? defaultMaxAttempts)
    : defaultMaxAttempts;
}

/**
 * The same model, told which parts of a request it will see again: the instructions, and all that was
 * said so far. Providers that take such hints read it from their cache then, for a tenth of the price.
 */
function withCacheHints(provider: Provider): Provider {
  return wrapProvider(provider, (request, context, next) => next(addHints(request), context));
}

function addHints(request: ModelRequest): ModelRequest {
  const { items, cache } = request;
  const instructions = items.filter(({ kind }) => kind === 'system').slice(0, 1);
  const latestInputs = items.filter(isInputOfModel).slice(-2);
  const upTo = [...instructions, ...latestInputs].map(({ id }) => id);
  return cache !== undefined || upTo.length === 0 ? request : { ...request, cache: { upTo } };
}

function isInputOfModel({ kind }: Item): boolean {
  return kind === 'user' || kind === 'tool';
}
