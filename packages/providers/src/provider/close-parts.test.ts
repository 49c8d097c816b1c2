import { countingIds, DeltaWriter, toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { closeParts } from './close-parts.ts';

function newWriter() {
  const ids = countingIds();
  return new DeltaWriter({ itemId: ids.item(), turn: 1, attempt: 1, ids });
}

/** The delta that closes the part that `write` leaves open. */
function closed(write: (writer: DeltaWriter) => void) {
  const writer = newWriter();
  write(writer);
  writer.take();
  closeParts(writer, 'cut');
  expect(writer.open).toEqual([]);
  return writer.take().map(({ type, ...rest }) => ({ type, ...rest, partId: undefined }));
}

const partial = (length: number) => [{ type: 'commit_part', length, partial: true }];
const retracted = [{ type: 'retract_part', reason: 'cut' }];

describe('of a response that was cut', () => {
  test('text, reasoning and media stay as partial', () => {
    expect(closed((writer) => writer.text().append('abc'))).toEqual(partial(3));
    expect(closed((writer) => writer.reasoning().append('ab'))).toEqual(partial(2));
    const bytes = new Uint8Array([1, 2, 3, 4]);
    expect(closed((writer) => writer.media('image/png').append(bytes))).toEqual(partial(4));
  });

  test('what has nothing in it goes', () => {
    expect(closed((writer) => writer.text())).toEqual(retracted);
    expect(closed((writer) => writer.reasoning())).toEqual(retracted);
    expect(closed((writer) => writer.media('image/png'))).toEqual(retracted);
    // Half a surrogate pair is no content yet.
    expect(closed((writer) => writer.text().append('\ud83d'))).toEqual(retracted);
  });

  test('calls go, however whole they look', () => {
    const call = (writer: DeltaWriter) => writer.toolCall(toolCallId('call_1'), 'add');
    expect(closed((writer) => call(writer).append('{}'))).toEqual(retracted);
    expect(closed((writer) => call(writer))).toEqual(retracted);
  });

  test('values go, half of which may be missing', () => {
    expect(closed((writer) => writer.custom('search').set({ a: 1 }))).toEqual(retracted);
    expect(closed((writer) => writer.custom('search'))).toEqual(retracted);
    expect(closed((writer) => writer.structured().set({ a: 1 }))).toEqual(retracted);
  });

  test('half a character at the end is shown as one that is missing', () => {
    expect(closed((writer) => writer.text().append('a\ud83d'))).toEqual([
      { type: 'append_text', at: 1, chunk: '\uFFFD' },
      ...partial(2),
    ]);
  });

  test('parts that were closed before stay as they are, and the reason is reported', () => {
    const writer = newWriter();
    const text = writer.text();
    text.append('a');
    text.commit();
    writer.toolCall(toolCallId('call_1'), 'add');
    writer.take();
    closeParts(writer, 'aborted');
    expect(writer.take()).toMatchObject([{ type: 'retract_part', reason: 'aborted' }]);
    closeParts(writer, 'aborted');
    expect(writer.take()).toEqual([]);
  });
});
