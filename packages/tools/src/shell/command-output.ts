import type { Clock, ToolContext } from '@millrace/agent';
import { clippedText } from './clipped-text.ts';
import { keptBytes } from './kept-bytes.ts';
import { pacedUpdates } from './paced-updates.ts';

export interface OutputOptions {
  readonly update: ToolContext['update'];
  readonly clock: Clock;
  /** Of what is shown at the end, in characters. */
  readonly maxLength: number;
  /** Of what is kept of it where that is less than all. */
  readonly maxKeptBytes: number;
}

/** What is left of all that a command printed. */
export interface Output {
  readonly text: string;
  /** In characters. */
  readonly length: number;
  /** In bytes: beyond what could be kept. */
  readonly dropped: number;
  /** As much as could be kept, where the text is less than all. */
  readonly whole: Uint8Array | undefined;
}

export interface CommandOutput {
  add(bytes: Uint8Array): Promise<void> | undefined;
  /** Once, when nothing more comes. */
  end(): Promise<Output>;
  close(): Promise<void>;
}

const pace = { intervalMs: 250, maxLength: 4000, maxTotalLength: 200_000 };

/** Takes what a command prints: shows it meanwhile, and keeps of it what can be kept. */
export function commandOutput(options: OutputOptions): CommandOutput {
  const { update, clock, maxLength, maxKeptBytes } = options;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const shown = clippedText(maxLength);
  const kept = keptBytes(maxKeptBytes);
  const updates = pacedUpdates(update, { clock, ...pace });
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
