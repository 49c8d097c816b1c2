import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface RealRun {
  /** What Node is called with. */
  readonly argv: readonly string[];
  readonly columns: number;
  readonly rows: number;
  /** What is in the folder that it works in. */
  readonly files: Readonly<Record<string, string>>;
  readonly folder: string;
}

/** A program in a real terminal, of which nothing is left. */
export class TmuxRun {
  readonly #root: string;
  readonly #socket: string;

  constructor({ argv, columns, rows, files, folder }: RealRun) {
    this.#root = mkdtempSync(join(tmpdir(), 'millrace-picture-'));
    this.#socket = join(this.#root, 'tmux');
    const work = join(this.#root, folder);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(work, path)), { recursive: true });
      writeFileSync(join(work, path), text);
    }
    const command = [process.execPath, ...argv].map((word) => `'${word}'`).join(' ');
    const own = ['HOME', 'TERM', 'COLORTERM'].map((name) => `${name}=${this.#valueOf(name)}`);
    // Nobody's keys, and nobody's settings.
    const clean = `env -i PATH='${process.env['PATH']}' ${own.join(' ')} LANG=C.UTF-8 ${command}`;
    const size = ['-x', String(columns), '-y', String(rows)];
    // What it said at its end stays, for whoever wants to know why it ended.
    const kept = [';', 'set-option', 'remain-on-exit', 'on'];
    this.#tmux('-f', '/dev/null', 'new-session', '-d', ...size, '-c', work, clean, ...kept);
  }

  /** Types, or presses a key by tmux's name for it. */
  type(...keys: readonly string[]): void {
    this.#tmux('send-keys', ...keys);
  }

  /** The screen with its colours, when something is on it. */
  async see(text: string, patienceMs = 30_000): Promise<readonly string[]> {
    for (let leftMs = patienceMs; leftMs > 0; leftMs -= 100) {
      if (this.#tmux('capture-pane', '-p').includes(text)) {
        await delay(500);
        return this.#tmux('capture-pane', '-e', '-p').trimEnd().split('\n');
      }
      await delay(100);
    }
    throw new Error(`"${text}" did not come; there is:\n${this.#tmux('capture-pane', '-p')}`);
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
