import type { AgentEvent, ErrorInfo, JsonValue } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { Agent } from './contract/agent.ts';
import type { RunResult } from './contract/run.ts';
import { RunError } from './contract/run-error.ts';
import type { Tool, ToolOutput } from './contract/tool.ts';
import type { DeepPartial } from './contract/typed-tools.ts';
import { createAgent } from './create-agent.ts';
import { submitCommand } from './input/submit-command.ts';
import { call } from './testing/model-script.ts';
import { subAgent } from './tool/agent-tools.ts';
import { defineTool } from './tool/define-tool.ts';

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city',
  input: z.object({ city: z.string(), days: z.string().transform(Number).optional() }),
  execute: async ({ city }) => ({ city, celsius: 21 }),
});
const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order',
  input: z.object({ order: z.string(), cents: z.number() }),
  execute: async ({ order }) => `Refunded ${order}`,
});
const city = z.object({ name: z.string(), size: z.enum(['small', 'large']) });
const tools = [weather, refund];
const calls = [
  call('c1', 'weather', { city: 'Ulm' }),
  call('c2', 'refund', { order: '17', cents: 500 }),
  call('c3', 'nothing', {}),
];

function parkingAgent() {
  const script = [{ content: { parts: calls } }, '{"name":"Ulm","size":"small"}'];
  return createAgent({
    ...{ provider: scriptedProvider(script), tools, output: city, whileAsking: 'park' },
    log: memoryLog(),
    approve: (asked) => {
      expectTypeOf(asked.name).toEqualTypeOf<'weather' | 'refund'>();
      if (asked.name === 'weather') {
        expectTypeOf(asked.input).toEqualTypeOf<{ city: string; days?: number | undefined }>();
        return 'allow';
      }
      expectTypeOf(asked.input).toEqualTypeOf<{ order: string; cents: number }>();
      // @ts-expect-error: a refund has no city
      expect(asked.input.city).toBeUndefined();
      return asked.input.cents > 100 ? 'ask' : 'allow';
    },
  });
}

