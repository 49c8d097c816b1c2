import type { FileHandle } from 'node:fs/promises';
import type { Clock, ToolContext } from '@millrace/agent';
import { openUnlinkedFile } from '../workspace/open-file.ts';
import type { SecretMask } from './mask-secrets.ts';

interface OutputOptions {
  readonly update: ToolContext['update'];
  readonly clock: Clock;
  /** Maximum length of the final text, in characters. */
  readonly maxLength: number;
  /**
   * Maximum number of bytes of the output to store. The output is stored only if the final text does not contain
   * all of it.
   */
  readonly maxKeptBytes: number;
  /** Masks secrets before output is shown or stored. Default: nothing is masked. */
  readonly mask?: SecretMask | undefined;
}

/** The output of a command after it has ended. */
export interface CollectedOutput {
  readonly text: string;
  /** Length of the complete output in characters. */
  readonly length: number;
  /** Number of bytes that were not stored. */
  readonly dropped: number;
  /** The stored bytes. Undefined if the text contains the complete output. */
  readonly whole: Uint8Array | undefined;
}

interface CommandOutput {
  add(bytes: Uint8Array): Promise<void> | undefined;
  /** Ends the output. Call it once, after the last `add`. */
  end(): Promise<CollectedOutput>;
  close(): Promise<void>;
}

const throttle = { intervalMs: 250, maxLength: 4000, maxTotalLength: 200_000 };

/**
 * Returns an object that collects the output of a command. It sends updates while the command runs, and
 * stores the first bytes up to a limit.
 */
export function commandOutput(options: OutputOptions): CommandOutput {
  const { update, clock, maxLength, maxKeptBytes, mask } = options;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const shown = clippedText(maxLength);
  const kept = createOutputStore(maxKeptBytes);
  const updates = throttledUpdates(update, { clock, ...throttle });
  const addText = (decoded: string) => {
    if (decoded === '') return;
    // Some providers and stores do not accept NUL characters.
    const text = decoded.replaceAll('\0', '\ufffd');
    shown.add(text);
    updates.add(text);
  };
  const add = (bytes: Uint8Array) => {
    addText(decoder.decode(bytes, { stream: true }));
    return kept.add(bytes);
  };
  return {
    add: (bytes) => add(mask === undefined ? bytes : mask.add(bytes)),
    async end() {
      if (mask !== undefined) await add(mask.end());
      addText(decoder.decode());
      updates.end();
      const note = (leftOut: number) => `\n[… ${leftOut} characters are left out here …]\n`;
      const whole = shown.isClipped() ? await kept.read() : undefined;
      return { text: shown.show(note), length: shown.length(), dropped: kept.dropped, whole };
    },
    close: () => kept.close(),
  };
}

/** Keeps the beginning and the end of a text that arrives in pieces. Its memory is limited. */
interface ClippedText {
  add(text: string): void;
  /** Length of the complete text in UTF-16 units. */
  length(): number;
  isClipped(): boolean;
  /** Returns the complete text, or its beginning and its end with a note between them. */
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
      // The tail is cut only rarely, because each cut copies the text.
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

/** Removes half of a surrogate pair, which a cut may leave at either end. */
function withoutHalfCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, '').replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * Stores the first bytes of an output, in a file if there are many. The bytes above the limit are only
 * counted.
 */
interface OutputStore {
  /** Adds bytes. Returns a promise if the caller must wait before it adds more. */
  add(bytes: Uint8Array): Promise<void> | undefined;
  readonly kept: number;
  readonly dropped: number;
  read(): Promise<Uint8Array>;
  /** Returns the stored bytes from `start` up to `end`. */
  slice(start: number, end: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

const maxInMemory = 262_144;

export function createOutputStore(maxBytes: number): OutputStore {
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
      // The disk is full or not writable, so these bytes count as dropped.
      limit = kept - bytes.length;
      [kept, dropped] = [limit, dropped + bytes.length];
    }
  };
  const slice = async (start: number, end: number) => {
    if (file === undefined) return Buffer.concat(chunks).subarray(start, end);
    const bytes = new Uint8Array(Math.max(0, end - start));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    return bytes.subarray(0, bytesRead);
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
    read: () => slice(0, kept),
    slice,
    close: async () => file?.close(),
  };
}

interface ThrottledUpdates {
  add(text: string): void;
  /** Sends the pending text. After this call, no more updates are sent. */
  end(): void;
}

interface ThrottleOptions {
  readonly clock: Clock;
  /** Minimum time between two updates, in milliseconds. */
  readonly intervalMs: number;
  /** Maximum length of one update, in characters. If the text is longer, only its end is sent. */
  readonly maxLength: number;
  /** Maximum total length of all updates, in characters. */
  readonly maxTotalLength: number;
}

/**
 * Returns an object that sends the output of a command as updates. It limits their rate and size, so that the
 * log stays small.
 */
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
    // The cut must not split a surrogate pair.
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
