import type { AgentOptions } from '@millrace/agent';
import { keepGoal } from '@millrace/tools';
import type { BuildOptions, ChosenModel } from '../contract/agent.ts';
import { ModelError } from '../contract/errors.ts';

/** Returns the options that the main agent and its sub-agents share. */
export function commonOptions(options: BuildOptions): Omit<AgentOptions, 'tools' | 'instructions'> {
  const { config, chosen, log, observers, clock, ids, onProblem } = options;
  return {
    provider: chosen.provider,
    log,
    observers,
    request: chosen.request,
    limits: limitsOf(config, chosen),
    retry: retryOptions,
    // Nobody can answer a form in a script.
    forms: options.approve === 'wait' || options.isServed ? 'ask' : 'decline',
    compaction: {
      whenTokens: config.compactAtTokens ?? compactionThreshold(chosen),
      keep: keepGoal,
    },
    cache: cacheOption(config),
    clock,
    ids,
    onDiagnostic: onProblem && ((problem) => onProblem(problem)),
  };
}

function cacheOption({ cache = '5m' }: BuildOptions['config']): AgentOptions['cache'] {
  return cache === 'off' ? cache : { ttl: cache };
}

function limitsOf({ limits }: BuildOptions['config'], chosen: ChosenModel): AgentOptions['limits'] {
  const { maxTurns, maxTokens, maxCost, allowUnknownPrices = false } = limits;
  const hasPrice = chosen.provider.info?.prices !== undefined;
  if (maxCost !== undefined && !hasPrice && !allowUnknownPrices) throw noPriceError(chosen);
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxCost !== undefined && { maxCost, allowUnknownPrices }),
  };
}

function noPriceError({ label }: ChosenModel): ModelError {
  const message =
    `Cannot limit the cost of ${label}: its price is unknown. ` +
    'Add the model under "models" in your config.json, with "info": { "prices": { "input": "…", ' +
    '"output": "…" } } in dollars for a million tokens ("0" for your own server), refresh the ' +
    'prices with millrace models --refresh <file>, or set "allowUnknownPrices": true under "limits"';
  return new ModelError('no_price', label, message);
}

const defaultCompactionTokens = 150_000;
/**
 * Maximum number of tokens before a conversation is compacted, even if the context window is
 * larger. Each request pays for all tokens of its context.
 */
const maxCompactionTokens = 250_000;

/**
 * Returns the number of tokens at which the conversation is compacted. It leaves 20 % of the
 * context window free for the answer and for tool results.
 */
function compactionThreshold({ contextTokens }: ChosenModel): number {
  if (contextTokens === undefined) return defaultCompactionTokens;
  return Math.min(maxCompactionTokens, Math.floor(contextTokens * 0.8));
}

const defaultMaxAttempts = 4;

/**
 * Maximum number of attempts for each kind of temporary failure: no network, an overloaded
 * provider, or a rate limit. These failures get more attempts than others, because they often go
 * away.
 */
const attemptsByErrorKind: Readonly<Record<string, number>> = {
  network: 8,
  overloaded: 8,
  rate_limit: 8,
};

/**
 * The retry options of the agent. Temporary failures are retried for about two minutes. If the
 * provider requests a delay, the agent waits that long. If this delay is longer than five minutes,
 * the agent does not retry.
 */
export const retryOptions: NonNullable<AgentOptions['retry']> = {
  ...{ maxAttempts: defaultMaxAttempts, attemptsFor: attemptsByErrorKind },
  ...{ baseDelayMs: 1000, maxDelayMs: 300_000 },
};

/** Returns the maximum number of attempts after a request fails with this kind of error. */
export function maxAttemptsFor(kind: string): number {
  return Object.hasOwn(attemptsByErrorKind, kind)
    ? (attemptsByErrorKind[kind] ?? defaultMaxAttempts)
    : defaultMaxAttempts;
}
