import { describe, expect, test } from 'vitest';
import { someOf } from '../../../core/src/testing/runs.ts';
import { frameRecording } from '../scripted-server/framing/frame-recording.ts';
import { outcomeOf } from '../testing/outcome.ts';
import { drawnCasesOf, play } from '../testing/play.ts';
import { wireTable } from '../testing/wire-table.ts';

describe.each(wireTable)('law 6, $wire: a response cut before its terminal signal', (under) => {
  test.each(drawnCasesOf(under.wire))(
    '$name is not a success after any event',
    async ({ name, lines }) => {
      for (const count of someOf([...lines.keys()])) {
        const kept = lines.slice(0, count);
        const expected = under.read(kept);
        const bytes = frameRecording(under.wire, kept, { done: false });
        const { completion, deltas } = await play(under, name, [bytes]);
        expectAllClosed(deltas);
        if (expected.ends === 'terminal') continue;
        expect(completion.error?.kind).toBeDefined();
        if (expected.ends === 'truncated') expect(completion.error?.kind).toBe('truncated_stream');
        // Calls run only if the stop reason is `tool_use`.
        expect(completion.stop.reason).toBe('error');
        expect(
          completion.item.parts.filter((part) => part.kind === 'tool_call' && part.partial),
        ).toEqual([]);
        const { texts, reasoning } = outcomeOf(completion);
        expect({ texts, reasoning }).toEqual({
          texts: expected.texts,
          reasoning: expected.reasoning,
        });
      }
    },
  );
});

function expectAllClosed(
  deltas: readonly { readonly type: string; readonly partId?: string }[],
): void {
  const begun = deltas.filter(({ type }) => type === 'begin_part').map(({ partId }) => partId);
  const closed = new Set(
    deltas.filter(({ type }) => /^(commit|retract)_part$/.test(type)).map(({ partId }) => partId),
  );
  expect(begun.filter((id) => !closed.has(id))).toEqual([]);
}
