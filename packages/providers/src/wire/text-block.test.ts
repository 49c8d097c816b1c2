import { countingIds, type Delta, DeltaWriter } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import { TextBlock } from './text-block.ts';

const plain: ModelRequest = { items: [] };
const output: ModelRequest = { items: [], output: { name: 'answer', schema: {} } };

function newBlock(request: ModelRequest) {
  const ids = countingIds();
  const writer = new DeltaWriter({ itemId: ids.item(), turn: 1, attempt: 1, ids });
  return { block: new TextBlock(writer, request), writer };
}

/** The last delta of a block with this text. */
function ended(
  request: ModelRequest,
  chunks: readonly string[],
  end = (block: TextBlock) => block.commit(),
): Delta | undefined {
  const { block, writer } = newBlock(request);
  for (const chunk of chunks) block.append(chunk);
  end(block);
  expect(writer.open).toEqual([]);
  return writer.take().at(-1);
}

describe('a block of text', () => {
  test('is a text part', () => {
    expect(ended(plain, ['{"a"', ':1}'])).toMatchObject({ type: 'commit_part', length: 7 });
    const { block, writer } = newBlock(plain);
    block.append('ab');
    expect(block.length).toBe(2);
    expect(writer.take()[0]).toMatchObject({ type: 'begin_part', kind: 'text' });
    expect(writer.open[0]?.kind).toBe('text');
  });

  test('may have state and metadata of the provider', () => {
    const providerState = { provider: 'p', model: 'm', data: { id: 'msg_1' } };
    const last = ended(plain, ['a'], (block) => {
      block.metadata({ citations: [] });
      block.commit({ providerState });
    });
    expect(last).toMatchObject({ type: 'commit_part', length: 1, providerState });
  });

  test('may end as another text', () => {
    const last = ended(plain, ['ab'], (block) => block.replace('abc'));
    expect(last).toMatchObject({ type: 'commit_part', part: { kind: 'text', text: 'abc' } });
  });

  test('may be retracted', () => {
    expect(ended(plain, ['ab'], (block) => block.retract('withdrawn'))).toMatchObject({
      type: 'retract_part',
      reason: 'withdrawn',
    });
    const after = ended(plain, ['ab'], (block) => {
      block.commit();
      block.retract('withdrawn');
    });
    expect(after).toMatchObject({ type: 'retract_part' });
  });
});

describe('a block of structured output', () => {
  test('streams as JSON, and ends as its value', () => {
    const { block, writer } = newBlock(output);
    for (const chunk of ['{"a"', ':[1,', '2]}']) block.append(chunk);
    block.commit();
    const deltas = writer.take();
    expect(deltas[0]).toMatchObject({ kind: 'text', mimeType: 'application/json' });
    expect(deltas.at(-1)).toMatchObject({
      type: 'commit_part',
      part: { kind: 'structured', name: 'answer', value: { a: [1, 2] } },
    });
  });

  test.each([
    ['I cannot do that.', 17],
    ['{"a":1', 6],
    ['', 0],
    ['```json\n{}\n```', 14],
  ])('that is not JSON stays text: %j', (text, length) => {
    const last = ended(output, [text]);
    expect(last).toMatchObject({ type: 'commit_part', length });
    expect(last).not.toHaveProperty('part');
  });

  test('may be any JSON, with white space around it', () => {
    for (const [text, value] of [
      [' 1 ', 1],
      ['"a"', 'a'],
      ['null', null],
      ['\n[]\n', []],
      ['{"__proto__":1}', JSON.parse('{"__proto__":1}')],
    ] as const) {
      expect(ended(output, [text])).toMatchObject({ part: { kind: 'structured', value } });
    }
  });

  test('keeps its metadata and state', () => {
    const providerState = { provider: 'p', model: 'm', data: 1 };
    const last = ended(output, ['{}'], (block) => {
      block.metadata({ a: 1 });
      block.metadata({ b: 2 });
      block.commit({ providerState });
    });
    expect(last).toMatchObject({ part: { value: {}, metadata: { b: 2 }, providerState } });
  });

  test('may end as another text, JSON or not', () => {
    const value = ended(output, ['{'], (block) => block.replace('{"a":1}'));
    expect(value).toMatchObject({ part: { kind: 'structured', value: { a: 1 } } });
    const text = ended(output, ['{'], (block) => block.replace('No.'));
    expect(text).toMatchObject({ part: { kind: 'text', text: 'No.' } });
  });

  test('with a lone surrogate is still a value', () => {
    const last = ended(output, ['{"a":"\\ud83d"}']);
    expect(last).toMatchObject({ type: 'commit_part' });
    expect(ended(output, ['{"a":"\ud83d', '\ude00"}'])).toMatchObject({
      part: { kind: 'structured', value: { a: '😀' } },
    });
  });

  test('that is too deep for a record stays text', () => {
    const deep = `${'['.repeat(500)}${']'.repeat(500)}`;
    expect(ended(output, [deep])).toMatchObject({ type: 'commit_part', length: 1000 });
  });
});
