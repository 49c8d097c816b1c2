import { type ChildProcess, spawn } from 'node:child_process';
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { LineSplitter } from './line-splitter.ts';
import type { McpSettings } from './mcp-options.ts';
import type { McpStdioServer } from './mcp-server.ts';
import { OutputTail } from './output-tail.ts';
import { forgetGroup, ownGroup, signalGroup, watchGroup } from './process-group.ts';
import { UnsentError } from './unsent-error.ts';

type Settings = Pick<McpSettings, 'graceMs' | 'maxMessageBytes'>;

// An end of a process comes as several events. Not all of them do, where others hold its pipes.
const drainMs = 250;
// Nobody survives a kill, but a busy machine may take its time.
const deathMs = 10_000;

/**
 * A server as a child process. The SDK has such a transport too, but that one ends the wrapper and leaves
 * the server, waits for pipes that others hold, and does not tell how a process ended.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  /** What it wrote there last. By this field and `pid` the SDK knows a transport of this kind, too. */
  readonly stderr: OutputTail = new OutputTail();
  readonly #server: McpStdioServer['stdio'];
  readonly #settings: Settings;
  readonly #lines: LineSplitter;
  #child: ChildProcess | undefined;
  #ending: Promise<void> | undefined;
  #end = '';
  // Each message in its turn: the SDK defers notifications, and would lose progress that comes with a result.
  #delivery: Promise<void> = Promise.resolve();

  constructor(server: McpStdioServer['stdio'], settings: Settings) {
    this.#server = server;
    this.#settings = settings;
    this.#lines = new LineSplitter(settings.maxMessageBytes);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How it ended, where it ended by itself. */
  get end(): string {
    return this.#end;
  }

  async start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#server;
    const child = spawn(command, args, {
      cwd,
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: ownGroup,
      windowsHide: true,
    });
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stdout.on('end', () => this.#soonOver('It closed its output'));
    child.stderr.on('data', (chunk: Buffer) => this.stderr.push(chunk));
    for (const stream of child.stdio) stream?.on('error', (error) => this.onerror?.(error));
    child.on('exit', (code, signal) => this.#exited(code, signal));
    child.on('close', () => this.#over());
    await new Promise<void>((resolve, reject) => {
      child.on('spawn', resolve);
      child.on('error', reject);
    });
    watchGroup(child);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child?.stdin == null || hasEnded(child) || this.#ending !== undefined) {
      throw new UnsentError();
    }
    const { stdin: input } = child;
    await new Promise<void>((resolve, reject) => {
      input.write(serializeMessage(message), (error) => {
        if (error == null) resolve();
        else reject(new UnsentError());
      });
    });
  }

  close(): Promise<void> {
    this.#ending ??= this.#close();
    return this.#ending;
  }

  /** Its input ends, which tells it to end; then it is asked; then it is killed. */
  async #close(): Promise<void> {
    const child = this.#child;
    this.onclose?.();
    if (child === undefined || hasEnded(child)) return;
    const exited = new Promise<boolean>((resolve) => child.on('exit', () => resolve(true)));
    child.stdin?.end();
    if (await within(this.#settings.graceMs, exited)) return;
    signalGroup(child, 'SIGTERM');
    if (await within(this.#settings.graceMs, exited)) return;
    signalGroup(child, 'SIGKILL');
    await within(deathMs, exited);
  }

  #read(chunk: Buffer): void {
    try {
      for (const line of this.#lines.push(chunk)) {
        this.#delivery = this.#delivery.then(() => this.#deliver(line));
      }
    } catch (error) {
      // What follows could not be told from what was lost.
      this.#end = (error as Error).message;
      this.#child?.stdout?.destroy();
      void this.close();
    }
  }

  #deliver(line: string): void {
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      // Some servers print to their output what is not meant for us.
      this.onerror?.(error as Error);
    }
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    const end = signal === null ? `It exited with code ${code}` : `It was killed by ${signal}`;
    if (this.#ending === undefined) this.#end = end;
    if (this.#child !== undefined) forgetGroup(this.#child);
    this.#soonOver(end);
  }

  #soonOver(end: string): void {
    const over = () => {
      if (this.#ending === undefined) this.#end ||= end;
      this.#over();
    };
    setTimeout(over, drainMs).unref();
  }

  #over(): void {
    for (const stream of this.#child?.stdio ?? []) stream?.destroy();
    // After what it still said.
    this.#delivery = this.#delivery.then(() => void this.close());
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function within(ms: number, done: Promise<boolean>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([done, promise]);
  } finally {
    clearTimeout(timer);
  }
}
