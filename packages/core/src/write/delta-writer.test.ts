import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countingIds, itemId, partId, toolCallId } from '../ids.ts';
import type { ContentLimits } from '../limits.ts';
import type { Delta } from '../protocol/delta.ts';
import { DeltaWriter } from './delta-writer.ts';

const item = itemId('i1');
const newWriter = (limits: Partial<ContentLimits> = {}) =>
  new DeltaWriter({ itemId: item, turn: 1, attempt: 2, ids: countingIds(), limits });

const textOf = (deltas: readonly Delta[]) =>
  deltas.map((delta) => (delta.type === 'append_text' ? delta.chunk : '')).join('');

test('positions count up by themselves, in UTF-16 units', () => {
  const writer = newWriter();
  const text = writer.text();
  text.append('The ');
  text.append('😀!');
  text.commit();
  expect(writer.take()).toEqual([
    { type: 'begin_part', partId: '1.2.p1', itemId: item, kind: 'text' },
    { type: 'append_text', partId: '1.2.p1', at: 0, chunk: 'The ' },
    { type: 'append_text', partId: '1.2.p1', at: 4, chunk: '😀!' },
    { type: 'commit_part', partId: '1.2.p1', length: 7 },
  ]);
  expect(writer.take()).toEqual([]);
});

test('each kind has its begin, its way to grow and its end', () => {
  const writer = newWriter();
  const call = toolCallId('c1');
  writer.reasoning('summary').commit({ signature: 's' });
  writer.toolCall(call, 'read').append('{}');
  writer.toolResult(call, 'read').append('ok');
  writer.structured({ name: 'out' }).set({ a: 1 });
  writer.custom('citation').set([1]);
  writer.media('audio/wav').append(Uint8Array.of(1, 2));
  writer.file('a.pdf', 'application/pdf').append(Uint8Array.of(3));
  writer.whole({ kind: 'text', text: 'whole' });
  for (const part of writer.open) part.commit();
  expect(writer.open).toEqual([]);
  const deltas = writer.take();
  const begun = deltas.flatMap((delta) => (delta.type === 'begin_part' ? delta.kind : []));
  expect(begun).toEqual([
    'reasoning',
    'tool_call',
    'tool_result',
    'structured',
    'custom',
    'media',
    'file',
  ]);
  const lengths = deltas.flatMap((delta) => ('length' in delta ? delta.length : []));
  expect(lengths).toEqual([0, 2, 2, 0, 0, 2, 1]);
});

describe('half a surrogate pair', () => {
  test('is held until its partner comes', () => {
    const writer = newWriter();
    const text = writer.text();
    text.append('a\ud83d');
    expect(textOf(writer.take())).toBe('a');
    text.append('\ude00b');
    expect(textOf(writer.take())).toBe('😀b');
  });

  test('is U+FFFD where none comes: at the end, in the middle, or without a first half', () => {
    const writer = newWriter();
    const text = writer.text();
    for (const chunk of ['\ude00a', 'b\ud83dc', '\ud83d', '\ud83d', 'd\ud83d']) text.append(chunk);
    text.commit({ partial: true });
    const deltas = writer.take();
    expect(textOf(deltas)).toBe('\ufffdab\ufffdc\ufffd\ufffdd\ufffd');
    expect(deltas.at(-1)).toMatchObject({ type: 'commit_part', length: 9, partial: true });
  });

  test('is never on the log, wherever a text is split', () => {
    const halves = fc.constantFrom('a', '😀', '\ud83d', '\ude00', 'é', '');
    fc.assert(
      fc.property(fc.array(fc.array(halves).map((units) => units.join(''))), (chunks) => {
        const writer = newWriter();
        const text = writer.text();
        for (const chunk of chunks) text.append(chunk);
        text.commit();
        const deltas = writer.take();
        expect(textOf(deltas)).toBe(chunks.join('').toWellFormed());
        for (const delta of deltas) {
          if (delta.type === 'append_text') expect(delta.chunk.isWellFormed()).toBe(true);
        }
      }),
    );
  });

  test('is repaired in a part that comes whole', () => {
    const writer = newWriter();
    writer.whole({ kind: 'text', text: 'a\ud83d' });
    expect(writer.take()[0]).toMatchObject({ part: { text: 'a\ufffd' } });
  });
});

