import { readFileSync, readlinkSync, statSync } from 'node:fs';
import type { Sandbox } from '../contract/sandbox.ts';
import { startPrepared } from '../shell/start-prepared.ts';

/** The probe takes some milliseconds. On a machine that is very busy, it can take many seconds. */
const probeTimeoutMs = 60_000;

/** Why a sandbox does not work. */
interface SandboxProblem {
  readonly problem: string;
  /** True if the sandbox did not end in time. It may work when the machine is less busy. */
  readonly isLate: boolean;
}

/**
 * Runs a program in the strictest view of the sandbox, because a system may forbid an installed sandbox.
 * Returns undefined if the sandbox works.
 */
export async function probeSandbox(
  sandbox: Pick<Sandbox, 'prepare'>,
  timeoutMs: number = probeTimeoutMs,
): Promise<SandboxProblem | undefined> {
  const request = { root: '/usr', command: ['true'], env: {}, view: 'closed' } as const;
  const prepared = await sandbox.prepare(request);
  try {
    return await new Promise((resolve, reject) => {
      const env = { PATH: '/usr/bin:/bin' };
      const limits = { timeout: timeoutMs, killSignal: 9 } as const;
      const { child, admitted } = startPrepared(prepared, {
        ...{ env, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], ...limits },
      });
      admitted.catch(reject);
      const said: Buffer[] = [];
      child.stderr?.on(
        'data',
        (bytes: Buffer) => void (said.length < maxLines && said.push(bytes)),
      );
      child.once('error', ({ message }) => resolve({ problem: message, isLate: false }));
      child.once('close', (code) => {
        if (code === 0) return resolve(undefined);
        const isLate = child.killed;
        const late = `it did not end within ${timeoutMs / 1000} s`;
        resolve({ problem: isLate ? late : problemOf(said, code), isLate });
      });
    });
  } finally {
    await prepared.finish();
  }
}

/**
 * Returns a problem if `/proc` shows the processes of another namespace, as in a container without a `/proc` of its own.
 * The sandbox finds its processes there.
 */
export function procProblem(): { readonly reason: string; readonly advice: string } | undefined {
  try {
    if (readlinkSync('/proc/self') === String(process.pid)) return undefined;
  } catch {
    // There is no /proc.
  }
  const reason = 'bubblewrap cannot run: /proc does not show the processes of this container';
  return { reason, advice: 'Mount it again: mount -t proc proc /proc' };
}

/** What the user can do about a sandbox that did not end in time. */
export const adviceForLate = 'Try again when the machine is less busy';

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
