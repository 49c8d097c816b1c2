import { type Part, toolCallId } from '@millrace/core';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { Agent, type ModelProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';

/** No key, no network: the SDK would send its traces to OpenAI. */
export const runnerOf = (modelProvider: ModelProvider): Runner =>
  new Runner({ modelProvider, tracingDisabled: true });

export const call = (id: string, name: string, input: object = {}): Part => ({
  ...{ kind: 'tool_call', toolCallId: toolCallId(id), name },
  arguments: JSON.stringify(input),
});

export const saying = (...parts: readonly (Part | string)[]): Scripted => ({ content: { parts } });

const weather = tool({
  name: 'weather',
  description: 'The weather in a town, now',
  parameters: z.object({ town: z.string() }),
  execute: async ({ town }) => ({ town, sky: 'rain' }),
});

const baker = new Agent({ name: 'Baker', instructions: 'You bake.' });

/** Looks at the weather, and hands over to the baker. */
export const miller = Agent.create({
  name: 'Miller',
  instructions: 'You mill.',
  tools: [weather],
  handoffs: [baker],
});

export const thought: Part = { kind: 'reasoning', form: 'summary', text: 'Is it wet?' };

/** A turn with a tool, one with a hand-off, and the last word. */
const story: readonly Scripted[] = [
  saying(thought, 'Let me look. ', call('c1', 'weather', { town: 'Bath' })),
  saying(call('c2', 'transfer_to_Baker')),
  saying('Bread is ready.'),
];

export const storyAsMessages: readonly string[] = [
  'user: Bread?',
  'thought: Is it wet?',
  'agent: Let me look. ',
  'c1: weather({"town":"Bath"})',
  'c1: weather = {"town":"Bath","sky":"rain"}',
  'c2: transfer_to_Baker({})',
  'c2: transfer_to_Baker = {"assistant":"Baker"}',
  'agent: Bread is ready.',
];

export const telling = (script: readonly Scripted[] = story) =>
  scriptedProvider(script, { pieces: 'token' });
