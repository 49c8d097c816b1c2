import { z } from 'zod';
import { dropFailedResults, dropReasoning } from '../../context/filters.ts';
import type { Tool } from '../../contract/tool.ts';
import {
  inputGuardrail,
  outputGuardrail,
  toolGuardrail,
} from '../../guardrails/define-guardrail.ts';
import { stepCount, toolCalled } from '../../stop-conditions.ts';
import { defineTool } from '../../tool/define-tool.ts';
import { type Desk, desk } from './desk-sessions.ts';

const withOptions = (options: Desk['options']): Partial<Desk> => ({
  options: { ...desk.options, ...options },
});
const withTool = (name: 'look' | 'refund' | 'ask', change: (tool: Tool) => Partial<Tool>) => ({
  tools: (all: Parameters<Desk['tools']>[0]) =>
    desk.tools({ ...all, [name]: { ...all[name], ...change(all[name]) } }),
});
const withBody = (
  change: (body: Record<string, unknown>) => Record<string, unknown>,
): Partial<Desk> => ({
  describe: (described) => ({
    ...described,
    body: change({ ...described.body }) as typeof described.body,
  }),
});
const extra = defineTool({
  ...{ name: 'extra', description: 'New', input: z.object({}) },
  execute: async () => 'new',
});

/** Changes of the agent, by name. Some of them have an effect only in some sessions, or in none. */
export const deskMutations: Readonly<Record<string, Partial<Desk>>> = {
  // Prompts
  'one word of the instructions': {
    instructions: 'You work at the help desk of a shop.\nBe kind.',
  },
  'no instructions': { instructions: undefined },
  'instructions that depend on the conversation': {
    instructions: (items) =>
      `You work at the help desk of a shop.\nBe brief.${items.length > 3 ? ' Hurry.' : ''}`,
  },
  'instructions of the manager': { helper: { ...desk.helper, instructions: 'You are the boss.' } },
  'instructions of the sub-agent': { child: 'You guard the archive.' },
  'the prompt for summaries': { compaction: { ...desk.compaction, summarize: 'Sum it up.' } },
  // Tools
  'the description of a tool': withTool('look', () => ({ description: 'Finds an order' })),
  'the description of a sub-agent': withTool('ask', () => ({ description: 'Asks the library' })),
  'a new tool': { tools: (all) => [...desk.tools(all), extra] },
  'a tool is gone': { tools: ({ look, ask, transfer, broken }) => [look, ask, transfer, broken] },
  'the order of tools': { tools: (all) => desk.tools(all).toReversed() },
  'a tool of the manager is gone': { helper: { ...desk.helper, tools: () => [] } },
  'the line that describes a call': withTool('look', () => ({ summarize: () => 'looks' })),
  'a tool starts only after the answer': withTool('look', () => ({ effects: 'external' })),
  'a tool without sub-agents': withTool('ask', () => ({ startsSession: false })),
  // Schemas
  'a new optional field': withTool('look', ({ inputSchema }) => ({
    inputSchema: {
      ...inputSchema,
      properties: { ...(inputSchema['properties'] as object), city: { type: 'string' } },
    },
  })),
  'a description in a schema': withTool('refund', ({ inputSchema }) => ({
    inputSchema: { ...inputSchema, description: 'What to refund' },
  })),
  'a strict schema': withTool('look', () => ({ strict: true })),
  'a stricter check of inputs': withTool('refund', (tool) => ({
    validate: async (input) => {
      const checked = await tool.validate(input);
      const isSmall = checked.ok && (checked.value as { amount: number }).amount < 50;
      return !checked.ok || isSmall ? checked : { ok: false, problem: 'too much' };
    },
  })),
  'another text of a failed check': withTool('refund', (tool) => ({
    validate: async (input) => {
      const checked = await tool.validate(input);
      return checked.ok ? checked : { ok: false, problem: 'wrong' };
    },
  })),
  // The loop
  'fewer turns': withOptions({ limits: { maxTurns: 2 } }),
  'more turns': withOptions({ limits: { maxTurns: 50 } }),
  'a limit of tokens': withOptions({ limits: { maxTurns: 6, maxTokens: 500 } }),
  'no retries': withOptions({ retry: { maxAttempts: 1 } }),
  'more retries': withOptions({ retry: { maxAttempts: 5 } }),
  'no fallback': { fallback: undefined },
  'a policy that allows refunds': withOptions({ approve: () => 'allow' }),
  'a policy that asks for more': withOptions({ approve: () => 'ask' }),
  'a policy that denies': withOptions({
    approve: ({ name }) => (name === 'broken' ? 'deny' : name === 'refund' ? 'ask' : 'allow'),
  }),
  'compaction later': { compaction: { ...desk.compaction, whenTokens: 100_000 } },
  'compaction earlier': { compaction: { ...desk.compaction, whenTokens: 60 } },
  'compaction keeps more': { compaction: { ...desk.compaction, keepSteps: 2 } },
  'compaction without a summary': { compaction: { ...desk.compaction, summarize: false } },
  'a stop condition': withOptions({ stopWhen: [stepCount(2)] }),
  'a stop after a tool': withOptions({ stopWhen: [toolCalled('ask')] }),
  'a filter for reasoning': withOptions({ contextFilters: [dropReasoning({ keepAnswers: 0 })] }),
  'a filter for failed results': withOptions({
    contextFilters: [dropFailedResults({ keepAnswers: 0 })],
  }),
  'a guardrail for inputs': withOptions({
    guardrails: [inputGuardrail({ name: 'g', check: () => 'pass' })],
  }),
  'a guardrail for answers': withOptions({
    guardrails: [outputGuardrail({ name: 'g', check: () => 'pass' })],
  }),
  'a guardrail for calls': withOptions({
    guardrails: [toolGuardrail({ name: 'g', check: () => 'pass' })],
  }),
  'a step that hides a tool': withOptions({
    prepareStep: ({ step }) => (step > 0 ? { tools: ['look', 'ask'] } : undefined),
  }),
  // Requests and adapters
  temperature: { request: { ...desk.request, temperature: 0.2 } },
  'a longer answer': { request: { maxOutputTokens: 2000 } },
  'the model': { model: 'claude-opus-4-5' },
  'the model of the fallback': { fallback: 'claude-opus-4-5' },
  'no cache': withOptions({ cache: 'off' }),
  'an adapter with another name of a field': withBody(({ max_tokens, ...body }) => ({
    ...{ ...body, max_output_tokens: max_tokens },
  })),
  'an adapter that omits errors of tools': withBody((body) => ({
    ...body,
    messages: JSON.parse(
      JSON.stringify(body['messages']).replaceAll('"is_error":true', '"is_error":false'),
    ),
  })),
  'an adapter that omits tools': withBody(({ tools: _tools, ...body }) => body),
  'an adapter that drops reasoning': withBody((body) => ({
    ...body,
    messages: JSON.parse(JSON.stringify(body['messages']).replaceAll('Hm.', '')),
  })),
};
