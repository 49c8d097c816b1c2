import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { processFolder } from '../../../../../scripts/process-folder.ts';

/** A person's account on a machine, with a small project: everything that the program may touch. */
export interface TestWorkspace {
  readonly folder: string;
  /** The project. */
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  /** Of the programs that were started here, in this order. */
  readonly pids: () => readonly number[];
  readonly close: () => Promise<void>;
}

const files: Readonly<Record<string, string>> = {
  'project/README.md': '# Mill\n\nA small mill by the river.\n',
  'project/package.json': '{ "name": "mill", "version": "1.0.0" }\n',
  'project/src/wheel.ts': '// TODO: turn faster\nexport const turns = 3;\n',
  'project/src/index.ts': "export { turns } from './wheel.ts';\n",
  'project/millrace-demo.md': '# Millrace was here\n\nVisit 1.\n\nYou can delete it.\n',
  // What was scrolled away is not to be lost, and each row is one of the terminal.
  'tmux.conf': 'set -g history-limit 5000\nset -g status off\nset -s escape-time 0\n',
};

/** With an empty home, and the command on the path. */
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
    PATH: path.join(':'),
    HOME: join(folder, 'home'),
    SHELL: '/bin/sh',
    PS1: '$ ',
    LC_ALL: 'C.UTF-8',
    // Whatever answers on this machine.
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

/** As long as a test may take, less the time to say what was seen instead. */
export const waitOptions: { readonly timeout: number; readonly interval: number } = {
  timeout: 60_000,
  interval: 40,
};

const root = fileURLToPath(new URL('../../../../../', import.meta.url));

let built: string | undefined;

/**
 * The command as it is shipped. Each process that tests builds its own, because a fresh clone has none,
 * and one that is rebuilt while somebody else runs it breaks under them.
 */
function builtProgram(): string {
  built ??= build();
  return built;
}

function build(): string {
  const folder = processFolder('millrace-program');
  // The program reads its version from the folder above.
  cpSync(join(root, 'apps/cli/package.json'), join(folder, 'package.json'));
  const script = join(root, 'scripts/bundle-cli.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, join(folder, 'bundle')], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The program cannot be built:\n${stderr}`);
  return join(folder, 'bundle/main.js');
}