describe('a refusal leaves the writer usable, and nothing written:', () => {
  const refused = (code: string) => expect.objectContaining({ name: 'ProtocolError', code });

  test('after commit and after retract every method but retract is part_closed', () => {
    const writer = newWriter();
    const committed = writer.text();
    const retracted = writer.text();
    committed.commit();
    retracted.retract('cut');
    writer.take();
    for (const part of [committed, retracted]) {
      expect(() => part.append('x')).toThrow(refused('part_closed'));
      expect(() => part.commit()).toThrow(refused('part_closed'));
      expect(() => part.metadata({})).toThrow(refused('part_closed'));
      expect(() => part.replace({ kind: 'text', text: '' })).toThrow(refused('part_closed'));
    }
    expect(writer.take()).toEqual([]);
    committed.retract('withdrawn');
    committed.retract('withdrawn');
    expect(writer.take()).toEqual([
      { type: 'retract_part', partId: committed.partId, reason: 'withdrawn' },
    ]);
  });

  test('a chunk, a text, bytes and the number of open parts have limits', () => {
    const writer = newWriter({
      maxChunkLength: 4,
      maxTextLength: 6,
      maxBytesLength: 2,
      maxOpenParts: 2,
    });
    const text = writer.text();
    const media = writer.media('a/b');
    text.append('abcd');
    expect(() => text.append('abcde')).toThrow(refused('too_large'));
    expect(() => text.append('abc')).toThrow(refused('too_large'));
    expect(() => media.append(Uint8Array.of(1, 2, 3))).toThrow(refused('too_large'));
    expect(() => writer.text()).toThrow(refused('too_large'));
    text.append('ef');
    text.commit();
    writer.text().append('room');
  });

  test('a value that is no JSON, and a commit without one', () => {
    const writer = newWriter();
    const part = writer.structured();
    expect(() => part.set(Number.NaN)).toThrow(refused('not_json'));
    expect(() => part.commit()).toThrow(refused('no_value'));
    part.set(null);
    part.commit();
    expect(writer.take().map(({ type }) => type)).toEqual([
      'begin_part',
      'replace_structured',
      'commit_part',
    ]);
  });

  test('a whole part over a limit does not close the part it should replace', () => {
    const writer = newWriter({ maxTextLength: 3 });
    const text = writer.text();
    expect(() => text.replace({ kind: 'text', text: 'long' })).toThrow(refused('too_large'));
    text.append('abc');
    text.commit();
    expect(textOf(writer.take())).toBe('abc');
  });
});

test('the open parts are listed, so that the code that ends the response can close them', () => {
  const writer = newWriter();
  writer.text().append('half');
  writer.toolCall(toolCallId('c1'), 'read').append('{"pa');
  for (const part of writer.open) {
    if (part.kind === 'tool_call') part.retract('aborted');
    else part.commit({ partial: true });
  }
  expect(writer.take().slice(-2)).toEqual([
    { type: 'commit_part', partId: '1.2.p1', length: 4, partial: true },
    { type: 'retract_part', partId: '1.2.p2', reason: 'aborted' },
  ]);
});

