import { execFile } from 'node:child_process';
import { closeSync, constants, existsSync, fstatSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../git/run-git.ts';
import { createPrivateFolder } from '../sandbox/private/private-folder.ts';

interface PipeEnds {
  /** A non-blocking file descriptor for reading. The caller must close it. */
  readonly reader: number;
  /**
   * The file descriptor for both stdout and stderr of the child. Sharing one descriptor keeps the order of
   * the output.
   */
  readonly writer: number;
}

/**
 * Opens a named pipe. Node.js would create sockets for a child instead of pipes. A socket cannot be opened by
 * its path, so scripts with `> /dev/stderr` would fail. `root` is the workspace.
 */
export async function openPipe(root: string): Promise<PipeEnds> {
  // If the root is the whole disk, no folder is outside of it. This is possible only without a sandbox, and a
  // command could then change everything anyway.
  const away = root === '/' ? [] : [root];
  let folder: string | undefined;
  try {
    folder = createPrivateFolder('millrace-', away, 'pipes');
    const path = join(folder, 'pipe');
    const mkfifo = await findMkfifo(root);
    // The environment is empty, so that the program does not get the keys of the agent.
    await promisify(execFile)(mkfifo, ['-m', '600', path], { cwd: '/', env: {} });
    return openEnds(path);
  } catch (error) {
    throw pipeError(error);
  } finally {
    // The pipe stays open after its name has been removed.
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** Opens both ends of the same pipe. Throws if a different process has replaced the path of the pipe. */
function openEnds(path: string): PipeEnds {
  const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  // The reader is opened first, because opening the writer would block without a reader.
  const reader = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  let writer: number | undefined;
  try {
    const first = fstatSync(reader, { bigint: true });
    if (!first.isFIFO()) throw new Error('another process has replaced it');
    writer =
      process.platform === 'linux'
        ? openSync(`/proc/self/fd/${reader}`, O_WRONLY)
        : openSync(path, O_WRONLY | O_NOFOLLOW);
    const second = fstatSync(writer, { bigint: true });
    if (second.ino !== first.ino || second.dev !== first.dev)
      throw new Error('another process has replaced it');
    return { reader, writer };
  } catch (error) {
    closeSync(reader);
    if (writer !== undefined) closeSync(writer);
    throw error;
  }
}

/**
 * Returns the path of the program `mkfifo`. It searches the usual places first, because a package manager may
 * add a folder of the repository to PATH. That folder can contain a program with the same name.
 */
async function findMkfifo(root: string): Promise<string> {
  const usual = ['/usr/bin', '/bin', '/run/current-system/sw/bin'].map((at) => join(at, 'mkfifo'));
  const program =
    usual.find((path) => existsSync(path)) ??
    (await findProgram('mkfifo', root, process.env['PATH']));
  if (program === undefined) throw new Error('the program mkfifo is not installed');
  return program;
}

function pipeError(cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot run a command: the pipe for its output cannot be created: ${reason}`, {
    cause,
  });
}

interface PipeReader {
  /** Resolves when all writers have closed the pipe. */
  readonly ended: Promise<void>;
  /**
   * Resolves when all data that was written so far has been read. It does not wait for the end of the pipe,
   * because a process that outlives the command may keep the pipe open.
   */
  drain(): Promise<void>;
  close(): void;
}

/**
 * Maximum capacity of a pipe, in bytes. When `drain` has read this many bytes, all later bytes were written
 * after its call.
 */
const maxPipeBytes = 1_048_576;
/** Number of event loop turns without data after which the pipe counts as empty. */
const quietRounds = 3;

/** Reads a pipe with backpressure: it pauses while the consumer is busy. */
export function readPipe(
  fd: number,
  consume: (bytes: Uint8Array) => Promise<void> | undefined,
): PipeReader {
  const socket = new Socket({ fd, readable: true, writable: false });
  let consuming: Promise<void> | undefined;
  let bytesRead = 0;
  let isOver = false;
  const wait = async (consumed: Promise<void>) => {
    socket.pause();
    await consumed;
    consuming = undefined;
    socket.resume();
  };
  socket.on('data', (bytes: Uint8Array) => {
    bytesRead += bytes.length;
    const taken = consume(bytes);
    if (taken !== undefined) consuming = wait(taken);
  });
  const over = Promise.withResolvers<void>();
  const end = () => {
    isOver = true;
    over.resolve();
  };
  socket.once('end', end).once('close', end).once('error', end);
  return {
    ended: over.promise,
    async drain() {
      const start = bytesRead;
      for (let quiet = 0; quiet < quietRounds; ) {
        const before = bytesRead;
        await consuming;
        await new Promise((resolve) => setImmediate(resolve));
        quiet = bytesRead === before && consuming === undefined ? quiet + 1 : 0;
        if (consuming === undefined && (isOver || bytesRead - start > maxPipeBytes)) return;
      }
    },
    close: () => socket.destroy(),
  };
}
