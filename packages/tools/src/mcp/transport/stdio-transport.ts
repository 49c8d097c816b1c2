import { type ChildProcess, spawn } from 'node:child_process';
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { UnsentError } from '../../contract/mcp-error.ts';
import type { McpSettings } from '../../contract/mcp-options.ts';
import type { McpStdioServer } from '../../contract/mcp-server.ts';
import {
  endGroup,
  hasEnded,
  hasOwnGroup,
  LineSplitter,
  OutputTail,
  settlesWithin,
  signalGroup,
  trackGroup,
} from '../../shell/child-lines.ts';

import {
  hasTooManyValues,
  longMessageLength,
  nextTurn,
  tooManyValuesError,
} from './json-values.ts';
import { MessageGate } from './message-gate.ts';

type Settings = Pick<McpSettings, 'graceMs' | 'maxMessageBytes'>;

// How long to wait for the rest of the output after a process ended, in milliseconds. Its end has several
// events, and some never occur if a different process holds the pipes.
const drainMs = 250;
// How long to wait after SIGKILL, in milliseconds. The signal always ends a process, but a busy machine may
// need time.
const killWaitMs = 10_000;

/**
 * Runs a server as a child process. It replaces the transport of the SDK, which has three faults. The SDK
 * stops only the wrapper and leaves the server running. The SDK waits for pipes that other processes hold.
 * The SDK does not report how a process ended.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  /** The last output on stderr. The SDK checks this field and `pid` to recognize a stdio transport. */
  readonly stderr: OutputTail = new OutputTail();
  readonly #server: McpStdioServer['stdio'];
  readonly #settings: Settings;
  readonly #lines: LineSplitter;
  readonly #gate: MessageGate;
  #child: ChildProcess | undefined;
  #closing: Promise<void> | undefined;
  #exitText = '';
  // Delivers the messages one after the other. The SDK delays notifications, and would otherwise lose
  // progress that arrives together with a result.
  #delivery: Promise<void> = Promise.resolve();

  constructor(server: McpStdioServer['stdio'], settings: Settings) {
    this.#server = server;
    this.#settings = settings;
    this.#lines = new LineSplitter(settings.maxMessageBytes);
    this.#gate = new MessageGate(settings.maxMessageBytes, (error) => this.#closeFor(error));
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** A sentence that describes how the process ended. Empty if the process did not end by itself. */
  get exitText(): string {
    return this.#exitText;
  }

  async start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#server;
    const child = spawn(command, args, {
      cwd,
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: hasOwnGroup,
      windowsHide: true,
    });
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stdout.on('end', () => this.#finishSoon('It closed its output'));
    child.stderr.on('data', (chunk: Buffer) => this.stderr.push(chunk));
    for (const stream of child.stdio) stream?.on('error', (error) => this.onerror?.(error));
    child.on('exit', (code, signal) => this.#onExit(code, signal));
    child.on('close', () => this.#finish());
    await new Promise<void>((resolve, reject) => {
      child.on('spawn', resolve);
      child.on('error', reject);
    });
    trackGroup(child);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child?.stdin == null || hasEnded(child) || this.#closing !== undefined) {
      throw new UnsentError();
    }
    const { stdin: input } = child;
    const write = () =>
      new Promise<void>((resolve, reject) => {
        input.write(serializeMessage(message), (error) => {
          if (error == null) resolve();
          else reject(new UnsentError());
        });
      });
    await this.#gate.send(message, write);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Closes the input first, which tells the server to exit. Then it sends SIGTERM, then SIGKILL. */
  async #close(): Promise<void> {
    const child = this.#child;
    this.onclose?.();
    if (child === undefined || hasEnded(child)) return;
    const exited = new Promise<boolean>((resolve) => child.on('exit', () => resolve(true)));
    child.stdin?.end();
    if (await settlesWithin(this.#settings.graceMs, exited)) return;
    signalGroup(child, 'SIGTERM');
    if (await settlesWithin(this.#settings.graceMs, exited)) return;
    signalGroup(child, 'SIGKILL');
    await settlesWithin(killWaitMs, exited);
  }

  #read(chunk: Buffer): void {
    try {
      for (const line of this.#lines.push(chunk)) {
        this.#delivery = this.#delivery.then(() => this.#deliverInTurn(line));
      }
    } catch (error) {
      // After a message that is too long, the start of the next message is unknown. The connection therefore
      // closes.
      this.#closeFor(error as Error);
    }
  }

  #closeFor({ message }: Error): void {
    this.#exitText = message;
    this.#child?.stdout?.destroy();
    void this.close();
  }

  async #deliverInTurn(line: string): Promise<void> {
    if (line.length > longMessageLength) {
      this.#child?.stdout?.pause();
      await nextTurn();
      this.#child?.stdout?.resume();
    }
    this.#deliver(line);
  }

  #deliver(line: string): void {
    if (this.#closing !== undefined) return;
    if (hasTooManyValues(line)) return this.#closeFor(tooManyValuesError());
    try {
      const message = this.#gate.received(deserializeMessage(line));
      if (message !== undefined) this.onmessage?.(message);
    } catch (error) {
      // The line is not a message. Some servers also print log text to their output.
      this.onerror?.(error as Error);
    }
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    const end = signal === null ? `It exited with code ${code}` : `It was killed by ${signal}`;
    if (this.#closing === undefined) this.#exitText = end;
    if (this.#child !== undefined) endGroup(this.#child);
    this.#finishSoon(end);
  }

  #finishSoon(end: string): void {
    const over = () => {
      if (this.#closing === undefined) this.#exitText ||= end;
      this.#finish();
    };
    setTimeout(over, drainMs).unref();
  }

  #finish(): void {
    for (const stream of this.#child?.stdio ?? []) stream?.destroy();
    // The transport closes after it has delivered all earlier messages.
    this.#delivery = this.#delivery.then(() => void this.close());
  }
}