describe('the writer', () => {
  test('writes only the fields it knows, whatever object it is given', () => {
    const writer = newWriter();
    const start = { kind: 'image', mimeType: 'text/plain', secret: 'leak' };
    const end = { length: 99, type: 'retract_part', partial: true as const };
    writer.text(start).commit(end);
    expect(writer.take()).toEqual([
      { type: 'begin_part', partId: '1.2.p1', itemId: item, kind: 'text', mimeType: 'text/plain' },
      { type: 'commit_part', partId: '1.2.p1', length: 0, partial: true },
    ]);
  });

  test('keeps bytes as they were when it got them', () => {
    const writer = newWriter();
    const buffer = Buffer.from([1, 2, 3]);
    writer.media('image/png').append(buffer);
    buffer.fill(9);
    expect(writer.take()[1]).toMatchObject({ chunk: Uint8Array.of(1, 2, 3) });
  });

  test('refuses an id that its maker gave before', () => {
    const ids = { part: () => partId(1, 2, 'same') };
    const writer = new DeltaWriter({ itemId: item, turn: 1, attempt: 2, ids });
    const text = writer.text();
    expect(() => writer.text()).toThrow(expect.objectContaining({ code: 'conflict' }));
    text.append('goes on');
    expect(writer.take()).toHaveLength(2);
  });

  test('refuses what is no text, no bytes and no value', () => {
    const writer = newWriter();
    const bad = expect.objectContaining({ code: 'bad_value' });
    expect(() => writer.text().append(5 as never)).toThrow(bad);
    expect(() => writer.media('m').append('text' as never)).toThrow(bad);
    expect(() => writer.custom('c').set(undefined as never)).toThrow(bad);
  });

  test('takes back a part that came whole, once, and an open one by its id', () => {
    const writer = newWriter();
    const whole = writer.whole({ kind: 'text', text: 'a' });
    const text = writer.text();
    writer.take();
    writer.retract(whole, 'withdrawn');
    writer.retract(whole, 'withdrawn');
    writer.retract(text.partId, 'cut');
    expect(text.isOpen).toBe(false);
    expect(writer.take().map(({ type }) => type)).toEqual(['retract_part', 'retract_part']);
  });

  test('refuses parts that no reader could read: a long url, or too much in all', () => {
    const writer = newWriter({ maxTextLength: 1000, maxDocumentLength: 2 ** 17 });
    const url = 'u'.repeat(1001);
    const media = { kind: 'media', mimeType: 'm', source: { type: 'url', url } } as const;
    const tooLarge = expect.objectContaining({ code: 'too_large' });
    expect(() => writer.whole(media)).toThrow(tooLarge);
    const bytes = new Uint8Array(30_000);
    const file = { kind: 'media', mimeType: 'm', source: { type: 'bytes', bytes } } as const;
    const call = { toolCallId: toolCallId('c'), name: 't', text: '', isError: false } as const;
    const result = (...attachments: (typeof file)[]) =>
      ({ kind: 'tool_result', ...call, attachments }) as const;
    expect(() => writer.whole(result(file, file))).toThrow(tooLarge);
    writer.whole(result(file));
  });

  test('refuses what callers without types may give it, with a typed error', () => {
    const writer = newWriter();
    const text = writer.text();
    writer.take();
    const no = <T>(value: T) => value as never;
    const attempts = [
      () => text.metadata(no(undefined)),
      () => text.metadata(no([1])),
      () => text.commit(no({ partial: 'y' })),
      () => text.commit(no({ partial: null })),
      () => text.commit(no({ providerState: { provider: 5 } })),
      () => text.replace(no(undefined)),
      () => text.retract(no(undefined)),
      () => writer.toolCall(no(undefined), no(undefined)),
      () => writer.reasoning(no('bogus')),
      () => writer.custom(no(undefined)),
      () => writer.whole(no(undefined)),
      () => writer.whole(no({ kind: 'zz' })),
      () => writer.whole(no({ kind: 'structured' })),
      () => writer.whole(no({ kind: 'media', mimeType: 'm', source: { type: 'bytes' } })),
      () => writer.retract(no('nonsense'), 'cut'),
      () => writer.media('m').append(no(Float64Array.of(1.5))),
    ];
    for (const attempt of attempts) {
      expect(attempt).toThrow(
        expect.objectContaining({ name: 'ProtocolError', code: 'bad_value' }),
      );
    }
    expect(writer.take().map(({ type }) => type)).toEqual(['begin_part']);
    expect(text.isOpen).toBe(true);
  });

  test('refuses ids of another attempt, and more parts than an item may have', () => {
    const wrong = expect.objectContaining({ code: 'wrong_attempt' });
    expect(() => newWriter().retract(partId(2, 7, 'x'), 'cut')).toThrow(wrong);
    const ids = { part: () => partId(9, 9, 'z') };
    const foreign = new DeltaWriter({ itemId: item, turn: 1, attempt: 2, ids });
    expect(() => foreign.text()).toThrow(wrong);
    const writer = newWriter({ maxParts: 1, maxChunkLength: undefined as never });
    writer.text().append('fits');
    expect(() => writer.text()).toThrow(expect.objectContaining({ code: 'too_large' }));
  });

  test('counts no part that it refused', () => {
    const writer = newWriter({ maxParts: 1 });
    expect(() => writer.reasoning('bogus' as never)).toThrow();
    expect(() => writer.whole({ kind: 'zz' } as never)).toThrow();
    writer.text().append('fits');
  });

  test('never writes a chunk over the limit, also with a half that was held back', () => {
    const writer = newWriter({ maxChunkLength: 4 });
    const text = writer.text();
    text.append('a\ud83d');
    text.append('\ude00bcd');
    const chunks = writer.take().flatMap((delta) => ('chunk' in delta ? delta.chunk : []));
    expect(chunks).toEqual(['a', '😀', 'bcd']);
  });

  test('keeps a half that it holds back through a commit that is refused', () => {
    const writer = newWriter();
    const text = writer.text();
    text.append('a\ud83d');
    expect(() => text.commit({ partial: 'y' as never })).toThrow();
    text.append('\ude00');
    text.commit();
    expect(textOf(writer.take())).toBe('a😀');
  });

  test('has a kind on each open part that tells what can be done with it', () => {
    const writer = newWriter();
    writer.text();
    writer.media('image/png');
    writer.custom('c');
    for (const part of writer.open) {
      if (part.kind === 'media') part.append(Uint8Array.of(1));
      if (part.kind === 'custom') part.set(1);
      if (part.kind === 'text') part.append('a');
    }
    expect(writer.take()).toHaveLength(6);
  });
});

