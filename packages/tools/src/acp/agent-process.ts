import { type ChildProcess, spawn } from 'node:child_process';
import { delimiter, isAbsolute } from 'node:path';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import {
  endGroup,
  hasEnded,
  hasOwnGroup,
  LineSplitter,
  OutputTail,
  settlesWithin,
  signalGroup,
  trackGroup,
} from '../shell/child-lines.ts';
import { secretMask } from '../shell/mask-secrets.ts';
import { safeEnv } from '../shell/safe-env.ts';
import { textIn } from './session-events.ts';

/** The command and the environment of an ACP agent's process. */
export interface ProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly allowEnv: readonly string[];
}

/** Receives the notifications and requests of a process. */
export interface ProcessListener {
  onNotification(method: string, params: JsonObject): void;
  /** Answers a request of the process. Throws `RpcError` to refuse it. */
  onRequest(method: string, params: JsonObject): Promise<JsonValue>;
}

/** An error of JSON-RPC. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Maximum length of a message, in bytes. */
const maxMessageBytes = 16 * 2 ** 20;
/** Maximum number of requests of the process that wait for an answer. */
const maxOpenRequests = 100;
const graceMs = 2000;

/** A process that speaks JSON-RPC with one message per line, as ACP requires. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #listener: ProcessListener;
  readonly #lines = new LineSplitter(maxMessageBytes);
  readonly #stderr = new OutputTail();
  readonly #redact: (text: string) => string;
  readonly #waiting = new Map<number, PromiseWithResolvers<JsonValue>>();
  #lastId = 0;
  #openRequests = 0;
  #isClosed = false;

  constructor(options: ProcessOptions, listener: ProcessListener) {
    const { command, args, cwd, env, allowEnv } = options;
    this.#listener = listener;
    this.#redact = redactor(options);
    const child = spawn(command, args, {
      ...{ cwd, env: withAbsolutePath(safeEnv(process.env, { allow: allowEnv, set: env })) },
      ...{ stdio: ['pipe', 'pipe', 'pipe'], detached: hasOwnGroup, windowsHide: true },
    });
    this.#child = child;
    if (child.pid !== undefined) trackGroup(child);
    child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    for (const stream of child.stdio) stream?.on('error', () => {});
    child.on('error', ({ message }) => this.#end(`It cannot start: ${message}`));
    child.on('exit', (code, signal) => {
      endGroup(child);
      this.#end(signal === null ? `It exited with code ${code}` : `It was killed by ${signal}`);
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends a request and returns its result. Throws `RpcError` if the process refuses it. */
  request(method: string, params: JsonObject): Promise<JsonValue> {
    if (this.#isClosed) return Promise.reject(new Error('The process has ended'));
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<JsonValue>();
    this.#waiting.set(id, waiting);
    this.#send({ id, method, params });
    return waiting.promise;
  }

  notify(method: string, params: JsonObject): void {
    this.#send({ method, params });
  }

  /** Closes the input, then sends SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child;
    this.#end('It was closed');
    if (hasEnded(child)) return;
    const exited = new Promise<boolean>((resolve) => child.once('exit', () => resolve(true)));
    child.stdin?.end();
    if (await settlesWithin(graceMs, exited)) return;
    signalGroup(child, 'SIGTERM');
    if (await settlesWithin(graceMs, exited)) return;
    signalGroup(child, 'SIGKILL');
    await exited;
  }

  #send(message: JsonObject): void {
    if (this.#isClosed) return;
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #read(chunk: Buffer): void {
    try {
      for (const line of this.#lines.push(chunk)) this.#receive(line);
    } catch (error) {
      this.#end(error instanceof Error ? error.message : String(error));
      void this.close();
    }
  }

  #receive(line: string): void {
    const parsed = parseJson(line);
    // Some programs also print log text to their output.
    if (this.#isClosed || !parsed.ok || !isJsonObject(parsed.value)) return;
    const { id, method, params, result, error } = parsed.value;
    const given = isJsonObject(params) ? params : {};
    if (typeof method !== 'string') this.#settle(id, result, error);
    else if (id === undefined) this.#listener.onNotification(method, given);
    else void this.#answer(id, method, given);
  }

  #settle(
    id: JsonValue | undefined,
    result: JsonValue | undefined,
    error: JsonValue | undefined,
  ): void {
    if (typeof id !== 'number') return;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (!isJsonObject(error)) return waiting?.resolve(result ?? null);
    const message = this.#redact(textIn(error, 'message') ?? 'It gave no reason').slice(0, 2000);
    const code = typeof error['code'] === 'number' ? error['code'] : -32_603;
    waiting?.reject(new RpcError(code, message));
  }

  async #answer(id: JsonValue, method: string, params: JsonObject): Promise<void> {
    try {
      if (++this.#openRequests > maxOpenRequests)
        throw new RpcError(-32_603, 'Too many requests wait for an answer');
      this.#send({ id, result: await this.#listener.onRequest(method, params) });
    } catch (error) {
      const code = error instanceof RpcError ? error.code : -32_603;
      const message = error instanceof Error ? error.message : 'Internal error';
      this.#send({ id, error: { code, message } });
    } finally {
      this.#openRequests--;
    }
  }

  #end(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const output = this.#stderr.text(this.#redact);
    const whole = output === '' ? reason : `${reason}. Its last output: ${output}`;
    for (const { reject } of this.#waiting.values()) reject(new Error(whole));
    this.#waiting.clear();
  }
}

/**
 * Removes the relative folders from the search path. They count from the folder of the agent, so a program of
 * the project would start instead of the agent.
 */
function withAbsolutePath(env: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]) => {
    if (name.toUpperCase() !== 'PATH') return [[name, value] as const];
    const folders = value.split(delimiter).filter((folder) => isAbsolute(folder));
    // An empty search path means the folder of the agent.
    return folders.length === 0 ? [] : [[name, folders.join(delimiter)] as const];
  });
  return Object.fromEntries(entries);
}

/**
 * Returns a function that removes the values of the variables that the process gets from `allowEnv` and `env`,
 * and keys with a known form. Agents often repeat a key that their provider rejects.
 */
function redactor({ allowEnv, env }: ProcessOptions): (text: string) => string {
  const allowed = allowEnv.map((name) => [name, process.env[name] ?? ''] as const);
  // The mask recognizes secrets by the names of variables. The suffix makes it treat each of these values as a
  // secret.
  const secrets = [...allowed, ...Object.entries(env)].map(([name, value]) => [
    `${name}_SECRET`,
    value,
  ]);
  const variables = Object.fromEntries(secrets) as Record<string, string>;
  return (text) => {
    const mask = secretMask(variables);
    return Buffer.concat([mask.add(Buffer.from(text)), mask.end()]).toString('utf8');
  };
}