describe('the types of tools', () => {
  test('are in the policy, in pending approvals and in approve', async () => {
    const agent = parkingAgent();
    const parked = await agent.run('Go', { session: 's' }).result;
    expect(parked.reason).toBe('parked');
    const [pending] = parked.pendingApprovals;
    if (pending?.name !== 'refund') return expect.fail('a refund waits');
    expectTypeOf(pending.input).toEqualTypeOf<{ order: string; cents: number }>();
    // @ts-expect-error: the input of a refund has an order
    await expect(agent.approve('other', pending, { input: { cents: 5 } })).rejects.toThrow();
    await agent.approve('s', pending, { input: { ...pending.input, cents: 5 } });
    const result = await agent.resume('s').result;
    expect(result.toolCalls.map(({ ok, name }) => [ok, name])).toEqual([[true, 'refund']]);
  });

  test('are in the tool calls of a result', async () => {
    const provider = scriptedProvider([{ content: { parts: calls } }, 'Done.']);
    const { toolCalls } = await createAgent({ provider, tools }).run('Go').result;
    const found: unknown[] = [];
    for (const one of toolCalls) {
      if (!one.ok) {
        expectTypeOf(one.name).toEqualTypeOf<string>();
        expectTypeOf(one.input).toEqualTypeOf<JsonValue | undefined>();
        found.push(one.name);
      } else if (one.name === 'weather') {
        expectTypeOf(one.value).toEqualTypeOf<{ city: string; celsius: number } | undefined>();
        expectTypeOf(one.input.city).toEqualTypeOf<string>();
        found.push(one.value?.celsius);
      } else {
        expectTypeOf(one.name).toEqualTypeOf<'refund'>();
        expectTypeOf(one.value).toEqualTypeOf<undefined>();
        found.push(one.text);
      }
    }
    expect(found).toEqual([21, 'Refunded 17', 'nothing']);
  });

  test('are in events, through isCall and isResult', async () => {
    const provider = scriptedProvider([{ content: { parts: calls } }, 'Done.']);
    const run = createAgent({ provider, tools, approve: () => 'allow' }).run('Go');
    const found: unknown[] = [];
    for await (const event of run.events) {
      expectTypeOf(event).toExtend<AgentEvent>();
      if (event.type === 'approval_asked')
        expectTypeOf(event.name).toEqualTypeOf<'weather' | 'refund'>();
      if (weather.isCall(event)) found.push(event.input.city);
      if (weather.isResult(event)) {
        expectTypeOf(event.part.value).toEqualTypeOf<
          { city: string; celsius: number } | undefined
        >();
        found.push(event.part.value?.celsius, event.part.text);
      }
    }
    expect(found).toEqual(['Ulm', 21, '{"city":"Ulm","celsius":21}']);
  });

  test('keep the kinds of attachments, so that a tool needs no `as const`', () => {
    const bytes = Uint8Array.of(1);
    const camera = defineTool({
      ...{ name: 'camera', description: 'Takes a picture', input: z.object({}) },
      execute: async () => ({
        output: {
          text: 'A picture',
          value: { size: bytes.length, taken: 'now' },
          attachments: [{ kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } }],
        },
      }),
    });
    defineTool({
      ...{ name: 'slow_camera', description: 'Takes a picture', input: z.object({}) },
      async *execute() {
        yield 'The shutter opens.';
        const source = { type: 'bytes', bytes } as const;
        return {
          output: {
            text: 'A picture',
            attachments: [{ kind: 'file', name: 'a', mimeType: 'image/png', source }],
          },
        };
      },
    });
    const whole = defineTool({
      ...{ name: 'whole', description: 'Returns an output', input: z.object({}) },
      execute: async (): Promise<ToolOutput> => ({ output: { text: 'A picture' } }),
    });
    type Value<T> = T extends { readonly '~types'?: { readonly output: infer V } } ? V : never;
    expectTypeOf<Value<typeof camera>>().toEqualTypeOf<{ size: number; taken: string }>();
    expectTypeOf<Value<typeof whole>>().toEqualTypeOf<JsonValue | undefined>();
  });

  test('do not narrow by name if an agent also has tools of unknown types', async () => {
    const unknown: Tool = refund;
    const agent = createAgent({
      ...{ provider: scriptedProvider(['Hello.']), tools: [weather, unknown] },
      approve: ({ name, input }) => {
        if (name === 'weather') expectTypeOf(input).toEqualTypeOf<unknown>();
        return 'allow';
      },
    });
    expect(await agent.run('Go').text()).toBe('Hello.');
  });

  test('follow from what the tool returns', () => {
    const base = { name: 'x', description: 'X', input: z.object({}) } as const;
    type ValueOf<T extends Tool> = Exclude<T['~types'], undefined>['output'];
    const list = defineTool({ ...base, execute: async () => [1, 2] });
    expectTypeOf<ValueOf<typeof list>>().toEqualTypeOf<number[]>();
    const full = defineTool({
      ...base,
      execute: async () => ({ output: { text: 'x', value: { n: 1 } } }),
    });
    expectTypeOf<ValueOf<typeof full>>().toEqualTypeOf<{ n: number }>();
    const steps = defineTool({
      ...base,
      async *execute() {
        yield 'half';
        return { done: true };
      },
    });
    expectTypeOf<ValueOf<typeof steps>>().toEqualTypeOf<{ done: boolean }>();
    const nothing = defineTool({ ...base, execute: async () => {} });
    expectTypeOf<ValueOf<typeof nothing>>().toEqualTypeOf<undefined>();
    defineTool({ ...base, execute: () => new Promise((resolve) => resolve('late')) });
    // @ts-expect-error: a map is not JSON
    defineTool({ ...base, execute: async () => new Map([[1, 2]]) });
  });
});

