import { execFile } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface PipeEnds {
  /** A file descriptor, which does not block. Whoever takes it closes it. */
  readonly reader: number;
  /** For the child, as its stdout and its stderr, so that what it says comes in the order it was said. */
  readonly writer: number;
}

/**
 * A pipe. The ones that Node makes for a child are sockets: those cannot be opened by name, and every
 * script with `> /dev/stderr` in it fails on them.
 */
export async function openPipe(): Promise<PipeEnds> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'));
  const path = join(folder, 'pipe');
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', path]);
    // The reader first: without one, to open the other end would wait for it.
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return { reader, writer: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    throw noPipe(error);
  } finally {
    // It goes on without a name.
    await rm(folder, { recursive: true, force: true });
  }
}

function noPipe(cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot run a command: no pipe for its output can be made: ${why}`, { cause });
}
