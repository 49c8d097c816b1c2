import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';
import { childEnv, patientMs } from '../../../../../packages/core/src/testing/runs.ts';
import { builtProgram } from '../../testing/built-program.ts';

/**
 * The home folder of a test user with a small project. The program cannot access other files of the
 * real user.
 */
export interface TestWorkspace {
  readonly folder: string;
  /** Folder of the project. */
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  /** Returns the ids of the processes that were started here, in order. */
  readonly pids: () => readonly number[];
  readonly close: () => Promise<void>;
}

const files: Readonly<Record<string, string>> = {
  'project/README.md': '# Orders\n\nA small shop for orders.\n',
  'project/package.json': '{ "name": "orders", "version": "1.0.0" }\n',
  'project/src/refunds.ts': '// TODO: refund faster\nexport const refunds = 3;\n',
  'project/src/index.ts': "export { refunds } from './refunds.ts';\n",
  'project/millrace-demo.md': '# Millrace was here\n\nVisit 1.\n\nYou can delete it.\n',
  // The scrollback is long enough for the tests. There is no status line, so the program can use
  // every row.
  'tmux.conf': 'set -g history-limit 5000\nset -g status off\nset -s escape-time 0\n',
};

/** Creates a workspace with an empty home folder and the command in PATH. */
export function openTestWorkspace(more: Readonly<Record<string, string>> = {}): TestWorkspace {
  const program = builtProgram();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-e2e-')));
  const pidFile = join(folder, 'pids');
  const start = `#!/bin/sh\necho $$ >> '${pidFile}'\nexec '${process.execPath}' '${program}' "$@"\n`;
  for (const [name, text] of Object.entries({ ...files, ...more, 'bin/millrace': start })) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: name.startsWith('bin/') ? 0o755 : 0o644 });
  }
  writeFileSync(pidFile, '');
  mkdirSync(join(folder, 'home'), { recursive: true });
  const pids = () => readFileSync(pidFile, 'utf8').split('\n').filter(Boolean).map(Number);
  const close = async () => {
    for (const pid of pids()) await waitForExit(pid);
    rmSync(folder, { recursive: true, force: true });
  };
  return { folder, project: join(folder, 'project'), env: envOf(folder), pids, close };
}

function envOf(folder: string): Readonly<Record<string, string>> {
  const path = [join(folder, 'bin'), dirname(process.execPath), process.env['PATH'] ?? ''];
  return {
    ...childEnv(),
    PATH: path.join(':'),
    HOME: join(folder, 'home'),
    SHELL: '/bin/sh',
    PS1: '$ ',
    LC_ALL: 'C.UTF-8',
    // The demo model is used, because it is available on every machine.
    MILLRACE_MODEL: 'demo',
  };
}

/** Resolves when a process has ended. */
export async function waitForExit(pid: number): Promise<void> {
  const ended = () => process.kill(pid, 0);
  await vi.waitFor(() => {
    let isThere = true;
    try {
      ended();
    } catch {
      isThere = false;
    }
    if (isThere) throw new Error(`The program (${pid}) has not ended`);
  }, waitOptions);
}

/**
 * The timeout is slightly shorter than the timeout of a test. So the error message can show the
 * screen.
 */
export const waitOptions: { readonly timeout: number; readonly interval: number } = {
  timeout: patientMs(60_000),
  interval: 40,
};