describe('the result', () => {
  test('has a value if its reason is stop, and an error if it is error', async () => {
    const provider = scriptedProvider(['{"name":"Ulm","size":"small"}']);
    const result = await createAgent({ provider, output: city }).run('Go').result;
    expectTypeOf(result.value).toEqualTypeOf<
      { name: string; size: 'small' | 'large' } | undefined
    >();
    switch (result.reason) {
      case 'stop':
        expectTypeOf(result.value).toEqualTypeOf<{ name: string; size: 'small' | 'large' }>();
        expectTypeOf(result.error).toEqualTypeOf<undefined>();
        return expect(result.value.name).toBe('Ulm');
      case 'error':
        expectTypeOf(result.error).toEqualTypeOf<ErrorInfo>();
        expectTypeOf(result.value).toEqualTypeOf<undefined>();
        return expect.fail(result.error.message);
      default:
        expectTypeOf(result.value).toEqualTypeOf<undefined>();
        return expect.fail(result.reason);
    }
  });

  test('is accepted where the types of the agent are not known', () => {
    const agent = parkingAgent();
    expectTypeOf(agent).toExtend<Agent>();
    expectTypeOf<Awaited<ReturnType<typeof agent.run>['result']>>().toExtend<RunResult>();
    expect(subAgent({ name: 'ask', description: 'Asks', agent }).startsSession).toBe(true);
  });

  test('has the type of the value while it streams', () => {
    interface Trip {
      readonly kind: 'air' | 'rail';
      readonly stops: readonly [{ readonly at: string; readonly minutes: number }];
      readonly left?: Date;
      readonly any: unknown;
    }
    expectTypeOf<DeepPartial<Trip>>().toEqualTypeOf<{
      readonly kind?: string;
      readonly stops?: readonly { readonly at?: string; readonly minutes?: number }[];
      readonly left?: JsonValue;
      readonly any?: JsonValue;
    }>();
    expectTypeOf<DeepPartial<Trip>>().toExtend<JsonValue>();
    expectTypeOf<DeepPartial<unknown>>().toEqualTypeOf<JsonValue>();
  });
});

describe('run.text and run.value', () => {
  const failing = () => {
    const fault = { type: 'error', after: 0, error: 'auth' } as const;
    return scriptedProvider([{ content: { parts: ['No'] }, fault }]);
  };

  test('resolve with the text and the typed value', async () => {
    const provider = scriptedProvider(['Hello.', '{"name":"Ulm","size":"small"}']);
    expect(await createAgent({ provider }).run('Go').text()).toBe('Hello.');
    const value = await createAgent({ provider, output: city }).run('Go').value();
    expectTypeOf(value).toEqualTypeOf<{ name: string; size: 'small' | 'large' }>();
    expect(value).toEqual({ name: 'Ulm', size: 'small' });
  });

  test('reject with a typed error that has the result', async () => {
    const run = createAgent({ provider: failing(), output: city }).run('Go', { session: 's' });
    for (const rejected of [run.text(), run.value()]) {
      const error: unknown = await rejected.catch((thrown: unknown) => thrown);
      if (!(error instanceof RunError)) return expect.fail('it is a RunError');
      expect([error.name, error.code, error.place]).toEqual([
        'RunError',
        'error',
        { session: 's' },
      ]);
      expect(error.result).toBe(await run.result);
      expect(error.message).toContain(error.result.error?.message);
    }
  });

  test('reject for a parked run with the way out', async () => {
    await expect(parkingAgent().run('Go').text()).rejects.toMatchObject({
      ...{ code: 'parked', message: expect.stringContaining('result.pendingApprovals') },
    });
  });

  test('reject with bad_option if the agent has no output schema', async () => {
    const run = createAgent({ provider: scriptedProvider(['Hello.']) }).run('Go');
    await expect(run.value()).rejects.toMatchObject({ code: 'bad_option' });
  });
});

test('commands are typed', async () => {
  const log = memoryLog();
  await submitCommand(log, 's', { type: 'message', input: 'Hello' });
  await submitCommand(log, 's', { type: 'abort', reason: 'enough' });
  // @ts-expect-error: there is no such command
  await expect(submitCommand(log, 's', { type: 'aprove' })).rejects.toThrow(
    'Did you mean approve?',
  );
  // @ts-expect-error: an approval needs the id of the call
  await expect(submitCommand(log, 's', { type: 'approve' })).rejects.toThrow();
});
