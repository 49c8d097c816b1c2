// Tests every wire format of the llama.cpp server, with the tiny model of make-model.py.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Item, itemId } from '../../packages/core/src/index.ts';
import {
  anthropic,
  limitContext,
  openaiChat,
  openaiResponses,
  readContextWindow,
} from '../../packages/providers/src/index.ts';
import { isMissing, type ModelServer, startLlama } from './model-servers.ts';
import { testWire, type WireCase } from './wire-cases.ts';

const model = 'millrace-test.gguf';
const apiKey = 'none';
const contextTokens = 4096;

const wires: readonly WireCase[] = [
  {
    name: 'Chat Completions',
    create: ({ url }) => openaiChat({ preset: 'llama.cpp', baseUrl: `${url}/v1`, model, apiKey }),
  },
  {
    name: 'Responses',
    create: ({ url }) => openaiResponses({ baseUrl: `${url}/v1`, model, apiKey }),
  },
  { name: 'Messages', create: ({ url }) => anthropic({ baseUrl: url, model, apiKey }) },
];

describe.skipIf(isMissing('llama'))('llama.cpp', () => {
  let llama: ModelServer;
  beforeAll(async () => {
    llama = await startLlama({ contextTokens });
  });
  afterAll(() => llama?.close());

  describe.each(wires)('with $name', (wire) => {
    testWire(wire, { server: () => llama, llama: () => llama, contextTokens });

    test('counts tokens exactly as the server does', async () => {
      const provider = wire.create(llama);
      const items: readonly Item[] = [
        { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'q'.repeat(500) }] },
      ];
      const counted = await provider.countTokens?.({ items });
      const { usage } = await provider.complete({ items });
      expect(counted).toBeGreaterThan(500);
      expect(counted).toBe(usage.input);
      const limited = limitContext(provider, { contextTokens });
      const long = [{ ...items[0], parts: [{ kind: 'text', text: 'q'.repeat(12_000) }] }] as never;
      const { error } = await limited.complete({ items: long });
      // The number is exact. An estimate would give a quarter of it.
      expect(error?.message).toMatch(/it has 120\d\d tokens/);
    });
  });

  test('tells the window of a slot', async () => {
    const asked = { server: 'llama.cpp', baseUrl: `${llama.url}/v1`, model } as const;
    expect(await readContextWindow(asked)).toBe(contextTokens);
  });

  test('needs its key', async () => {
    const locked = await startLlama({ contextTokens, apiKey: 'sk-locked' });
    try {
      const at = { preset: 'llama.cpp', baseUrl: `${locked.url}/v1`, model } as const;
      const items = [
        { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'Hi' }] },
      ] as const;
      const { error } = await openaiChat({ ...at, apiKey: 'wrong' }).complete({ items });
      expect(error?.kind).toBe('auth');
      const { text } = await openaiChat({ ...at, apiKey: 'sk-locked' }).complete({ items });
      expect(text).toContain('The wheel turns.');
    } finally {
      await locked.close();
    }
  });
});
