import { countingIds, type Item, itemId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { hasSharedRecordings, recordingsOf } from '../testing/recordings.ts';
import { gemini } from './provider.ts';

const model = 'gemini-3-pro-preview';
const question: Item = { id: itemId('u1'), kind: 'user', parts: [{ kind: 'text', text: '?' }] };

async function played(name: string) {
  const recording = recordingsOf('gemini').find((each) => each.name === name);
  const { fetch } = fetchOf([sseOf(recording?.events ?? [])]);
  const provider = gemini({ model, apiKey: 'k', fetch });
  return provider.complete({ items: [question] }, { ids: countingIds() });
}

const signature = { provider: 'gemini', model, data: { thoughtSignature: expect.any(String) } };

// Real recordings are stored next to the repository. Without them these tests are skipped.
describe.skipIf(!hasSharedRecordings)('real recordings (../shared/recordings)', () => {
  test('google-text: the trailing signature is on an empty text', async () => {
    const { item, stop, usage } = await played('google-text');
    expect(item.parts).toEqual([
      { kind: 'text', text: 'There are **3** "r"s in strawberry.\n\nst**r**awbe**rr**y' },
      { kind: 'text', text: '', providerState: signature },
    ]);
    expect(stop).toEqual({ reason: 'stop', raw: 'STOP' });
    expect(usage).toMatchObject({ input: 9, output: 208, reasoning: 185, estimated: false });
  });

  test('google-tool-call: one signed call, STOP is tool_use', async () => {
    const { item, stop, responseId } = await played('google-tool-call');
    expect(item.parts).toMatchObject([
      { name: 'weather', input: { location: 'San Francisco' }, providerState: signature },
    ]);
    expect(stop.reason).toBe('tool_use');
    expect(responseId).toBe('b36LacjwM668nsEP2tbsgQQ');
  });

  test('google-stream-tool-call-arguments: two streamed calls, the end rides the finish', async () => {
    const { item, usage } = await played('google-stream-tool-call-arguments');
    expect(item.parts).toMatchObject([
      { input: { location: 'Boston' }, providerState: signature },
      { input: { location: 'San Francisco' } },
    ]);
    expect(usage).toMatchObject({ input: 26, output: 155, reasoning: 132 });
  });
});
