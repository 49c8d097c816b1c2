import {
  type FilePart,
  type Item,
  itemId,
  type JsonValue,
  type Part,
  parseJson,
  type Source,
  toBase64,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import type { Wire } from '../testing/recordings.ts';
import { type WireUnderTest, wireTable } from '../testing/wire-table.ts';

/**
 * Types that the APIs document as accepted. An API rejects a request with any other type, and all
 * requests after it.
 */
const office = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const taken: { readonly [W in Wire]?: readonly string[] } = {
  'openai-chat': ['image/png', 'image/jpeg', 'application/pdf', 'mp3', 'wav'],
  'openai-responses': ['image/png', 'image/jpeg', 'application/pdf', office],
  anthropic: ['image/png', 'image/jpeg', 'application/pdf', 'text/plain'],
  gemini: [
    ...['image/png', 'image/jpeg', 'application/pdf', 'text/plain'],
    ...['audio/mpeg', 'audio/x-wav', 'video/mp4'],
  ],
};

const types = [
  ...['image/png', 'image/jpg', 'image/tiff', 'image/svg+xml', 'image/x-icon', 'application/pdf'],
  ...['audio/mpeg', 'audio/x-wav', 'audio/midi', 'video/mp4', 'video/mp2t', office],
  ...['text/plain', 'text/x-python', 'text/csv; charset=utf-8', 'application/json'],
  ...['application/zip', 'application/octet-stream', 'application/wasm', 'font/woff2'],
  ...['chemical/x-pdb', 'x/y', 'x'],
];
const source = fc.oneof(
  fc.string().map((text) => new TextEncoder().encode(text.toWellFormed())),
  fc.uint8Array(),
);
const attachment = fc.record({
  mimeType: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...types) }, fc.string()),
  bytes: source,
  at: fc.constantFrom('bytes', 'data', 'address'),
});

const item = (id: string, kind: Item['kind'], ...parts: Part[]): Item => ({
  id: itemId(id),
  kind,
  parts,
});

function historyOf(given: FilePart, brought: FilePart): readonly Item[] {
  const call = toolCallId('call1');
  const result: Part = {
    kind: 'tool_result',
    toolCallId: call,
    name: 'read',
    text: 'Here.',
    isError: false,
    attachments: [brought],
  };
  return [
    item('u1', 'user', { kind: 'text', text: 'Look' }, given),
    item('a1', 'assistant', toolCallPart(call, 'read', {})),
    item('t1', 'tool', result),
    item('u2', 'user', { kind: 'text', text: 'Well?' }),
  ];
}

async function bodyOf(under: WireUnderTest, items: readonly Item[]): Promise<JsonValue> {
  const { fetch, requests } = fetchOf([]);
  const { error } = await under.provider(fetch, '').complete({ items });
  const parsed = parseJson(JSON.stringify(requests[0]?.body ?? null));
  if (!parsed.ok || requests.length === 0) throw error ?? new Error('No request was sent');
  return parsed.value;
}

/** The types of all attachments that a body contains natively. */
function nativeTypes(body: JsonValue): readonly string[] {
  const marks = /"data:([^;,"]*)|"(?:media_type|mimeType|format)":"([^"]*)"/g;
  return [...JSON.stringify(body).matchAll(marks)].flatMap(([, url, field]) => url ?? field ?? []);
}

describe.each(wireTable)('$wire: with any attachment of a user or a tool', (under) => {
  test('the request is valid, has no type that the API rejects, and mentions every attachment', async () => {
    await fc.assert(
      fc.asyncProperty(attachment, attachment, async (given, brought) => {
        const parts = [given, brought].map(({ mimeType, bytes, at }, index): FilePart => {
          const name = `name-${index}.x`;
          const url = `https://${name}/`;
          const data = `data:${mimeType.replaceAll(/[",;]/g, '')};base64,${toBase64(bytes)}`;
          const where: { readonly [At in typeof at]: Source } = {
            bytes: { type: 'bytes', bytes },
            data: { type: 'url', url: data },
            address: { type: 'url', url },
          };
          return { kind: 'file', name, mimeType, source: where[at] };
        });
        const [first, second] = parts as [FilePart, FilePart];
        const body = await bodyOf(under, historyOf(first, second));
        expect(under.faults(body, under.read([]))).toEqual([]);
        for (const type of nativeTypes(body)) expect(taken[under.wire]).toContain(type);
        const sent = JSON.stringify(body);
        for (const [index, { bytes }] of [given, brought].entries()) {
          const isSent = bytes.length > 0 && sent.includes(toBase64(bytes));
          expect(isSent || sent.includes(`name-${index}.x`)).toBe(true);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
