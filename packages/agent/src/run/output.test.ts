import { type Item, type JsonValue, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { RunResult } from '../contract/run.ts';
import type { Tool } from '../contract/tool.ts';
import { createAgent } from '../create-agent.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { flushPendingWork } from '../testing/virtual-time.ts';
import { subAgent } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const city = z.object({ name: z.string(), people: z.number() });
const answer = (value: JsonValue): ScriptEntry => ({
  content: { parts: [{ kind: 'structured', value }] },
});
const right = answer({ name: 'Ulm', people: 126_000 });
const wrong = answer({ name: 'Ulm', people: 'many' });

const textOf = (item: Item | undefined) =>
  (item?.parts ?? []).map((part) => ('text' in part ? part.text : '')).join('');

describe('an answer with an output schema', () => {
  test('is a validated and typed value', async () => {
    const agent = createAgent({ provider: scriptedProvider([right]), output: city });
    const result = await agent.run('Where?').result;
    expectTypeOf(agent).toEqualTypeOf<
      Agent<
        { name: string; people: number },
        Tool,
        { readonly name?: string; readonly people?: number }
      >
    >();
    expectTypeOf(result.value).toEqualTypeOf<{ name: string; people: number } | undefined>();
    expect(result.value).toEqual({ name: 'Ulm', people: 126_000 });
    expect(result.stop).toEqual({ reason: 'stop' });
    expect(result).not.toHaveProperty('error');
  });

  test('is the value that the schema returns, while the transcript has the original', async () => {
    const output = z.object({ day: z.string().transform((text) => text.length) });
    const agent = createAgent({ provider: scriptedProvider([answer({ day: 'Monday' })]), output });
    const { value, items } = await agent.run('When?').result;
    expectTypeOf(value).toEqualTypeOf<{ day: number } | undefined>();
    expect(value).toEqual({ day: 6 });
    expect(items[0]?.parts).toMatchObject([{ kind: 'structured', value: { day: 'Monday' } }]);
  });

  test('is requested with JSON Schema in each request', async () => {
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({}) },
      execute: async () => 'Ulm',
    });
    const script = [{ content: { parts: ['I look.', call('c', 'look', {})] } }, right];
    const provider = scriptedProvider(script);
    const { value } = await createAgent({ provider, tools: [look], output: city }).run('Where?')
      .result;
    expect(value).toEqual({ name: 'Ulm', people: 126_000 });
    expect(provider.requests).toHaveLength(2);
    for (const { request } of provider.requests)
      expect(request.output).toMatchObject({
        schema: {
          type: 'object',
          properties: { name: { type: 'string' }, people: { type: 'number' } },
          required: ['name', 'people'],
        },
      });
  });

  test('is undefined and of unknown type without a schema', async () => {
    const provider = scriptedProvider([right]);
    const agent = createAgent({ provider });
    expectTypeOf(agent).toEqualTypeOf<Agent<unknown, Tool>>();
    expectTypeOf<RunResult['value']>().toEqualTypeOf<unknown>();
    expect(await agent.run('Where?').result).not.toHaveProperty('value');
    expect(provider.requests[0]?.request).not.toHaveProperty('output');
  });

  test('does not affect code that accepts any agent', async () => {
    const agent = createAgent({ provider: scriptedProvider([right]), output: city });
    expectTypeOf(agent).toExtend<Agent>();
    const tool = subAgent({ name: 'ask', description: 'Asks', agent });
    expect(tool.startsSession).toBe(true);
  });

  test('may have an async schema', async () => {
    const output = z.object({ n: z.number().refine(async (n) => n === 2, 'it is two') });
    const script = [answer({ n: 1 }), answer({ n: 2 })];
    const provider = scriptedProvider(script);
    const { value } = await createAgent({ provider, output }).run('One and one?').result;
    expect(value).toEqual({ n: 2 });
    expect(JSON.stringify(provider.requests[1]?.request.items)).toContain('it is two');
  });

  test('is the last of several structured parts', async () => {
    const parts = [
      { kind: 'structured', value: { name: 'Bonn', people: 1 } },
      { kind: 'structured', value: { name: 'Ulm', people: 2 } },
    ] as const;
    const provider = scriptedProvider([{ content: { parts } }]);
    const { value } = await createAgent({ provider, output: city }).run('Where?').result;
    expect(value).toEqual({ name: 'Ulm', people: 2 });
  });

  test('needs a schema that produces JSON Schema', () => {
    const output: StandardSchemaV1<string> = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ value: '' }) },
    };
    const provider = scriptedProvider([]);
    expect(() => createAgent({ provider, output })).toThrow(
      expect.objectContaining({ name: 'AgentError', code: 'bad_option' }),
    );
  });
});

