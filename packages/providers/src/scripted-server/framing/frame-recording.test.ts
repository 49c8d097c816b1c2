import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { describe, expect, test } from 'vitest';
import { type WireName, wireNames } from '../answers/wire-answer.ts';
import { frameRecording, recordingEvents } from './frame-recording.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const recording = '{"type":"a","n":1}\n{"type":"b"}\n';

describe('frameRecording', () => {
  test.each<[WireName, string]>([
    ['openai-chat', 'data: {"type":"a","n":1}\n\ndata: {"type":"b"}\n\ndata: [DONE]\n\n'],
    ['openai-responses', 'event: a\ndata: {"type":"a","n":1}\n\nevent: b\ndata: {"type":"b"}\n\n'],
    ['anthropic', 'event: a\ndata: {"type":"a","n":1}\n\nevent: b\ndata: {"type":"b"}\n\n'],
    ['gemini', 'data: {"type":"a","n":1}\r\n\r\ndata: {"type":"b"}\r\n\r\n'],
  ])('frames as %s does', (wire, framed) => {
    expect(text(frameRecording(wire, recording))).toBe(framed);
  });

  test('gives options precedence', () => {
    const options = { done: false, lineEnding: '\r' } as const;
    expect(text(frameRecording('openai-chat', ['1'], options))).toBe('data: 1\r\r');
  });

  test('sends a line that is not JSON unchanged and without a name', () => {
    expect(text(frameRecording('anthropic', '{"type":"a"'))).toBe('data: {"type":"a"\n\n');
  });
});

test('a recording has one event per line, with any line ending', () => {
  expect(recordingEvents('1\r\n\r\n2\n 3 \n')).toEqual(['1', '2', ' 3 ']);
});

const folder = fileURLToPath(new URL('../../../../../../shared/recordings', import.meta.url));

describe.skipIf(!existsSync(folder))('the shared recordings (skipped where they are not)', () => {
  const paths = existsSync(folder) ? globSync(join(folder, '*/*.chunks.txt')).sort() : [];

  test('exist for every wire', () => {
    const wires = new Set(paths.map((path) => relative(folder, dirname(path))));
    expect([...wires].sort()).toEqual([...wireNames].sort());
  });

  test.each(paths.map((path) => relative(folder, path)))('%s is read back completely', (path) => {
    const wire = dirname(path) as WireName;
    const source = readFileSync(join(folder, path), 'utf8');
    const read: EventSourceMessage[] = [];
    createParser({ onEvent: (event) => read.push(event) }).feed(text(frameRecording(wire, source)));

    const isNamed = wire === 'anthropic' || wire === 'openai-responses';
    const lines = source.split('\n').filter((line) => line !== '');
    const done = wire === 'openai-chat' ? ['[DONE]'] : [];
    expect(read.map(({ data }) => data)).toEqual([...lines, ...done]);
    expect(read.slice(0, lines.length).map(({ event }) => event)).toEqual(
      lines.map((line) => (isNamed ? JSON.parse(line).type : undefined)),
    );
  });
});
