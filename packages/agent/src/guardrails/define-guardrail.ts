import type { GuardrailPlace, OptionNames } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';
import type {
  Guardrail,
  InputGuardrailOptions,
  OutputGuardrailOptions,
  ToolGuardrailOptions,
} from '../contract/guardrail.ts';
import type { Tool } from '../contract/tool.ts';
import { assertKnownOptions } from '../known-options.ts';

const defaultTimeoutMs = 30_000;

/**
 * Defines a guardrail that checks each input before a model gets it. If the guardrail changes an input,
 * requests contain the changed input. The log keeps both versions.
 *
 * @example
 * const noCards = inputGuardrail({
 *   name: 'no-cards',
 *   check: ({ text }) =>
 *     /\b\d{16}\b/.test(text) ? { verdict: 'change', to: text.replace(/\b\d{16}\b/g, '[card]') } : 'pass',
 * });
 */
export function inputGuardrail<Context = unknown>(
  options: InputGuardrailOptions<Context>,
): Guardrail<Context> {
  assertOptions('inputGuardrail', options, { name: true, timeoutMs: true, check: true });
  return guardrail('input', options);
}

/**
 * Defines a guardrail that checks each answer of a model, before its tool calls run. If `hold` is true,
 * viewers do not see the answer while it streams. If the verdict is `stop`, the answer is retracted.
 *
 * @example
 * const noPrices = outputGuardrail({
 *   name: 'no-prices',
 *   hold: true,
 *   check: ({ text }) =>
 *     text.includes('$') ? { verdict: 'stop', reason: 'The answer has a price' } : 'pass',
 * });
 */
export function outputGuardrail<Context = unknown>(
  options: OutputGuardrailOptions<Context>,
): Guardrail<Context> {
  const names = { name: true, timeoutMs: true, hold: true, check: true } as const;
  assertOptions('outputGuardrail', options, names);
  return { ...guardrail('output', options), hold: options.hold === true };
}

/**
 * Defines a guardrail that checks tool calls before they run. If a guardrail changes the input, the result of
 * the call tells the model the new input.
 *
 * @example
 * const smallRefunds = toolGuardrail({
 *   name: 'small-refunds',
 *   tools: [refund],
 *   check: ({ input }) => (input.amount > 100 ? { verdict: 'ask', reason: 'A large refund' } : 'pass'),
 * });
 */
export function toolGuardrail<Tools extends Tool = Tool, Context = unknown>(
  options: ToolGuardrailOptions<Tools, Context>,
): Guardrail<Context> {
  const names = { name: true, timeoutMs: true, tools: true, check: true } as const;
  assertOptions('toolGuardrail', options, names);
  const { tools } = options;
  return { ...guardrail('tool_call', options), tools: tools?.map(({ name }) => name) };
}

interface GuardrailOptions<Context> {
  readonly name: string;
  readonly timeoutMs?: number | undefined;
  check(checked: never, step: Parameters<Guardrail<Context>['check']>[1]): unknown;
}

function guardrail<Context>(
  on: GuardrailPlace,
  options: GuardrailOptions<Context>,
): Guardrail<Context> {
  const { name, timeoutMs = defaultTimeoutMs } = options;
  // The wrapper calls `check` as a method of the options, because `check` may use `this`.
  const check: Guardrail<Context>['check'] = (checked, step) => options.check(checked, step);
  return { name, on, timeoutMs, hold: false, tools: undefined, check };
}

function assertOptions<Options extends GuardrailOptions<never>>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertKnownOptions(of, options, names);
  const { name, timeoutMs = defaultTimeoutMs, check } = options;
  if (typeof name !== 'string' || !nameForm.test(name))
    throw badOption(of, 'name', 'it must have 1 to 64 letters, digits, _ or -');
  if (typeof check !== 'function') throw badOption(of, 'check', 'it is not a function');
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw badOption(of, 'timeoutMs', `it must be above 0 and at most ${maxTimeoutMs}`);
}

/** The longest delay that the timers of all runtimes support, in milliseconds. */
const maxTimeoutMs = 2 ** 31 - 1;

const nameForm = /^[\w-]{1,64}$/;

function badOption(of: string, option: string, why: string): AgentError {
  const message = `Cannot use the option ${option} of ${of}: ${why}`;
  return new AgentError('bad_option', message, { of, option });
}

/** Checks the guardrails of an agent. Throws `bad_option` or `name_taken`. */
export function readGuardrails(given: readonly Guardrail[] = []): readonly Guardrail[] {
  const names = new Set<string>();
  for (const { name, on, check } of given) {
    if (typeof on !== 'string' || typeof check !== 'function') throw notAGuardrail();
    if (names.has(name)) throw guardrailNameTaken(name);
    names.add(name);
  }
  return given;
}

function notAGuardrail(): AgentError {
  const message =
    'Cannot use the option guardrails of createAgent: create each with inputGuardrail, outputGuardrail or toolGuardrail';
  return new AgentError('bad_option', message, { of: 'createAgent', option: 'guardrails' });
}

function guardrailNameTaken(name: string): AgentError {
  const message = `Cannot use two guardrails with the name ${name}. Rename one`;
  return new AgentError('name_taken', message, { guardrail: name });
}