describe('an invalid answer', () => {
  async function ask(script: readonly ScriptEntry[], limits: { readonly maxTurns?: number } = {}) {
    const provider = scriptedProvider(script);
    const log = memoryLog();
    const agent = createAgent({ provider, output: city, log, limits });
    const result = await agent.run('Where?', { session }).result;
    const { records } = await log.read(session);
    expect(findLogProblems(session, records)).toEqual([]);
    return { agent, provider, records, result };
  }

  const asked = (items: readonly Item[]) => items.filter(({ kind }) => kind === 'developer');

  test('is requested again with a developer item that names the problem', async () => {
    const { provider, result } = await ask([wrong, right]);
    expect(result.value).toEqual({ name: 'Ulm', people: 126_000 });
    expect(result.items.map(({ kind }) => kind)).toEqual(['assistant', 'developer', 'assistant']);
    const sent = provider.requests[1]?.request.items ?? [];
    expect(sent.map(({ kind }) => kind)).toEqual(['user', 'assistant', 'developer']);
    expect(textOf(sent.at(-1))).toContain('people: ');
  });

  test.each([
    ['words', 'It is Ulm.'],
    ['nothing', { content: { parts: [] } }],
  ])('may be %s instead of JSON', async (_what, said) => {
    const { provider, result } = await ask([said, right]);
    expect(result.value).toEqual({ name: 'Ulm', people: 126_000 });
    expect(textOf(provider.requests[1]?.request.items.at(-1))).toContain('no answer in JSON');
  });

  test('is requested again at most twice, and then is an error with the problem', async () => {
    const { provider, records, result } = await ask([wrong, wrong, wrong, right]);
    expect(provider.requests).toHaveLength(3);
    expect(result.stop).toEqual({ reason: 'error', cause: 'invalid_output' });
    expect(result.error).toMatchObject({ code: 'invalid_output' });
    expect(result.error?.message).toContain('people: ');
    expect(result).not.toHaveProperty('value');
    expect(asked(result.items)).toHaveLength(2);
    const told = records.filter(({ fact }) => fact?.type === 'error_reported');
    expect(told).toMatchObject([{ fact: { error: result.error } }]);
    expect(records.at(-1)?.fact).toMatchObject({ type: 'run_finished', stop: result.stop });
  });

  test('may be valid at the last attempt', async () => {
    const { result } = await ask([wrong, wrong, right]);
    expect(result.value).toEqual({ name: 'Ulm', people: 126_000 });
    expect(result.stop).toEqual({ reason: 'stop' });
  });

  test('is requested again up to twice in each run', async () => {
    const { agent, provider } = await ask([wrong, wrong, wrong, wrong, wrong, right]);
    const { value } = await agent.run('And again?', { session }).result;
    expect(value).toEqual({ name: 'Ulm', people: 126_000 });
    provider.assertUsedUp();
  });

  test('counts towards the limits', async () => {
    const { provider, result } = await ask([wrong, right], { maxTurns: 1 });
    expect(result.stop).toEqual({ reason: 'limit', cause: '1 turns' });
    expect(result).not.toHaveProperty('value');
    expect(provider.requests).toHaveLength(1);
  });

  test('is not requested again if the model was cut off', async () => {
    const parts = [{ kind: 'structured', value: { name: 'Ulm', people: 1 } }] as const;
    const { provider, result } = await ask([{ content: { parts }, stop: 'length' }]);
    expect(result.stop.reason).toBe('length');
    expect(result).not.toHaveProperty('value');
    expect(provider.requests).toHaveLength(1);
  });

  test('is not requested again after an abort', async () => {
    const provider = scriptedProvider([wrong, right]);
    const output = z.any().refine(async () => {
      await run.abort('enough');
      return false;
    });
    const run = createAgent({ provider, output }).run('Where?');
    const { stop, items } = await run.result;
    expect([stop.reason, provider.requests.length]).toEqual(['aborted', 1]);
    expect(asked(items)).toEqual([]);
  });

  // Regression: the validation was awaited without checking for an abort.
  test('does not block an abort if its validation never ends', async () => {
    const checking = Promise.withResolvers<boolean>();
    const begun = Promise.withResolvers<void>();
    const output = z.any().refine(() => {
      begun.resolve();
      return checking.promise;
    });
    const run = createAgent({ provider: scriptedProvider([right]), output }).run('Where?');
    let isOver = false;
    const over = run.result.then(() => {
      isOver = true;
    });
    await begun.promise;
    await run.abort('enough');
    for (let round = 0; round < 50; round++) await flushPendingWork();
    const wasOver = isOver;
    checking.resolve(true);
    await over;
    expect(wasOver).toBe(true);
  });

  test('is an error if the schema throws, with the error as the result’s cause', async () => {
    const broken = new Error('no schema');
    const output = z.any().refine(() => {
      throw broken;
    });
    const { stop, error, cause } = await createAgent({
      provider: scriptedProvider([right]),
      output,
    }).run('Where?').result;
    expect(stop).toEqual({ reason: 'error', cause: 'failed' });
    expect(error?.message).not.toContain(broken.message);
    expect(cause).toBe(broken);
  });
});
