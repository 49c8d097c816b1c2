import {
  executionId,
  type Item,
  type JsonValue,
  runId,
  sessionId,
  type ToolResultPart,
  toolCallId,
} from '@millrace/core';
import { memoryLog } from '@millrace/log';
import type { ModelRequest } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ToolOutput } from '../contract/tool.ts';
import { createAgent } from '../create-agent.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { defineTool } from './define-tool.ts';
import { readOutputTool } from './read-output.ts';

const session = sessionId('s');
const long = `${'a'.repeat(2000)}<the middle>${'z'.repeat(2000)}`;
const picture = { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) } as const;

const speak = defineTool({
  ...{ name: 'speak', description: 'Says much', input: z.object({}), maxOutputLength: 100 },
  execute: async (): Promise<ToolOutput> => {
    const attachments = [{ kind: 'media', mimeType: 'image/png', source: picture }] as const;
    return { output: { text: long, attachments } };
  },
});

const resultsIn = (items: readonly Item[]): readonly ToolResultPart[] =>
  items.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'tool_result' ? part : [])));

/** The id in a clipped text. */
function idIn({ items }: Pick<ModelRequest, 'items'>): string {
  const [text] = resultsIn(items).map((part) => part.text);
  return /output ([0-9a-f]{64})/.exec(text ?? '')?.[1] ?? 'none';
}

async function run(script: readonly ScriptEntry[]) {
  const log = memoryLog();
  const provider = scriptedProvider([{ content: { parts: [call('c', 'speak', {})] } }, ...script]);
  const tools = [speak, readOutputTool()];
  const { items, stop } = await createAgent({ provider, log, tools }).run('Go', { session }).result;
  expect(stop.reason).toBe('stop');
  expect(findLogProblems(session, (await log.read(session)).records)).toEqual([]);
  return { items, log, requests: provider.requests.map(({ request }) => request) };
}

describe('an output that is too long', () => {
  test('is clipped for the model, which gets the id of the full output', async () => {
    const { requests, log } = await run(['Well.']);
    const [part] = resultsIn(requests[1]?.items ?? []);
    expect(part?.text.length).toBeLessThan(300);
    expect(part?.text).not.toContain('<the middle>');
    expect([part?.text.slice(0, 50), part?.text.slice(-50)]).toEqual([
      'a'.repeat(50),
      'z'.repeat(50),
    ]);
    expect(part?.text).toContain(`${long.length - 100} characters`);
    const whole = await log.blobs.get(idIn({ items: requests[1]?.items ?? [] }));
    expect(new TextDecoder().decode(whole)).toBe(long);
  });

  test('is attached only in the transcript; other attachments are sent', async () => {
    const { requests, items } = await run(['Well.']);
    const kinds = (all: readonly Item[]) =>
      resultsIn(all).map(({ attachments = [] }) => attachments.map(({ kind }) => kind));
    expect(kinds(items)).toEqual([['media', 'file']]);
    expect(kinds(requests[1]?.items ?? [])).toEqual([['media']]);
    expect(resultsIn(requests[1]?.items ?? [])[0]?.attachments?.[0]?.source).toEqual(picture);
  });

  test('can be read further by the model, by the id', async () => {
    const { items } = await run([
      (request) => {
        const input = { output: idIn(request), start: 2000, length: 12 };
        return { content: { parts: [call('d', 'read_output', input)] } };
      },
      'Aha.',
    ]);
    const [, part] = resultsIn(items);
    expect(part).toMatchObject({ toolCallId: 'd', isError: false });
    expect(part?.text).toBe('<the middle>\n[… go on with start 2012 …]');
  });

  test.each<[string, JsonValue, string]>([
    ['is no id', { output: 'output.txt' }, 'output: '],
    ['looks elsewhere', { output: `../${'a'.repeat(61)}` }, 'output: '],
    ['is written otherwise', { output: 'A'.repeat(64) }, 'output: '],
    ['is missing', {}, 'output: '],
    ['is nothing', null, 'output: '],
    ['starts before the start', { output: 'a'.repeat(64), start: -1 }, 'start: '],
    ['starts between bytes', { output: 'a'.repeat(64), start: 0.5 }, 'start: '],
    ['starts nowhere', { output: 'a'.repeat(64), start: '0' }, 'start: '],
    ['has no length', { output: 'a'.repeat(64), length: 0 }, 'length: '],
  ])('is not read with an id or a range that %s', async (_what, input, problem) => {
    const { items } = await run([{ content: { parts: [call('d', 'read_output', input)] } }, 'Oh.']);
    const [, part] = resultsIn(items);
    expect(part).toMatchObject({ toolCallId: 'd', isError: true });
    expect(part?.text).toContain(problem);
  });

  test('of another session cannot be read, and neither can other blobs', async () => {
    const log = memoryLog();
    const { hash } = await log.blobs.put(new TextEncoder().encode('of another session'));
    const asks = { content: { parts: [call('d', 'read_output', { output: hash })] } };
    const provider = scriptedProvider([asks, 'Done.']);
    const tools = [readOutputTool()];
    const { items } = await createAgent({ provider, log, tools }).run('Go', { session }).result;
    const [part] = resultsIn(items);
    expect(part).toMatchObject({ isError: true });
    expect(part?.text).not.toContain('of another session');
  });

  test('is not found under an unknown id', async () => {
    const input = { output: '0'.repeat(64) };
    const { items } = await run([{ content: { parts: [call('d', 'read_output', input)] } }, 'Oh.']);
    expect(resultsIn(items)[1]).toMatchObject({
      ...{ isError: true, text: `There is no output ${input.output}.` },
    });
  });
});

