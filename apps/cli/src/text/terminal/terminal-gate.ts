import { styleText } from 'node:util';
import { UsageError } from '../../contract/errors.ts';
import { controlCharacter, printable } from '../cells/printable.ts';

/**
 * Text that is safe to write to a terminal. Text from models, tools, providers, files and servers
 * can contain sequences that control a terminal. They set the clipboard or the title, move the
 * cursor, or hide text. This module replaces each such character with a visible one.
 *
 * A plain string is never trusted. Only a `TerminalText` can contain escape sequences, and only
 * this module creates it. `terminal-gate.attack.test.ts` checks that no other module writes to a
 * stream.
 */
export class TerminalText {
  /** The text with its escape sequences. */
  readonly ansi: string;

  private constructor(ansi: string) {
    this.ansi = ansi;
  }

  /** Joins texts. Control characters in plain strings are replaced with visible ones. */
  static of(...parts: readonly (string | TerminalText)[]): TerminalText {
    return new TerminalText(parts.map(ansiOf).join(''));
  }

  /** Adds a style to a text if `hasColor` is true. */
  static styled(style: TextStyle, text: string, hasColor: boolean): TerminalText {
    const safe = safeText(text);
    return new TerminalText(hasColor ? styleText(style, safe, { validateStream: false }) : safe);
  }

  /** Wraps base64 in the sequence that sets the clipboard. Only `clipboardText` calls it. */
  static clipboard(base64: string): TerminalText {
    return new TerminalText(`\u001b]52;c;${base64.replace(/[^\w+/=]/g, '')}\u0007`);
  }

  /** The character that rings the bell of the terminal. */
  static bell(): TerminalText {
    return new TerminalText('\u0007');
  }

  /** Wraps a text in the sequence with which terminals show a notification (OSC 9). */
  static notification(text: string): TerminalText {
    return new TerminalText(`\u001b]9;${safeText(text).replaceAll('\n', ' ')}\u0007`);
  }

  /** Opens a second screen without a cursor. The first screen stays as it is. */
  static openScreen(): TerminalText {
    return new TerminalText('\u001b[?1049h\u001b[?25l');
  }

  /** Replaces the content of the second screen. Each line must fit into one row. */
  static frame(lines: readonly string[]): TerminalText {
    const rows = lines.map((line) => `${safeText(line).replaceAll('\n', ' ')}\u001b[K\r\n`);
    return new TerminalText(`\u001b[H${rows.join('')}\u001b[J`);
  }

  /** Closes the second screen. */
  static closeScreen(): TerminalText {
    return new TerminalText('\u001b[?25h\u001b[?1049l');
  }

  /** Erases the last cells of the current line, as a shell does after Backspace. */
  static eraseLast(cells: number): TerminalText {
    return new TerminalText('\b \b'.repeat(cells));
  }

  /** Asks the terminal to mark pasted text (bracketed paste), or to stop it. */
  static markPastes(isOn: boolean): TerminalText {
    return new TerminalText(isOn ? '\u001b[?2004h' : '\u001b[?2004l');
  }

  /** Accepts a text that our own code painted. Only its colors and hyperlinks are kept. */
  static painted(text: string): TerminalText {
    return new TerminalText(onlyStyles(text));
  }
}

/** Maximum size of a text for the clipboard. Many terminals ignore longer texts. */
const maxClipboardBytes = 100_000;

/**
 * Returns the sequence that sets the clipboard of the terminal (OSC 52). Call it only because the user asked
 * for it. The text is encoded, so it cannot end the sequence. Control characters are removed: in a terminal that
 * pastes the text, they could end the paste and press keys.
 */
export function clipboardText(text: string): TerminalText {
  const bytes = Buffer.from(withoutControls(text.toWellFormed()));
  if (bytes.length > maxClipboardBytes)
    throw new UsageError(
      `Cannot copy ${bytes.length} bytes: terminals accept at most ${maxClipboardBytes}. Use /export`,
    );
  return TerminalText.clipboard(bytes.toString('base64'));
}

/** Removes all control characters except line breaks and tabs. */
function withoutControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
  return text.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

type TextStyle = 'dim' | 'green' | 'yellow' | 'red';

function ansiOf(text: string | TerminalText): string {
  return typeof text === 'string' ? safeText(text) : text.ansi;
}

/**
 * Makes a text safe. Carriage returns are removed, because they move the cursor to the start of the
 * line. The newline after a carriage return may be in the next piece.
 */
function safeText(text: string): string {
  return printable(text.replaceAll('\r', ''));
}

/** Matches colors and hyperlinks. */
const styles =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences are made of these
  /\u001b\[[\d;:]*m|\u001b\]8;[^;\u0000-\u001f\u007f-\u009f]*;[^\u0000-\u001f\u007f-\u009f]*(?:\u0007|\u001b\\)/;
const stylesAndControls = new RegExp(`(${styles.source})|${controlCharacter.source}`, 'g');

/**
 * Keeps the colors and hyperlinks of a line from our own renderer. All other control characters are
 * made visible. The renderer already makes untrusted text safe, so this is a second check.
 */
export function onlyStyles(line: string): string {
  if (!controlCharacter.test(line)) return line;
  return line.replace(stylesAndControls, (found, style?: string) => style ?? safeText(found));
}

const [noWrapOn, noWrapOff] = ['\u001b[53m', '\u001b[55m'];

/**
 * Marks a line of our own renderer that the terminal must not wrap, even if it is wider than the terminal. The renderer
 * keeps only styles, so the mark is a style that the chat does not use (overline).
 */
export function unwrapped(line: string): string {
  const plain = line.replaceAll(noWrapOn, '').replaceAll(noWrapOff, '');
  return `${noWrapOn}${plain}${noWrapOff}`;
}

/** Replaces the marks of `unwrapped` with the mode of the terminal that wraps lines (DECAWM). */
export function withWrapModes(text: string): string {
  return text.replaceAll(noWrapOn, '\u001b[?7l').replaceAll(noWrapOff, '\u001b[?7h');
}

type TextStream = Pick<NodeJS.WritableStream, 'write'>;
type WriteCallback = (error?: Error | null) => void;

/**
 * Writes a message. Control characters in plain strings are replaced with visible ones, even in
 * files and pipes.
 */
export function writeText(
  stream: TextStream,
  text: string | TerminalText,
  onWritten: WriteCallback = () => {},
): void {
  stream.write(ansiOf(text), onWritten);
}

/**
 * Writes data, such as JSON or the answer of a model. A file or a pipe gets the data unchanged,
 * because a program reads it. On a terminal, control characters are made visible.
 */
export function writeData(
  stream: TextStream & { readonly isTTY?: boolean | undefined },
  data: string,
  onWritten: WriteCallback = () => {},
): void {
  stream.write(stream.isTTY === true ? safeText(data) : data, onWritten);
}
