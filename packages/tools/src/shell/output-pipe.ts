import { execFile } from 'node:child_process';
import { closeSync, constants, existsSync, fstatSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../git/run-git.ts';
import { createPrivateFolder } from '../sandbox/private-folder.ts';

interface PipeEnds {
  /** A non-blocking file descriptor for reading. The receiver must close it. */
  readonly reader: number;
  /**
   * The file descriptor for both stdout and stderr of the child, so that the order of the output is
   * kept.
   */
  readonly writer: number;
}

/**
 * Opens a named pipe. The pipes that Node.js creates for a child are sockets. Sockets cannot be opened by
 * path, so scripts with `> /dev/stderr` fail on them. `root` is the workspace.
 */
export async function openPipe(root: string): Promise<PipeEnds> {
  // If the root is the whole disk, no folder is outside of it. That is only possible without a sandbox,
  // and a command could then change everything anyway.
  const away = root === '/' ? [] : [root];
  let folder: string | undefined;
  try {
    folder = createPrivateFolder('millrace-', away, 'pipes');
    const path = join(folder, 'pipe');
    const mkfifo = await findMkfifo(root);
    // The empty environment hides the keys of the agent from the program.
    await promisify(execFile)(mkfifo, ['-m', '600', path], { cwd: '/', env: {} });
    return openEnds(path);
  } catch (error) {
    throw pipeError(error);
  } finally {
    // The pipe stays open after its name was removed.
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** Opens both ends of the same pipe. Throws if another process has replaced its name. */
function openEnds(path: string): PipeEnds {
  const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  // The reader is opened first, because opening the writer blocks without a reader.
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
 * Returns the path of the program `mkfifo`. The usual places come first, because a repository can put a
 * program with this name into a folder that a package manager adds to PATH.
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
   * Resolves when everything written so far has been read. It does not wait for the end of the
   * pipe, because a process that outlives the command may keep it open.
   */
  drain(): Promise<void>;
  close(): void;
}

/** Maximum capacity of a pipe, in bytes. More bytes than this must have been written later. */
const maxPipeBytes = 1_048_576;
/** Number of event loop rounds without data after which the pipe is considered empty. */
const quietRounds = 3;

/** Reads a pipe with backpressure, which means that it pauses while the consumer is busy. */
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
