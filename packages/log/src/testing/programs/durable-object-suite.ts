// This worker has a Durable Object that runs one case of the conformance suite, or one law, per request.
import { itemId, partId, sessionId } from '@millrace/core';
import fc from 'fast-check';
import { createAgent } from '../../../../agent/src/index.ts';
import { scriptedProvider } from '../../../../providers/src/scripted/index.ts';
import type { DurableObjectStorage } from '../../durable-object/index.ts';
import { durableObjectLog } from '../../durable-object/index.ts';
import { markers } from '../../suite/drafts.ts';
import { type LogSubject, logCases } from '../../suite/index.ts';
import { modelRuns, resumeRuns } from '../law-runs.ts';

type Storage = DurableObjectStorage & { deleteAll(): Promise<void> };

interface Env {
  readonly LOG: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
}

/** The body of a request to the worker. */
export type SuiteRequest =
  | { readonly do: 'case'; readonly name: string }
  | { readonly do: 'model'; readonly numRuns: number; readonly seed: number }
  | {
      readonly do: 'resume';
      readonly isSettled: boolean;
      readonly isSplit: boolean;
      readonly numRuns: number;
      readonly seed: number;
    }
  /** Writes with a lease of one day and does not release it. */
  | { readonly do: 'write' }
  /** Reads the written records, and drives the same sessions. */
  | { readonly do: 'continue' }
  | { readonly do: 'large'; readonly characters: number };

const subjectOf = (storage: Storage): LogSubject => ({
  isDurable: true,
  create: async (clock) => ({
    open: async () => durableObjectLog({ storage, clock }),
    remove: () => storage.deleteAll(),
  }),
});

const session = sessionId('kept');
const chat = sessionId('chat');

async function writeAndLeave(storage: Storage): Promise<unknown> {
  const log = durableObjectLog({ storage });
  const driver = await log.open(session, { leaseMs: 86_400_000 });
  await driver.append(markers(3));
  const agent = createAgent({ provider: scriptedProvider(['Hello Ada.']), log });
  const { text } = await agent.run('I am Ada', { session: chat }).result;
  return { epoch: driver.epoch, text };
}

async function continueSessions(storage: Storage): Promise<unknown> {
  const log = durableObjectLog({ storage });
  const { records } = await log.read(session);
  const driver = await log.open(session);
  const { through } = await driver.append(markers(1));
  await driver.release();
  const agent = createAgent({ provider: scriptedProvider(['You are Ada.']), log });
  const { text } = await agent.run('Who am I?', { session: chat }).result;
  const sessions = (await log.list()).map(({ session: id }) => id);
  return { records: records.length, epoch: driver.epoch, through, text, sessions };
}

/** Stores and reads a text and a blob that are longer than a row can be. */
async function keepLarge(storage: Storage, characters: number): Promise<unknown> {
  const log = durableObjectLog({ storage });
  const driver = await log.open(session);
  const text = '😀ä'.repeat(characters / 3);
  const item = itemId('i');
  const head = { turn: 0, attempt: 0 };
  const part = { kind: 'text', text } as const;
  await driver.append([
    { ...head, fact: { type: 'item_started', itemId: item, kind: 'user' } },
    { ...head, delta: { type: 'commit_part', partId: partId(0, 0, 'p'), itemId: item, part } },
  ]);
  const { records } = await log.read(session);
  const bytes = new Uint8Array(characters * 2).map((_, index) => index % 251);
  const { hash } = await log.blobs.put(bytes);
  const isSame = (one: Uint8Array | undefined, other: Uint8Array) =>
    one?.length === other.length && one.every((byte, index) => byte === other[index]);
  const [start, end] = [characters - 10, characters + 1_500_000];
  return {
    text: JSON.stringify(records[1]).includes(text),
    blob: isSame(await log.blobs.get(hash), bytes),
    slice: isSame(await log.blobs.slice(hash, start, end), bytes.slice(start, end)),
    none: (await log.blobs.slice(hash, bytes.length + 9_000_000, bytes.length + 9_000_001))?.length,
  };
}

async function perform(storage: Storage, ask: SuiteRequest): Promise<unknown> {
  const subject = subjectOf(storage);
  switch (ask.do) {
    case 'case': {
      const found = logCases(subject).find(({ name }) => name === ask.name);
      if (found === undefined) throw new Error(`there is no case ${ask.name}`);
      return found.run();
    }
    case 'model':
      fc.configureGlobal({ seed: ask.seed });
      return modelRuns(subject, { numRuns: ask.numRuns });
    case 'resume':
      fc.configureGlobal({ seed: ask.seed });
      return resumeRuns(subject, ask);
    case 'write':
      return writeAndLeave(storage);
    case 'continue':
      return continueSessions(storage);
    case 'large':
      return keepLarge(storage, ask.characters);
  }
}

/** The Durable Object. */
export class LogObject {
  readonly #storage: Storage;

  constructor(state: { readonly storage: Storage }) {
    this.#storage = state.storage;
  }

  async fetch(request: Request): Promise<Response> {
    try {
      const value = await perform(this.#storage, (await request.json()) as SuiteRequest);
      return Response.json({ value });
    } catch (error) {
      const { stack, cause } = error as Error;
      return Response.json({ error: `${stack} ${cause ? String(cause) : ''}` });
    }
  }
}

// The name of the object is in the path.
// biome-ignore lint/style/noDefaultExport: a worker has a default export.
export default {
  fetch: (request: Request, { LOG }: Env): Promise<Response> =>
    LOG.get(LOG.idFromName(new URL(request.url).pathname)).fetch(request),
};
