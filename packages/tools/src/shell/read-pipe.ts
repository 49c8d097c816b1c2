import { Socket } from 'node:net';

export interface PipeReader {
  /**
   * Resolves when all that was written so far is read. The end of the pipe may never come: a process
   * that outlives the command may hold it.
   */
  drain(): Promise<void>;
  close(): void;
}

/** What a pipe holds at most. What comes beyond was written after. */
const maxPipeBytes = 1_048_576;
/** Rounds of the event loop, each of which reads whatever there is, without a byte. */
const quietRounds = 3;

/** Reads a pipe as fast as what is read can be taken, and no faster. */
export function readPipe(
  fd: number,
  take: (bytes: Uint8Array) => Promise<void> | undefined,
): PipeReader {
  const socket = new Socket({ fd, readable: true, writable: false });
  let taking: Promise<void> | undefined;
  let bytesRead = 0;
  let isOver = false;
  const wait = async (taken: Promise<void>) => {
    socket.pause();
    await taken;
    taking = undefined;
    socket.resume();
  };
  socket.on('data', (bytes: Uint8Array) => {
    bytesRead += bytes.length;
    const taken = take(bytes);
    if (taken !== undefined) taking = wait(taken);
  });
  const end = () => {
    isOver = true;
  };
  socket.once('end', end).once('close', end).once('error', end);
  return {
    async drain() {
      const start = bytesRead;
      for (let quiet = 0; quiet < quietRounds; ) {
        const before = bytesRead;
        await taking;
        await new Promise((resolve) => setImmediate(resolve));
        quiet = bytesRead === before && taking === undefined ? quiet + 1 : 0;
        if (taking === undefined && (isOver || bytesRead - start > maxPipeBytes)) return;
      }
    },
    close: () => socket.destroy(),
  };
}
