import { type Agent, createAgent, defineTool } from '@millrace/agent';
import { type Item, type Part, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { createProvider, type ModelRequest } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { z } from 'zod';
import type { Machine, World } from './world.ts';

export const agentName = 'simulated-agent';

/** One execution of a tool, with the message that caused it and the time. */
export interface ToolRun {
  readonly tool: string;
  readonly toolCallId: string;
  readonly message: string;
  readonly at: number;
}

/** The text before the tool calls of the agent. `expectedEnd` is the text after their results. */
export const expectedBegin = (message: string): string => `Begin ${message}: one two three four.`;
export const expectedEnd = (message: string): string => `End ${message}: five six seven.`;

interface AgentContext {
  readonly world: World;
  readonly machine: Machine;
  readonly log: Log;
  /** Called when a tool runs. It represents the effect of the tool outside of the cluster. */
  readonly onToolRun: (run: ToolRun) => void;
}

/**
 * Creates the agent of one server. Its answers depend only on the request, so any server can
 * continue a run.
 */
export function simulatedAgent({ world, machine, log, onToolRun }: AgentContext): Agent {
  const { start } = machine;
  const tool = (name: string, afterCrash: 'repeat' | 'fail') =>
    defineTool({
      ...{ name, afterCrash, description: `Does it, with afterCrash ${afterCrash}` },
      input: z.object({ message: z.string() }),
      execute: async ({ message }, { toolCallId }) => {
        // A crashed program must not have effects.
        if (machine.start === start) onToolRun({ tool: name, toolCallId, message, at: world.now });
        await world.sleep(machine, randomDelayMs(world) * 4, 'tool works');
        return `${name} did ${message}`;
      },
    });
  const provider = createProvider('simulated', 'simulated', (request, stream) =>
    scriptedProvider([() => ({ content: { parts: partsFor(request) } })], {
      ...{ id: 'simulated', model: 'simulated', pieces: 'token' },
      pauseMs: randomDelayMs(world),
    }).stream(request, stream),
  );
  return createAgent({
    ...{ log, provider, name: machine.name, onInterrupted: 'retry' },
    tools: [tool('charge', 'fail'), tool('look', 'repeat')],
    limits: { maxRepeats: 1000, maxTurns: 10_000 },
  }) as Agent;
}

/**
 * Returns a random delay. It is usually short. Sometimes it is so long that a run takes longer than
 * a lease.
 */
function randomDelayMs({ random }: World): number {
  return random.oneIn(4) ? random.between(500, 3000) : random.between(2, 60);
}

function partsFor({ items }: ModelRequest): readonly (Part | string)[] {
  const at = items.findLastIndex(({ kind }) => kind === 'user');
  const message = textOf(items[at]);
  if (items.slice(at).some(({ kind }) => kind === 'tool')) return [expectedEnd(message)];
  const call = (name: string): Part => ({
    ...{ kind: 'tool_call', name, arguments: JSON.stringify({ message }) },
    toolCallId: toolCallId(`${name}-${crypto.randomUUID()}`),
  });
  return [expectedBegin(message), call('charge'), call('look')];
}

/** Returns the text of an item. */
export function textOf(item: Pick<Item, 'parts'> | undefined): string {
  return (item?.parts ?? []).map((part) => (part.kind === 'text' ? part.text : '')).join('');
}
