import { spawn } from 'node:child_process';
import { mkdtemp, realpath, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '../contract/sandbox.ts';

const probeTimeoutMs = 5000;

/**
 * Runs a program in the strictest view, because an installed sandbox may be forbidden here. Returns
 * the problem, if there is one.
 */
export async function probeSandbox(sandbox: Sandbox): Promise<string | undefined> {
  // An empty workspace, because the sandbox searches a workspace for repositories.
  const root = await realpath(await mkdtemp(join(tmpdir(), 'millrace-probe-')));
  try {
    return await probeIn(root, sandbox);
  } finally {
    await rmdir(root).catch(() => {});
  }
}

async function probeIn(root: string, sandbox: Sandbox): Promise<string | undefined> {
  const request = { root, command: ['true'], env: {}, view: 'closed' } as const;
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

const maxLines = 10;

function problemOf(said: readonly Buffer[], code: number | null): string {
  const [line = ''] = Buffer.concat(said).toString('utf8').trim().split('\n');
  return line.replace(/^(?:bwrap|sandbox-exec): /, '') || `it ended with code ${code}`;
}
