import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { MillraceError } from '@millrace/core';
import type { Env } from '../contract/host.ts';
import { ensurePrivateFolder } from '../serve/private-file.ts';
import { askDaemon, type ControlReply } from './control-socket.ts';
import type { DaemonFiles } from './daemon-files.ts';

/** After this time without work, a daemon that was started on demand ends. */
const idleMinutes = 5;
const pollMs = 50;
/** Maximum time to wait for the start of a daemon. */
const startMs = 60_000;

/**
 * Returns the daemon of a store, and starts it if there is none. Two terminals can do this at the same
 * time: only one of the two daemons gets the lock, and the other one ends.
 */
export async function ensureDaemon(files: DaemonFiles, env: Env): Promise<ControlReply> {
  const running = await askDaemon(files.socket, { type: 'hello' });
  if (running !== undefined) return running;
  if (process.platform === 'win32') throw notSupported();
  await ensurePrivateFolder(files.folder);
  const output = await open(files.output, 'w', 0o600);
  const child = spawn(process.execPath, [...process.execArgv, ...daemonArgs(files)], {
    // The daemon must not keep the folder of a terminal busy.
    ...{ cwd: files.folder, env: env as NodeJS.ProcessEnv, detached: true },
    stdio: ['ignore', output.fd, output.fd],
  });
  const ended = new Promise<'ended'>((resolve) => {
    child.once('exit', () => resolve('ended'));
    child.once('error', () => resolve('ended'));
  });
  child.unref();
  try {
    for (let waited = 0; waited < startMs; waited += pollMs) {
      const state = await Promise.race([ended, setTimeout(pollMs)]);
      const reply = await askDaemon(files.socket, { type: 'hello' });
      if (reply !== undefined) return reply;
      // A different daemon may hold the lock and is about to listen.
      if (state === 'ended') await setTimeout(pollMs);
    }
  } finally {
    await output.close();
  }
  throw notStarted(files);
}

function daemonArgs({ store }: DaemonFiles): readonly string[] {
  const [, program = ''] = process.argv;
  return [program, 'serve', '--daemon', '--idle', String(idleMinutes), '--store', store];
}

function notStarted({ output }: DaemonFiles): MillraceError {
  const message = `Cannot start the daemon. ${output} has its output`;
  return new MillraceError('no_daemon', message, { path: output });
}

function notSupported(): MillraceError {
  const message = 'The daemon needs Linux or macOS. Use millrace serve instead';
  return new MillraceError('no_daemon', message);
}
