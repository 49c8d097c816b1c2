import { type AgentEvent, type JsonValue, sessionId } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { call } from '../testing/model-script.ts';
import { eventsOf } from '../testing/read-log.ts';
import { handOff, subAgent } from './agent-tools.ts';
import { type DefinedTool, defineTool } from './define-tool.ts';
import { readOutputTool } from './read-output.ts';

const read = defineTool({
  name: 'read',
  description: 'Reads a file',
  input: z.object({ path: z.string(), lines: z.array(z.number()).optional() }),
  execute: async ({ path }) => `the contents of ${path}`,
});
const count = defineTool({
  name: 'count',
  description: 'Counts',
  input: z.object({ from: z.string().transform(Number) }),
  execute: async ({ from }) => {
    expectTypeOf(from).toEqualTypeOf<number>();
    return `${from + 1}`;
  },
});

/** The events of a run in which the model makes this call. */
async function toldOf(name: string, input: unknown): Promise<readonly AgentEvent[]> {
  const script = [{ content: { parts: [call('c', name, input)] } }, 'Done.'];
  const provider = scriptedProvider(script);
  const run = createAgent({ provider, tools: [read, count] }).run('Go', {
    session: sessionId('s'),
  });
  return eventsOf(run);
}

const isReady = ({ type }: AgentEvent) => type === 'tool_call_ready';

describe('isCall', () => {
  test('accepts the event of a call of the tool, and narrows its input', async () => {
    const events = await toldOf('read', { path: 'a.txt', lines: [1, 2] });
    const calls = events.filter((event) => read.isCall(event));
    expect(calls).toEqual(events.filter(isReady));
    expect(calls).toHaveLength(1);
    for (const event of events) {
      if (!read.isCall(event)) {
        // It may be a call of another tool, or one with invalid input.
        if (event.type === 'tool_call_ready') expectTypeOf(event.input).toEqualTypeOf<JsonValue>();
        continue;
      }
      expectTypeOf(event.type).toEqualTypeOf<'tool_call_ready'>();
      expectTypeOf(event.name).toEqualTypeOf<'read'>();
      expectTypeOf(event.input.path).toEqualTypeOf<string>();
      expectTypeOf(event.input.lines).toExtend<readonly number[] | undefined>();
      expect([event.toolCallId, event.input.path, event.input.lines]).toEqual([
        'c',
        'a.txt',
        [1, 2],
      ]);
    }
  });

  test('is false for another tool, and for invalid input', async () => {
    const other = await toldOf('count', { from: '1', path: 'it would fit' });
    expect(other.filter(isReady)).toHaveLength(1);
    expect(other.filter((event) => read.isCall(event))).toEqual([]);
    const wrong = await toldOf('read', { path: 5 });
    expect(wrong.filter(isReady)).toHaveLength(1);
    expect(wrong.filter((event) => read.isCall(event))).toEqual([]);
  });

  test('gives the input as the model sent it, not as the tool gets it', async () => {
    const [event] = (await toldOf('count', { from: '41' })).filter((one) => count.isCall(one));
    if (event === undefined || !count.isCall(event)) return expect.fail('it is no call');
    expectTypeOf(event.input.from).toEqualTypeOf<string>();
    expect(event.input.from).toBe('41');
  });

  test('is false for an async schema', async () => {
    const slow = defineTool({
      ...{ name: 'read', description: 'Reads' },
      input: z.object({ path: z.string().refine(async () => true) }),
      execute: async () => 'read',
    });
    const events = await toldOf('read', { path: 'a.txt' });
    expect(events.filter((event) => slow.isCall(event))).toEqual([]);
  });

  test('has the types of the built-in tools', () => {
    const tool = readOutputTool();
    const event = {} as AgentEvent;
    if (tool.isCall(event)) {
      expectTypeOf(event.input.output).toEqualTypeOf<string>();
      expectTypeOf(event.input.start).toEqualTypeOf<number | undefined>();
    }
    expect(tool.isCall(event)).toBe(false);
  });
});