describe('a result that another writer left open', () => {
  const call = toolCallId('c1');
  const placed = partId(1, 2, 'old');
  const begin = {
    type: 'begin_part',
    partId: placed,
    itemId: item,
    kind: 'tool_result',
    toolCallId: call,
    name: 'read',
  } as const;

  test('is gone on with where it stands, and is not begun again', () => {
    const writer = newWriter();
    const result = writer.goOn(begin, 4);
    expect([writer.take(), result.length, result.isOpen]).toEqual([[], 4, true]);
    expect(writer.open).toEqual([result]);
    result.append('more');
    result.commit();
    expect(writer.take()).toEqual([
      { type: 'append_text', partId: placed, at: 4, chunk: 'more' },
      { type: 'commit_part', partId: placed, length: 8 },
    ]);
    expect([writer.open, result.isOpen]).toEqual([[], false]);
  });

  test('folds to what both wrote, wherever the first one left it', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.nat(), (chunks, cut) => {
        const ids = countingIds();
        const options = { itemId: item, turn: 1, attempt: 2, ids };
        const at = cut % (chunks.length + 1);
        const first = new DeltaWriter(options);
        const left = first.toolResult(call, 'read');
        for (const chunk of chunks.slice(0, at)) left.append(chunk);
        const old = first.take();
        const [begun] = old;
        if (begun?.type !== 'begin_part' || begun.kind !== 'tool_result')
          return expect.fail('it was not begun');
        const writer = new DeltaWriter(options);
        const result = writer.goOn(begun, textOf(old).length);
        for (const chunk of chunks.slice(at)) result.append(chunk);
        result.commit();
        const all = [...old, ...writer.take()];
        let length = 0;
        for (const delta of all) {
          if (delta.type !== 'append_text') continue;
          expect(delta.at).toBe(length);
          length += delta.chunk.length;
        }
        expect(all.at(-1)).toEqual({ type: 'commit_part', partId: left.partId, length });
      }),
    );
  });

  test('can be replaced by a whole one, or taken back by its id', () => {
    const writer = newWriter();
    const about = { toolCallId: call, name: 'read' };
    const part = { kind: 'tool_result', ...about, text: 'all', isError: false } as const;
    writer.goOn(begin, 4).replace(part);
    const other = { ...begin, partId: partId(1, 2, 'other') };
    writer.goOn(other, 0);
    writer.retract(other.partId, 'discarded');
    expect(writer.take()).toEqual([
      { type: 'commit_part', partId: placed, itemId: item, part },
      { type: 'retract_part', partId: other.partId, reason: 'discarded' },
    ]);
    expect(writer.open).toEqual([]);
  });

  test('counts towards the limits with all that is there already', () => {
    const writer = newWriter({ maxTextLength: 6, maxOpenParts: 1 });
    const result = writer.goOn(begin, 4);
    const tooLarge = expect.objectContaining({ name: 'ProtocolError', code: 'too_large' });
    expect(() => result.append('abc')).toThrow(tooLarge);
    expect(() => writer.text()).toThrow(tooLarge);
    result.append('ab');
    expect(textOf(writer.take())).toBe('ab');
  });

  test('is refused where it is of another attempt, and its id is not given to another', () => {
    const foreign = { ...begin, partId: partId(1, 3, 'old') };
    const wrong = expect.objectContaining({ name: 'ProtocolError', code: 'wrong_attempt' });
    expect(() => newWriter().goOn(foreign, 0)).toThrow(wrong);
    const ids = { part: () => placed };
    const writer = new DeltaWriter({ itemId: item, turn: 1, attempt: 2, ids });
    writer.goOn(begin, 0);
    const conflict = expect.objectContaining({ name: 'ProtocolError', code: 'conflict' });
    expect(() => writer.text()).toThrow(conflict);
  });

  // goOn gives a second handle to a part that is open here, and their positions overlap.
  test('is gone on with once: a part that is open here already is a conflict', () => {
    const writer = newWriter();
    writer.goOn(begin, 4);
    const conflict = expect.objectContaining({ name: 'ProtocolError', code: 'conflict' });
    expect(() => writer.goOn(begin, 4)).toThrow(conflict);
  });

  // goOn takes any length, and appends then stand where no reader finds them.
  test.each([-1, 1.5])('has no length of %d', (length) => {
    const writer = newWriter();
    const refused = expect.objectContaining({ name: 'ProtocolError' });
    expect(() => writer.goOn(begin, length).append('x')).toThrow(refused);
  });

  // goOn does not look at the item, though this writer writes those of one alone.
  test('is of the item that this writer writes', () => {
    const refused = expect.objectContaining({ name: 'ProtocolError' });
    expect(() => newWriter().goOn({ ...begin, itemId: itemId('i2') }, 0)).toThrow(refused);
  });
});
