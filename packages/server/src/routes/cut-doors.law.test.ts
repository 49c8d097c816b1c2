import { transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { createServer } from '../create-server.ts';
import { CuttingProxy } from '../testing/cutting-proxy.ts';
import { allDoors } from '../testing/doors/all-doors.ts';
import type { Door } from '../testing/doors/door.ts';
import { linesOf } from '../testing/doors/door.ts';
import { doorAgent } from '../testing/doors/door-agent.ts';

/** Reads one run through a door of a new server. Returns what the client has, what the log has, and the bytes. */
async function readThrough(door: Door, cuts: readonly number[]) {
  const log = memoryLog();
  const server = createServer({
    ...{ tokens: 'none', log, limits: { closeTimeoutMs: 200 } },
    agents: [{ type: 'loop', name: 'helper', agent: doorAgent(log) }],
  });
  const { url, port } = await listen(server);
  const proxy = await CuttingProxy.before(port);
  proxy.cutNext(...cuts);
  const cut = `http://127.0.0.1:${proxy.port}`;
  try {
    let first = 0;
    const onFirst = () => {
      first ||= proxy.passed.at(-1) ?? 0;
    };
    const { session, lines, progress } = await door({
      ...{ cut, direct: async () => url, name: 'talk', onFirst },
    });
    const sessions = await log.list();
    if (session === undefined) expect(sessions).toHaveLength(1);
    const id = session ?? sessions[0]?.session ?? expect.fail();
    const logged = linesOf(transcript(await snapshot(log, id)));
    return { lines, progress, logged, first, bytes: proxy.passed.at(-1) ?? 0 };
  } finally {
    await proxy.close();
    await server.close();
    await log.close();
  }
}

async function listen(server: ReturnType<typeof createServer>) {
  const { url } = await server.listen({ port: 0 });
  return { url, port: Number(new URL(url).port) };
}

test.each(allDoors)(
  '24: $name: a connection that is cut at any bytes gives the transcript of the log',
  async ({ door, shownOf }) => {
    const uncut = await readThrough(door, []);
    expect(shownOf(uncut.lines)).toEqual(shownOf(uncut.logged));
    expect(uncut.logged).toHaveLength(11);
    const cuts = fc.array(fc.integer({ min: uncut.first, max: uncut.bytes }), {
      ...{ minLength: 1, maxLength: 4 },
    });
    await fc.assert(
      fc.asyncProperty(cuts, async (bytes) => {
        const { lines, logged, progress } = await readThrough(door, bytes);
        expect(logged).toEqual(uncut.logged);
        expect(shownOf(lines)).toEqual(shownOf(logged));
        expect(progress).toBe(uncut.progress);
      }),
      { numRuns: isFull ? 30 : 2 },
    );
  },
);
