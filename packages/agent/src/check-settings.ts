import type { OptionNames } from '@millrace/core';
import type { Provider } from '@millrace/providers';
import { AgentError } from './contract/agent-error.ts';
import type { Compaction, Limits, RequestOptions, RetrySettings } from './contract/settings.ts';
import { assertKnownOptions } from './known-options.ts';

/** The options of `createAgent` whose values are objects. */
interface NestedOptions {
  readonly limits?: Partial<Limits> | undefined;
  readonly retry?: Partial<RetrySettings> | undefined;
  readonly compaction?: Partial<Compaction> | undefined;
  readonly request?: RequestOptions | undefined;
}

const limitNames: OptionNames<Limits> = {
  maxTurns: true,
  maxTokens: true,
  maxCost: true,
  allowUnknownPrices: true,
  maxParallelTools: true,
  maxRepeats: true,
};

const retryNames: OptionNames<RetrySettings> = {
  maxAttempts: true,
  attemptsFor: true,
  baseDelayMs: true,
  maxDelayMs: true,
  toolGraceMs: true,
};

const compactionNames: OptionNames<Compaction> = {
  whenTokens: true,
  keepSteps: true,
  summarize: true,
  keep: true,
};

const requestNames: OptionNames<RequestOptions> = {
  toolChoice: true,
  reasoning: true,
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  stopSequences: true,
  candidates: true,
  logprobs: true,
  cache: true,
  providerOptions: true,
};

/** Throws `bad_option` if one of the nested option objects has an unknown field. */
export function assertNestedOptions(options: NestedOptions): void {
  const { limits = {}, retry = {}, compaction = {}, request = {} } = options;
  assertKnownOptions('createAgent: limits', limits, limitNames);
  assertKnownOptions('createAgent: retry', retry, retryNames);
  assertKnownOptions('createAgent: compaction', compaction, compactionNames);
  assertRequestOptions('createAgent: request', request);
}

/** Throws `bad_option` if the request options have an unknown field. */
export function assertRequestOptions(of: string, request: RequestOptions): void {
  assertKnownOptions(of, request, requestNames);
}

/** Throws `bad_option` if the version of an agent is not a text, or is too long. */
export function assertVersion(version: unknown): void {
  const isText = typeof version === 'string' && version !== '' && version.length <= 256;
  if (version === undefined || isText) return;
  const message =
    'Cannot use the option version of createAgent: it is a text of 1 to 256 characters';
  throw new AgentError('bad_option', message, { of: 'createAgent', option: 'version' });
}

/** Throws `bad_option` if the value of an option is not in `values`. */
export function assertOneOf(name: string, value: unknown, values: readonly string[]): void {
  if (value === undefined || values.includes(value as string)) return;
  const message = `Cannot use the option ${name} of createAgent: it must be ${values.join(' or ')}`;
  throw new AgentError('bad_option', message, { of: 'createAgent', option: name });
}

/**
 * Throws `bad_option` if one of the values is not a provider. The message shows how to create a provider.
 */
export function assertProviders(providers: readonly Provider[]): void {
  for (const provider of providers) {
    const { id, stream } = (provider ?? {}) as Partial<Provider>;
    if (typeof id !== 'string' || typeof stream !== 'function') throw notAProvider(provider);
  }
}

function notAProvider(given: unknown): AgentError {
  const isAiSdk = typeof given === 'object' && given !== null && 'doStream' in given;
  const way = isAiSdk
    ? 'Convert a model of the AI SDK with fromAiSdk of @millrace/providers/ai-sdk'
    : providerHint(typeof given === 'string' ? given : undefined);
  const message = `Cannot create an agent: the provider is not a provider. ${way}`;
  return new AgentError('bad_option', message, { of: 'createAgent', option: 'provider' });
}

/** Returns a sentence that shows how to create a provider for a model name. */
export function providerHint(model: unknown): string {
  const name = typeof model === 'string' && /^[\w.:/-]{1,100}$/.test(model) ? model : 'gpt-5';
  const create = /claude/i.test(name)
    ? 'anthropic'
    : /gemini/i.test(name)
      ? 'gemini'
      : 'openaiResponses';
  return `Pass a provider with its model, as in createAgent({ provider: ${create}({ model: '${name}' }) }), with ${create} of @millrace/providers`;
}
