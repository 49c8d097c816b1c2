import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The actions of a command line, according to its system calls. All paths are real paths. */
export interface Traced {
  readonly executed: readonly string[];
  readonly read: readonly string[];
  /** The files that were opened for writing, and the calls that change the file system. */
  readonly changed: readonly string[];
  /** The addresses that processes tried to connect to. */
  readonly connected: readonly string[];
}

const changing = `unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat symlink
  symlinkat mknod mknodat chmod fchmod fchmodat chown fchown fchownat lchown truncate ftruncate
  utimensat setxattr lsetxattr fsetxattr`.split(/\s+/);
const opening = ['open', 'openat', 'openat2', 'creat'];

export function hasStrace(): boolean {
  return spawnSync('strace', ['-o', '/dev/null', '-e', 'trace=execve', 'true']).status === 0;
}

/** Runs a line with bash as the tool `bash` does, and returns the actions of its processes. */
export function traceBash(
  line: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Traced {
  const folder = mkdtempSync(join(tmpdir(), 'trace-'));
  const calls = ['execve', 'execveat', 'connect', ...opening, ...changing];
  // `?` accepts calls that this processor does not have. `-y` shows the real path of opened files. `-ff`
  // writes one file per process, so that calls are not mixed.
  const trace = `trace=${calls.map((call) => `?${call}`).join(',')}`;
  try {
    const options = ['-ff', '-y', '-s', '4096', '-e', trace, '-o', join(folder, 't')];
    spawnSync('strace', [...options, 'bash', '-c', '--', line], {
      cwd,
      env,
      stdio: ['ignore', 'ignore', 'ignore'],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    return summarize(texts.flatMap((text) => text.split('\n')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function summarize(lines: readonly string[]): Traced {
  const done = lines.flatMap((line) => {
    const [, name = '', args = '', result = '', path] =
      /^(\w+)\((.*)\)\s+= (-?\d+)(?:<(.*)>)?/.exec(line) ?? [];
    return name === '' || result.startsWith('-') ? [] : [{ name, args, path: path ?? '' }];
  });
  const opened = done.filter(({ name }) => opening.includes(name));
  const isWriting = ({ name, args }: (typeof done)[number]) =>
    name === 'creat' || /O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)/.test(args);
  return {
    executed: done
      .filter(({ name }) => name.startsWith('execve'))
      .map(({ args }) => /"((?:[^"\\]|\\.)*)"/.exec(args)?.[1] ?? args),
    read: opened.filter((call) => !isWriting(call)).map(({ path }) => path),
    changed: [
      ...opened.filter(isWriting).map(({ path }) => path),
      ...done
        .filter(({ name }) => changing.includes(name))
        .map(({ name, args }) => `${name}(${args})`),
    ],
    // A failed attempt to connect also counts.
    connected: lines.filter((line) => line.startsWith('connect(')),
  };
}
