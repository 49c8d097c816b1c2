import type { AgentEvent, Stop } from '@millrace/core';

export interface Line {
  readonly tone: Tone;
  readonly text: string;
}

/**
 * Returns the line to print for an event, or undefined if the event is not printed. Control characters are
 * not removed yet.
 */
export function lineOf(event: AgentEvent): Line | undefined {
  switch (event.type) {
    case 'attempt_superseded': {
      const which = `attempt ${event.attempt} is superseded (${event.reason})`;
      return { tone: 'mark', text: `↺ ${which}: what it said does not count` };
    }
    case 'retry_scheduled': {
      const { error, delayMs } = event;
      const wait = `once more in ${seconds(delayMs)}`;
      return { tone: 'mark', text: `↻ ${error.code}, ${wait}: ${error.message}` };
    }
    case 'error_reported':
      return { tone: 'bad', text: `✗ ${event.error.code}: ${event.error.message}` };
    case 'aborted':
      return { tone: 'mark', text: `■ aborted${because(event.reason)}` };
    case 'tool_call_rejected': {
      const { name, code, message } = event;
      return { tone: 'bad', text: `✗ ${name} was not run (${code}): ${message}` };
    }
    case 'approval_asked':
      return { tone: 'mark', text: `? ${event.name} waits for approval${because(event.reason)}` };
    case 'approval_answered': {
      const { name, decision, by, reason } = event;
      const who = by === undefined ? '' : ` by ${by}`;
      const done = decision === 'allow' ? 'allowed' : 'denied';
      return { tone: 'dim', text: `? ${name} was ${done}${who}${because(reason)}` };
    }
    case 'compacted':
      return { tone: 'dim', text: `≡ compacted ${event.itemIds.length} items` };
    case 'handed_off':
      return { tone: 'dim', text: `→ handed off to ${event.to}${because(event.reason)}` };
    case 'item_redacted':
      return { tone: 'mark', text: `⌫ something said before was redacted${because(event.reason)}` };
    case 'run_finished':
      return { tone: toneOf(event.stop), text: stopText(event.stop) };
    default:
      return undefined;
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

function stopText({ reason, raw, cause }: Stop): string {
  const more = [cause, raw === reason ? undefined : raw].filter((word) => word !== undefined);
  return `— ${reason}${more.length === 0 ? '' : ` (${more.join(', ')})`}`;
}

function toneOf({ reason }: Stop): Tone {
  if (reason === 'stop') return 'dim';
  return reason === 'error' ? 'bad' : 'mark';
}

// The control characters C0 and C1 except newline and tab, and delete.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/**
 * Characters that change the visible order of a line. With them, a reader could see a different text than the
 * real one.
 */
const reorderings = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const breaks = /[\n\t\u2028\u2029]+/g;
const zeroWidth = /^[\p{M}\u200b-\u200d]$/u;
const doubleWidth =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;

/** Replaces control characters with visible characters, so that a text cannot control the terminal. */
export function printable(text: string): string {
  return text.replace(controls, picture);
}

function picture(control: string): string {
  const code = control.charCodeAt(0);
  // A carriage return would make the next text overwrite the line. It is dropped, because line breaks also
  // contain a newline.
  if (control === '\r') return '';
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}

/** Returns the text cut to one line of at most `columns` columns. */
export function oneLine(text: string, columns: number): string {
  // The slice is longer than the line needs, so `clip` alone decides where the text is cut.
  const start = text.slice(0, columns * 8).replace(breaks, ' ');
  const shown = printable(start.replace(reorderings, '\ufffd')).trim().toWellFormed();
  return clip(shown, columns);
}

function clip(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  /** The last position after which the ellipsis still fits. */
  let lastRoom = 0;
  for (const char of text) {
    width += widthOf(char);
    if (width > columns) return `${text.slice(0, lastRoom)}…`;
    end += char.length;
    if (width < columns) lastRoom = end;
  }
  return text;
}

function widthOf(char: string): number {
  if (zeroWidth.test(char)) return 0;
  return doubleWidth.test(char) ? 2 : 1;
}

export type Tone = 'plain' | 'dim' | 'good' | 'bad' | 'mark';

const codes: { readonly [T in Tone]: readonly [string, string] } = {
  plain: ['', ''],
  dim: ['\u001b[2m', '\u001b[22m'],
  good: ['\u001b[32m', '\u001b[39m'],
  bad: ['\u001b[31m', '\u001b[39m'],
  mark: ['\u001b[33m', '\u001b[39m'],
};

export type Paint = (tone: Tone, text: string) => string;

export const withColor: Paint = (tone, text) => {
  const [on, off] = codes[tone];
  return `${on}${text}${off}`;
};

export const withoutColor: Paint = (_tone, text) => text;
