import { spawn } from 'node:child_process';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import type { Sandbox } from '../contract/sandbox.ts';

const probeTimeoutMs = 5000;

/**
 * Runs a program in the strictest view of the sandbox, because a system may forbid an installed sandbox.
 * Returns the problem. Returns undefined if the sandbox works.
 */
export async function probeSandbox(sandbox: Sandbox): Promise<string | undefined> {
  const request = { root: '/usr', command: ['true'], env: {}, view: 'closed' } as const;
  const { program, args, fds, finish } = await sandbox.prepare(request);
  try {
    return await new Promise((resolve) => {
      const env = { PATH: '/usr/bin:/bin' };
      const stdio = ['ignore', 'ignore', 'pipe', ...fds] as ('ignore' | 'pipe' | number)[];
      const limits = { timeout: probeTimeoutMs, killSignal: 9 } as const;
      const child = spawn(program, args, { env, cwd: '/', stdio, ...limits });
      const said: Buffer[] = [];
      child.stderr?.on(
        'data',
        (bytes: Buffer) => void (said.length < maxLines && said.push(bytes)),
      );
      child.once('error', ({ message }) => resolve(message));
      child.once('close', (code) => resolve(code === 0 ? undefined : problemOf(said, code)));
    });
  } finally {
    await finish();
  }
}

/**
 * Returns a name for everything that decides whether bubblewrap works: the program, the start of the machine, the
 * user and the namespaces of this process. Returns undefined if the system does not tell.
 */
export function testName(
  program: string,
  { unixSockets }: { readonly unixSockets: boolean },
): string | undefined {
  try {
    const { dev, ino, size, mtimeMs, uid, mode } = statSync(program);
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const spaces = ['user', 'mnt', 'pid'].map((kind) => readlinkSync(`/proc/self/ns/${kind}`));
    const file = [program, dev, ino, size, mtimeMs, uid, mode];
    return [...file, boot, ...spaces, process.getuid?.(), unixSockets].join(' ');
  } catch {
    return undefined;
  }
}

const maxLines = 10;

function problemOf(said: readonly Buffer[], code: number | null): string {
  const [line = ''] = Buffer.concat(said).toString('utf8').trim().split('\n');
  return line.replace(/^(?:bwrap|sandbox-exec): /, '') || `it ended with code ${code}`;
}
