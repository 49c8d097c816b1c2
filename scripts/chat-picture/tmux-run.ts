import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

interface TmuxRunOptions {
  /** The arguments for Node. */
  readonly argv: readonly string[];
  readonly columns: number;
  readonly rows: number;
  /** The files in the working folder, by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly folder: string;
}

/** Runs a program in a real terminal (tmux). `close` deletes all its files. */
export class TmuxRun {
  readonly #root: string;
  readonly #socket: string;

  constructor({ argv, columns, rows, files, folder }: TmuxRunOptions) {
    this.#root = mkdtempSync(join(tmpdir(), 'millrace-picture-'));
    this.#socket = join(this.#root, 'tmux');
    const work = join(this.#root, folder);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(work, path)), { recursive: true });
      writeFileSync(join(work, path), text);
    }
    const command = [process.execPath, ...argv].map((word) => `'${word}'`).join(' ');
    const variables = ['HOME', 'TERM', 'COLORTERM'].map((name) => `${name}=${this.#valueOf(name)}`);
    // The environment contains no API keys and no user settings.
    const clean = `env -i PATH='${process.env['PATH']}' ${variables.join(' ')} LANG=C.UTF-8 ${command}`;
    const size = ['-x', String(columns), '-y', String(rows)];
    // The screen stays after the program ends, so that a person can read an error message.
    const kept = [';', 'set-option', 'remain-on-exit', 'on'];
    this.#tmux('-f', '/dev/null', 'new-session', '-d', ...size, '-c', work, clean, ...kept);
  }

  /** Types text, or presses keys by their tmux names. */
  type(...keys: readonly string[]): void {
    this.#tmux('send-keys', ...keys);
  }

  /** Waits until the screen shows the text. Returns the screen with its colors. */
  async waitFor(text: string, timeoutMs = 30_000): Promise<readonly string[]> {
    for (let leftMs = timeoutMs; leftMs > 0; leftMs -= 100) {
      if (this.#tmux('capture-pane', '-p').includes(text)) {
        await delay(500);
        return this.#tmux('capture-pane', '-e', '-p').trimEnd().split('\n');
      }
      await delay(100);
    }
    throw new Error(
      `"${text}" did not appear. The screen shows:\n${this.#tmux('capture-pane', '-p')}`,
    );
  }

  close(): void {
    try {
      this.#tmux('kill-server');
    } finally {
      rmSync(this.#root, { recursive: true, force: true });
    }
  }

  #valueOf(name: string): string {
    return name === 'HOME' ? this.#root : name === 'TERM' ? 'tmux-256color' : 'truecolor';
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync('tmux', ['-S', this.#socket, ...words], { encoding: 'utf8' });
  }
}
