import type { JsonObject } from '@millrace/core';
import { expect, test } from 'vitest';
import type { StreamStep } from '../contract/provider.ts';
import { helloItems } from '../testing/hello-items.ts';
import { openaiChat } from './provider.ts';

// A hostile provider sends thousands of chunks that each add one unknown field to the same object. Each chunk copied
// all fields before it, and some chunks wrote them to the log.

const count = 4000;
const chunk = (delta: JsonObject, more: JsonObject = {}) => ({
  ...{ id: 'x', model: 'm', choices: [{ index: 0, delta, ...more }] },
});
const called = { name: 'f', arguments: '{}' };

test.each<readonly [string, (field: JsonObject) => JsonObject]>([
  ['a call', (field) => ({ tool_calls: [{ index: 0, id: 'c', function: called, ...field }] })],
  [
    'a detail of reasoning',
    (field) => ({ reasoning_details: [{ type: 'reasoning.text', text: 'a', index: 0, ...field }] }),
  ],
  [
    'a tool that the server ran',
    (field) => ({ executed_tools: [{ index: 0, type: 'search', ...field }] }),
  ],
])('18.1037: attack: each chunk adds a field to %s', async (_, deltaOf) => {
  const chunks = [
    ...Array.from({ length: count }, (_one, at) => chunk(deltaOf({ [`field${at}`]: 'x' }))),
    chunk({}, { finish_reason: 'stop' }),
  ];
  const body = [...chunks.map((one) => JSON.stringify(one)), '[DONE]'];
  const headers = { 'content-type': 'text/event-stream' };
  const fetch = async () =>
    new Response(body.map((one) => `data: ${one}\n\n`).join(''), { headers });
  const provider = openaiChat({ model: 'm', apiKey: 'k', baseUrl: 'http://localhost:9', fetch });
  let fields = 0;
  const onStep = ({ deltas }: StreamStep) => {
    fields += JSON.stringify(deltas).split('"field').length - 1;
  };
  await provider.complete({ items: helloItems }, { onStep });
  // The number of kept fields limits the work for each chunk.
  expect(fields).toBeGreaterThan(0);
  expect(fields).toBeLessThan(count / 2);
});
