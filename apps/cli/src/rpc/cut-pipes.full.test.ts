import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import {
  client,
  methods,
  type NewSessionRequest,
  ndJsonStream,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import {
  type AgentEvent,
  decodeEvent,
  decodeTranscript,
  type Item,
  type JsonObject,
  liveTranscript,
  sessionId,
} from '@millrace/core';
import { snapshot } from '@millrace/log';
import {
  answerReply,
  type ScriptedServer,
  startScriptedServer,
} from '@millrace/providers/scripted-server';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rebuild } from '../../../../packages/core/src/testing/rebuild.ts';
import { isFull } from '../../../../packages/core/src/testing/runs.ts';
import { acpCommand } from '../acp/acp-command.ts';
import { parseArgs } from '../args/parse-args.ts';
import { loadConfig } from '../config/load-config.ts';
import type { Host } from '../contract/host.ts';
import { Stores } from '../store/open-stores.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { rpcCommand } from './rpc-command.ts';

// The clients of `millrace rpc` and `millrace acp` read a pipe. The pipe breaks after a drawn number of bytes, as
// if the program or the client had crashed. The next client resumes the session in the way of its protocol.

const folder = temporaryFolder('cut-pipes');
let model: ScriptedServer;
beforeAll(async () => {
  model = await startScriptedServer();
});
afterAll(() => model.close());

const text = 'It is noon — 😀, and "the sun" is high.\n\nEnd.';

/** Returns a new home folder whose only model is the scripted one. */
function newHome() {
  const home = mkdtempSync(join(folder(), 'home-'));
  const config = join(home, '.config/millrace');
  mkdirSync(config, { recursive: true });
  const models = { test: { provider: 'compatible', model: 'any', baseUrl: `${model.url}/v1` } };
  writeFileSync(join(config, 'config.json'), JSON.stringify({ models }));
  return { env: { HOME: home, MILLRACE_MODEL: 'test', PATH: '' }, cwd: home };
}

type Home = ReturnType<typeof newHome>;

/** Answers the next requests of the model. A run that is stopped may leave some of them unused. */
function answerAll(): void {
  for (let count = 0; count < 8; count++)
    model.reply((request) => answerReply({ reasoning: 'Let me think.', text }, request));
}

/** The output of a program. It breaks after a number of bytes. */
class CutPipe extends Writable {
  readonly read = new PassThrough();
  #left: number;
  passed = 0;

  constructor(cutAfter: number) {
    super();
    this.#left = cutAfter;
    this.on('error', () => {});
  }

  /** Cuts the pipe after this many further bytes. */
  cutAfter(bytes: number): void {
    this.#left = bytes;
    this.passed = 0;
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    const part = chunk.subarray(0, this.#left);
    this.#left -= part.length;
    this.passed += part.length;
    this.read.write(part);
    if (part.length === chunk.length) return done();
    this.read.end();
    done(Object.assign(new Error('The pipe is closed'), { code: 'EPIPE' }));
  }
}

/** Runs a command in this process. The input ends when the output is cut. */
function startCommand(command: 'rpc' | 'acp', { env, cwd }: Home) {
  const stdin = new PassThrough();
  const stdout = new CutPipe(Number.POSITIVE_INFINITY);
  stdout.read.on('end', () => stdin.end());
  const host: Host = {
    ...{ argv: [command], env, cwd, stdin, stdout, stderr: new CapturedOutput() },
    signal: new AbortController().signal,
  };
  const args = parseArgs([command]);
  const ended =
    args.command === 'rpc'
      ? rpcCommand(args, host)
      : args.command === 'acp'
        ? acpCommand(args, host)
        : expect.fail();
  return { stdin, stdout, ended };
}

/** Reads the transcript from the log. */
async function logged({ env, cwd }: Home, session: string): Promise<readonly Item[]> {
  const stores = new Stores(env);
  try {
    const args = parseArgs(['rpc']);
    const { log } = await stores.open(await loadConfig({ args: args as never, env, cwd }));
    return liveTranscript(await snapshot(log, sessionId(session)));
  } finally {
    await stores.close();
  }
}

interface RpcMessage {
  readonly id?: number;
  readonly result?: JsonObject;
  readonly error?: { readonly message: string };
  readonly params?: { readonly event?: JsonObject };
}

/** A client of `millrace rpc`. A call returns undefined if the pipe breaks before its result. */
function rpcClient(home: Home, onEvent: (event: JsonObject) => void) {
  const { stdin, stdout, ended } = startCommand('rpc', home);
  const waiting = new Map<number, (result: JsonObject | undefined) => void>();
  let [ids, rest, isCut] = [0, '', false];
  stdout.read.setEncoding('utf8').on('data', (data: string) => {
    const lines = (rest + data).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { id, result, error, params } = JSON.parse(line) as RpcMessage;
      if (params?.event !== undefined) onEvent(params.event);
      if (id === undefined) continue;
      expect(error).toBeUndefined();
      waiting.get(id)?.(result);
    }
  });
  stdout.read.on('end', () => {
    isCut = true;
    for (const resolve of waiting.values()) resolve(undefined);
  });
  return {
    stdout,
    call: (method: string, params: JsonObject) =>
      new Promise<JsonObject | undefined>((resolve) => {
        if (isCut) return resolve(undefined);
        const id = ++ids;
        waiting.set(id, resolve);
        stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      }),
    close: async () => {
      stdin.end();
      await ended;
    },
  };
}