describe('a range', () => {
  const { blobs } = memoryLog();
  const context = {
    ...{ session, runId: runId('r'), turn: 1, toolCallId: toolCallId('c') },
    ...{ context: undefined, idempotencyKey: 's:1:c' },
    ...{ executionId: executionId('e'), child: undefined, blobs, update: () => {} },
    signal: new AbortController().signal,
  };

  async function stretch(text: string, input: object, maxBytes?: number): Promise<string> {
    const { hash } = await blobs.put(new TextEncoder().encode(text));
    const tool = readOutputTool({ maxBytes });
    const checked = await tool.validate({ output: hash, ...input });
    if (!checked.ok) return expect.fail(checked.problem);
    const read = await (tool.execute(checked.value, context) as Promise<string>);
    expect(read.length).toBeLessThanOrEqual(tool.maxOutputLength);
    return read;
  }

  test('starts at 0 and has the maximum length by default', async () => {
    expect(await stretch('0123456789', {}, 4)).toBe('0123\n[… go on with start 4 …]');
    expect(await stretch('0123456789', { length: 9 }, 4)).toBe('0123\n[… go on with start 4 …]');
    expect(await stretch('0123456789', { start: 8 }, 4)).toBe('89');
    expect(await stretch('0123456789', {})).toBe('0123456789');
  });

  test('beyond the end is reported as empty', async () => {
    expect(await stretch('0123', { start: 4 })).toContain('nothing at byte 4');
    expect(await stretch('0123', { start: Number.MAX_SAFE_INTEGER })).toContain('nothing at byte');
  });

  test('that cuts a character shows U+FFFD', async () => {
    expect(await stretch('é!', { start: 1 })).toBe('\ufffd!');
    expect(await stretch('é!', { length: 1 })).toBe('\ufffd\n[… go on with start 1 …]');
  });

  // Regression: TextDecoder drops U+FEFF at the start of each range.
  test('that starts with a byte order mark keeps it', async () => {
    expect(await stretch('\ufeffa', {})).toBe('\ufeffa');
  });

  test('after another returns everything, for any length', async () => {
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n'), maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 50 }), async (text, maxBytes) => {
        let [whole, start] = ['', 0];
        for (;;) {
          const said = await stretch(text, { start }, maxBytes);
          if (said.startsWith('There is nothing')) break;
          const more = /\n\[… go on with start (\d+) …\]$/.exec(said);
          whole += more === null ? said : said.slice(0, more.index);
          if (more === null) break;
          start = Number(more[1]);
        }
        expect(whole).toBe(text);
      }),
    );
  });
});

test('the tool can be renamed', () => {
  expect(readOutputTool({ name: 'read_on' }).name).toBe('read_on');
});
