import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The first so many bytes of an output, on disk when they are more than a few. What is beyond is counted. */
export interface KeptBytes {
  /** A promise where it has to be waited for. */
  add(bytes: Uint8Array): Promise<void> | undefined;
  readonly kept: number;
  readonly dropped: number;
  read(): Promise<Uint8Array>;
  close(): Promise<void>;
}

const maxInMemory = 262_144;

export function keptBytes(maxBytes: number): KeptBytes {
  let chunks: Uint8Array[] = [];
  let file: FileHandle | undefined;
  let [kept, dropped, limit] = [0, 0, maxBytes];

  const spill = async () => {
    const bytes = Buffer.concat(chunks);
    chunks = [];
    try {
      file ??= await openNameless();
      await file.appendFile(bytes);
    } catch {
      // The disk is full, or closed to us: what is not there is as if it were beyond the bound.
      limit = kept - bytes.length;
      [kept, dropped] = [limit, dropped + bytes.length];
    }
  };
  return {
    add(bytes) {
      const part = bytes.subarray(0, Math.max(0, limit - kept));
      kept += part.length;
      dropped += bytes.length - part.length;
      if (part.length === 0) return undefined;
      chunks.push(part);
      return file !== undefined || kept > maxInMemory ? spill() : undefined;
    },
    get kept() {
      return kept;
    },
    get dropped() {
      return dropped;
    },
    async read() {
      if (file === undefined) return Buffer.concat(chunks);
      const bytes = new Uint8Array(kept);
      const { bytesRead } = await file.read(bytes, 0, kept, 0);
      return bytes.subarray(0, bytesRead);
    },
    close: async () => file?.close(),
  };
}

/** A file that is gone with its handle, also when this process is killed. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `millrace-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}
