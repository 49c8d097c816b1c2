import { noUsage } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { messageFor } from '../errors/error-message.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { estimateTokens } from './estimate-tokens.ts';

/** Options of `limitContext`. */
export interface ContextOptions {
  /** The context window of the model, in tokens. Default: `contextTokens` of the provider. */
  readonly contextTokens?: number | undefined;
  /**
   * A text that is added to the error, for example an explanation of how to get a larger window. Default:
   * none.
   */
  readonly advice?: string | undefined;
}

/** Requests with fewer tokens are not checked, because they fit into the window of every server. */
const minTokens = 1500;
/**
 * If an estimate exceeds this share of the window, the tokens are counted exactly, if the provider can count
 * them.
 */
const exactShare = 0.6;
/** The number of tokens that stay free for the answer, but at most the share of the window below. */
const answerTokens = 1024;
const answerShare = 0.25;

/**
 * Rejects a request that does not fit into the model's context window with the error `context_overflow`,
 * before the request is sent. An agent with compaction then shortens the context and continues. Without this
 * check, some servers cut the beginning of the request without an error.
 *
 * The provider counts the tokens if it supports counting. Otherwise they are estimated. The estimates adapt
 * to the counts that the provider reports.
 *
 * @example
 * const provider = limitContext(openaiChat({ baseUrl, model }), { contextTokens: 8192 });
 */
export function limitContext(provider: Provider, options: ContextOptions = {}): Provider {
  const { describe, countTokens, contextTokens } = provider;
  /** The ratio of reported tokens to estimated tokens. */
  let ratio = 1;
  const limited = wrapProvider(provider, async function* (request, context, next) {
    const { signal } = context;
    const estimated = estimateTokens(request);
    const isSmall = estimated * ratio < minTokens;
    const asked = async () => (isSmall ? undefined : ask(contextTokens?.({ signal })));
    const window = options.contextTokens ?? (await asked());
    if (window !== undefined && !signal?.aborted) {
      const room = window - answerRoom(request, window);
      const isNear = estimated * ratio >= room * exactShare;
      const counted = isNear ? await ask(countTokens?.(request, { signal })) : undefined;
      const tokens = counted ?? Math.ceil(estimated * ratio);
      if (tokens > room && !signal?.aborted)
        return yield overflowStep(provider, {
          tokens,
          isExact: counted !== undefined,
          window,
          options,
        });
    }
    for await (const step of next(request, context)) {
      const usage = step.end?.error === undefined ? step.end?.usage : undefined;
      // If a server truncates requests, it never reports more tokens than its window. A number near the
      // window therefore may not be the length of the whole request.
      const isWhole = usage !== undefined && (window === undefined || usage.input < window / 2);
      if (isWhole && !usage.estimated && usage.input > 0 && estimated > 0)
        ratio = Math.min(4, Math.max(0.25, usage.input / estimated));
      yield step;
    }
  });
  return {
    ...limited,
    ...(describe && { describe }),
    ...(countTokens && { countTokens }),
    ...(contextTokens && { contextTokens }),
  };
}

/**
 * Returns the answer of a query, or undefined if the query failed. The error is ignored, because the request
 * itself will report the same problem.
 */
async function ask(answer: Promise<number | undefined> | undefined): Promise<number | undefined> {
  return answer?.catch(() => undefined);
}

function answerRoom({ maxOutputTokens = answerTokens }: ModelRequest, window: number): number {
  return Math.min(maxOutputTokens, answerTokens, Math.floor(window * answerShare));
}

interface Overflow {
  readonly tokens: number;
  readonly isExact: boolean;
  readonly window: number;
  readonly options: ContextOptions;
}

/** Returns the last step of a request that was never sent and therefore used no tokens. */
function overflowStep(
  { id, model }: Provider,
  { tokens, isExact, window, options: { advice } }: Overflow,
): StreamStep {
  const about = isExact ? '' : 'about ';
  const reason = `it has ${about}${tokens} tokens, and ${model} runs with a context of ${window}`;
  const text = messageFor('context_overflow', id, reason);
  const message = advice === undefined ? text : `${text}. ${advice}`;
  const error = new ProviderError('context_overflow', message, { provider: id });
  const stop = { reason: 'error', cause: error.kind } as const;
  return { deltas: [], end: { stop, usage: noUsage, error } };
}
