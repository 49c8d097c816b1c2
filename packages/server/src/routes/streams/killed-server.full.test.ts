import { expect, onTestFinished, test } from 'vitest';
import { type ChildProgram, startProcess } from '../../../../log/src/testing/start-process.ts';
import { temporaryFolder } from '../../testing/servers/task-harness.ts';

const program = new URL('../../testing/servers/streams-process.ts', import.meta.url);

interface Served {
  readonly child: ChildProgram;
  readonly url: string;
}

async function serve(folder: string): Promise<Served> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const child = startProcess(program, {
    args: [folder],
    onMessage: (value) => resolve((value as { readonly url: string }).url),
  });
  return { child, url: `${await promise}/streams/orders` };
}

const type = { 'content-type': 'application/json' };
const [producers, batches] = [3, 40];

test('24.6: a server that is killed keeps each acknowledged batch once, in order', async () => {
  const folder = temporaryFolder();
  let served = serve(folder);
  onTestFinished(async () => (await served).child.end());
  await fetch((await served).url, { method: 'PUT', headers: type });
  let acknowledged = 0;
  let kills = 0;
  const statuses: number[] = [];
  const post = async (id: string, seq: number): Promise<number> => {
    const current = served;
    try {
      const { url } = await current;
      const headers = {
        ...{ ...type, 'producer-id': id, 'producer-epoch': '0', 'producer-seq': String(seq) },
      };
      const body = JSON.stringify([
        { id, seq, part: 1 },
        { id, seq, part: 2 },
      ]);
      return (await fetch(url, { method: 'POST', headers, body })).status;
    } catch {
      // The process was killed. The next request waits for its successor and repeats the batch.
      await current.then(({ child }) => child.exit);
      return 0;
    }
  };
  const produce = async (id: string) => {
    for (let seq = 0; seq < batches; seq++) {
      let status = 0;
      while (status === 0) status = await post(id, seq);
      statuses.push(status);
      acknowledged++;
      if (acknowledged % 30 !== 0) continue;
      const { child } = await served;
      kills++;
      served = child.exit.then(() => serve(folder));
      child.kill('SIGKILL');
      // The producer did not receive the acknowledgement of this batch, so it sends the batch again.
      status = 0;
      while (status === 0) status = await post(id, seq);
      expect(status).toBe(204);
    }
  };
  await Promise.all(Array.from({ length: producers }, (_, n) => produce(`producer-${n}`)));
  expect([kills, statuses.every((status) => status === 200 || status === 204)]).toEqual([4, true]);
  const read = (await (await fetch((await served).url)).json()) as readonly Message[];
  for (let n = 0; n < producers; n++) {
    const id = `producer-${n}`;
    const own = read.filter((message) => message.id === id).map(({ seq, part }) => [seq, part]);
    expect(own).toEqual(
      Array.from({ length: batches }, (_, seq) => [1, 2].map((part) => [seq, part])).flat(),
    );
  }
  expect(read).toHaveLength(2 * producers * batches);
});

interface Message {
  readonly id: string;
  readonly seq: number;
  readonly part: number;
}
