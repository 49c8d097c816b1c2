import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { type TestWorkspace, waitOptions } from './test-workspace.ts';
import { TmuxConnection } from './tmux-connection.ts';

const execute = promisify(execFile);

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

let opened = 0;

/** A real terminal with a shell. It is a separate tmux server with its own socket. */
export class TestTerminal {
  readonly #workspace: TestWorkspace;
  readonly #name: string;
  #connection: TmuxConnection | undefined;

  constructor(workspace: TestWorkspace, name: string) {
    this.#workspace = workspace;
    this.#name = name;
  }

  /** Returns the visible screen without colors. */
  screen(): Promise<string> {
    return this.#command('capture-pane', '-p');
  }

  /**
   * Returns the screen and the scrollback. A line that the terminal wrapped is returned as one
   * line.
   */
  scrollback(): Promise<string> {
    return this.#command('capture-pane', '-p', '-J', '-S', '-');
  }

  /** All bytes that were written to the terminal, with control sequences. */
  get written(): string {
    return readFileSync(this.#path('written'), 'utf8');
  }

  /** Waits until the text is on the screen, and returns the screen. */
  waitFor(wanted: string | RegExp): Promise<string> {
    return this.waitUntil((screen) => contains(screen, wanted), String(wanted));
  }

  waitUntil(isReached: (screen: string) => boolean, what: string): Promise<string> {
    return this.#until(() => this.screen(), isReached, what);
  }

  /** Waits until the text is on the screen or in the scrollback. */
  waitForPrinted(wanted: string | RegExp): Promise<string> {
    const isThere = (text: string) => contains(text.replaceAll(/\s+/g, ' '), wanted);
    return this.#until(() => this.scrollback(), isThere, String(wanted));
  }

  /** Types characters. */
  async type(text: string): Promise<void> {
    await this.#command('send-keys', '-l', '--', text);
  }

  /**
   * Types one character after the other, with a pause before each. tmux itself makes the pauses. So
   * they do not depend on how fast a busy machine starts processes.
   */
  async typeAtPace(text: string, pauseMs: number): Promise<void> {
    const pause = ['run-shell', '-d', String(pauseMs / 1000), ';'];
    const keys = [...text].flatMap((key) => [...pause, 'send-keys', '-l', '--', key, ';']);
    await this.tmux(...keys.slice(0, -1));
  }

  /** Presses keys by name: Enter, Escape, C-c, M-Enter. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#command('send-keys', ...keys);
  }

  async send(text: string): Promise<void> {
    // Commands that act outside of the conversation count only if their keys do not arrive together.
    if (text.startsWith('/')) await this.typeAtPace(text, 100);
    else await this.type(text);
    if (text.startsWith('/')) await this.tmux('run-shell', '-d', '0.1', 'true');
    await this.press('Enter');
  }

  /** Sends several keys in one write, as a slow connection does. */
  async typeAtOnce(bytes: string): Promise<void> {
    await this.#command('set-buffer', '--', bytes);
    await this.#command('paste-buffer', '-r');
  }

  /** Pastes a text and waits until the program shows `shown`. */
  async paste(text: string, shown: string): Promise<void> {
    await this.#command('set-buffer', '--', text);
    await this.#command('paste-buffer', '-p', '-r');
    await this.waitUntil((screen) => screen.replaceAll(/\s+/g, ' ').includes(shown), shown);
    // Keys that follow a paste at once belong to it. A busy program may have read the paste just now.
    await this.tmux('run-shell', '-d', '0.3', 'true');
  }

  /**
   * Resizes the terminal and waits until the program can read the new size. tmux reports changes
   * only four times a second.
   */
  async resize(columns: number, rows: number): Promise<void> {
    await this.tmux('resize-window', '-x', String(columns), '-y', String(rows));
    const tty = (await this.tmux('display-message', '-p', '#{pane_tty}')).trim();
    const reportedSize = async () =>
      (await execute('sh', ['-c', `stty size < ${tty}`])).stdout.trim();
    const size = `${rows} ${columns}`;
    await this.#until(reportedSize, (now) => now === size, `the size ${size}`);
  }

  /** Clears the screen and the scrollback. */
  async clear(): Promise<void> {
    await this.send('clear; printf "\\033[3J"');
    await this.waitUntil((screen) => screen.trim() === '$', 'nothing but the shell');
    await this.tmux('clear-history');
  }

  /**
   * Saves the screen for a person to look at, if MILLRACE_SCREENS contains the path of a folder.
   */
  async saveScreen(name: string): Promise<void> {
    const folder = process.env['MILLRACE_SCREENS'];
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.ansi`), await this.tmux('capture-pane', '-e', '-p'));
  }

  /** Closes the window. The programs in it receive SIGHUP. */
  async close(): Promise<void> {
    await this.tmux('kill-server').catch(() => {});
  }

  /** Runs tmux commands in a new process. `;` separates the commands. */
  async tmux(...args: readonly string[]): Promise<string> {
    const { env, project: cwd } = this.#workspace;
    const { stdout } = await execute('tmux', [...this.#server(), ...args], { env, cwd });
    return stdout;
  }

  /**
   * Runs one tmux command without a new process. Waiting reads the screen 25 times a second. A
   * process for each read would take more CPU time than the programs under test.
   */
  #command(...args: readonly string[]): Promise<string> {
    const { env, project: cwd } = this.#workspace;
    this.#connection ??= new TmuxConnection(this.#server(), { env, cwd });
    return this.#connection.run(args);
  }

  #server(): readonly string[] {
    return ['-u', '-S', this.#path('socket'), '-f', join(this.#workspace.folder, 'tmux.conf')];
  }

  async #until(
    look: () => Promise<string>,
    isReached: (seen: string) => boolean,
    what: string,
  ): Promise<string> {
    let seen = '';
    await vi.waitFor(async () => {
      seen = await look();
      if (!isReached(seen)) throw new Error(`Not in the terminal: ${what}\n${seen}`);
    }, waitOptions);
    return seen;
  }

  #path(what: string): string {
    return join(this.#workspace.folder, `${this.#name}.${what}`);
  }
}

/** Opens a shell in the project folder. */
export async function openTerminal(
  workspace: TestWorkspace,
  { columns = 80, rows = 24, env = {} }: TerminalOptions = {},
): Promise<TestTerminal> {
  const name = `terminal-${++opened}`;
  const terminal = new TestTerminal(workspace, name);
  writeFileSync(join(workspace.folder, `${name}.written`), '');
  const size = ['-x', String(columns), '-y', String(rows)];
  const reportedSize = Object.entries(env).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
  const { TERM } = env;
  const shell = TERM === undefined ? 'sh' : `TERM=${TERM} sh`;
  await terminal.tmux('new-session', '-d', ...size, ...reportedSize, shell);
  await terminal.tmux('pipe-pane', `cat >> '${join(workspace.folder, `${name}.written`)}'`);
  await terminal.waitFor('$');
  return terminal;
}

function contains(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text);
}
