// The tests that every wire must pass against a real server. The answers of the model are in
// make-model.py.

import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent, defineTool } from '../../packages/agent/src/index.ts';
import { type Item, itemId, sessionId } from '../../packages/core/src/index.ts';
import { patientMs } from '../../packages/core/src/testing/runs.ts';
import { memoryLog } from '../../packages/log/src/index.ts';
import type { Provider } from '../../packages/providers/src/index.ts';
import type { ModelServer } from './model-servers.ts';

/** A wire format of a server. */
export interface WireCase {
  readonly name: string;
  readonly create: (server: ModelServer) => Provider;
  /** The content that the server is known to lose. The test does not expect this content. */
  readonly loses?: readonly ('reasoning' | 'length')[] | undefined;
}

const talk = 'The wheel turns. 水車 and 👩‍👩‍👧‍👦 are here.';
const split = 'é水車😀ж';

let count = 0;
const said = (text: string): Item => ({
  ...{ id: itemId(`u${++count}`), kind: 'user', parts: [{ kind: 'text', text }] },
});

const weatherSchema = {
  type: 'object',
  properties: { town: { type: 'string' }, unit: { type: 'string' } },
  required: ['town', 'unit'],
} as const;

/**
 * Waits up to a minute until both slots of the llama.cpp server are free. Returns true if they are.
 */
async function slotsBecomeFree({ url }: ModelServer): Promise<boolean> {
  const until = Date.now() + patientMs(60_000);
  while (Date.now() < until) {
    const slots = (await (await fetch(`${url}/slots`)).json()) as { is_processing: boolean }[];
    if (slots.every((slot) => !slot.is_processing)) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

interface Servers {
  /** Returns the server to which the wire sends its requests. */
  readonly server: () => ModelServer;
  /** Returns the llama.cpp server. If the wire uses a proxy, `server` returns the proxy. */
  readonly llama: () => ModelServer;
  readonly contextTokens: number;
}

/** Declares the tests of a wire. */
export function testWire(wire: WireCase, { server, llama, contextTokens }: Servers): void {
  const provider = () => wire.create(server());
  const loses = new Set(wire.loses);

  test('text, with usage', async () => {
    const { text, stop, usage, error } = await provider().complete({ items: [said('Hello')] });
    expect(error).toBeUndefined();
    expect([text, stop.reason]).toEqual([talk, 'stop']);
    expect(usage.output).toBeGreaterThan(0);
  });

  test('characters that are split between tokens', async () => {
    const { text, error } = await provider().complete({ items: [said('BYTES')] });
    expect(error).toBeUndefined();
    expect(text).toBe(split);
  });

  test('reasoning, apart from the answer', async () => {
    const { item, text, error } = await provider().complete({ items: [said('THINK')] });
    expect(error).toBeUndefined();
    expect(text.trim()).toBe('I have thought.');
    const thoughts = item.parts.flatMap((part) => (part.kind === 'reasoning' ? part.text : []));
    if (!loses.has('reasoning')) expect(thoughts.join('').trim()).toBe('Let me see.');
  });

  test('a tool call, its result, and the answer', async () => {
    const inputs: unknown[] = [];
    const weather = defineTool({
      ...{ name: 'weather', description: 'Tells the weather', effects: 'none' },
      input: z.object({ town: z.string(), unit: z.string() }),
      execute: async (input) => {
        inputs.push(input);
        return 'It rains.';
      },
    });
    const agent = createAgent({ provider: provider(), tools: [weather] });
    const { text, stop, error } = await agent.run('CALL the tool').result;
    expect(error).toBeUndefined();
    expect(inputs).toEqual([{ town: 'Bath 水車', unit: 'C' }]);
    expect([text.trim(), stop.reason]).toEqual([talk, 'stop']);
  });

  test('an answer that fits a schema', async () => {
    const schema = {
      ...{ type: 'object', properties: { answer: { type: 'integer' } } },
      ...{ required: ['answer'], additionalProperties: false },
    };
    const output = { name: 'answer', schema };
    const done = await provider().complete({ items: [said('JSON')], output });
    expect(done.error).toBeUndefined();
    expect(done.value).toEqual({ answer: 42 });
  });

  test('an answer that is cut at the limit ends with length', async () => {
    const request = { items: [said('FOREVER')], maxOutputTokens: 20 };
    const { stop, error } = await provider().complete(request);
    expect(error).toBeUndefined();
    if (!loses.has('length')) expect(stop.reason).toBe('length');
  });

  test('an abort frees the slot of the server', async () => {
    const stop = new AbortController();
    let seen = 0;
    const { error, text } = await provider().complete(
      { items: [said('FOREVER')] },
      {
        signal: stop.signal,
        onStep: () => {
          if (++seen === 3) stop.abort();
        },
      },
    );
    expect(error?.kind).toBe('aborted');
    expect(text).toContain('Round');
    expect(await slotsBecomeFree(llama())).toBe(true);
    expect((await provider().complete({ items: [said('Hello')] })).text).toBe(talk);
  });

  test('a required call that the server does not make is an error', async () => {
    const tools = [{ name: 'weather', inputSchema: weatherSchema }];
    const request = { items: [said('Hello')], tools, toolChoice: { name: 'weather' } } as const;
    const { error, item, stop } = await provider().complete({ ...request, maxOutputTokens: 50 });
    const isCalled = item.parts.some(({ kind }) => kind === 'tool_call');
    // If the server enforces the tool choice, this model writes until the maximum length. So the
    // answer is cut.
    const isCut = stop.reason === 'length';
    expect(isCalled || isCut || error?.kind === 'model_output_invalid').toBe(true);
  });

  test('a session that is too long for the model goes on', async () => {
    const log = memoryLog();
    const session = sessionId('long');
    const compaction = { whenTokens: 1e9 };
    const agent = createAgent({ provider: provider(), log, compaction });
    const lengths = [0.4, 0.4, 0.4, 0.4, 2, 0.1].map((share) => Math.floor(share * contextTokens));
    for (const length of lengths) {
      const { stop, error } = await agent.run('q'.repeat(length), { session }).result;
      expect(error).toBeUndefined();
      expect(stop.reason).toBe('stop');
    }
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    expect(records.some(({ fact }) => fact?.type === 'compacted')).toBe(true);
  });

  test('a server that is killed and starts again', async () => {
    const retry = { baseDelayMs: 1, maxAttempts: 2 };
    const agent = createAgent({ provider: provider(), retry });
    const run = agent.run('FOREVER');
    for await (const event of run.events) {
      if (event.type !== 'assistant_text_delta') continue;
      await server().kill();
      break;
    }
    const cut = await run.result;
    expect(cut.stop.reason).toBe('error');
    expect(['network', 'truncated_stream']).toContain(cut.error?.code);
    await server().restart();
    const { text, stop } = await agent.run('Hello').result;
    expect([text.slice(0, 100), stop.reason]).toEqual([talk, 'stop']);
  });
}
