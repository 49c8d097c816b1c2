import type { Attempt, DraftRecord, ToolResultPart } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';
import type { CheckedToolCall, HandOff } from '../contract/tool.ts';
import { type AgentRegistry, settingsOf } from '../run/agent-registry.ts';
import { errorResult } from './tool-result.ts';

/** Handles the hand-offs of one attempt. If several calls hand off, only the first takes effect. */
export class HandOffs {
  readonly #context: RunContext;
  readonly #at: Attempt;
  #isDone = false;

  constructor(context: RunContext, at: Attempt) {
    this.#context = context;
    this.#at = at;
  }

  /**
   * Returns the result unchanged. Returns an error result if an earlier call of the attempt already handed
   * off.
   */
  checkResult({ call, tool }: CheckedToolCall, part: ToolResultPart): ToolResultPart {
    const isTaken = this.#isDone || this.#context.journal.loop.turn?.handedTo !== undefined;
    if (tool.handsOff === undefined || part.isError || !isTaken) return part;
    return errorResult(call, 'It was handed to somebody else already.');
  }

  draftsFor({ tool, input }: CheckedToolCall, { isError }: ToolResultPart): readonly DraftRecord[] {
    const { handsOff } = tool;
    if (handsOff === undefined || isError) return [];
    this.#isDone = true;
    const to = handsOff.to().name;
    const reason = reasonOf(handsOff, input);
    const fact = { type: 'handed_off', to, ...(reason !== undefined && { reason }) } as const;
    return [{ ...this.#at, fact }];
  }
}

/**
 * Returns the reason of a hand-off. If the user's function throws, the reason is undefined and the hand-off
 * still happens.
 */
function reasonOf(handsOff: HandOff, input: unknown): string | undefined {
  try {
    return handsOff.reason(input);
  } catch {
    return undefined;
  }
}

/**
 * Returns the agent that the caller runs, and all agents that hand-offs can reach from it. Throws
 * `name_taken` if two of these agents, or two different guardrails of them, have the same name. A verdict on the log
 * has only the name of its guardrail.
 */
export function registryWithHandOffs(root: Settings): AgentRegistry {
  const found = new Map([[root.name, root]]);
  const origins = new Map([[root.name, root]]);
  const owners = new Map(root.guardrails.map((one) => [one.name, { one, agent: root.name }]));
  for (const settings of found.values()) {
    for (const { handsOff } of settings.tools.values()) {
      if (handsOff === undefined) continue;
      const next = settingsOf(handsOff.to());
      const namesake = origins.get(next.name);
      if (namesake !== undefined && namesake !== next) throw agentNameTaken(next.name);
      if (namesake !== undefined) continue;
      origins.set(next.name, next);
      for (const one of next.guardrails) {
        const owner = owners.get(one.name) ?? { one, agent: next.name };
        if (owner.one !== one) throw guardrailNameTaken(one.name, owner.agent, next.name);
        owners.set(one.name, owner);
      }
      found.set(next.name, withRunSettings(root, next));
    }
  }
  return found;
}

/**
 * Returns the settings that apply after a hand-off. Instructions, tools and providers come from the new
 * agent. Log, observers, limits, guardrails, stop conditions and clock come from the run. The `output` schema
 * also stays, because the caller of the run expects that type.
 */
function withRunSettings(root: Settings, next: Settings): Settings {
  const { log, observers, limits, clock, ids, random, onDiagnostic, onInterrupted } = root;
  const { stopWhen } = root;
  const output = root.output ?? next.output;
  const guardrails = joinGuardrails(root, next);
  return {
    ...{ ...next, output, log, observers, limits, clock },
    ...{ ids, random, onDiagnostic, onInterrupted, stopWhen, guardrails },
  };
}

/**
 * Returns the guardrails that apply after a hand-off. The run's guardrails come first, followed by those of
 * the new agent.
 */
function joinGuardrails(root: Settings, next: Settings): Settings['guardrails'] {
  return [...root.guardrails, ...next.guardrails.filter((one) => !root.guardrails.includes(one))];
}

function agentNameTaken(name: string): AgentError {
  const message = `Cannot hand off to two agents with the name ${name}. Rename one`;
  return new AgentError('name_taken', message, { agent: name });
}

function guardrailNameTaken(name: string, first: string, next: string): AgentError {
  const message = `Cannot hand off between ${first} and ${next}: both have a guardrail with the name ${name}. Rename one, or use the same guardrail in both`;
  return new AgentError('name_taken', message, { agent: next, guardrail: name });
}
