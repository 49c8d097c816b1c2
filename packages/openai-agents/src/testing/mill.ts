import { type Part, toolCallId } from '@millrace/core';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { Agent, type ModelProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';

/**
 * Returns a runner that needs no key and no network. Tracing is off, because the SDK would send traces to
 * OpenAI.
 */
export const runnerOf = (modelProvider: ModelProvider): Runner =>
  new Runner({ modelProvider, tracingDisabled: true });

export const call = (id: string, name: string, input: object = {}): Part => ({
  ...{ kind: 'tool_call', toolCallId: toolCallId(id), name },
  arguments: JSON.stringify(input),
});

export const response = (...parts: readonly (Part | string)[]): ScriptEntry => ({
  content: { parts },
});

const weather = tool({
  name: 'weather',
  description: 'The weather in a town, now',
  parameters: z.object({ town: z.string() }),
  execute: async ({ town }) => ({ town, sky: 'rain' }),
});

const baker = new Agent({ name: 'Baker', instructions: 'You bake.' });

/** An agent with a weather tool and a hand-off to the baker. */
export const miller = Agent.create({
  name: 'Weather',
  instructions: 'You report the weather.',
  tools: [weather],
  handoffs: [baker],
});

export const thought: Part = { kind: 'reasoning', form: 'summary', text: 'Is it wet?' };

/** A script with a tool call, a hand-off and the final answer, each in its own turn. */
const handoffScript: readonly ScriptEntry[] = [
  response(thought, 'Let me look. ', call('c1', 'weather', { town: 'Bath' })),
  response(call('c2', 'transfer_to_Baker')),
  response('Bread is ready.'),
];

export const handoffMessages: readonly string[] = [
  'user: Bread?',
  'thought: Is it wet?',
  'agent: Let me look. ',
  'c1: weather({"town":"Bath"})',
  'c1: weather = {"town":"Bath","sky":"rain"}',
  'c2: transfer_to_Baker({})',
  'c2: transfer_to_Baker = {"assistant":"Baker"}',
  'agent: Bread is ready.',
];

export const scriptedModel = (script: readonly ScriptEntry[] = handoffScript) =>
  scriptedProvider(script, { pieces: 'token' });
