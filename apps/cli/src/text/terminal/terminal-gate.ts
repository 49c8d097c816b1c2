import { styleText } from 'node:util';
import { controlCharacter, printable } from '../cells/printable.ts';

/**
 * The one way of text to a terminal. Text of models, tools, providers, files and servers can
 * contain sequences that control a terminal: they set the clipboard or the title, move the cursor,
 * or hide text. Here each such character becomes a visible one.
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

  /** Joins texts. Control characters in strings become visible ones. */
  static of(...parts: readonly (string | TerminalText)[]): TerminalText {
    return new TerminalText(parts.map(ansiOf).join(''));
  }

  /** Adds a style to a text, if colours are wanted. */
  static styled(style: TextStyle, text: string, hasColor: boolean): TerminalText {
    const safe = safeText(text);
    return new TerminalText(hasColor ? styleText(style, safe, { validateStream: false }) : safe);
  }

  /** Accepts the colours of a text that our own code painted, and nothing else. */
  static painted(text: string): TerminalText {
    return new TerminalText(onlyStyles(text));
  }
}

type TextStyle = 'dim' | 'green' | 'yellow' | 'red';

function ansiOf(text: string | TerminalText): string {
  return typeof text === 'string' ? safeText(text) : text.ansi;
}

/** A carriage return would move to the start of the line. Its newline may be in the next piece. */
function safeText(text: string): string {
  return printable(text.replaceAll('\r', ''));
}

/** Colours and hyperlinks. */
const styles =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences are made of these
  /\u001b\[[\d;:]*m|\u001b\]8;[^;\u0000-\u001f\u007f-\u009f]*;[^\u0000-\u001f\u007f-\u009f]*(?:\u0007|\u001b\\)/;
const stylesAndControls = new RegExp(`(${styles.source})|${controlCharacter.source}`, 'g');

/**
 * Keeps the colours and hyperlinks of a line that our own renderer painted, and makes all other
 * control characters visible. The renderer makes foreign text safe; this is the last check.
 */
export function onlyStyles(line: string): string {
  if (!controlCharacter.test(line)) return line;
  return line.replace(stylesAndControls, (found, style?: string) => style ?? safeText(found));
}

type TextStream = Pick<NodeJS.WritableStream, 'write'>;
type WriteCallback = (error?: Error | null) => void;

/** Writes a message. Control characters in strings become visible ones, also in files and pipes. */
export function writeText(
  stream: TextStream,
  text: string | TerminalText,
  onWritten: WriteCallback = () => {},
): void {
  stream.write(ansiOf(text), onWritten);
}

/**
 * Writes data, such as the answer of a model or JSON. A file or a pipe gets it unchanged, because a
 * program reads it. A terminal gets it with visible control characters.
 */
export function writeData(
  stream: TextStream & { readonly isTTY?: boolean | undefined },
  data: string,
  onWritten: WriteCallback = () => {},
): void {
  stream.write(stream.isTTY === true ? safeText(data) : data, onWritten);
}
