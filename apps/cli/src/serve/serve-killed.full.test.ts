import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../../../../packages/log/src/testing/external-programs.ts';
import { reconnectingEvents } from '../testing/reconnecting-events.ts';
import { serveProcess } from '../testing/serve-process.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

// The real command, killed while it speaks, and a client that knows nothing of it.

const folder = temporaryFolder('serve-killed');

/** What a client shows that appends whatever it is told, and which records it was told of. */
class Shown {
  text = '';
  readonly offsets: number[] = [];

  add({ id, data }: { readonly id: string | undefined; readonly data: string }): void {
    const event = JSON.parse(data) as { type: string; text?: string };
    if (id !== undefined) this.offsets.push(Number(id));
    if (event.type === 'assistant_text_delta') this.text += event.text ?? '';
    if (event.type === 'run_finished') this.text += '|';
  }
}

async function untilShown(
  url: string,
  isEnough: (shown: Shown) => boolean | Promise<boolean>,
): Promise<Shown> {
  const left = new AbortController();
  const shown = new Shown();
  for await (const frame of reconnectingEvents(url, left.signal)) {
    shown.add(frame);
    if (await isEnough(shown)) left.abort();
  }
  return shown;
}

/** How much of an answer there is when the process is killed. */
const spoken = 60;

test.each([
  ['echo', Array.from({ length: 400 }, (_, n) => `word${n}`).join(' '), 'the end', 'the end'],
  ['demo', 'story', 'what are you?', 'I am the demo model'],
])(
  'a client of %s catches up by itself, with nothing lost or doubled',
  async (agent, long, short, answer) => {
    const port = await freePort();
    const flags = ['--port', String(port), '--data', join(folder(), agent)];
    const start = () => serveProcess(flags, folder());
    let server = await start();
    const rpc = async (method: string, params: object) => {
      const response = await fetch(`${server.url}/agents/name/${agent}/rpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ method, params }),
      });
      return (await response.json()) as { readonly result: { readonly id: string } };
    };
    const say = (words: string, task_id: string) =>
      rpc('message/send', { task_id, content: { type: 'text', author: 'user', content: words } });
    const { result: task } = await rpc('task/create', {});
    const url = `${server.url}/tasks/${task.id}/stream?view=events`;
    // Nobody waits for these: the process dies before it can answer.
    void say(long, task.id).catch(() => {});
    const kills: number[] = [];
    const isAnswered = ({ text }: Shown) =>
      text.slice(text.indexOf(answer)).endsWith('|') && text.includes(answer);
    const shown = await untilShown(url, async (now) => {
      if (kills.length === 2 || now.text.length < (kills.at(-1) ?? 0) + spoken)
        return isAnswered(now);
      kills.push(now.text.length);
      await server.end('SIGKILL');
      server = await start();
      void say(kills.length === 2 ? short : long, task.id).catch(() => {});
      return false;
    });
    expect(kills).toHaveLength(2);
    // As they came: none twice, and none late.
    expect(shown.offsets).toEqual([...new Set(shown.offsets)].toSorted((a, b) => a - b));
    const uncut = await untilShown(`${url}&from=0`, isAnswered);
    expect(shown.text).toBe(uncut.text);
    expect((await server.end('SIGTERM')).code).toBe(0);
  },
);
