import { fromBase64, itemId, parseJson } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { Completion } from '../contract/provider.ts';
import { frameRecording } from '../scripted-server/framing/frame-recording.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import type { Expected, ExpectedMedia } from '../testing/oracle/expected.ts';
import { outcomeOf } from '../testing/outcome.ts';
import { casesOf, play, type RecordingCase } from '../testing/play.ts';
import { type WireUnderTest, wireTable } from '../testing/wire-table.ts';

const answerTo = async (
  under: WireUnderTest,
  { name, lines }: RecordingCase,
): Promise<Completion> => (await play(under, name, [frameRecording(under.wire, lines)])).completion;

const parsed = (text: string) => parseJson(text === '' ? '{}' : text);

describe.each(wireTable)('$wire', (under) => {
  const cases = casesOf(under.wire);

  test.each(cases)('$name folds to the expected result', async ({ name, lines }) => {
    const expected = under.read(lines);
    const completion = await answerTo(under, { name, lines });
    const found = outcomeOf(completion);
    if (expected.mayFail && completion.error !== undefined) return;

    expect(endingOf(completion)).toBe(expected.ends);
    expect(found).toMatchObject({
      texts: expected.texts,
      reasoning: expected.reasoning,
      order: isComparable(expected) ? expected.order : found.order,
      // The usage of a failed response is partly estimated.
      usage: expected.ends === 'terminal' ? expected.usage : found.usage,
      stop: expected.stop,
      // Some recordings contain dots instead of most of an image.
      media: expected.media.filter(isBase64).map(({ base64, mimeType }) => ({
        base64,
        ...(mimeType === undefined ? {} : { mimeType }),
      })),
    });
    expect(found.refusal).toBe(expected.refusal);
    expect(found.transcript).toBe(expected.transcript);
    expect(found.citations.toSorted()).toEqual(expected.citations.toSorted());
    expect(found.customs.toSorted()).toEqual([...expected.hosted, ...expected.others].toSorted());
    if (expected.ends !== 'terminal') return;
    expect(found.rawStop).toBe(expected.rawStop);
    expectCalls(found.calls, expected);
  });

  test.each(cases)(
    '$name keeps the state that its provider requires in the next request',
    async ({ name, lines }) => {
      const expected = under.read(lines);
      const { item, error } = await answerTo(under, { name, lines });
      if (error !== undefined) return;
      const { fetch, requests } = fetchOf([]);
      const user = {
        id: itemId('u'),
        kind: 'user',
        parts: [{ kind: 'text', text: 'Hi' }],
      } as const;
      await under.provider(fetch, name).complete({ items: [user, item] });
      const sent = JSON.stringify(requests[0]?.body);
      for (const text of expected.state) expect(sent).toContain(JSON.stringify(text).slice(1, -1));
    },
  );
});

const isBase64 = ({ base64 }: ExpectedMedia): boolean => fromBase64(base64) !== undefined;

/** A call that a limit cut off may be kept or dropped, because it can never run. */
const isComparable = ({ ends, calls }: Expected): boolean =>
  ends === 'terminal' && calls.every(({ isWhole }) => isWhole);

function expectCalls(
  found: readonly { readonly name: string; readonly arguments: string; readonly id: string }[],
  expected: Expected,
): void {
  const isKept = found.length === expected.calls.length;
  const kept = expected.calls.filter(({ isWhole }) => isWhole || isKept);
  const calls = kept.flatMap((call) =>
    call.wraps === undefined
      ? [call]
      : call.wraps.map(({ name, value }) => ({ name, arguments: JSON.stringify(value) })),
  );
  expect(found.map(({ name }) => name)).toEqual(calls.map(({ name }) => name));
  for (const [index, call] of calls.entries()) {
    const came = found[index];
    if ('isText' in call && call.isText) {
      expect(parsed(came?.arguments ?? '')).toEqual({
        ok: true,
        value: { input: call.arguments },
      });
    } else if ('value' in call && call.value !== undefined) {
      expect(parsed(came?.arguments ?? '')).toEqual({ ok: true, value: call.value });
    } else expect(came?.arguments).toBe(call.arguments);
    if ('id' in call && call.id !== undefined) expect(came?.id).toBe(call.id);
  }
}

function endingOf({ error }: Completion): Expected['ends'] {
  if (error === undefined) return 'terminal';
  return error.kind === 'truncated_stream' ? 'truncated' : 'error';
}
