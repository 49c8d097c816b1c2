import { describe, expect, test } from 'vitest';
import { frameRecording } from '../scripted-server/framing/frame-recording.ts';
import { splitEvery } from '../scripted-server/framing/sse-frames.ts';
import { inLockstep } from '../scripted-server/lockstep.ts';
import { recordingReply, streamReply } from '../scripted-server/replies.ts';
import { type ScriptedServer, startScriptedServer } from '../scripted-server/scripted-server.ts';
import { casesOf, drawnCasesOf, play } from '../testing/play.ts';
import { wireTable } from '../testing/wire-table.ts';

/** A fetch that sends the provider's requests to the scripted server. */
const redirected =
  (server: ScriptedServer, fetcher: typeof fetch = fetch): typeof fetch =>
  (input, init) =>
    fetcher(String(input).replace(/^https:\/\/[^/]+/, server.url), init);

/** Not a power of two, so that reads end at arbitrary positions. */
const readLength = 97;

describe.each(wireTable)('$wire over TCP', (under) => {
  test('each recording gives the same result with and without a real socket', async () => {
    await using server = await startScriptedServer();
    for (const { name, lines } of drawnCasesOf(under.wire)) {
      const expected = await play(under, name, [frameRecording(under.wire, lines)]);
      server.reply(recordingReply(under.wire, lines));
      const { deltas, completion } = await play(under, name, [], redirected(server));
      expect(deltas, name).toEqual(expected.deltas);
      expect(completion.stop, name).toEqual(expected.completion.stop);
      expect(completion.error?.kind, name).toBe(expected.completion.error?.kind);
    }
    server.assertUsedUp();
  });

  test('each read gives one step before the next read', async () => {
    await using server = await startScriptedServer();
    const [longest] = casesOf(under.wire).toSorted((a, b) => b.lines.length - a.lines.length);
    const { name, lines } = longest ?? { name: '', lines: [] };
    const bytes = frameRecording(under.wire, lines).slice(0, 20_000);
    const { steps, fetch: lockstep } = inLockstep(splitEvery(bytes, readLength));
    server.reply(streamReply(steps));
    const { deltas, reads } = await play(under, name, [], redirected(server, lockstep));
    const atOnce = await play(under, name, [bytes]);
    expect(deltas).toEqual(atOnce.deltas);
    expect(reads).toBeGreaterThan(1);
  });
});
