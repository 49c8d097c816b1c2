import { type Item, itemId, type JsonValue, parseJson } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../core/src/testing/runs.ts';
import { wireFraming } from '../scripted-server/framing/frame-recording.ts';
import { sseFrames } from '../scripted-server/framing/sse-frames.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { casesOf, drawnCasesOf, play } from '../testing/play.ts';
import { type WireUnderTest, wireTable } from '../testing/wire-table.ts';

const userItem = (id: string, text: string): Item => ({
  id: itemId(id),
  kind: 'user',
  parts: [{ kind: 'text', text }],
});

/** The body of the request that follows an answer. */
async function nextBody(under: WireUnderTest, name: string, answer: Item): Promise<JsonValue> {
  const { fetch, requests } = fetchOf([]);
  const items = [userItem('u1', 'Hello'), answer, userItem('u2', 'Go on')];
  await under.provider(fetch, name).complete({ items });
  const parsed = parseJson(JSON.stringify(requests[0]?.body));
  if (!parsed.ok) throw new Error('The request is not JSON');
  return parsed.value;
}

/** A fetch that returns one event per read, and aborts at the read after `count` events. */
function abortingFetch(
  frames: readonly Uint8Array[],
  count: number,
  controller: AbortController,
): typeof fetch {
  let sentCount = 0;
  return async (_input, init) => {
    const body = new ReadableStream<Uint8Array>(
      {
        pull(stream) {
          const frame = frames[sentCount++];
          if (sentCount > count || frame === undefined) {
            controller.abort();
            stream.error(init?.signal?.reason);
          } else stream.enqueue(frame);
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
}

describe.each(wireTable)('$wire: the next request', (under) => {
  test.each(casesOf(under.wire))('after $name is valid', async ({ name, lines }) => {
    const { completion } = await play(under, name, sseFrames(lines, wireFraming[under.wire]));
    const body = await nextBody(under, name, completion.item);
    expect(under.faults(body, under.read(lines), name)).toEqual([]);
  });

  test.each(drawnCasesOf(under.wire))(
    'after $name, aborted at any event, is valid',
    async ({ name, lines }) => {
      const frames = sseFrames(lines, { ...wireFraming[under.wire], done: false });
      for (const count of someOf([...lines.keys()])) {
        const controller = new AbortController();
        const fetcher = abortingFetch(frames, count, controller);
        const { completion } = await play(under, name, [], fetcher, controller.signal);
        const expected = under.read(lines.slice(0, count));
        if (expected.ends === 'truncated') expect(completion.stop.reason).toBe('aborted');
        const body = await nextBody(under, name, completion.item);
        expect(under.faults(body, under.read(lines), name)).toEqual([]);
      }
    },
  );
});