describe('a tool', () => {
  test('has defaults', () => {
    expect(read).toMatchObject({
      ...{ effects: 'external', afterCrash: 'fail', timeoutMs: undefined, retries: 0 },
      ...{ maxOutputLength: 30_000, startsSession: false, handsOff: undefined },
      inputSchema: { type: 'object', required: ['path'] },
    });
    expect(read.summarize({ path: 'a' })).toBe('read');
    expectTypeOf(read).toExtend<DefinedTool<'read', { path: string }>>();
  });

  test('reports each problem of an input on its own line', async () => {
    const wrong: JsonValue = { path: 5, lines: ['one'] };
    const checked = await read.validate(wrong);
    if (checked.ok) return expect.fail('it fits');
    const lines = checked.problem.split('\n');
    expect(lines.map((line) => line.split(': ')[0])).toEqual(['path', 'lines.0']);
    expect(await read.validate({ path: 'a' })).toEqual({ ok: true, value: { path: 'a' } });
  });

  const common = { description: 'A tool', input: z.object({}), execute: async () => 'done' };
  const refused = expect.objectContaining({ name: 'AgentError', code: 'bad_option' });

  test.each(['', 'two words', 'dotted.name', 'ä', 'x'.repeat(65)])('cannot be named %j', (name) => {
    expect(() => defineTool({ ...common, name })).toThrow(refused);
  });

  test.each([
    { timeoutMs: -1 },
    { timeoutMs: Number.NaN },
    { maxOutputLength: Number.NaN },
    { retries: -1 },
  ])('cannot have %o', (option) => {
    expect(() => defineTool({ ...common, name: 'tool', ...option })).toThrow(refused);
  });

  test('20: has no option replay, and names the one that replaces it', () => {
    const define = () => defineTool({ ...common, name: 'tool', ...{ replay: 'safe' } });
    expect(define).toThrow(refused);
    expect(define).toThrow(
      'tool: unknown field replay. To run the tool again after a crash, use afterCrash',
    );
  });

  test.each([{ afterCrash: 'safe' }, { afterCrash: true }, { effects: 'some' }])(
    '20: cannot have %o, which would otherwise count as the default',
    (option) => {
      expect(() => defineTool({ ...common, name: 'tool', ...(option as object) })).toThrow(refused);
    },
  );

  test.each(['approve', 'needsApproval', 'needs_approval', 'requireApproval'])(
    'cannot have %s, because approval is an option of the agent',
    (field) => {
      const define = () => defineTool({ ...common, name: 'tool', [field]: () => 'ask' });
      expect(define).toThrow(refused);
      expect(define).toThrow(`tool: unknown field ${field}`);
      expect(define).toThrow('createAgent({ approve })');
    },
  );

  test('cannot have an unknown field, and the error lists the known ones', () => {
    const define = () => defineTool({ ...common, name: 'tool', parameters: {} } as never);
    expect(define).toThrow(refused);
    expect(define).toThrow(/unknown field parameters\b.*\binputSchema\b/);
    const nothing = { ...common, name: 'tool', parameters: undefined };
    expect(defineTool(nothing).name).toBe('tool');
  });

  test('that runs another agent is as strict', () => {
    const agent = createAgent({ provider: scriptedProvider(['Done.']) });
    const about = { agent, to: agent, name: 'ask_it', description: 'Asks it', needsApproval: true };
    const { to: _to, ...asSubAgent } = about;
    expect(() => subAgent(asSubAgent)).toThrow(refused);
    const { agent: _agent, ...asHandOff } = about;
    expect(() => handOff(asHandOff)).toThrow(refused);
  });

  test('needs inputSchema if its library does not produce JSON Schema', () => {
    const input: StandardSchemaV1<object> = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ value: {} }) },
    };
    expect(() => defineTool({ ...common, input, name: 'tool' })).toThrow(refused);
    const inputSchema = { type: 'object' };
    expect(defineTool({ ...common, input, inputSchema, name: 'tool' }).inputSchema).toEqual(
      inputSchema,
    );
  });
});
