import { expect, test } from 'vitest';
import { readSseData } from './sse-reader.ts';

test.each([
  ['events', 'data:{"type":"X"}\n\n', 10_000, 20],
  ['comments', ':\n\n', 200_000, 3],
])(
  '18.745: attack: a remote agent keeps the process busy with %s',
  async (_, event, count, least) => {
    let turns = 0;
    let isOver = false;
    const next = () => {
      turns++;
      if (!isOver) setImmediate(next);
    };
    next();
    const bytes = Buffer.from(event.repeat(count));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 65_536)
          controller.enqueue(bytes.subarray(at, at + 65_536));
        controller.close();
      },
    });
    for await (const _text of readSseData(new Response(body), { maxEventLength: 1000 }));
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(least);
  },
);