/** Reads one run through cut pipes. Returns the bytes of the last connection. */
async function rpcThrough(cuts: readonly number[]): Promise<number> {
  const home = newHome();
  answerAll();
  const events: AgentEvent[] = [];
  const onEvent = (event: JsonObject) => void events.push(decodeEvent(JSON.stringify(event)));
  let session: string | undefined;
  for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
    const program = rpcClient(home, onEvent);
    await program.call('initialize', { version: 1 });
    if (session === undefined)
      session = String((await program.call('session.open', {}))?.['session']);
    else {
      program.stdout.cutAfter(cut);
      await program.call('session.open', { session, after: events.at(-1)?.offset ?? 0 });
    }
    program.stdout.cutAfter(cut);
    // A message with the same id is sent once.
    await program.call('session.send', { session, text: 'Time?', message: 'm1' });
    await program.call('session.continue', { session });
    await program.call('session.wait', { session });
    const read = await program.call('session.read', { session });
    const { passed } = program.stdout;
    await program.close();
    if (cut !== Number.POSITIVE_INFINITY) continue;
    const items = await logged(home, session);
    expect(rebuild(events)).toEqual(items);
    const { items: shown } = read ?? expect.fail();
    expect(decodeTranscript(JSON.stringify({ v: 1, items: shown }))).toEqual(items);
    return passed;
  }
  return expect.fail();
}

/** Sends a prompt through cut pipes, and loads the session after each cut. */
async function acpThrough(cuts: readonly number[]): Promise<number> {
  const home = newHome();
  answerAll();
  let sessionName: string | undefined;
  for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
    const { stdin, stdout, ended } = startCommand('acp', home);
    const updates: SessionUpdate[] = [];
    const { agent } = client({ name: 'test' })
      .onNotification(
        methods.client.session.update,
        ({ params }) => void updates.push(params.update),
      )
      .connect(
        ndJsonStream(
          Writable.toWeb(stdin) as WritableStream<Uint8Array>,
          Readable.toWeb(stdout.read) as ReadableStream<Uint8Array>,
        ),
      );
    const clientInfo = { name: 'test', version: '1' };
    await agent.request(methods.agent.initialize, { protocolVersion: 1, clientInfo });
    const at: NewSessionRequest = { cwd: home.cwd, mcpServers: [] };
    const last = sessionName;
    try {
      if (last === undefined) {
        const opened = await agent.request(methods.agent.session.new, at);
        sessionName = opened.sessionId;
        stdout.cutAfter(cut);
        const prompt = [{ type: 'text' as const, text: 'Time?' }];
        await agent.request(methods.agent.session.prompt, { sessionId: sessionName, prompt });
      } else {
        stdout.cutAfter(cut);
        await agent.request(methods.agent.session.load, { ...at, sessionId: last });
      }
    } catch (error) {
      if (cut === Number.POSITIVE_INFINITY) throw error;
    }
    const { passed } = stdout;
    stdin.end();
    await ended;
    if (cut !== Number.POSITIVE_INFINITY) continue;
    const items = await logged(home, sessionName ?? '');
    if (last !== undefined)
      expect(shownBy(updates, 'user_message_chunk')).toBe(partsOf(items, 'user'));
    expect(shownBy(updates, 'agent_message_chunk')).toBe(partsOf(items, 'assistant'));
    expect(shownBy(updates, 'agent_thought_chunk')).toBe(partsOf(items, 'reasoning'));
    return passed;
  }
  return expect.fail();
}

function shownBy(updates: readonly SessionUpdate[], kind: SessionUpdate['sessionUpdate']): string {
  return updates
    .flatMap((update) =>
      update.sessionUpdate === kind && 'content' in update && update.content !== null
        ? ((update.content as { readonly text?: string }).text ?? [])
        : [],
    )
    .join('');
}

function partsOf(items: readonly Item[], shown: 'user' | 'assistant' | 'reasoning'): string {
  return items
    .flatMap(({ kind, parts }) =>
      parts.flatMap((part) => {
        if (part.kind === 'reasoning') return shown === 'reasoning' ? part.text : [];
        return part.kind === 'text' && kind === shown ? part.text : [];
      }),
    )
    .join('');
}

test.each([
  ['millrace rpc', rpcThrough],
  ['millrace acp', acpThrough],
])('24: %s: a pipe that breaks at any bytes gives the transcript of the log', async (_, read) => {
  const bytes = await read([]);
  expect(bytes).toBeGreaterThan(500);
  const cuts = fc.array(fc.integer({ min: 0, max: bytes }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(cuts, async (drawn) => void (await read(drawn))),
    { numRuns: isFull ? 20 : 3 },
  );
});
