import { join } from 'node:path';
import { type AgentEvent, decodeEvent, type Item } from '@millrace/core';
import { expect, test } from 'vitest';
import { rebuild } from '../../../../packages/core/src/testing/rebuild.ts';
import { freePort } from '../../../../packages/log/src/testing/external-programs.ts';
import { reconnectingEvents } from '../testing/reconnecting-events.ts';
import { serveProcess } from '../testing/serve-process.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

// Kills the real command in the middle of an answer. The client only reconnects with its last event
// id.

const folder = temporaryFolder('serve-killed');

/** A client that rebuilds the transcript from the events that it receives. */
class EventClient {
  readonly offsets: number[] = [];
  readonly #events: AgentEvent[] = [];
  #text: string | undefined;

  add({ id, data }: { readonly id: string | undefined; readonly data: string }): void {
    if (id === undefined) return;
    // The id is the offset, followed by the incarnation of the log.
    this.offsets.push(Number.parseInt(id, 10));
    const event = decodeEvent(data);
    this.#events.push(event);
    // The transcript has only finished parts, so a delta alone does not change it.
    if (!event.type.endsWith('_delta')) this.#text = undefined;
  }

  /** The text of all answers. A turn that has been settled arrives as one event. */
  get text(): string {
    this.#text ??= (rebuild(this.#events) as readonly Item[])
      .filter(({ kind }) => kind === 'assistant')
      .flatMap(({ parts }) => parts.map((part) => (part.kind === 'text' ? part.text : '')))
      .join('|');
    return this.#text;
  }

  get isIdle(): boolean {
    return this.#events.findLast(({ type }) => /^run_/.test(type))?.type === 'run_finished';
  }
}

async function untilShown(
  url: string,
  token: string,
  isEnough: (client: EventClient) => boolean | Promise<boolean>,
): Promise<EventClient> {
  const left = new AbortController();
  const shown = new EventClient();
  for await (const frame of reconnectingEvents(url, token, left.signal)) {
    shown.add(frame);
    if (await isEnough(shown)) left.abort();
  }
  return shown;
}

/** The process is killed after this many characters of an answer. */
const lengthBeforeKill = 60;

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
    // The token stays the same when the server starts again.
    const { token } = server;
    const rpc = async (method: string, params: object) => {
      const response = await fetch(`${server.url}/agents/name/${agent}/rpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ method, params }),
      });
      return (await response.json()) as { readonly result: { readonly id: string } };
    };
    const say = (words: string, task_id: string) =>
      rpc('message/send', { task_id, content: { type: 'text', author: 'user', content: words } });
    const { result: task } = await rpc('task/create', {});
    const url = `${server.url}/tasks/${task.id}/stream?view=events`;
    // The test does not wait for these requests. The process is killed before it can answer.
    void say(long, task.id).catch(() => {});
    const kills: number[] = [];
    const isAnswered = ({ text, isIdle }: EventClient) => isIdle && text.includes(answer);
    const shown = await untilShown(url, token, async (now) => {
      if (kills.length === 2 || now.text.length < (kills.at(-1) ?? 0) + lengthBeforeKill)
        return isAnswered(now);
      kills.push(now.text.length);
      await server.end('SIGKILL');
      server = await start();
      void say(kills.length === 2 ? short : long, task.id).catch(() => {});
      return false;
    });
    expect(kills).toHaveLength(2);
    // Every offset arrived once and in order.
    expect(shown.offsets).toEqual([...new Set(shown.offsets)].toSorted((a, b) => a - b));
    const uncut = await untilShown(`${url}&from=0`, token, isAnswered);
    expect(shown.text).toBe(uncut.text);
    expect((await server.end('SIGTERM')).code).toBe(0);
  },
);
