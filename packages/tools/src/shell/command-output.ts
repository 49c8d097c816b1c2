import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, ToolContext } from '@millrace/agent';

interface OutputOptions {
  readonly update: ToolContext['update'];
  readonly clock: Clock;
  /** Of what is shown at the end, in characters. */
  readonly maxLength: number;
  /** Of what is kept of it where that is less than all. */
  readonly maxKeptBytes: number;
}

/** What is left of all that a command printed. */
export interface CollectedOutput {
  readonly text: string;
  /** In characters. */
  readonly length: number;
  /** In bytes: beyond what could be kept. */
  readonly dropped: number;
  /** As much as could be kept, where the text is less than all. */
  readonly whole: Uint8Array | undefined;
}

interface CommandOutput {
  add(bytes: Uint8Array): Promise<void> | undefined;
  /** Once, when nothing more comes. */
  end(): Promise<CollectedOutput>;
  close(): Promise<void>;
}

const throttle = { intervalMs: 250, maxLength: 4000, maxTotalLength: 200_000 };

/** Takes what a command prints: shows it meanwhile, and keeps of it what can be kept. */
export function commandOutput(options: OutputOptions): CommandOutput {
  const { update, clock, maxLength, maxKeptBytes } = options;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const shown = clippedText(maxLength);
  const kept = createOutputStore(maxKeptBytes);
  const updates = throttledUpdates(update, { clock, ...throttle });
  const addText = (decoded: string) => {
    if (decoded === '') return;
    // No text has a NUL in it, and not every provider or store takes one.
    const text = decoded.replaceAll('\0', '\ufffd');
    shown.add(text);
    updates.add(text);
  };
  return {
    add(bytes) {
      addText(decoder.decode(bytes, { stream: true }));
      return kept.add(bytes);
    },
    async end() {
      addText(decoder.decode());
      updates.end();
      const note = (leftOut: number) => `\n[… ${leftOut} characters are left out here …]\n`;
      const whole = shown.isClipped() ? await kept.read() : undefined;
      return { text: shown.show(note), length: shown.length(), dropped: kept.dropped, whole };
    },
    close: () => kept.close(),
  };
}

/** Keeps the first and the last of a text that comes bit by bit, whatever its length. */
interface ClippedText {
  add(text: string): void;
  /** In UTF-16 units. */
  length(): number;
  isClipped(): boolean;
  /** All of it, or its two ends with a note between them. */
  show(note: (leftOut: number) => string): string;
}

export function clippedText(maxLength: number): ClippedText {
  const half = Math.floor(maxLength / 2);
  let head = '';
  let tail = '';
  let length = 0;
  return {
    add(text) {
      length += text.length;
      const room = half - head.length;
      head += text.slice(0, room);
      tail += text.slice(room);
      // Cut rarely: each cut copies all that is kept.
      if (tail.length > 4 * half) tail = tail.slice(-half);
    },
    length: () => length,
    isClipped: () => length > maxLength,
    show(note) {
      if (length <= maxLength) return head + tail;
      const end = tail.slice(-half);
      return `${withoutHalfCharacters(head)}${note(length - head.length - end.length)}${withoutHalfCharacters(end)}`;
    },
  };
}

/** Without the half of a character that a cut may leave at either end. */
function withoutHalfCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, '').replace(/[\uD800-\uDBFF]$/, '');
}

/** The first so many bytes of an output, on disk when they are more than a few. What is beyond is counted. */
interface OutputStore {
  /** A promise where it has to be waited for. */
  add(bytes: Uint8Array): Promise<void> | undefined;
  readonly kept: number;
  readonly dropped: number;
  read(): Promise<Uint8Array>;
  close(): Promise<void>;
}

const maxInMemory = 262_144;

function createOutputStore(maxBytes: number): OutputStore {
  let chunks: Uint8Array[] = [];
  let file: FileHandle | undefined;
  let [kept, dropped, limit] = [0, 0, maxBytes];

  const spill = async () => {
    const bytes = Buffer.concat(chunks);
    chunks = [];
    try {
      file ??= await openUnlinkedFile();
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
async function openUnlinkedFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `millrace-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

interface ThrottledUpdates {
  add(text: string): void;
  /** What is still held back. Nothing follows. */
  end(): void;
}

interface ThrottleOptions {
  readonly clock: Clock;
  /** Between one update and the next. */
  readonly intervalMs: number;
  /** Of one update. What is more is left out, but for its end. */
  readonly maxLength: number;
  /** Of all updates together. */
  readonly maxTotalLength: number;
}

/** Passes on what a command prints, at a pace and an amount that a log can bear. */
export function throttledUpdates(
  update: (text: string) => void,
  { clock, intervalMs, maxLength, maxTotalLength }: ThrottleOptions,
): ThrottledUpdates {
  let pending = '';
  let leftOut = 0;
  let total = 0;
  let dueMs = clock.now();
  let cancel: (() => void) | undefined;

  const send = () => {
    cancel?.();
    cancel = undefined;
    dueMs = clock.now() + intervalMs;
    trim();
    const note = leftOut > 0 ? `[… ${leftOut} characters …]\n` : '';
    const text = note + pending;
    [pending, leftOut] = ['', 0];
    if (text === '' || total >= maxTotalLength) return;
    total += text.length;
    update(total < maxTotalLength ? text : `${text}\n[… no more is shown while it runs …]\n`);
  };
  const trim = () => {
    const excess = Math.max(0, pending.length - maxLength);
    // Not through the middle of a character.
    const from = /^[\uDC00-\uDFFF]/.test(pending.slice(excess, excess + 1)) ? excess + 1 : excess;
    leftOut += from;
    pending = pending.slice(from);
  };
  return {
    add(text) {
      pending += text;
      if (pending.length > 2 * maxLength) trim();
      const waitMs = dueMs - clock.now();
      if (waitMs <= 0) send();
      else cancel ??= clock.after(waitMs, send);
    },
    end: send,
  };
}
