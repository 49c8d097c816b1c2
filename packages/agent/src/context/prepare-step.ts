import { nearestNames } from '@millrace/core';
import { assertProviders, assertRequestOptions } from '../check-settings.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { PreparedStep, ResolvedStep, Settings, StepToPrepare } from '../contract/settings.ts';
import { assertKnownOptions } from '../known-options.ts';
import { checkPrices } from '../run/limits.ts';
import { callerTools, withCallerOptions } from './caller-options.ts';

export { callerTools };

/**
 * Validates the return value of `prepareStep`, and adds the agent's providers as fallbacks. If `step` is given,
 * it also adds the options of the caller.
 */
export function resolveStep(
  prepared: PreparedStep | undefined,
  settings: Settings,
  step?: StepToPrepare,
): ResolvedStep {
  const resolved = resolveChanges(prepared, settings);
  return step === undefined ? resolved : withCallerOptions(step, resolved);
}

function resolveChanges(
  prepared: PreparedStep | undefined,
  { providers, tools, limits }: Settings,
): ResolvedStep {
  if (prepared === undefined || prepared === null) return {};
  assertKnownOptions('prepareStep', prepared, optionNames, (name) => hints[name]);
  const { provider, tools: names, instructions, items, request } = prepared;
  if (request !== undefined) assertRequestOptions('prepareStep: request', request);
  if (instructions !== undefined && typeof instructions !== 'string')
    throw badField('instructions', 'it must be a text');
  if (items !== undefined && !Array.isArray(items))
    throw badField('items', 'it must be a list of items');
  if (provider !== undefined) {
    assertProviders([provider]);
    checkPrices(limits, [provider]);
  }
  return {
    ...(provider && { providers: [provider, ...providers.filter((one) => one !== provider)] }),
    ...(names && { tools: offeredTools(names, [...tools.keys()]) }),
    ...(instructions !== undefined && { instructions }),
    ...(items && { items }),
    ...(request && { request }),
  };
}

const optionNames = {
  provider: true,
  tools: true,
  instructions: true,
  items: true,
  request: true,
} as const;

/** Hints for users who pass a field name that a different library uses. */
const hints: Readonly<Record<string, string | undefined>> = {
  model: 'Use provider',
  activeTools: 'Use tools',
  toolChoice: 'Use request: { toolChoice }',
  system: 'Use instructions',
  messages: 'Use items',
};

/**
 * Returns the names in the order of the agent's tools, so that the same set of tools always produces the same
 * request. Returns undefined if the list contains all tools of the agent, because undefined also means all
 * tools.
 */
function offeredTools(
  names: readonly string[],
  all: readonly string[],
): readonly string[] | undefined {
  if (!Array.isArray(names)) throw badField('tools', 'it must be a list of names');
  for (const name of names) {
    if (all.includes(name)) continue;
    const [near] = nearestNames(String(name), all);
    const hint = near === undefined ? '' : `. Did you mean ${near}?`;
    throw badField('tools', `the agent has no tool ${String(name)}${hint}`);
  }
  const offered = all.filter((name) => names.includes(name));
  return offered.length === all.length ? undefined : offered;
}

function badField(option: string, why: string): AgentError {
  const message = `Cannot use ${option} of prepareStep: ${why}`;
  return new AgentError('bad_option', message, { of: 'prepareStep', option });
}
