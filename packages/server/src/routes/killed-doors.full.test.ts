import { join } from 'node:path';
import { transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { fewOf } from '../../../core/src/testing/runs.ts';
import { type ChildProgram, startProcess } from '../../../log/src/testing/start-process.ts';
import { CuttingProxy } from '../testing/cutting-proxy.ts';
import { allDoors } from '../testing/doors/all-doors.ts';
import { linesOf } from '../testing/doors/door.ts';
import { temporaryFolder } from '../testing/servers/task-harness.ts';

// The process of the server is killed at a cut, and the client resumes at the next process. The law without a
// kill is in cut-doors.law.test.ts.

const program = new URL('../testing/doors/door-server.ts', import.meta.url);

/** Starts a server, and starts it again after each kill. */
function restartedServer(folder: string, onInterrupted: string) {
  let kills = 0;
  const start = async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const child = startProcess(program, {
      args: [folder, onInterrupted],
      onMessage: (value) => resolve((value as { readonly url: string }).url),
    });
    return { child, url: await promise };
  };
  let current = start();
  let child: ChildProgram | undefined;
  const url = async () => {
    const served = await current;
    child = served.child;
    return served.url;
  };
  return {
    url,
    kills: () => kills,
    kill: () => {
      kills++;
      const killed = child ?? expect.fail();
      current = killed.exit.then(start);
      killed.kill('SIGKILL');
    },
    close: async () => {
      const { child: last } = await current;
      last.kill('SIGKILL');
      await last.exit;
    },
  };
}

/** Most clients have received the start of the run after this many bytes, and none has received its end. */
const cuts = fc.integer({ min: 700, max: 1600 });

// The other doors are drawn in another run, because each door starts two processes.
test.each(fewOf(allDoors, 4))(
  '24: $name: after kill -9 at a cut, the client has the transcript of the log',
  async ({ door, shownOf }) => {
    const [[onInterrupted, at] = expect.fail()] = fc.sample(
      fc.tuple(fc.constantFrom('keep', 'retry'), cuts),
      1,
    );
    const folder = temporaryFolder();
    const server = restartedServer(folder, onInterrupted);
    onTestFinished(server.close);
    const port = async () => Number(new URL(await server.url()).port);
    const proxy = await CuttingProxy.before(port, server.kill);
    onTestFinished(() => proxy.close());
    proxy.cutNext(at);
    const cut = `http://127.0.0.1:${proxy.port}`;
    const { lines, session } = await door({ cut, direct: server.url, name: 'talk' });
    expect(server.kills()).toBe(1);
    const log = sqliteLog({ path: join(folder, 'log.db') });
    onTestFinished(() => log.close());
    const sessions = await log.list();
    if (session === undefined) expect(sessions).toHaveLength(1);
    const id = session ?? sessions[0]?.session ?? expect.fail();
    const logged = linesOf(transcript(await snapshot(log, id)));
    expect(shownOf(lines), `${onInterrupted}, cut at ${at}`).toEqual(shownOf(logged));
  },
);
