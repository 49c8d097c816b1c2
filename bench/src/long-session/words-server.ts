import { join } from 'node:path';
import type { Log } from '@millrace/log';
import { createServer } from '@millrace/server';
import { sqliteRows } from '@millrace/server/sqlite';
import { longAgent } from './long-agent.ts';

/** A server that runs in this process. */
export interface WordsServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server with the agent of `longAgent`. Its tasks are stored in a file in the folder. */
export async function startWordsServer(folder: string, log: Log): Promise<WordsServer> {
  const rows = sqliteRows({ path: join(folder, 'rows.db') });
  const agents = [{ type: 'loop', name: 'words', agent: longAgent(log) }] as const;
  const server = createServer({ log, rows, agents, tokens: 'none' });
  const { url } = await server.listen({ port: 0 });
  return {
    url,
    async [Symbol.asyncDispose]() {
      await server.close();
      await rows.close();
    },
  };
}

/** A client of the server. It can run in another process. */
export interface WordsClient {
  createTask(): Promise<string>;
  /** Sends a message and waits for the answer. */
  send(task: string): Promise<void>;
  /** Reads a page of the task's messages. */
  list(task: string): Promise<void>;
  /** Reads a stream of the task up to the record at this offset. Default: it starts without a cursor. */
  stream(task: string, through: number, from?: number): Promise<void>;
}

const content = { type: 'text', author: 'user', content: 'And then?' };

/** Returns a client of the server at this address. */
export function wordsClient(url: string): WordsClient {
  const ask = async (path: string, init?: RequestInit) => {
    const answer = await fetch(url + path, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as { readonly result?: { readonly id?: string } };
  };
  const rpc = (method: string, params: object) =>
    ask('/agents/name/words/rpc', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  return {
    createTask: async () => (await rpc('task/create', {})).result?.id ?? '',
    send: async (task) => void (await rpc('message/send', { task_id: task, content })),
    list: async (task) => void (await ask(`/messages?task_id=${task}&limit=50`)),
    async stream(task, through, from) {
      const cursor = from === undefined ? '' : `&from=${from}`;
      const stop = new AbortController();
      const { signal } = stop;
      const { body } = await fetch(`${url}/tasks/${task}/stream?view=records${cursor}`, { signal });
      let end = '';
      for await (const bytes of body ?? []) {
        const text = end + Buffer.from(bytes).toString();
        if (text.includes(`id: ${through}-`)) break;
        end = text.slice(-40);
      }
      stop.abort();
    },
  };
}
