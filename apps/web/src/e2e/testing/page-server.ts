import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnv } from '../../../../../packages/core/src/testing/runs.ts';
import { bundledProgram } from '../../../../../scripts/bundled-program.ts';
import { firstMessage } from '../../../../../scripts/child-message.ts';
import { builtPage } from './built-page.ts';
import type { ModelCommand } from './controlled-provider.ts';

const script = new URL('./serve-for-tests.ts', import.meta.url);

/**
 * The page's server in a separate process. A test can kill it and start it again with the same
 * data.
 */
export class PageServer {
  readonly #folder: string;
  readonly #token: string | undefined;
  #child: ChildProcess | undefined;
  #url = '';

  private constructor(folder: string, token: string | undefined) {
    this.#folder = folder;
    this.#token = token;
  }

  /**
   * Starts a server. If a token is given, the server requires it. Default: no token is required.
   */
  static async start(token?: string): Promise<PageServer> {
    const server = new PageServer(await mkdtemp(join(tmpdir(), 'millrace-page-')), token);
    await server.restart();
    return server;
  }

  get url(): string {
    return this.#url;
  }

  /** Starts the process with the same data. After the first start, it also uses the same port. */
  async restart(): Promise<void> {
    const port = this.#url === '' ? '0' : new URL(this.#url).port;
    const token = this.#token === undefined ? [] : ['8', this.#token];
    const child = fork(bundledProgram(script), [port, builtPage(), this.#folder, ...token], {
      execArgv: ['--conditions=@millrace/source'],
      env: childEnv(),
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child = child;
    this.#url = await firstMessage<string>(child);
  }

  /** Sends a command to the model, for example to end its counting. */
  send(command: ModelCommand): void {
    this.#child?.send(command);
  }

  /** Creates a task of the builder, sends it a message, and waits for the answer. Returns the id of the task. */
  async answer(text: string): Promise<string> {
    const { id } = await this.#call('task/create', {});
    const content = { type: 'text', author: 'user', content: text };
    await this.#call('message/send', { task_id: id, content });
    return id;
  }

  async #call(method: string, params: object): Promise<{ readonly id: string }> {
    const response = await fetch(`${this.#url}/agents/name/builder/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ method, params }),
    });
    return ((await response.json()) as { readonly result: { readonly id: string } }).result;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
