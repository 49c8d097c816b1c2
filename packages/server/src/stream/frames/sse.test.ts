import { encodeComment, encodeFrame, encodeRetry } from '@millrace/core/streams';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SseParser } from '../../testing/sse-reader.ts';
import { indexAfter } from './frame-ring.ts';

const line = fc.string().filter((text) => !/[\r\n]/.test(text) && text !== '');
const frame = fc.record({ id: line, event: line, data: fc.string() });

test('encoded frames are read back unchanged, with \\n as line end', () => {
  fc.assert(
    fc.property(fc.array(frame), (frames) => {
      const text = frames.map(encodeFrame).join(encodeComment('a\nb')) + encodeRetry(12.3);
      const read = new SseParser().add(text);
      expect(read).toEqual(
        frames.map(({ id, event, data }) => ({ id, event, data: data.replace(/\r\n|\r/g, '\n') })),
      );
    }),
  );
});

test('an id, an event and a comment cannot start a new line', () => {
  const text =
    encodeFrame({ id: '1\ndata: x', event: 'a\r\nid: 9', data: '{}' }) +
    encodeComment('x\r\ndata: y');
  expect(new SseParser().add(text)).toEqual([{ id: '1 data: x', event: 'a id: 9', data: '{}' }]);
});

test('encoded frames can be entered after each id, and nowhere else', () => {
  const ids = ['1', '2.0', '2', '12', '20'];
  const data = JSON.stringify('\n\nid: 3\ndata: x');
  const bytes = Buffer.from(ids.map((id) => encodeFrame({ id, data })).join(''));
  for (const [index, id] of ids.entries()) {
    const rest = new SseParser().add(bytes.subarray(indexAfter(bytes, id)).toString());
    expect(rest.map((message) => message.id)).toEqual(ids.slice(index + 1));
  }
  for (const id of ['3', '0', '2.1', '']) expect(indexAfter(bytes, id)).toBe(-1);
});
